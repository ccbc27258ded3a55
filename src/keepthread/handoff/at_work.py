"""The detached processes that are at work for any session, and their end: none may write into a folder that goes."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from keepthread.handoff.alive import running
from keepthread.handoff.inject import read_json

# What a session's detached processes say of themselves: the compaction's worker, and the one of the session memory.
_STATES = ("worker.json", "memory-state.json")
_PATIENCE = 5.0  # seconds for one to unwind; it ends its model's program first


def end_all(state: str) -> None:
    """Ask every process that is at work below this state folder to end, and wait a moment until they have.

    Where the system does not tell a process from a later one of its number, none is asked: it might be a stranger's.
    """
    asked = list(_at_work(state))
    for one in asked:
        with suppress(OSError):  # ended meanwhile
            os.kill(one["pid"], signal.SIGTERM)
    until = time.monotonic() + _PATIENCE
    while any(running(one) for one in asked) and time.monotonic() < until:
        time.sleep(0.05)


def _at_work(state: str) -> Iterator[dict[str, Any]]:
    with suppress(OSError), os.scandir(os.path.join(state, "sessions")) as folders:
        for folder in folders:
            for name in _STATES:
                known = read_json(os.path.join(folder.path, name))
                if known is not None and known.get("process") and running(known):
                    yield known
