"""One run of a hook: its line in the log, and its output on the way to the host. Standard library only."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from keepthread.errors import KeepthreadError
from keepthread.host.locations import state_dir

_PATIENCE = 5.0  # seconds for the host to take the output; the shortest registered time limit is 10
_PIECE = 4_096  # bytes; a pipe that is ready takes as many without blocking


class Run:
    """One run of a hook: its environment, its clock, and the line it leaves in the log.

    `undo` takes back what was done for an output that the host then did not take.
    """

    def __init__(self, name: str, env: Mapping[str, str], started: float) -> None:
        self.name = name
        self.env = env
        self.started = started
        self.undo: Callable[[], None] = lambda: None

    def log(self, session: str, outcome: str, reason: str = "", detail: str = "") -> None:
        """Leave this run's line in the log; without a state folder there is nowhere to leave it."""
        from keepthread import log

        try:
            state = state_dir(self.env)
        except KeepthreadError:
            return
        log.record(
            state,
            event=self.name,
            session=session,
            outcome=outcome,
            reason=reason,
            detail=detail,
            seconds=time.monotonic() - self.started,
        )


def where(problem: BaseException) -> str:
    """Return the kind of the exception and where it arose; its text may hold words of the transcript."""
    frame = problem.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    said = f" ({problem.strerror})" if isinstance(problem, OSError) and problem.strerror else ""
    if frame is None:
        return type(problem).__name__ + said
    file = os.path.basename(frame.tb_frame.f_code.co_filename)
    return f"{type(problem).__name__}{said} at {file}:{frame.tb_lineno}"


def write_out(text: str) -> None:
    """Write the output, whole; a host that reads nothing for some seconds is not waited for.

    Raises:
        OSError: the host has closed its end, or reads nothing.
    """
    import select

    data = text.encode("utf-8", "replace")
    until = time.monotonic() + _PATIENCE
    while data:
        if os.name != "nt":  # where select takes sockets only
            _, ready, _ = select.select([], [1], [], max(0.0, until - time.monotonic()))
            if not ready:
                raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
        with suppress(BlockingIOError):  # the host made its end non-blocking, and it is full again
            data = data[os.write(1, data[:_PIECE]) :]


def end_cleanly() -> None:
    """Let SIGTERM unwind: no temporary file is left, and the hook ends with 0."""
    import signal
    import sys

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
