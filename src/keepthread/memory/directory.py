"""A directory whose files are reached by key, and nothing outside it by any.

The root is opened once. Every other name is one component, resolved against the descriptor of its folder and never
through a link, and what was opened is examined before it is used: there is no moment between a check and a use in
which another process could swap a folder. On systems without such calls `directory_by_name` does what can be done.

Not seen: a bind mount of the same file system, which only its administrator can make.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

from keepthread import files
from keepthread.memory import keys
from keepthread.memory.errors import NotFound, Unsafe
from keepthread.memory.listing import (
    MAX_LISTED,
    Listed,
    Lister,
    Listing,
    Names,
    Skipped,
    Stat,
    is_expected,
    refuse_twin,
    sifted,
    stat_of,
    swept,
    what_is,
)

MAX_BYTES = 256 * 1024  # of one file
HAS_DIR_FD = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NOFOLLOW
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NOFOLLOW
# What the systems answer when a link, a pipe or a file stands there instead.
_UNSAFE = frozenset(
    (errno.ENOTDIR, errno.ELOOP, errno.EMLINK, errno.EXDEV, errno.ENXIO, errno.EISDIR)
)
_TRIES = 50  # a file that is being replaced again and again is caught between two of its lives


class Directory:
    """An opened root. Close it, or use it in a `with` statement.

    Every method that takes a key raises PathRejected for one that breaks the grammar, Unsafe for what it will not
    touch, NotFound where something has to be there, and OSError (with the key as its filename) for what the system
    refuses. Readers see the old bytes or the new ones. Writers who read first hold the lock of `memory.lock`.
    """

    _names: Names | None = None

    def __init__(self, fd: int, path: str) -> None:
        self.fd = fd
        self.path = path
        self._device = os.fstat(fd).st_dev

    @classmethod
    def open(cls, path: str, *, create: bool = False) -> Directory:
        """Open a root, which may itself be reached through links: it is its user's choice.

        An existing one keeps its mode, which may be meant for a group.

        Raises:
            OSError: it is absent, no folder, or cannot be created.
        """
        if create and not os.path.isdir(path):
            files.make_private(path)
        return cls(os.open(path, _FOLDER), path)

    @classmethod
    def open_beneath(cls, base: str, relative: str, *, create: bool = False) -> Directory:
        """Open a root that lies in a folder which others fill, as a project's: no link leads to it.

        Args:
            base: the folder, trusted as a place but not in what it holds.
            relative: the root in it, "/" between the parts.
            create: make what is missing.

        Raises:
            Unsafe: a link or a file stands on the way.
            OSError: it is absent or cannot be created.
        """
        with (
            cls.open(base) as outer,
            outer.folder(relative.split("/"), relative, create=create) as fd,
        ):
            return cls(os.dup(fd), os.path.join(base, *relative.split("/")))

    def close(self) -> None:
        """Let go of the root."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __enter__(self) -> Directory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def loose(self) -> str:
        """Return why others than its user could write in the root, "" when they cannot."""
        status = os.stat(self.fd if self.fd >= 0 else self.path)
        if hasattr(os, "geteuid") and status.st_uid != os.geteuid():
            return "the folder belongs to another user"
        writable = os.name != "nt" and bool(status.st_mode & 0o022)
        return "others may write in the folder" if writable else ""

    def read(self, key: str, limit: int = MAX_BYTES) -> bytes:
        """Return a file's bytes, at most `limit` of them."""
        return self.read_with_stat(key, limit)[0]

    def read_with_stat(self, key: str, limit: int = MAX_BYTES) -> tuple[bytes, Stat]:
        """Return a file's bytes and what tells this state of it from another."""
        *folders, name = keys.check(key)
        with self.folder(folders, key) as folder:
            return _read(folder, name, key, self._device, limit)

    def write(self, key: str, data: bytes, *, durable: bool = True) -> Stat:
        """Create or replace a file, mode 0600, in folders of mode 0700.

        Args:
            key: which.
            data: its bytes.
            durable: wait until the disk has them, so that they survive a power cut too.
        """
        *folders, name = keys.check(key)
        with self.folder(folders, key, create=True) as folder:
            self._refuse_twin(folders, name, key, lambda: swept(folder))
            _refuse_unless_file(folder, name, key)
            with _named(key):
                return _write(folder, name, data, durable)

    @contextmanager
    def many(self) -> Iterator[None]:
        """List each folder once, and not at each of the many writes that follow; the caller holds the lock."""
        self._names = Names()
        try:
            yield
        finally:
            self._names = None

    def _refuse_twin(self, folders: list[str], name: str, key: str, listed: Lister) -> None:
        if self._names is None:
            refuse_twin(listed(), name, key)
        else:
            self._names.refuse_twin(tuple(folders), name, key, listed)

    def delete(self, key: str) -> None:
        """Delete a file, and the folders that it leaves empty."""
        *folders, name = keys.check(key)
        with self.folder(folders, key) as folder:
            if not _refuse_unless_file(folder, name, key):
                raise NotFound(key)
            with _named(key):
                os.unlink(name, dir_fd=folder)
        self._prune(folders)

    def rename(self, old: str, new: str) -> None:
        """Give a file another key; one that is taken is refused.

        Raises:
            FileExistsError: something stands at the new key.
        """
        from keepthread.memory.noreplace import rename_new

        *old_folders, old_name = keys.check(old)
        *new_folders, new_name = keys.check(new)
        with self.folder(old_folders, old) as source:
            if not _refuse_unless_file(source, old_name, old):
                raise NotFound(old)
            try:
                with self.folder(new_folders, new, create=True) as target, _named(new):
                    others = os.listdir(target)
                    if old_folders == new_folders:  # "notes.md" may become "Notes.md"
                        others = [name for name in others if name != old_name]
                    refuse_twin(others, new_name, new)
                    rename_new(old_name, source, new_name, target)
            finally:
                self._prune(new_folders)  # made for nothing if the rename was refused
        self._prune(old_folders)

    def listing(self, limit: int = MAX_LISTED) -> Listing:
        """Return the files, at most `limit`, and what is in the directory beside them."""
        found: list[Listed] = []
        skipped: list[Skipped] = []
        for _, key, entry in self._walk(self.fd, "", skipped):
            try:
                one = sifted(key, entry.stat(follow_symlinks=False))
            except FileNotFoundError:
                continue  # deleted this instant
            if isinstance(one, Skipped):
                skipped.append(one)
            elif len(found) >= limit:
                return Listing(sorted(found), sorted(skipped), True)
            else:
                found.append(one)
        return Listing(sorted(found), sorted(skipped), False)

    def read_all(self, limit: int = MAX_LISTED) -> Iterator[tuple[str, bytes, Stat]]:
        """Yield key, bytes and state of every file that can be read, in no order; the rest is left out."""
        left = limit
        for folder, key, entry in self._walk(self.fd, "", []):
            if keys.broken_rule(key):
                continue
            if left <= 0:
                return
            try:
                data, status = _read(folder, entry.name, key, self._device, MAX_BYTES)
            except (OSError, Unsafe, NotFound):
                continue  # no plain file, or gone since it was listed
            left -= 1
            yield key, data, status

    def statuses(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield the path of whatever is no folder, and what lstat says of it; nothing is judged or opened."""
        for _, key, entry in self._walk(self.fd, "", []):
            with suppress(FileNotFoundError):  # deleted this instant
                yield key, entry.stat(follow_symlinks=False)

    def _walk(
        self, folder: int, prefix: str, skipped: list[Skipped]
    ) -> Iterator[tuple[int, str, os.DirEntry[str]]]:
        """Yield what a folder and those below it hold beside folders: its folder's descriptor, its path, its entry."""
        below = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.name)
                elif not is_expected(entry.name):
                    yield folder, prefix + entry.name, entry
        for name in below:
            key = prefix + name
            try:
                inner = self._inner(folder, name, key)
            except (Unsafe, OSError) as problem:
                told = problem.rule if isinstance(problem, Unsafe) else problem.strerror
                skipped.append(Skipped(key, told or str(problem)))
            except NotFound:
                continue  # deleted this instant
            else:
                if inner >= 0:
                    yield from self._walked(inner, f"{key}/", skipped)

    def _walked(
        self, folder: int, prefix: str, skipped: list[Skipped]
    ) -> Iterator[tuple[int, str, os.DirEntry[str]]]:
        try:
            yield from self._walk(folder, prefix, skipped)
        finally:
            os.close(folder)

    def _inner(self, folder: int, name: str, key: str) -> int:
        """Return the descriptor of a folder below, -1 for one that is none of ours."""
        if name == ".git":
            return -1
        if reason := keys.broken_rule(key):
            raise Unsafe(key, reason)
        return self._enter(folder, name, key)

    @contextmanager
    def folder(self, parts: list[str], key: str, *, create: bool = False) -> Iterator[int]:
        """Give the descriptor of a folder, walked to from the root without following a link."""
        current = os.dup(self.fd)
        try:
            for number, part in enumerate(parts):
                if create:
                    self._make(current, parts[:number], part, key)
                following = self._enter(current, part, key)
                os.close(current)
                current = following
            yield current
        finally:
            os.close(current)

    def _make(self, folder: int, above: list[str], name: str, key: str) -> None:
        self._refuse_twin(above, name, key, lambda: os.listdir(folder))
        with (
            suppress(FileExistsError),
            _named(key),
        ):  # whether it is a folder shows when it is opened
            os.mkdir(name, files.PRIVATE_FOLDER, dir_fd=folder)

    def _enter(self, folder: int, name: str, key: str) -> int:
        with _named(key):
            fd = os.open(name, _FOLDER | _NOFOLLOW, dir_fd=folder)
        if os.fstat(fd).st_dev != self._device:
            os.close(fd)
            raise Unsafe(key, "another file system is mounted there")
        return fd

    def _prune(self, folders: list[str]) -> None:
        """Remove the folders of a key that are empty now, the innermost first."""
        while folders:
            *folders, name = folders
            try:
                with self.folder(folders, name) as above:
                    os.rmdir(name, dir_fd=above)
            except (OSError, Unsafe, NotFound):
                return  # not empty, or not ours to remove


