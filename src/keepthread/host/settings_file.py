"""The host's settings file on disk: read once, compared before it is replaced, replaced whole or not at all.

A live session watches this file, so no reader may ever see half of it. It may be a link into a dotfiles folder, hold
API keys, or be mounted on its own: link, mode, owner and attributes stay as they were.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from keepthread import files
from keepthread.errors import KeepthreadError

if TYPE_CHECKING:
    from filelock import FileLock

LIMIT = 64 << 20
LOCK_WAIT = 10.0
_LOCK_TRIES = 20
KEPT_BACKUPS = 5

_MOUNTED = (errno.EBUSY, errno.EXDEV)  # rename onto a file that is a mount point of its own
_SHARING_TRIES = 40
_SHARING = (5, 32, 33)  # Windows: access denied, sharing violation, lock violation
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class ChangedError(Exception):
    """Another program wrote the file after it was read: read it again."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The file as it was read: the path the host uses, the file behind a link, bytes and status (None if absent).

    `backups` is what the backups' names begin with, "" for the path itself. A file that is not `private` and is made
    anew, and its folder, get the modes that the user's other files get.
    """

    path: str
    real: str
    data: bytes | None
    status: os.stat_result | None
    backups: str = ""
    private: bool = True

    @property
    def backups_base(self) -> str:
        """The path that the backups' names begin with."""
        return self.backups or self.path


def read(path: str, *, root: str = "", backups: str = "", private: bool = True) -> Snapshot:
    """Read a settings file.

    Args:
        path: the file; a link is followed.
        root: the project whose file it is: nobody vouches for its links, so none may lead out of it. "" for the
            user's own file, whose links are the user's too.
        backups: as in `Snapshot`.
        private: as in `Snapshot`.

    Raises:
        KeepthreadError: a link that leads nowhere or out of the project, no regular file, unreadable, or over 64 MB.
    """
    real = _target(path)
    if root:
        real = _inside(path, real, root)
    try:
        status = os.stat(real)
        if not stat.S_ISREG(status.st_mode):
            raise KeepthreadError(f"{path} is not a regular file", "Move it away.")
        data = files.read_regular(real, LIMIT)
        return Snapshot(path, real, data, status, backups, private)
    except FileNotFoundError:
        return Snapshot(path, real, None, None, backups, private)
    except OSError as error:
        raise KeepthreadError(f"{path} cannot be read: {error.strerror}") from error


def check_writable(snapshot: Snapshot) -> None:
    """See that the file may be written. A writable folder does not make a read-only file ours to replace.

    Raises:
        KeepthreadError: the file is read-only.
    """
    if snapshot.status is None:
        return
    if not snapshot.status.st_mode & 0o222 or not os.access(snapshot.real, os.W_OK):
        raise KeepthreadError(
            f"{snapshot.path} is read-only",
            "If another program manages it, add the hooks there; else make it writable.",
        )


def write(snapshot: Snapshot, data: bytes, *, keep: bool = True) -> None:
    """Replace the file's content; unless `keep` is False a backup of the old one is kept beside it.

    Raises:
        ChangedError: somebody else wrote it since it was read; nothing was written.
        KeepthreadError: read-only, disk full and the like; the old content is in place.
    """
    check_writable(snapshot)
    try:
        _prepare(snapshot)
        backup = _back_up(snapshot)
        with ExitStack() as undo:
            undo.callback(files.remove_quietly, backup)  # of no use while the file is as it was
            done = _swap(snapshot, data)
            undo.pop_all()
        if not done:
            _overwrite(snapshot, data, backup)
        if keep:
            _prune_backups(snapshot.backups_base)
        else:
            files.remove_quietly(backup)
    except OSError as error:
        raise KeepthreadError(
            f"{snapshot.path} cannot be written: {error.strerror}",
            "Its former content is in place.",
        ) from error


def remove(snapshot: Snapshot) -> None:
    """Remove the file, if it still is what was read.

    Raises:
        ChangedError: it is not.
        KeepthreadError: the system refuses.
    """
    check_writable(snapshot)
    if not _unchanged(snapshot):
        raise ChangedError
    try:
        os.unlink(snapshot.real)
    except OSError as error:
        raise KeepthreadError(f"{snapshot.path} cannot be removed: {error.strerror}") from error


