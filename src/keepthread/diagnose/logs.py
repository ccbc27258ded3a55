"""The log as people read it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from keepthread import log
from keepthread.errors import KeepthreadError
from keepthread.host.locations import state_dir

_LINES = 100_000
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def render_log(env: Mapping[str, str], *, session: str = "", since: str = "") -> str:
    """Return the log's lines as text, oldest first; only those of a session, or since a time.

    Raises:
        KeepthreadError: `since` is neither a span (90s, 15m, 2h, 3d) nor an ISO 8601 time.
    """
    start = _start(since, time.time()) if since else ""
    return "".join(
        f"{_line(entry)}\n"
        for entry in _entries(env, session)
        if str(entry.get("time", "")) >= start
    )


def follow_log(env: Mapping[str, str], *, session: str = "", pause: float = 0.5) -> Iterator[str]:
    """Yield lines as they are written, for ever."""
    seen = len(_entries(env, session))
    while True:
        time.sleep(pause)
        entries = _entries(env, session)
        # Fewer lines than before: the log was rotated, and all that is there is new.
        yield from map(_line, entries[seen if len(entries) >= seen else 0 :])
        seen = len(entries)


def _entries(env: Mapping[str, str], session: str) -> list[dict[str, Any]]:
    entries = log.read(state_dir(env), limit=_LINES)
    return [entry for entry in entries if not session or entry.get("session") == session]


def _line(entry: Mapping[str, Any]) -> str:
    parts = [
        str(entry.get(key, ""))
        for key in ("time", "event", "session", "outcome", "reason", "engine")
    ]
    seconds = entry.get("seconds")
    took = f"{seconds:.2f}s" if isinstance(seconds, (int, float)) else ""
    return "  ".join(part for part in (*parts, took, str(entry.get("detail", ""))) if part)


def _start(since: str, now: float) -> str:
    span = re.fullmatch(r"(\d+)([smhd])", since.strip())
    if span:
        moment = datetime.fromtimestamp(now - int(span[1]) * _UNITS[span[2]], timezone.utc)
    else:
        try:
            moment = datetime.fromisoformat(since.strip().replace("Z", "+00:00"))
        except ValueError as problem:
            hint = "Write 90s, 15m, 2h, 3d or a time like 2026-11-30T12:00:00Z."
            raise KeepthreadError(f"--since {since!r} is no time", hint) from problem
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