@contextmanager
def _named(key: str) -> Iterator[None]:
    """Tell what the system answers in terms of the key."""
    try:
        yield
    except (OSError, UnicodeEncodeError) as problem:
        raise _told(problem, key) from problem


def _told(problem: OSError | UnicodeEncodeError, key: str) -> Exception:
    if isinstance(problem, UnicodeEncodeError):
        return Unsafe(key, "the locale of this process cannot write such a name", "LC_ALL=C.UTF-8")
    if isinstance(problem, FileNotFoundError):
        return NotFound(key)
    if problem.errno in _UNSAFE:
        return Unsafe(key, f"a link or no plain file stands there ({problem.strerror})")
    return OSError(problem.errno, problem.strerror, key)


def _refuse_unless_file(folder: int, name: str, key: str) -> bool:
    """Return whether a regular file stands there; refuse anything else. A hard link may be replaced or deleted."""
    try:
        with _named(key):
            status = os.lstat(name, dir_fd=folder)
    except NotFound:
        return False
    if not stat.S_ISREG(status.st_mode):
        raise Unsafe(key, what_is(status))
    return True


def _read(folder: int, name: str, key: str, device: int, limit: int) -> tuple[bytes, Stat]:
    for _ in range(_TRIES):
        try:
            fd = os.open(name, _READ, dir_fd=folder)
        except (OSError, UnicodeEncodeError) as problem:
            raise _told(problem, key) from problem
        try:
            status = os.fstat(fd)
            if status.st_nlink:  # with none it was replaced or deleted this instant
                _refuse_opened(status, key, device, limit)
                data = _all_of(fd, status.st_size, key, limit)
                return data, stat_of(status)
        finally:
            os.close(fd)
    raise Unsafe(key, "it is being replaced all the time", "Try again.")


