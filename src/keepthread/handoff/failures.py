"""The line that tells a person, at the next session start and once, that a run failed. Standard library only."""

from __future__ import annotations

import json
import os
import zlib
from contextlib import suppress

from keepthread import log

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from typing import Any

_TAIL = 64 * 1024  # bytes of the log that are looked at: some 300 runs
_LASTS = 7 * 86_400  # seconds after which a failure is history
_TOLD = "told-"
_LIMIT = 160  # characters
_RUNS = (
    "pre_compact",
    "session_start",
    "session_index",
    "team_memory",
    "post_compact",
    "user_prompt_submit",
    "session_end",
    "worker",
)
# Reasons for which a worker's handoff stays partial although a model was to be asked.
_REASONS = ("timeout", "no_login", "rate_limit", "overload", "overflow", "bad_answer", "cap")


def untold(state: str, session: str, known: str, now: float) -> str:
    """Return the line about failures that nobody was told of, "" when there is none; telling it counts as told.

    Args:
        state: the state folder.
        session: the session that starts.
        known: the event of this session whose failure the line beside this one tells already, or "".
        now: the time, in seconds since the epoch.
    """
    failures = [
        line for line in log.tail(state, _TAIL) if b'"failed"' in line or b'"worker"' in line
    ]
    failures = [line for line in failures if _is_failure(_entry(line), now)]
    before = _told(state)
    for at in range(len(failures) - 1, -1, -1):
        if _name(failures[at]) in before:
            failures = failures[at + 1 :]
            break
    if not failures or not _claim(state, _name(failures[-1]), before):
        return ""
    entries = [_entry(line) for line in failures]
    told = [one for one in entries if (one.get("session"), one.get("event")) != (session, known)]
    return _line(told[-1], len(told)) if told else ""


def _entry(line: bytes) -> dict[str, Any]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return entry if isinstance(entry, dict) else {}


def _is_failure(entry: dict[str, Any], now: float) -> bool:
    oldest = log.stamp(max(0.0, now - _LASTS))
    if entry.get("event") not in _RUNS or str(entry.get("time", "")) < oldest:
        return False
    late = entry.get("event") == "worker" and entry.get("reason") in _REASONS
    return entry.get("outcome") == "failed" or late


def _line(entry: dict[str, Any], count: int) -> str:
    more = f" (and {count - 1} more)" if count > 1 else ""
    reason = str(entry.get("reason") or entry.get("outcome"))[:80]
    start = "keepthread: "
    what = f"{entry.get('event')} failed at {entry.get('time')}: {reason}"
    return (start + what)[:_LIMIT] + f"{more}; see `keepthread logs`"


def _name(line: bytes) -> str:
    return f"{_TOLD}{zlib.crc32(line):08x}"


def _told(state: str) -> set[str]:
    try:
        return {name for name in os.listdir(state) if name.startswith(_TOLD)}
    except OSError:
        return set()


def _claim(state: str, name: str, known: set[str]) -> bool:
    """Return whether this process is the one that tells; the marker names the last failure that was told."""
    try:
        os.close(os.open(os.path.join(state, name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    except OSError:
        return True  # a folder that cannot be written is the failure itself
    for old in known:
        with suppress(OSError):  # another process was faster
            os.unlink(os.path.join(state, old))
    return True
