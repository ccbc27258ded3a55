"""The event that the host sends on standard input. Standard library only: SessionStart imports this module.

Field names and which of them may be missing: the host's hook contract (`session_id`, `transcript_path`, `cwd` and
`hook_event_name` always; `agent_id` only inside a subagent; `custom_instructions` a text, "" or null).
"""

from __future__ import annotations

import json
import os
import select
import sys
import time

LIMIT = 64 * 1024 * 1024
_PATIENCE = 5.0  # seconds for the whole of stdin; the shortest registered time limit is 10
_QUIET = 0.25  # seconds without another byte after which a whole document counts as all there is


class Event:
    """One event. Every field is a str, "" when missing or of another type; `raw` is the whole object."""

    __slots__ = (
        "agent_id",
        "compact_summary",
        "custom_instructions",
        "cwd",
        "name",
        "prompt",
        "raw",
        "reason",
        "session_id",
        "source",
        "transcript_path",
        "trigger",
    )

    def __init__(self, raw: dict[str, object]) -> None:
        def text(key: str) -> str:
            value = raw.get(key)
            # A lone surrogate could be neither hashed nor written as UTF-8 later on.
            return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""

        self.raw = raw
        self.name = text("hook_event_name")
        self.session_id = text("session_id")
        self.transcript_path = text("transcript_path")
        self.cwd = text("cwd")
        self.source = text("source")
        self.trigger = text("trigger")
        self.reason = text("reason")
        self.custom_instructions = text("custom_instructions")
        self.agent_id = text("agent_id")
        self.compact_summary = text("compact_summary")
        self.prompt = text("prompt")


def parse(data: bytes) -> Event | None:
    """Return the event, or None when the bytes are no JSON object."""
    try:
        raw = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return Event(raw) if isinstance(raw, dict) else None


def read_stdin(descriptor: int = 0) -> bytes:
    """Return what the host wrote, at most LIMIT bytes, within a bounded time.

    Reads to the end as the host expects; a writer that never closes its end is waited for only until a whole
    document has arrived and a moment has passed.
    """
    if sys.platform == "win32":
        return sys.stdin.buffer.read(
            LIMIT
        )  # select does not take pipes there; the host closes its end
    deadline = time.monotonic() + _PATIENCE
    chunks: list[bytes] = []
    size = 0
    whole = False
    while size < LIMIT:
        wait = _QUIET if whole else max(0.0, deadline - time.monotonic())
        ready, _, _ = select.select([descriptor], [], [], wait)
        if not ready:
            break
        chunk = os.read(descriptor, 1 << 20)
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
        whole = chunk.rstrip()[-1:] == b"}" and parse(b"".join(chunks)) is not None
    return b"".join(chunks)
