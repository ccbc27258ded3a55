"""The state folder: is it there, ours, private, writable; clock, disk; what killed processes and old versions left."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any, NamedTuple

from keepthread import files, log, redact
from keepthread.diagnose import secrets
from keepthread.diagnose.check import FIX, INSTALL, Check, Place, finding, listed, note
from keepthread.handoff.alive import running
from keepthread.handoff.inject import read_json
from keepthread.host import doubles

STATES = ("worker.json", "memory-state.json")  # of the processes that work on a session
NOT_OURS = ("venv",)  # made by pip, with modes of its own
_FILES = ("install.lock", "log.jsonl", "manifest.json", "settings.json")  # of the state folder
_SEARCH = 0.3  # seconds for looking through what is stored: doctor is as fast with 10,000 sessions as with ten
_NAMED = 5  # sessions that are named
_LOOKED_AT = 50  # sessions, the newest
_ROOM = 50 << 20  # bytes
_SKEW = 300.0  # seconds by which two clocks may differ
_EPOCH = 1_704_067_200  # 2024-01-01: before that nothing of this was written
_NETWORK = ("nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs", "fuse.s3fs")


def check(place: Place, entries: Sequence[Mapping[str, Any]]) -> Iterator[Check]:
    """Yield what is found about the state folder; `entries` are the log's, oldest first."""
    try:
        status = os.stat(place.state)
    except OSError as problem:
        absent = isinstance(problem, FileNotFoundError)
        if absent and doubles.plugins(place.folder, place.project):  # no install makes it for them
            yield finding("state folder", True, f"the first hook that runs makes {place.state}")
        else:
            yield finding("state folder", False, f"{place.state}: {problem.strerror}", INSTALL)
        return
    newest = newest_sessions(place.state)[:_LOOKED_AT]
    yield _writable(place)
    if os.name != "nt":
        yield _owned(place, status)
        yield _private(place, newest)
    yield _disk(place)
    yield _clock(entries, time.time())
    yield _leftovers(place, newest)
    yield _secrets(place)


def newest_sessions(state: str) -> list[str]:
    """Return the folders of all sessions, the one changed last first."""
    found = []
    with suppress(OSError), os.scandir(os.path.join(state, "sessions")) as listing:
        for entry in listing:
            with suppress(OSError):  # gone this instant
                if entry.is_dir(follow_symlinks=False):
                    found.append((entry.stat(follow_symlinks=False).st_mtime, entry.path))
    return [path for _, path in sorted(found, reverse=True)]


def _writable(place: Place) -> Check:
    folders = [place.state, os.path.join(place.state, "sessions")]
    locked = [one for one in folders if os.path.exists(one) and not _may_write(one)]
    names = [os.path.join(place.state, name) for name in _FILES]
    odd = [path for path in names if os.path.lexists(path) and not os.path.isfile(path)]
    if odd:
        detail = f"no regular file, and one is needed there: {', '.join(odd)}"
        return finding("state folder", False, detail, f"Move it away: {' '.join(odd)}")
    if not locked:
        return finding("state folder", True, f"{place.state} is writable")
    told = " ".join(locked)
    detail = f"{', '.join(locked)}: not a folder that you may write to"
    return finding("state folder", False, detail, f"Make it a folder that you may write to: {told}")


def _may_write(folder: str) -> bool:
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


def _owned(place: Place, status: os.stat_result) -> Check:
    name = "state folder owner"
    own = os.geteuid()
    if status.st_uid == own:
        return finding(name, True, f"{place.state} is yours")
    detail = f"{place.state} belongs to user {status.st_uid}, and you are user {own}"
    return finding(name, False, detail, f"sudo chown -R {own} {shlex.quote(place.state)}")


def _private(place: Place, newest: Sequence[str]) -> Check:
    """Say whether others may read what is stored: the folder itself, and a sample of what lies in it."""
    mode = stat.S_IMODE(os.stat(place.state).st_mode)
    told = f"{place.state} has mode {mode:04o}"
    if mode & 0o077:
        return finding("state folder private", False, told, FIX)
    folders = [place.state, os.path.join(place.state, "sessions"), *newest]
    loose = [path for folder in folders for path in _loose(folder)]
    if loose:
        return finding("state folder private", False, f"others may read {listed(loose, 3)}", FIX)
    return finding("state folder private", True, told)


def _loose(folder: str) -> Iterator[str]:
    with suppress(OSError), os.scandir(folder) as listing:
        for entry in listing:
            if entry.name in NOT_OURS or entry.is_symlink():
                continue
            with suppress(OSError):  # gone this instant
                if entry.stat(follow_symlinks=False).st_mode & 0o077:
                    yield entry.path


