"""Keeps the state folder bounded: once a day, what is old goes.

A session that nobody has touched for KEEPTHREAD_KEEP_DAYS goes whole. Of the others the newest KEEPTHREAD_KEEP_SESSIONS
stay as they are; beyond them a session keeps its handoff and what is shown of it, and loses what can be made again or
was kept for people. So the only handoff of a session is never removed while it is younger than the age.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from keepthread import files, log
from keepthread.handoff.alive import running
from keepthread.handoff.cleared import FOLDER as CLEARED
from keepthread.handoff.cleared import LASTS
from keepthread.handoff.history import FOLDER as EARLIER
from keepthread.handoff.inject import read_json
from keepthread.handoff.lock import at_once

STAMP = "tidied"
_DAY = 86_400
_JUMP = 7  # days; a clock that says so much has passed may only have jumped
_GONE = ".gone-"
# Beyond the handoff and what is shown of it: made again with the next one, or kept for people and for comparison.
# The last one is written with every handoff: while it is there, a session is whole.
# Folders: long results of tools, which a session of so long ago asks for no more, and the handoffs before the last.
_FOLDERS = ("outputs", EARLIER)
_EXTRAS = (
    "host-summary.md",
    "upgrade.json",
    "upgrade-shown.json",
    "note",
    "pin",
    "session-memory.md",
    "session-memory.json",
    "facts-index",
    "handoff.md",
)

_STATES = ("worker.json", "memory-state.json")  # of the processes that may be at work on a session


class Limits(NamedTuple):
    """How many sessions stay whole, and after how many days one goes; 0: no limit."""

    sessions: int
    days: int


class _Session(NamedTuple):
    path: str
    changed: float


def tidy(state: str, limits: Limits, *, spare: str = "", seconds: float = 60.0) -> int:
    """Remove what is past its time, at most once a day; return how many sessions went. Never raises OSError.

    Args:
        state: the state folder.
        limits: what stays.
        spare: the folder of the session at hand.
        seconds: after so long the rest is left to the next time.
    """
    until = time.monotonic() + seconds
    due = _due(os.path.join(state, STAMP), time.time())
    if due is None:
        return 0
    gone = 0
    if due:
        sessions = _sessions(os.path.join(state, "sessions"))
        gone, whole = _without_old(sessions, limits, spare, until)
        _forget_cleared(os.path.join(state, CLEARED))
        if gone:
            log.record(
                state, event="retention", session="", outcome="removed", reason=f"{gone} sessions"
            )
        if not whole:
            return gone
    with suppress(OSError):
        files.write_private(os.path.join(state, STAMP), b"")
    return gone


def _due(stamp: str, now: float) -> bool | None:
    """Return whether the day's work is to be done, None when it was.

    False after a longer pause: when only the clock has jumped, everything looks old; the next day tells.
    """
    try:
        days = abs(now - os.lstat(stamp).st_mtime) / _DAY
    except OSError:
        return True
    if days < 1:
        return None
    return days <= _JUMP


def _sessions(folder: str) -> list[_Session]:
    """Return all sessions, the one changed last first: a folder changes whenever a file is put into it."""
    found = []
    with suppress(OSError), os.scandir(folder) as listing:  # a folder that is not there holds none
        for entry in listing:
            if entry.name.startswith(_GONE):
                _remove(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                with suppress(OSError):  # gone this instant
                    found.append(_Session(entry.path, entry.stat(follow_symlinks=False).st_mtime))
    return sorted(found, key=lambda one: one.changed, reverse=True)


def _without_old(
    sessions: Sequence[_Session], limits: Limits, spare: str, until: float
) -> tuple[int, bool]:
    """Remove and slim down from the oldest on; return how many went, and whether there was time for all."""
    oldest = time.time() - limits.days * _DAY if limits.days else 0.0
    gone = 0
    for rank in range(len(sessions) - 1, -1, -1):
        one = sessions[rank]
        old = one.changed < oldest
        if not old and (not limits.sessions or rank < limits.sessions):
            break  # all the others are newer
        if time.monotonic() > until:
            return gone, False
        if one.path != spare and (old or _is_whole(one.path)):
            act: Callable[[_Session], bool] = _take_away if old else _slim
            gone += _if_unused(one, act)
    return gone, True


def _is_whole(folder: str) -> bool:
    return any(os.path.lexists(os.path.join(folder, name)) for name in (_EXTRAS[-1], *_FOLDERS))


def _if_unused(session: _Session, act: Callable[[_Session], bool]) -> bool:
    states = [os.path.join(session.path, name) for name in _STATES]
    if any(running(read_json(path)) for path in states):
        return False
    with at_once(session.path) as free, suppress(OSError):  # what cannot be removed stays
        unchanged = os.stat(session.path).st_mtime == session.changed
        return free and unchanged and act(session)
    return False


def _take_away(session: _Session) -> bool:
    # Moved first: nobody ever finds half a session.
    folder, name = os.path.split(session.path)
    target = os.path.join(folder, f"{_GONE}{os.urandom(6).hex()}-{name[:40]}")
    os.rename(session.path, target)
    _remove(target)
    return True


def _slim(session: _Session) -> bool:
    removed = False
    for name in _FOLDERS:
        inner = os.path.join(session.path, name)
        if os.path.isdir(inner) and not os.path.islink(inner):
            _remove(inner)
            removed = True
    for name in _EXTRAS:
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(session.path, name))
            removed = True
    if removed:  # it is no younger for it
        os.utime(session.path, (session.changed, session.changed))
    return False


def _remove(folder: str) -> None:
    with suppress(OSError):  # another process is at it
        names = os.listdir(folder)
        for inner in [name for name in _FOLDERS if name in names]:
            if not os.path.islink(os.path.join(folder, inner)):
                _remove(os.path.join(folder, inner))
                names.remove(inner)
        for name in names:
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def _forget_cleared(folder: str) -> None:
    with suppress(OSError), os.scandir(folder) as listing:
        for entry in listing:
            if abs(time.time() - entry.stat(follow_symlinks=False).st_mtime) > LASTS:
                os.unlink(entry.path)
