"""The lock of one session's folder. It belongs to an open file, so it outlives nobody who holds it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any

from keepthread import files

WAIT = 5.0  # seconds


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """Hold the session's lock if it can be had in time; go on without it otherwise.

    Each file is whole and the comparison is made again before every save, so a missing lock (a network file system,
    a folder in its place) can cost at most the order of two saves of the same moment, never a handoff.
    """
    path = os.path.join(folder, ".lock")
    try:
        import fcntl
    except ImportError:  # Windows
        with _locked_portably(path):
            yield
        return
    fd = _flocked(path, fcntl)
    try:
        yield
    finally:
        if fd >= 0:
            os.close(fd)  # closing lets go of the lock


@contextmanager
def at_once(folder: str) -> Iterator[bool]:
    """Say whether the session's lock is free, and hold it then; nobody is waited for."""
    path = os.path.join(folder, ".lock")
    if not os.path.lexists(path):
        yield True  # nobody has ever held it
        return
    try:
        import fcntl
    except ImportError:  # Windows
        from filelock import FileLock, Timeout

        try:
            with FileLock(path, timeout=0, mode=files.PRIVATE_FILE):
                pass  # an open file could not be removed there
        except Timeout:
            yield False
        else:
            yield True
        return
    fd = _opened(path)
    try:
        yield fd >= 0 and _try_flock(fd, fcntl)
    finally:
        if fd >= 0:
            os.close(fd)


@contextmanager
def alone(folder: str, name: str) -> Iterator[bool]:
    """Hold a lock of another name in the session's folder if it is free now; say whether it is held.

    It goes with the process that holds it, however that ends. Without locks (a file system that has none, a folder in
    the lock's place) nobody is alone: True all the same for the first, False for the second.
    """
    path = os.path.join(folder, name)
    try:
        import fcntl
    except ImportError:  # Windows
        from filelock import FileLock, Timeout

        lock = FileLock(path, timeout=0, mode=files.PRIVATE_FILE)
        try:
            lock.acquire()
        except (Timeout, OSError):
            yield False
            return
        try:
            yield True
        finally:
            lock.release()
        return
    fd = _opened(path)
    try:
        yield fd >= 0 and _try_flock(fd, fcntl)
    finally:
        if fd >= 0:
            os.close(fd)


def _flocked(path: str, fcntl: Any) -> int:
    # The system call itself: filelock takes 40 ms to import, four times what the rest of a PreCompact needs.
    fd = _opened(path)
    if fd < 0:
        return fd
    until = monotonic() + WAIT
    while not _try_flock(fd, fcntl):
        if monotonic() >= until:
            break
        sleep(0.02)
    return fd


def _opened(path: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        return os.open(path, flags, files.PRIVATE_FILE)
    except OSError:
        return -1  # a folder, a link or a read-only folder: no lock


def _try_flock(fd: int, fcntl: Any) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # this file system has no locks: waiting would not help
    return True


@contextmanager
def _locked_portably(path: str) -> Iterator[None]:
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=WAIT, mode=files.PRIVATE_FILE)
    try:
        lock.acquire()
    except (Timeout, OSError, NotImplementedError):
        yield  # held by a hung process, or this file system has no locks
        return
    try:
        yield
    finally:
        lock.release()
