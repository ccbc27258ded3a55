"""The log as people read it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from keepthread import log
from keepthread.errors import KeepthreadError
from keepthread.host.locations import state_dir

_LINES = 100_000
_PAUSE = 0.5  # seconds between two looks at a log that is followed
_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

Entry = dict[str, Any]


def log_lines(
    env: Mapping[str, str], *, session: str = "", since: str = "", follow: bool = False
) -> Iterator[str]:
    """Yield the log's lines as text, oldest first; with `follow` for ever, as they are written.

    Args:
        env: the process environment.
        session: only lines of this session, its id or how that begins; "" for all.
        since: only lines since then: a span (90s, 15m, 2h, 3d) or an ISO 8601 time; "" for all.
        follow: go on.

    Raises:
        KeepthreadError: `since` is neither.
    """
    state = state_dir(env)
    start = _start(since, time.time()) if since else ""
    before: list[Entry] = []
    for entries in _looks(state, follow):
        for entry in _added(before, entries):
            own = str(entry.get("session") or "").startswith(session)
            if own and str(entry.get("time", "")) >= start:
                yield _line(entry)
        before = entries


def _looks(state: str, follow: bool) -> Iterator[list[Entry]]:
    """Yield all entries; with `follow` again whenever the file has changed."""
    seen = _signature(state)
    yield log.read(state, limit=_LINES)
    while follow:
        time.sleep(_PAUSE)
        now = _signature(state)
        if now != seen:
            seen = now
            yield log.read(state, limit=_LINES)


def _signature(state: str) -> tuple[int, int, int]:
    try:
        status = os.stat(os.path.join(state, log.NAME))
    except OSError:
        return (0, 0, 0)  # no line yet
    return (status.st_ino, status.st_size, status.st_mtime_ns)


def _added(before: list[Entry], now: list[Entry]) -> list[Entry]:
    """Return what came after `before`, whose oldest entries may have been rotated away meanwhile."""
    gone = next(n for n in range(len(before) + 1) if before[n:] == now[: len(before) - n])
    return now[len(before) - gone :]


def _line(entry: Mapping[str, Any]) -> str:
    parts = [
        str(entry.get(key, ""))
        for key in ("time", "event", "session", "outcome", "reason", "engine")
    ]
    seconds = entry.get("seconds")
    took = f"{seconds:.2f}s" if isinstance(seconds, (int, float)) else ""
    return "  ".join(part for part in (*parts, took, str(entry.get("detail", ""))) if part)


def _start(since: str, now: float) -> str:
    """Return the time from which lines are wanted, in the form the log has.

    Raises:
        KeepthreadError: it is no time, or none that a calendar holds.
    """
    text = since.strip()
    span = re.fullmatch(r"([0-9]+)([smhd])", text)
    try:
        if span:
            moment = datetime.fromtimestamp(now - int(span[1]) * _UNITS[span[2]], timezone.utc)
        else:
            moment = datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)
    except (ValueError, OverflowError, OSError) as problem:
        hint = "Write 90s, 15m, 2h, 3d or a time like 2026-11-30T12:00:00Z."
        raise KeepthreadError(f"--since {since!r} is no time", hint) from problem
    return moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
