"""Whether a worker is at work, told by its process: a clock that is set says nothing. Standard library only."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from collections.abc import Mapping
    from typing import Any

_LONGEST = 180.0  # seconds; a worker ends itself long before


def stamp(pid: int) -> dict[str, Any]:
    """Return the fields of worker.json by which `running` knows this process again, whoever bears its number later."""
    return {"pid": pid, "process": _identity(pid), "monotonic": time.monotonic()}


def running(worker: Mapping[str, Any] | None) -> bool:
    """Return whether this worker is at work. One that was killed left its state behind, but no process."""
    if worker is None or worker.get("state") != "running":
        return False
    pid = worker.get("pid")
    if not isinstance(pid, int) or pid <= 0 or not _is_there(pid):
        return False
    known = worker.get("process")
    if isinstance(known, str) and known:
        return known == _identity(pid)
    return _may_still_run(worker)


def _is_there(pid: int) -> bool:
    if os.name == "nt":
        return True  # there os.kill(pid, 0) would end the process
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # alive, and another user's
    return _stat(pid)[:1] != [b"Z"]  # ended, and only its parent has not taken note: nobody may


def _may_still_run(worker: Mapping[str, Any]) -> bool:
    """Return whether the process of this number can be the worker's own, where the system does not tell.

    The steady clock is one for all processes, and goes on whatever the time of day is set to. Older versions did not
    note it.
    """
    steady, started = worker.get("monotonic"), worker.get("started")
    if isinstance(steady, (int, float)):
        return 0 <= time.monotonic() - steady <= _LONGEST
    return not isinstance(started, (int, float)) or abs(time.time() - started) <= _LONGEST


def _identity(pid: int) -> str:
    """Return boot and start time of a process, "" where the system does not tell: two have never the same."""
    began = _stat(pid)[19:20]
    return f"{_boot()} {began[0].decode('ascii', 'replace')}" if began else ""


def _stat(pid: int) -> list[bytes]:
    """Return what Linux tells of a process, from its state on; [] on another system, or when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read(1024).rpartition(b")")[2].split()
    except OSError:
        return []


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", "rb") as file:
            return file.read(64).decode("ascii", "replace").strip()
    except OSError:
        return ""