@contextmanager
def locked(state: str) -> Iterator[None]:
    """Hold the lock of all edits; it lies beside, since the settings file itself is replaced.

    Raises:
        KeepthreadError: not free within 10 seconds, or the state folder cannot be written.
    """
    from filelock import FileLock, Timeout

    path = os.path.join(state, "install.lock")
    try:
        lock = FileLock(path, timeout=LOCK_WAIT, mode=0o600)
        _acquire(lock, path)
    except Timeout:
        raise KeepthreadError(
            f"Another install or uninstall is running: {path} is locked",
            "Wait for it, or end it, and try again.",
        ) from None
    except (OSError, NotImplementedError) as error:
        raise KeepthreadError(
            f"{path} cannot be locked: {getattr(error, 'strerror', '') or error}",
            "It should be a file, in a folder that you may write to.",
        ) from error
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: FileLock, path: str) -> None:
    for tries in range(_LOCK_TRIES):
        files.make_private(os.path.dirname(path))
        with suppress(OSError):  # an empty folder, as other programs' locks are
            os.rmdir(path)
        try:
            lock.acquire()
            return
        except FileNotFoundError:  # an uninstall took the folder away in this moment
            if tries == _LOCK_TRIES - 1:
                raise


def backups(path: str) -> list[str]:
    """Return the backups of a settings file (of `Snapshot.backups_base`), oldest first."""
    folder, name = os.path.split(path)
    ours = re.compile(re.escape(name) + r"\.keepthread-\d{8}T\d{6}Z-[0-9a-f]{8}\.bak")
    try:
        with os.scandir(folder) as entries:
            found = [entry for entry in entries if ours.fullmatch(entry.name)]
    except FileNotFoundError:
        return []
    # Names only tell the second.
    return [entry.path for entry in sorted(found, key=lambda e: (e.stat().st_mtime_ns, e.name))]


def _target(path: str) -> str:
    if not os.path.islink(path):
        return path
    try:
        return os.path.realpath(path, strict=True)
    except OSError:
        raise KeepthreadError(
            f"{path} is a link that leads nowhere: {os.readlink(path)!r}",
            "Create the file it points to (with the content {}), or remove the link.",
        ) from None


def _inside(path: str, real: str, root: str) -> str:
    """Return the file behind all links; one outside the project is refused: a clone may point at any file of ours."""
    found, top = os.path.realpath(real), os.path.realpath(root)
    if not found.startswith(top.rstrip(os.sep) + os.sep):
        raise KeepthreadError(
            f"{path} leads out of the project, to {found}",
            "Remove the link, or install in user scope.",
        )
    return found


def _prepare(snapshot: Snapshot) -> None:
    folder = os.path.dirname(snapshot.real)
    if not os.path.isdir(folder):
        if snapshot.private:
            files.make_private(folder)
        else:
            os.makedirs(folder, exist_ok=True)
    # Only a killed run of ours leaves these, and no other run can be at work: we hold the lock.
    leftover = re.escape(os.path.basename(snapshot.real))
    for name in os.listdir(folder):
        if re.fullmatch(rf"\.{leftover}\.keepthread-[0-9a-f]{{16}}\.tmp", name):
            files.remove_quietly(os.path.join(folder, name))


def _back_up(snapshot: Snapshot) -> str:
    if snapshot.data is None:
        return ""
    moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    base = snapshot.backups_base
    if snapshot.backups:
        files.make_private(os.path.dirname(base))
    backup = f"{base}.keepthread-{moment}-{os.urandom(4).hex()}.bak"
    _create(backup, snapshot.data, snapshot)
    return backup


def _prune_backups(path: str) -> None:
    with suppress(OSError):  # the new content is in place already
        for backup in backups(path)[:-KEPT_BACKUPS]:
            files.remove_quietly(backup)