def _disk(place: Place) -> Check:
    name = "disk"
    try:
        free = shutil.disk_usage(place.state).free
    except OSError as problem:
        return finding(name, False, f"{place.state}: {problem.strerror}", "Look at that disk")
    told = f"{free / 1e9:,.1f} GB are free" if free >= 1e9 else f"{free / 1e6:,.1f} MB are free"
    told += f" where {place.state} lies"
    if free < _ROOM:
        return finding(
            name, False, told, "Make room there; a handoff that cannot be written is lost"
        )
    if hasattr(os, "statvfs") and os.statvfs(place.state).f_flag & getattr(os, "ST_RDONLY", 1):
        detail = f"the file system of {place.state} is read-only"
        return finding(name, False, detail, "Mount it writable, or set CLAUDE_CONFIG_DIR elsewhere")
    kind = _file_system(os.path.realpath(place.state))
    if kind in _NETWORK:
        detail = f"{told}, on a network file system ({kind}): its locks are not relied on, its writes are slow"
        return note(name, detail, "If hooks run out of time: CLAUDE_CONFIG_DIR on a local disk")
    return finding(name, True, told)


def _file_system(path: str, table: str = "/proc/self/mounts") -> str:
    """Return the kind of file system a path lies on, "" where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return ""
    best, kind = "", ""
    with suppress(OSError), open(table, encoding="utf-8", errors="replace") as mounts:
        for line in mounts:
            words = line.split()
            point = words[1].replace("\\040", " ") if len(words) > 2 else ""
            inside = point and (path == point or path.startswith(point.rstrip("/") + "/"))
            if inside and len(point) >= len(best):
                best, kind = point, words[2]
    return kind


def _clock(entries: Sequence[Mapping[str, Any]], now: float) -> Check:
    """Say whether the clock is behind what was written: retention, ages and caps go by it."""
    name, told = "clock", datetime.fromtimestamp(now, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    if now < _EPOCH:
        return finding(name, False, f"it is {told} by this machine's clock", "Set the clock")
    latest = max((str(one.get("time", "")) for one in entries[-1_000:]), default="")
    if latest > log.stamp(now + _SKEW):
        detail = f"it is {told} by this machine's clock, and the log has a line of {latest}"
        return finding(
            name,
            False,
            detail,
            "Set the clock, or remove the lines that are ahead of it from the log",
        )
    return finding(name, True, told)


class Leftovers(NamedTuple):
    """What killed processes left: temporary files, and states that say that a process is at work."""

    temps: list[str]
    dead: list[str]


def leftovers(folders: Sequence[str]) -> Leftovers:
    """Return what was left in some folders of the state."""
    temps, dead = [], []
    oldest = time.time() - files.STALE_AFTER
    for folder in folders:
        with suppress(OSError), os.scandir(folder) as listing:
            for entry in listing:
                if entry.name.startswith(files.TEMP_PREFIX):
                    with suppress(OSError):  # gone this instant
                        old = entry.stat(follow_symlinks=False).st_mtime < oldest
                        temps += [entry.path] if old else []
                elif entry.name in STATES:
                    state = read_json(entry.path)
                    if state and state.get("state") == "running" and not running(state):
                        dead.append(entry.path)
    return Leftovers(temps, dead)


def _leftovers(place: Place, newest: Sequence[str]) -> Check:
    """Name them; they are harmless, and the next run of the same session takes them away."""
    found = leftovers([place.state, *newest])
    told = []
    if found.temps:
        told.append(
            f"{len(found.temps)} temporary files of killed processes ({listed(found.temps, 2)})"
        )
    if found.dead:
        told.append(f"a process that is gone stands as running in {listed(found.dead, 2)}")
    return note("leftovers", "; ".join(told) or "none", FIX if told else "")


def _secrets(place: Place) -> Check:
    """Say whether stored handoffs hold secrets that an earlier version did not know."""
    known = redact.environment_secrets({**place.env, **place.config.user})
    found = secrets.search(place.state, known, seconds=_SEARCH)
    detail = f"no secret in what is stored ({found.searched} of {found.folders} folders searched"
    detail += f"; `{FIX}` searches all)" if found.searched < found.folders else ")"
    if found.leaks:
        rules: dict[str, set[str]] = {}
        for leak in found.leaks:
            rules.setdefault(leak.owner, set()).update(leak.rules)
        told = [f"{owner}: {', '.join(sorted(names))}" for owner, names in rules.items()]
        more = f"; and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
        detail = f"secrets are stored, by session and rule: {'; '.join(told[:_NAMED])}{more}"
    return finding("stored secrets", not found.leaks, detail, f"{FIX}; then replace those secrets")
