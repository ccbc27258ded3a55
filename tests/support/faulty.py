"""Runs a program of ours on a machine that fails it: a file system that refuses, a clock that jumps, locks that lie.

    python -I faulty.py FAULT SCRIPT [ARGUMENT...]

FAULT is a JSON object; see `Fault`. SCRIPT is run as `__main__` in this very process, after the functions of `os`,
`time` and `fcntl` that it will use were replaced. What it starts is not touched.
"""

from __future__ import annotations

import json
import os
import pathlib  # noqa: F401  - in Python 3.10 it keeps functions of os in a class, where ours would become methods
import runpy
import sys
import time
from collections.abc import Callable
from typing import Any, TypedDict


class Fault(TypedDict, total=False):
    """What goes wrong.

    at: the number of the change on the disk (from 1) that fails; `lasting`: and every later one. `errno`: with which
    error; without one the process kills itself there. `clock`: seconds since 1970 that every look at the time of day
    gives; "jumps": another day each time. `locks`: "lie" (always granted), "refuse" (ENOLCK). `proc`: False: there is
    no /proc. `steps`: a file into which the number of changes is written at the end.
    """

    at: int
    lasting: bool
    errno: int
    clock: float | str
    locks: str
    proc: bool
    steps: str


_CHANGING = ("replace", "rename", "link", "unlink", "mkdir", "rmdir", "fsync", "fchmod", "chmod")


class _Disk:
    """Counts the changes on the disk, and lets one of them fail."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.count = 0
        self.end = os._exit

    def step(self) -> None:
        """Count one change; fail it if it is its turn."""
        self.count += 1
        at = self.fault.get("at", 0)
        if not at or not (self.count == at or (self.fault.get("lasting") and self.count > at)):
            return
        number = self.fault.get("errno")
        if number is None:
            os.kill(os.getpid(), 9)
        else:
            raise OSError(number, os.strerror(number))

    def counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with a count before it."""

        def changed(*args: Any, **named: Any) -> Any:
            self.step()
            return function(*args, **named)

        return changed

    def opened(self, function: Callable[..., int]) -> Callable[..., int]:
        """Return os.open with a count before every opening that may write."""

        def opened(path: Any, flags: int, *args: Any, **named: Any) -> int:
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self.step()
            if self.fault.get("proc") is False and str(path).startswith("/proc"):
                raise FileNotFoundError(2, "No such file or directory", path)
            return function(path, flags, *args, **named)

        return opened

    def written(self, function: Callable[[int, bytes], int]) -> Callable[[int, bytes], int]:
        """Return os.write with a count before every write that is no output."""

        def written(descriptor: int, data: bytes) -> int:
            if descriptor > 2:
                self.step()
            return function(descriptor, data)

        return written

    def ending(self, code: int) -> None:
        """Write how many changes there were, and end as the program wanted."""
        if path := self.fault.get("steps"):
            self.fault = {}
            with open(path, "w", encoding="utf-8") as file:
                file.write(str(self.count))
        self.end(code)


def _clock(said: float | str) -> Callable[[], float]:
    days = iter(range(10**9))

    def told() -> float:
        if said == "jumps":
            return float((next(days) * 7919) % 40_000) * 86_400
        return float(said)

    return told


def _flock(how: str) -> Callable[[Any, int], None]:
    def flock(_descriptor: Any, _operation: int) -> None:
        if how == "refuse":
            raise OSError(37, "No locks available")

    return flock


def main() -> None:
    """Break the machine as told, and run the script on it."""
    fault: Fault = json.loads(sys.argv[1])
    sys.argv = sys.argv[2:]
    disk = _Disk(fault)
    replaced: dict[str, Any] = {name: disk.counted(getattr(os, name)) for name in _CHANGING}
    replaced |= {"open": disk.opened(os.open), "write": disk.written(os.write)}
    replaced["_exit"] = disk.ending
    for name, function in replaced.items():
        setattr(os, name, function)
    if "clock" in fault:
        setattr(time, "time", _clock(fault["clock"]))  # noqa: B010
    if "locks" in fault:
        import fcntl

        setattr(fcntl, "flock", _flock(fault["locks"]))  # noqa: B010
    if fault.get("proc") is False:
        _hide_proc()
    runpy.run_path(sys.argv[0], run_name="__main__")


def _hide_proc() -> None:
    import builtins

    opened = builtins.open

    def without_proc(path: Any, *args: Any, **named: Any) -> Any:
        if str(path).startswith("/proc"):
            raise FileNotFoundError(2, "No such file or directory", path)
        return opened(path, *args, **named)

    setattr(builtins, "open", without_proc)  # noqa: B010


if __name__ == "__main__":
    main()