def _swap(snapshot: Snapshot, data: bytes) -> bool:
    """Replace the file by a new one; return False when this file can only be written in place."""
    if _foreign(snapshot):
        return False
    folder, name = os.path.split(snapshot.real)
    temp = os.path.join(folder, f".{name}.keepthread-{os.urandom(8).hex()}.tmp")
    try:
        _create(temp, data, snapshot)
        if not _unchanged(snapshot):
            raise ChangedError
        _replace(temp, snapshot.real)
    except OSError as error:
        if error.errno in _MOUNTED:
            return False
        raise
    finally:
        files.remove_quietly(temp)  # gone already when it became the file
    _sync_folder(folder)
    return True


def _foreign(snapshot: Snapshot) -> bool:
    """Return whether a replacement would change the owner: the file is another user's and we are not root."""
    if os.name == "nt" or snapshot.status is None:
        return False
    return os.geteuid() not in (0, snapshot.status.st_uid)


def _create(path: str, data: bytes, like: Snapshot) -> None:
    """Create a file whose mode and owner are right before its first byte: it may hold API keys."""
    mode = 0o600 if like.private or like.status is not None else 0o666  # less the umask
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, mode)
    with ExitStack() as undo:
        undo.callback(files.remove_quietly, path)
        with os.fdopen(fd, "wb", buffering=0):
            if like.status is not None:
                _adopt(fd, like.real, like.status)
            files.write_all(fd, data)
            files.sync(fd)
        undo.pop_all()


def _adopt(fd: int, source: str, status: os.stat_result) -> None:
    if os.name == "nt":
        return
    if os.geteuid() == 0:
        os.fchown(fd, status.st_uid, status.st_gid)
    os.fchmod(fd, stat.S_IMODE(status.st_mode))
    if hasattr(os, "listxattr"):
        _adopt_attributes(fd, source)


def _adopt_attributes(fd: int, source: str) -> None:
    with suppress(OSError):  # a file system without attributes
        for name in os.listxattr(source):
            with suppress(OSError):  # one that only the system may set
                os.setxattr(fd, name, os.getxattr(source, name))


def _unchanged(snapshot: Snapshot) -> bool:
    try:
        status = os.stat(snapshot.real)
        data = files.read_regular(snapshot.real, LIMIT)
    except FileNotFoundError:
        return snapshot.status is None
    known = snapshot.status
    return known is not None and os.path.samestat(known, status) and data == snapshot.data


def _replace(temp: str, real: str) -> None:
    for _ in range(_SHARING_TRIES):
        if _replaced(temp, real):
            return
        time.sleep(0.05)
    os.replace(temp, real)


def _replaced(temp: str, real: str) -> bool:
    try:
        os.replace(temp, real)
    except OSError as error:
        if getattr(error, "winerror", None) in _SHARING:
            return False  # a scanner or an editor has it open for a moment
        raise
    return True


def _overwrite(snapshot: Snapshot, data: bytes, backup: str) -> None:
    """Write in place, where replacing is impossible; the old bytes come back when the new ones do not fit."""
    if not _unchanged(snapshot):
        files.remove_quietly(backup)
        raise ChangedError
    fd = os.open(snapshot.real, os.O_WRONLY | _FLAGS)
    with os.fdopen(fd, "wb", buffering=0), ExitStack() as undo:
        undo.callback(_put_back, fd, snapshot, backup)
        _rewrite(fd, data)
        undo.pop_all()


def _put_back(fd: int, snapshot: Snapshot, backup: str) -> None:
    try:
        _rewrite(fd, snapshot.data or b"")
    except OSError as error:
        raise KeepthreadError(
            f"{snapshot.path} was damaged while it was written in place: {error.strerror}",
            f"Its former content is in {backup}.",
        ) from error


def _rewrite(fd: int, data: bytes) -> None:
    os.lseek(fd, 0, os.SEEK_SET)
    files.write_all(fd, data)
    os.ftruncate(fd, len(data))
    files.sync(fd)


def _sync_folder(folder: str) -> None:
    # The new content is in place already, and a folder that cannot be opened or synced does not change that.
    with suppress(OSError):
        fd = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
