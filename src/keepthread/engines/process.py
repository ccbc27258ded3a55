"""Runs one child process with a deadline, and leaves no descendant of it behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from keepthread.engines.model import Deadline

if sys.platform == "win32":
    from keepthread.engines import tree_windows as tree
else:
    from keepthread.engines import tree

_CHUNK = 64 * 1024
# What is still in the pipes after every writer is dead is read at once; a writer that could not
# be killed must not hold us.
_DRAIN = 0.5


@dataclass(frozen=True, slots=True)
class Completed:
    """What became of a child. `returncode` is negative when a signal ended it; outputs are cut at the limit."""

    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool


def run(
    argv: Sequence[str],
    *,
    stdin: bytes,
    env: Mapping[str, str],
    cwd: str,
    deadline: Deadline,
    limit: int = 8 * 1024 * 1024,
) -> Completed:
    """Run a program with `stdin` as its whole input, and return at most 2 s after the deadline.

    When it ends, runs out of time, or we are interrupted, every descendant is killed, also those that left its
    process group: what a summary call started has no business after it.

    Args:
        argv: the program (an absolute path) and its arguments; no shell is involved.
        stdin: bytes fed to it; then its input is closed.
        env: its whole environment.
        cwd: its working folder.
        deadline: when it is killed.
        limit: bytes kept of each output; the rest is read and dropped.

    Raises:
        OSError: the program cannot be started.
    """
    tree.sweep()
    mark = tree.new_mark()
    child = subprocess.Popen(
        list(argv),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env={**env, tree.MARK: mark},
        cwd=cwd,
        **tree.APART,
    )
    pumps = _Pumps(child, stdin, limit)
    try:
        pumps.start()
        timed_out = not _ended(child, deadline)
    finally:
        tree.end(child, mark)
        pumps.finish()
    code = child.returncode if child.returncode is not None else -9
    return Completed(code, bytes(pumps.stdout), bytes(pumps.stderr), timed_out)


def _ended(child: subprocess.Popen[bytes], deadline: Deadline) -> bool:
    try:
        child.wait(timeout=deadline.left())
    except subprocess.TimeoutExpired:
        return False
    return True


class _Pumps:
    """Feeds and drains a child's pipes in threads, so that neither side can block the other, nor us."""

    def __init__(self, child: subprocess.Popen[bytes], stdin: bytes, limit: int) -> None:
        self.stdout = bytearray()
        self.stderr = bytearray()
        work = (
            (child.stdin, _feed, (stdin,)),
            (child.stdout, _drain, (self.stdout, limit)),
            (child.stderr, _drain, (self.stderr, limit)),
        )
        self._threads = [
            (pipe, threading.Thread(target=target, args=(pipe, *args), daemon=True))
            for pipe, target, args in work
        ]

    def start(self) -> None:
        """Begin to feed and to drain."""
        for _, thread in self._threads:
            thread.start()

    def finish(self) -> None:
        """Wait until all pipes are at their end, but not long."""
        until = time.monotonic() + _DRAIN
        for pipe, thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - time.monotonic()))
            # Closing a descriptor that a thread still reads could hit a later file of that number.
            if pipe is not None and not thread.is_alive():
                pipe.close()


def _feed(pipe: IO[bytes], data: bytes) -> None:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(pipe.fileno(), view[:_CHUNK]) :]
        pipe.close()
    except OSError:
        # The child does not want its input, or is dead: its exit and output tell the story.
        return


def _drain(pipe: IO[bytes], into: bytearray, limit: int) -> None:
    while chunk := os.read(pipe.fileno(), _CHUNK):
        into += chunk[: limit - len(into)]
