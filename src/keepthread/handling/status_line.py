"""The host's status line: one line, whatever it gives us. Standard library only, and light."""

from __future__ import annotations

from keepthread.host.events import Event
from keepthread.running import Run


def status_line(event: Event, run: Run) -> str:
    """Return the line; nothing is logged, for the host asks after every message."""
    from keepthread.economy.line import status_line as line

    return line(event.raw, event.session_id, run.env)
