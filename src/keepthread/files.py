"""Private files, written whole or not at all. Standard library only: SessionStart may import this module.

Paths are plain strings. What fails raises OSError when the system refuses, and ValueError for a path that
no system can hold (a NUL, a lone surrogate).
"""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from collections.abc import Sequence

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
TEMP_PREFIX = ".tmp-"
STALE_AFTER = 3600.0  # seconds: no write of ours takes an hour, so a temp that old has no owner

# Windows has neither O_NOFOLLOW nor O_CLOEXEC (handles are not inherited there), but it has O_BINARY,
# without which every \n becomes \r\n.
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_COMMON = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0) | _NOFOLLOW
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)

# What file systems without the notion answer to fsync (FUSE, CIFS, some network mounts).
_NO_FSYNC = frozenset((errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EBADF))
_WINDOWS_PATIENCE = 0.25  # seconds, for a reader
_WINDOWS_RETRY = 2.5  # seconds: a virus scanner or an editor holds the target only briefly


def make_private(folder: str) -> None:
    """Create a folder with mode 0700, missing parents too; an existing one of ours is tightened to 0700.

    Parents that exist already are left alone: they may be the host's or the user's.

    Raises:
        OSError: it cannot be created, or something that is no folder stands there.
    """
    try:
        if not _made(folder):
            _make_missing(os.path.dirname(folder))
            os.mkdir(
                folder, PRIVATE_FOLDER
            )  # there are parents in which nothing can be made, as /proc
    except FileExistsError:
        if not os.path.isdir(folder):
            raise
        _tighten_folder(folder)


def _made(folder: str) -> bool:
    """Make a folder; return whether its parent was there."""
    try:
        os.mkdir(folder, PRIVATE_FOLDER)
    except FileNotFoundError:
        if os.path.dirname(folder) in ("", folder):
            raise
        return False
    return True


def make_private_within(top: str, folder: str) -> None:
    """Create `folder` below `top`; it, `top` and each folder between are private afterwards, old ones too.

    Raises:
        OSError: as `make_private`.
    """
    make_private(top)
    path = top
    for name in os.path.relpath(folder, top).split(os.sep):
        path = os.path.join(path, name)
        make_private(path)


def write_private(path: str, data: bytes, *, mode: int = PRIVATE_FILE) -> None:
    """Write a file so that every reader sees the old bytes or the new ones, also after a crash.

    Its mode is 0600, or `mode` when another's file is to keep the one it has.
    A symlink at `path` is replaced, never followed. On every error the old file stays and the temporary one goes.

    Raises:
        OSError: the folder is missing or read-only, the disk is full, a folder stands at `path`.
    """
    folder = os.path.dirname(path) or "."
    _commit([(_temp(folder, data, mode), path)], folder)


def write_private_together(folder: str, contents: Sequence[tuple[str, bytes]]) -> None:
    """Write several files of one folder, in the order given: none is touched before all are safe on the disk.

    Each has mode 0600. A full disk leaves all the old ones; a crash between two of them leaves the later ones old.

    Raises:
        OSError: as `write_private`.
    """
    ready: list[tuple[str, str]] = []
    try:
        for name, data in contents:
            ready.append((_temp(folder, data, PRIVATE_FILE), os.path.join(folder, name)))
    except BaseException:
        for temp, _ in ready:
            remove_quietly(temp)
        raise
    _commit(ready, folder)


def sync(fd: int) -> None:
    """Bring a file to the disk, where the file system has the notion."""
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_FSYNC:
            raise


def remove_quietly(path: str) -> None:
    """Remove a file on the way out of a failure: absent or not, that failure is the one to report."""
    try:
        os.unlink(path)
    except OSError:
        return


def _temp(folder: str, data: bytes, mode: int) -> str:
    """Return the path of a new temporary file that holds `data` safely."""
    temp = os.path.join(folder, TEMP_PREFIX + os.urandom(12).hex())
    try:
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _COMMON, PRIVATE_FILE)
        try:
            if mode != PRIVATE_FILE and os.name != "nt":
                os.fchmod(fd, mode)  # the umask has no say: the file had this mode before
            write_all(fd, data)
            sync(fd)
        finally:
            os.close(fd)
    except BaseException as problem:
        remove_quietly(temp)
        if isinstance(problem, OSError):
            problem.filename = folder  # a full disk names nothing, and the file is gone
        raise
    return temp


