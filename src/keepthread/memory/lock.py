"""One writer at a time in a directory. The lock belongs to an open file, so it outlives nobody who holds it.

The file `.lock` is opened beneath the root like every other, never emptied before the lock is held, and never removed.
Its holder writes into it who it is, for those who wait.
"""

from __future__ import annotations

import errno
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from keepthread import files
from keepthread.memory.directory import Directory
from keepthread.memory.errors import LockTimeout, Unsafe
from keepthread.memory.listing import what_is

NAME = ".lock"
WAIT = 10.0  # seconds
_BUSY = frozenset((errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES))
_SHOWN = 160  # characters of what a holder wrote; anybody may have written it


@contextmanager
def locked(
    directory: Directory, wait: float = WAIT, waiting: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Hold the directory's lock.

    Args:
        directory: the opened root.
        wait: at most how long, in seconds.
        waiting: called once with the holder's description, when the lock is not free at once.

    Raises:
        LockTimeout: another process holds it for longer than that.
        Unsafe: `.lock` is a link or no plain file, or this file system has no locks.
        OSError: the directory cannot be written.
    """
    if directory.fd < 0:
        with _locked_portably(os.path.join(directory.path, NAME), wait):
            yield
        return
    fd = _acquired(directory, wait, waiting)
    try:
        with suppress(OSError):  # a full disk: who waits is not told, that is all
            _introduce(fd)
        yield
    finally:
        with suppress(OSError):
            os.ftruncate(fd, 0)
        os.close(fd)  # closing lets go of the lock


def _acquired(directory: Directory, wait: float, waiting: Callable[[str], None] | None) -> int:
    until = time.monotonic() + wait
    told = waiting is None
    while True:
        fd = _opened(directory)
        try:
            while not _try(fd):
                if time.monotonic() >= until:
                    raise LockTimeout(_holder(fd), wait)
                if waiting is not None and not told:
                    told = True
                    waiting(_holder(fd))
                time.sleep(random.uniform(0.002, 0.02))  # noqa: S311  # not in step with the others
            if _still_named(fd, directory.fd):
                return fd
        except BaseException:
            os.close(fd)
            raise
        # Somebody removed it or put another in its place: whoever waits there would not see us.
        os.close(fd)


def _opened(directory: Directory) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        fd = os.open(NAME, flags, files.PRIVATE_FILE, dir_fd=directory.fd)
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.EMLINK, errno.EISDIR, errno.ENXIO):
            raise Unsafe(NAME, "a link or no plain file", "Remove it.") from problem
        path = os.path.join(directory.path, NAME)
        raise OSError(problem.errno, problem.strerror, path) from problem
    if reason := what_is(os.fstat(fd)):  # what its holder writes would land in the other file
        os.close(fd)
        raise Unsafe(NAME, reason, "Remove it.")
    return fd


def _try(fd: int) -> bool:
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno in _BUSY:
            return False
        reason = f"this file system has no locks ({problem.strerror})"
        hint = "Keep the memory elsewhere: keepthread memory init --dir FOLDER"
        raise Unsafe(NAME, reason, hint) from problem
    return True


def _still_named(fd: int, root: int) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.lstat(NAME, dir_fd=root))
    except FileNotFoundError:
        return False


def _introduce(fd: int) -> None:
    command = " ".join([os.path.basename(sys.argv[0] or "python"), *sys.argv[1:3]])
    since = time.strftime("%H:%M:%S", time.gmtime())
    text = f"process {os.getpid()} on {_host()} ({command[:60]}) since {since} UTC"
    os.ftruncate(fd, 0)
    os.pwrite(fd, text.encode("utf-8", "replace"), 0)


def _host() -> str:
    uname = getattr(os, "uname", None)  # loading socket takes longer than the lock
    return uname().nodename if uname else "this host"


def _holder(fd: int) -> str:
    text = os.pread(fd, 4 * _SHOWN, 0).decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "?" for c in text)[:_SHOWN].strip()


@contextmanager
def _locked_portably(path: str, wait: float) -> Iterator[None]:
    from filelock import FileLock, Timeout

    if os.path.islink(path):
        raise Unsafe(NAME, "a link", "Remove it.")
    lock: Any = FileLock(path, timeout=wait, mode=files.PRIVATE_FILE)
    try:
        lock.acquire()
    except Timeout:
        raise LockTimeout("", wait) from None
    try:
        yield
    finally:
        lock.release()
