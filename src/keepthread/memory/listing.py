"""What a directory says about its files."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple

from keepthread.files import STALE_AFTER, TEMP_PREFIX
from keepthread.memory.errors import Unsafe
from keepthread.memory.keys import broken_rule, folded

MAX_LISTED = 100_000
# Our own files and those that git and desktops leave everywhere: no entries, and nothing to report.
_EXPECTED = frozenset((".lock", ".git", ".gitignore", ".gitattributes", ".DS_Store", "trust.json"))


Lister = Callable[[], list[str]]  # returns the names in a folder


class Stat(NamedTuple):
    """What tells one state of a file from another: size in bytes, time of change in ns, inode."""

    size: int
    changed: int
    inode: int


class Listed(NamedTuple):
    """A file of the directory that can be read by its key."""

    key: str
    stat: Stat


class Skipped(NamedTuple):
    """Something in the directory that is not read: its path there, and why."""

    path: str
    reason: str


class Listing(NamedTuple):
    """The files in order of their keys, what was skipped, and whether there was more than the limit."""

    files: list[Listed]
    skipped: list[Skipped]
    cut: bool


def stat_of(status: os.stat_result) -> Stat:
    """Return what tells this state of a file from another."""
    return Stat(status.st_size, status.st_mtime_ns, status.st_ino)


def what_is(status: os.stat_result) -> str:
    """Return what stands there in words, "" for a regular file with one name."""
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return "a hard link: the file has another name elsewhere" if status.st_nlink > 1 else ""
    kinds = {
        stat.S_IFLNK: "a link; links are not followed, wherever they lead",
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
    }
    return kinds.get(stat.S_IFMT(mode), "no regular file")


def is_expected(name: str) -> bool:
    """Return whether a name belongs to what every directory may hold beside its entries."""
    return name in _EXPECTED or name.startswith(TEMP_PREFIX)


def refuse_twin(names: Iterable[str], name: str, key: str) -> None:
    """Raise when a folder holds another name that some system takes for the same.

    Raises:
        Unsafe: it does; the message names both.
    """
    form = folded(name)
    for other in names:
        if other != name and folded(other) == form:
            raise Unsafe(
                key,
                f"{other!r} is there already, and some systems take both names for one",
                f"Use {other!r}, or another name.",
            )


class Names:
    """The names in some folders as they were found first, and those that came since."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], dict[str, str]] = {}

    def refuse_twin(self, folder: tuple[str, ...], name: str, key: str, listed: Lister) -> None:
        """Do what the function of this name does, in a folder that is listed when it is asked for first.

        Raises:
            Unsafe: there is another name that some system takes for this one.
        """
        if folder not in self._known:
            self._known[folder] = {folded(other): other for other in listed()}
        refuse_twin([self._known[folder].setdefault(folded(name), name)], name, key)


def swept(folder: int) -> list[str]:
    """Return the names in a folder, and remove what a killed process left there more than an hour ago."""
    names = os.listdir(folder)
    for name in names:
        if name.startswith(TEMP_PREFIX):
            with suppress(OSError):  # another process was faster
                age = time.time() - os.lstat(name, dir_fd=folder).st_mtime
                if age > STALE_AFTER:
                    os.unlink(name, dir_fd=folder)
    return names


def sifted(key: str, status: os.stat_result) -> Listed | Skipped:
    """Tell a file that can be read by its key from what is skipped; `status` is what lstat says."""
    reason = what_is(status) or broken_rule(key)
    return Skipped(key, reason) if reason else Listed(key, stat_of(status))
