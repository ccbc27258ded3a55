"""The same directory on systems that cannot resolve a name against an opened folder, as Windows.

The guarantee is weaker. The grammar of keys holds, links and junctions on the way are refused, what was opened is
compared with what was looked at, and its real path must lie where the key says. But a process that may write in the
directory can still swap a folder between that comparison and a write, which then lands outside. Reads do not return
such a file's bytes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from functools import partial

from keepthread import files
from keepthread.memory import keys
from keepthread.memory.directory import HAS_DIR_FD, MAX_BYTES, Directory
from keepthread.memory.errors import NotFound, Unsafe
from keepthread.memory.listing import (
    MAX_LISTED,
    Listed,
    Listing,
    Skipped,
    Stat,
    is_expected,
    refuse_twin,
    sifted,
    stat_of,
    what_is,
)

_REPARSE_POINT = 0x400  # links, junctions and mount points of Windows


def open_root(path: str, *, create: bool = False) -> Directory:
    """Open a root with the strongest guarantee that this system has; see Directory.open."""
    kind = Directory if HAS_DIR_FD else DirectoryByName
    return kind.open(path, create=create)


def open_beneath(base: str, relative: str, *, create: bool = False) -> Directory:
    """Open a root in a folder which others fill; see Directory.open_beneath."""
    kind = Directory if HAS_DIR_FD else DirectoryByName
    return kind.open_beneath(base, relative, create=create)


class DirectoryByName(Directory):
    """A root by its path. Methods and errors are those of Directory."""

    def __init__(self, path: str) -> None:
        self.fd = -1
        self.path = os.path.realpath(path, strict=True)
        if not os.path.isdir(self.path):
            raise NotADirectoryError(20, "no folder", path)

    @classmethod
    def open(cls, path: str, *, create: bool = False) -> DirectoryByName:
        """Open a root, which may itself be reached through links."""
        if create and not os.path.isdir(path):
            files.make_private(path)
        return cls(path)

    @classmethod
    def open_beneath(cls, base: str, relative: str, *, create: bool = False) -> DirectoryByName:
        """Open a root that lies in a folder which others fill."""
        outer = cls(base)
        return cls(outer._folder_path(relative.split("/"), relative, create=create))

    def read_with_stat(self, key: str, limit: int = MAX_BYTES) -> tuple[bytes, Stat]:
        """Return a file's bytes and what tells this state of it from another."""
        *folders, name = keys.check(key)
        path = os.path.join(self._folder_path(folders, key), name)
        before = self._lstat(path, key)
        if before is None:
            raise NotFound(key)
        if reason := what_is(before):
            raise Unsafe(key, reason)
        with open(path, "rb") as file:
            opened = os.fstat(file.fileno())
            if not os.path.samestat(before, opened) or not self._is_at(path, key):
                raise Unsafe(key, "it was swapped while it was opened", "Try again.")
            data = file.read(limit + 1)
        if len(data) > limit:
            raise Unsafe(key, f"it is longer than {limit} bytes")
        return data, stat_of(opened)

    def write(self, key: str, data: bytes, *, durable: bool = True) -> Stat:  # noqa: ARG002
        """Create or replace a file, durably in every case."""
        *folders, name = keys.check(key)
        folder = self._folder_path(folders, key, create=True)
        self._refuse_twin(folders, name, key, partial(_swept, folder))
        path = os.path.join(folder, name)
        self._refuse_unless_file(path, key)
        files.write_private(path, data)
        status = self._lstat(path, key)
        if status is None or not self._is_at(path, key):
            raise Unsafe(key, "its folder was swapped while it was written")
        return stat_of(status)

    def delete(self, key: str) -> None:
        """Delete a file, and the folders that it leaves empty."""
        *folders, name = keys.check(key)
        path = os.path.join(self._folder_path(folders, key), name)
        if not self._refuse_unless_file(path, key):
            raise NotFound(key)
        os.unlink(path)
        self._prune(folders)

    def rename(self, old: str, new: str) -> None:
        """Give a file another key; one that is taken is refused."""
        *old_folders, old_name = keys.check(old)
        *new_folders, new_name = keys.check(new)
        source = os.path.join(self._folder_path(old_folders, old), old_name)
        if not self._refuse_unless_file(source, old):
            raise NotFound(old)
        folder = self._folder_path(new_folders, new, create=True)
        others = [
            name for name in os.listdir(folder) if old_folders != new_folders or name != old_name
        ]
        refuse_twin(others, new_name, new)
        target = os.path.join(folder, new_name)
        if os.path.lexists(target) and not (keys.folded(old) == keys.folded(new) and old != new):
            raise FileExistsError(17, "there is something already", new)
        os.rename(source, target)
        self._prune(old_folders)

    def listing(self, limit: int = MAX_LISTED) -> Listing:
        """Return the files, at most `limit`, and what is in the directory beside them."""
        skipped: list[Skipped] = []
        found: list[Listed] = []
        for one in self._below(self.path, "", skipped):
            if len(found) >= limit:
                return Listing(sorted(found), sorted(skipped), True)
            found.append(one)
        return Listing(sorted(found), sorted(skipped), False)

    def read_all(self, limit: int = MAX_LISTED) -> Iterator[tuple[str, bytes, Stat]]:
        """Yield key, bytes and state of every file that can be read."""
        for key, _ in self.listing(limit).files:
            with suppress(OSError, Unsafe, NotFound):  # gone or swapped since it was listed
                yield (key, *self.read_with_stat(key))

    def _below(self, folder: str, prefix: str, skipped: list[Skipped]) -> Iterator[Listed]:
        with os.scandir(folder) as entries:
            # Not entry.stat(): on Windows it knows neither the inode nor the number of links.
            here = [
                (entry.name, status)
                for entry in entries
                if not is_expected(entry.name) and (status := self._lstat(entry.path, entry.name))
            ]
        for name, status in here:
            if not stat.S_ISDIR(status.st_mode) and not _is_mount(status):
                one = sifted(prefix + name, status)
                if isinstance(one, Listed):
                    yield one
                else:
                    skipped.append(one)
        for name, status in here:
            if not (stat.S_ISDIR(status.st_mode) or _is_mount(status)):
                continue
            reason = "a link or junction" if _is_mount(status) else keys.broken_rule(prefix + name)
            if reason:
                skipped.append(Skipped(prefix + name, reason))
            else:
                yield from self._below(os.path.join(folder, name), f"{prefix}{name}/", skipped)

    def _folder_path(self, parts: list[str], key: str, *, create: bool = False) -> str:
        current = self.path
        for number, part in enumerate(parts):
            if create:
                self._refuse_twin(parts[:number], part, key, partial(os.listdir, current))
                with suppress(FileExistsError):
                    os.mkdir(os.path.join(current, part), files.PRIVATE_FOLDER)
            current = os.path.join(current, part)
            status = self._lstat(current, key)
            if status is None:
                raise NotFound(key)
            if not stat.S_ISDIR(status.st_mode) or _is_mount(status):
                raise Unsafe(key, "a link or no folder stands on the way")
        return current

    def _lstat(self, path: str, key: str) -> os.stat_result | None:
        try:
            return os.lstat(path)
        except FileNotFoundError:
            return None
        except NotADirectoryError:
            raise Unsafe(key, "a link or no folder stands on the way") from None

    def _refuse_unless_file(self, path: str, key: str) -> bool:
        status = self._lstat(path, key)
        if status is not None and (not stat.S_ISREG(status.st_mode) or _is_mount(status)):
            raise Unsafe(key, what_is(status) or "a link")
        return status is not None

    def _is_at(self, path: str, key: str) -> bool:
        # Compared without case: the root may have been spelt otherwise than the disk spells it.
        real = os.path.realpath(path)
        expected = os.path.join(self.path, *key.split("/"))
        return os.path.normcase(real) == os.path.normcase(expected)

    def _prune(self, folders: list[str]) -> None:
        while folders:
            try:
                os.rmdir(os.path.join(self.path, *folders))
            except OSError:
                return  # not empty, or not ours to remove
            folders = folders[:-1]


def _is_mount(status: os.stat_result) -> bool:
    return bool(getattr(status, "st_file_attributes", 0) & _REPARSE_POINT)


def _swept(folder: str) -> list[str]:
    files.remove_stale_temps(folder)
    return os.listdir(folder)
