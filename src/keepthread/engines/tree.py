"""Ends a whole process tree on POSIX systems.

A descendant is known by its session or group, by its parents, and, where the environment of a process can be read
(Linux), by a mark in it: so a daemon that left the group and lost its parent is found too.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TypedDict

MARK = "KEEPTHREAD_RUN"
# The process that started the child, in the mark: its number and when it began.
_OWNER = re.compile(rb"(?:\A|\0)KEEPTHREAD_RUN=(\d{1,10})-(\d{1,20})\.[0-9a-f]{16}\0")

_GRACE = 0.4
_KILL_FOR = 0.6
_PAUSE = 0.02


class _Apart(TypedDict):
    start_new_session: bool


APART = _Apart(start_new_session=True)
"""What makes `Popen` put a child into a session and group of its own."""


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    parent: int
    group: int
    session: int
    marked: bool


def end(child: subprocess.Popen[bytes], mark: str) -> None:
    """Kill the child and all its descendants: first asked, then, about half a second later, made to.

    Args:
        child: started with `APART`; reaped here when it has ended.
        mark: the value of `MARK` in the child's environment.
    """
    hunt = _Hunt(child, mark)
    if not hunt.signal(signal.SIGTERM):
        return
    until = time.monotonic() + _GRACE
    while time.monotonic() < until and hunt.victims():
        time.sleep(_PAUSE)
    until = time.monotonic() + _KILL_FOR
    # More than once: between looking and killing, a victim may have had children.
    while hunt.signal(signal.SIGKILL) and time.monotonic() < until:
        time.sleep(_PAUSE)


def new_mark() -> str:
    """Return a mark for a child of this process, by which it is known also when this process was killed."""
    return f"{_began(os.getpid())}.{os.urandom(8).hex()}"


def sweep() -> None:
    """Kill what processes like this one left behind when they were killed themselves; where it can be told (Linux)."""
    if not os.path.isdir("/proc/self/task"):
        return
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        # A process may end while we look, or belong to somebody else.
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{name}/environ", "rb") as file:
                found = _OWNER.search(file.read())
            if found and _began(int(found[1])) != f"{int(found[1])}-{int(found[2])}":
                os.kill(int(name), signal.SIGKILL)


def _began(pid: int) -> str:
    """Return "<pid>-<start time>": no two processes have the same; the time is 0 when there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return f"{pid}-{int(fields[19])}"
    except (OSError, ValueError, IndexError):
        return f"{pid}-0"


class _Hunt:
    def __init__(self, child: subprocess.Popen[bytes], mark: str) -> None:
        self._child = child
        self._mark = mark
        # A victim whose parent died first would not be known again; its number with its group is.
        self._seen: set[tuple[int, int]] = set()

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to all that live, and return whether there were any."""
        victims = self.victims()
        if self._child.returncode is None:
            # Not reaped, so its number cannot have passed to a stranger.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child.pid, number)
        for pid in victims:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        return bool(victims)

    def victims(self) -> set[int]:
        """Return the numbers of the child and its descendants that live."""
        self._child.poll()
        root = self._child.pid
        table = _linux(self._mark) if os.path.isdir("/proc/self/task") else _ps()
        found = {
            process.pid
            for process in table
            if process.marked
            or root in (process.session, process.group)
            or (process.pid, process.group) in self._seen
        }
        if self._child.returncode is None:
            found.add(root)
        found = _with_descendants(found, table) - {os.getpid()}
        self._seen.update((process.pid, process.group) for process in table if process.pid in found)
        return found


def _with_descendants(found: set[int], table: list[_Process]) -> set[int]:
    children: dict[int, list[int]] = {}
    for process in table:
        children.setdefault(process.parent, []).append(process.pid)
    queue = list(found)
    while queue:
        fresh = [pid for pid in children.get(queue.pop(), ()) if pid not in found]
        found.update(fresh)
        queue.extend(fresh)
    return found


def _linux(mark: str) -> list[_Process]:
    needle = f"{MARK}={mark}".encode()
    table = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            # A process may end while we look, or belong to somebody else.
            with contextlib.suppress(OSError, ValueError, IndexError):
                process = _from_stat(name, needle)
                if process is not None:
                    table.append(process)
    return table


def _from_stat(name: str, needle: bytes) -> _Process | None:
    with open(f"/proc/{name}/stat", "rb") as file:
        # The program's name comes second, in parentheses, and may hold anything.
        state, parent, group, session = file.read().rpartition(b")")[2].split()[:4]
    if state in (b"Z", b"X"):
        return None
    marked = False
    with contextlib.suppress(OSError), open(f"/proc/{name}/environ", "rb") as file:
        marked = needle in file.read()
    return _Process(int(name), int(parent), int(group), int(session), marked)


def _ps() -> list[_Process]:
    try:
        listing = subprocess.run(
            ["/bin/ps", "-axo", "pid=,ppid=,pgid=,stat="],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=2,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        # Without a list the group alone is signalled, which reaches all but the few that left it.
        return []
    rows = (line.split() for line in listing.stdout.decode("ascii", "replace").splitlines())
    return [
        _Process(int(row[0]), int(row[1]), int(row[2]), 0, False)
        for row in rows
        if len(row) == 4 and not row[3].startswith("Z")
    ]