def _commit(ready: Sequence[tuple[str, str]], folder: str) -> None:
    """Move temporary files to their places; on an error none of them stays."""
    try:
        for temp, path in ready:
            _replace(temp, path)
    except BaseException:
        for temp, _ in ready:
            remove_quietly(temp)
        raise
    _fsync_folder(folder)


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`: one write may take only a part of it."""
    view = memoryview(data)
    while view:
        written = os.write(fd, view)
        if written <= 0:
            raise OSError(errno.EIO, "the system took no byte of a write")
        view = view[written:]


def read_regular(path: str, limit: int, *, tighten: bool = False) -> bytes:
    """Return the bytes of a regular file of at most `limit` bytes.

    State files are never links, so a link is refused, and so is a FIFO, which would block for ever.

    Args:
        path: the file.
        limit: the most bytes accepted.
        tighten: take away what mode 0600 does not grant, if the file is ours.

    Raises:
        OSError: absent, unreadable, a link, not a regular file (EINVAL), or longer than `limit` (EFBIG).
    """
    if not _NOFOLLOW and os.path.islink(path):
        raise OSError(errno.ELOOP, "a link where a file is expected", path)
    fd = _open_to_read(path)
    try:
        status = _regular(fd, path)
        if status.st_size > limit:
            raise OSError(errno.EFBIG, "file too large", path)
        if tighten:
            _tighten_file(fd, status.st_mode)
        data = _read_up_to(fd, limit + 1)
    finally:
        os.close(fd)
    if len(data) > limit:  # it grew while it was read
        raise OSError(errno.EFBIG, "file too large", path)
    return data


def append_line(path: str, line: bytes, *, rotate_at: int) -> None:
    """Append one line, newline included, in a single write; the file has mode 0600.

    When the file would grow beyond `rotate_at` bytes it first becomes `<path>.1`, which replaces an older one.

    Raises:
        OSError: the file cannot be opened, is no regular file, or the disk is full.
    """
    fd = _open_append(path)
    try:
        if 0 < _regular(fd, path).st_size > rotate_at - len(line) and _rotate(fd, path):
            os.close(fd)
            fd = -1
            fd = _open_append(path)
        os.write(fd, line)  # not looped: a second write could land inside another process's line
    finally:
        if fd >= 0:
            os.close(fd)


def remove_stale_temps(folder: str) -> None:
    """Remove temporary files that a killed process left in `folder` more than an hour ago. Never raises OSError."""
    import time

    try:
        names = [name for name in os.listdir(folder) if name.startswith(TEMP_PREFIX)]
    except OSError:
        return  # no folder, nothing to clean
    for name in names:
        path = os.path.join(folder, name)
        try:
            if time.time() - os.lstat(path).st_mtime > STALE_AFTER:
                os.unlink(path)
        except OSError:
            continue  # another process was faster, or it is not ours to remove


def _make_missing(folder: str) -> None:
    if os.path.isdir(folder):
        return
    parent = os.path.dirname(folder)
    if parent not in ("", folder):
        _make_missing(parent)
    try:
        os.mkdir(folder, PRIVATE_FOLDER)
    except FileExistsError:
        if not os.path.isdir(folder):  # another process may have been faster; a file may not
            raise


def _regular(fd: int, path: str) -> os.stat_result:
    status = os.fstat(fd)
    if status.st_mode & 0o170000 != 0o100000:  # stat.S_ISREG without importing stat
        raise OSError(errno.EINVAL, "not a regular file", path)
    return status


def _open_to_read(path: str) -> int:
    if os.name == "nt":
        import time

        until = time.monotonic() + _WINDOWS_PATIENCE
        while time.monotonic() < until:
            if (fd := _opened_or_busy(path)) >= 0:
                return fd
            time.sleep(0.01)
    return os.open(path, os.O_RDONLY | _NONBLOCK | _COMMON)


def _opened_or_busy(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | _NONBLOCK | _COMMON)
    except PermissionError:
        return -1  # this instant another process puts a new file in its place


def _read_up_to(fd: int, limit: int) -> bytes:
    parts = []
    while limit > 0:
        part = os.read(fd, min(limit, 1 << 20))
        if not part:
            break
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


def _open_append(path: str) -> int:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NONBLOCK | _COMMON
    return os.open(path, flags, PRIVATE_FILE)


def _rotate(fd: int, path: str) -> bool:
    # Two processes may find the file full at once. The second one must not move the first one's fresh file over
    # the full one, so the name has to lead to what we opened.
    try:
        if os.path.samestat(os.fstat(fd), os.lstat(path)):
            os.replace(path, path + ".1")
    except FileNotFoundError:
        return True  # moved by the other one this instant
    except PermissionError:
        return False  # Windows: an open file cannot be moved; the line goes into the long file
    return True


def _tighten_folder(folder: str) -> None:
    if os.name == "nt" or not os.stat(folder).st_mode & 0o077:
        return
    try:
        os.chmod(folder, PRIVATE_FOLDER)
    except PermissionError:
        return  # somebody else's folder: whether we may write there shows when we do


def _tighten_file(fd: int, mode: int) -> None:
    if os.name == "nt" or not mode & 0o077:
        return
    try:
        os.fchmod(fd, PRIVATE_FILE)
    except OSError:
        return  # somebody else's file, or a read-only file system: reading is still right


def _replace(source: str, target: str) -> None:
    if os.name != "nt":
        os.replace(source, target)
        return
    import time

    until = time.monotonic() + _WINDOWS_RETRY
    while not _replaced(source, target, final=time.monotonic() > until):
        time.sleep(0.05)


def _replaced(source: str, target: str, *, final: bool) -> bool:
    try:
        os.replace(source, target)
    except PermissionError:
        # Another program has the target open for a moment. A folder there will not go away.
        if final or os.path.isdir(target):
            raise
        return False
    return True


def _fsync_folder(folder: str) -> None:
    try:
        fd = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except PermissionError:
        return  # Windows cannot open folders; on POSIX a folder may be writable and not readable
    try:
        sync(fd)
    finally:
        os.close(fd)