def _refuse_opened(status: os.stat_result, key: str, device: int, limit: int) -> None:
    reason = what_is(status)
    reason = reason or ("" if status.st_dev == device else "it lies on another file system")
    reason = reason or ("" if status.st_size <= limit else f"it is longer than {limit} bytes")
    if reason:
        raise Unsafe(key, reason)


def _all_of(fd: int, size: int, key: str, limit: int) -> bytes:
    data = os.read(fd, size + 1)
    while size < len(data) <= limit and (part := os.read(fd, limit + 1 - len(data))):
        data += part  # it grew while it was read
    if len(data) > limit:
        raise Unsafe(key, f"it is longer than {limit} bytes")
    return data


def _write(folder: int, name: str, data: bytes, durable: bool) -> Stat:
    temp = files.TEMP_PREFIX + os.urandom(12).hex()
    fd = os.open(temp, _CREATE, files.PRIVATE_FILE, dir_fd=folder)
    try:
        try:
            files.write_all(fd, data)
            if durable:
                os.fsync(fd)
            status = os.fstat(fd)
        finally:
            os.close(fd)
        os.replace(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):  # the error that brought us here is the one to report
            os.unlink(temp, dir_fd=folder)
        raise
    if durable:
        os.fsync(folder)
    return stat_of(status)
