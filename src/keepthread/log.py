"""One line per run, so that no failure is silent. Standard library only: SessionStart may import this module."""

from __future__ import annotations

import json
import os
import time

from keepthread import files

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from typing import Any

NAME = "log.jsonl"
ROTATE_AT = 1_000_000  # bytes
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_WIDTHS = {"event": 40, "session": 80, "outcome": 40, "reason": 80, "engine": 40, "detail": 400}
_START = b'{"time":'


def stamp(moment: float | None = None) -> str:
    """Return a time (seconds since 1970; None is now) as every record of ours has it: ISO 8601, UTC, whole seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(moment))


def epoch(text: str) -> float | None:
    """Return an ISO 8601 time as seconds since 1970, None when it is none; without a zone it is UTC."""
    from datetime import datetime, timezone

    try:
        moment = datetime.fromisoformat(text.replace("Z", "+00:00"))  # 3.10 does not know "Z"
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or timezone.utc).timestamp()


def record(
    state: str,
    *,
    event: str,
    session: str,
    outcome: str,
    reason: str = "",
    engine: str = "",
    seconds: float = 0.0,
    detail: str = "",
) -> None:
    """Append what one run came to. Never raises: a log that cannot be written must not harm the host.

    Args:
        state: the state folder; created when missing.
        event: the host's event or the command's name.
        session: the session id as the host gave it, however odd.
        outcome: one word: what was done.
        reason: one of the handoff's reasons, or "".
        engine: the engine that answered, or "".
        seconds: how long the run took.
        detail: one line for a person, free of transcript text and secrets.
    """
    entry: dict[str, Any] = {
        "time": stamp(),
        "event": _plain("event", event),
        "session": _plain("session", session),
        "outcome": _plain("outcome", outcome),
        "reason": _plain("reason", reason),
        "engine": _plain("engine", engine),
        "seconds": round(seconds, 3),
    }
    if detail:
        entry["detail"] = _plain("detail", detail)
    line = json.dumps(entry, separators=(",", ":")).encode("ascii") + b"\n"
    try:
        files.make_private(state)
        files.append_line(os.path.join(state, NAME), line, rotate_at=ROTATE_AT)
    except (OSError, ValueError):
        return  # no folder, full disk, read-only home: the run itself is what matters


def read(state: str, *, limit: int) -> list[dict[str, Any]]:
    """Return the last `limit` entries, oldest first; lines that are torn or no entry are left out. Never raises."""
    entries: list[dict[str, Any]] = []
    for name in (NAME, NAME + ".1"):
        if len(entries) < limit:
            older = _entries(os.path.join(state, name))
            entries = older[len(entries) - limit :] + entries
    return entries


def tail(state: str, size: int) -> list[bytes]:
    """Return the lines in the last `size` bytes of the log, oldest first; a first one that is cut is left out."""
    try:
        fd = os.open(os.path.join(state, NAME), _READ)
    except (OSError, ValueError):
        return []
    try:
        start = max(0, os.fstat(fd).st_size - size)
        os.lseek(fd, start, os.SEEK_SET)
        lines = os.read(fd, size).split(b"\n")
    except OSError:
        return []  # a pipe or a device in its place
    finally:
        os.close(fd)
    return lines[1:] if start else lines


def _entries(path: str) -> list[dict[str, Any]]:
    try:
        data = files.read_regular(path, 4 * ROTATE_AT)
    except (OSError, ValueError):
        return []  # no log yet, or one that is not ours to trust
    return [entry for line in data.split(b"\n") if (entry := _parse(line)) is not None]


def _parse(line: bytes) -> dict[str, Any] | None:
    # A full disk cuts a line, and the next one is glued on: what follows the last start is whole.
    start = line.rfind(_START)
    if start < 0:
        return None
    try:
        entry = json.loads(line[start:])
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _plain(name: str, value: str) -> str:
    # One line, whatever the session id holds: no forged entries, no terminal sequences.
    width = _WIDTHS[name]
    text = "".join(c if c.isprintable() else " " for c in str(value)[: width + 1])
    return text if len(text) <= width else text[: width - 1] + "…"
