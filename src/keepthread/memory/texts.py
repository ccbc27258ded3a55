"""What a large memory says, in one file, so that a search opens that one and not thousands.

It lies beside the indexes and holds the entries' bytes in lower case, each with the state of the file they were read
from. It only tells which entries can hold a word: those are read from the memory itself, and so is whatever is in
another state by now. A search finds what is there, never what was.
"""

from __future__ import annotations

import mmap
import os
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from keepthread import files
from keepthread.memory import index
from keepthread.memory.directory import Directory
from keepthread.memory.errors import MemoryProblem
from keepthread.memory.listing import Stat

LEAST = 1_000  # entries: fewer are read as fast as they are
MOST_BYTES = 64 << 20
_WORTH_SAVING = 32  # entries that changed
_MAGIC = b"keepthread-texts-1"
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
_FLAGS |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Texts(NamedTuple):
    """Entries by their place: the keys, the state of each file, where each ends in the block, which are not ASCII."""

    keys: list[str]
    sizes: Sequence[int]
    times: Sequence[int]
    inodes: Sequence[int]
    ends: Sequence[int]
    other: Sequence[int]
    block: bytes | mmap.mmap
    start: int

    def holding(self, terms: Sequence[str]) -> set[int]:
        """Return the places of the entries that may hold one of some words of ASCII in lower case, in text or key."""
        found = set(self.other)
        for term in terms:
            word, at = term.encode(), self.start
            while (at := self.block.find(word, at)) >= 0:
                place = bisect_right(self.ends, at - self.start)
                found.add(place)
                at = self.start + self.ends[place]
        folded = "\n".join(self.keys).casefold().split("\n")
        for term in terms:
            found.update(place for place, key in enumerate(folded) if term in key)
        return found


def load(path: str) -> Texts | None:
    """Return the texts in a file, None when there is none of this version."""
    try:
        fd = os.open(path, _FLAGS)
        try:
            if os.fstat(fd).st_mode & 0o170000 != 0o100000:
                return None
            block = mmap.mmap(fd, 0, access=mmap.ACCESS_READ)
        finally:
            os.close(fd)
        return _parsed(block)
    except (OSError, ValueError, IndexError):
        return None  # absent, or not ours: it is made anew


def _parsed(block: mmap.mmap) -> Texts:
    head = block.find(b"\n", 0, 100) + 1
    magic, length, count, other = block[: head - 1].split(b" ")
    names = block[head : head + int(length)].decode().split("\n")
    numbers, at = array("q"), head + int(length)
    start = at + numbers.itemsize * (4 * int(count) + int(other))
    numbers.frombytes(block[at:start])
    sizes, times, inodes, ends, *_ = (
        numbers[first : first + len(names)] for first in range(0, 4 * len(names), len(names))
    )
    if magic != _MAGIC or len(names) != int(count) or ends[-1] != len(block) - start:
        raise ValueError("another version's, or cut")
    return Texts(names, sizes, times, inodes, ends, numbers[4 * len(names) :], block, start)


def save(path: str, entries: Iterable[tuple[str, bytes, Stat]]) -> None:
    """Write the texts of a memory; few or too many of them are not worth a file.

    Raises:
        OSError: its folder cannot be written.
    """
    kept = sorted(entries)
    if len(kept) < LEAST or sum(len(data) for _, data, _ in kept) > MOST_BYTES:
        with suppress(FileNotFoundError):
            os.unlink(path)
        return
    names = "\n".join(key for key, _, _ in kept).encode()
    numbers = array("q")
    for field in range(3):
        numbers.extend(stat[field] for _, _, stat in kept)
    end = 0
    for _, data, _ in kept:
        end += len(data)
        numbers.append(end)
    other = [place for place, (_, data, _) in enumerate(kept) if not data.isascii()]
    numbers.extend(other)
    head = b"%s %d %d %d\n" % (_MAGIC, len(names), len(kept), len(other))
    block = b"".join(data.lower() for _, data, _ in kept)
    files.make_private(os.path.dirname(path))
    index.replace(path, head + names + numbers.tobytes() + block)


def candidates(
    directory: Directory, path: str, terms: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield key and bytes of every file of a memory that may hold one of some words.

    Args:
        directory: the opened root.
        path: of the file of texts; it is made, and made anew when much has changed.
        terms: in lower case; words beyond ASCII are sought in every file.
    """
    if directory.fd < 0 or not all(term.isascii() for term in terms):
        yield from ((key, data) for key, data, _ in directory.read_all())
        return
    found = load(path)
    if found is None:
        yield from _all_of(directory, path)
        return
    held = found.holding(terms)
    unchanged, changed = _compared(directory, found)
    if len(found.keys) - len(unchanged) + len(changed) > _WORTH_SAVING:
        yield from _all_of(directory, path)
        return
    for key in [*changed, *(found.keys[place] for place in held if place in unchanged)]:
        with suppress(OSError, MemoryProblem):  # gone, or no file that is read
            yield key, directory.read(key)


def _all_of(directory: Directory, path: str) -> Iterator[tuple[str, bytes]]:
    every = [*directory.read_all()]
    with suppress(OSError):  # without it searches are slower, that is all
        save(path, every)
    yield from ((key, data) for key, data, _ in every)


def _compared(directory: Directory, found: Texts) -> tuple[set[int], list[str]]:
    """Return the places of the entries whose files are as they were, and the keys of all other files."""
    places = {key: place for place, key in enumerate(found.keys)}
    sizes, times, inodes = found.sizes, found.times, found.inodes
    unchanged, changed = set(), []
    for key, status in directory.statuses():
        place = places.get(key, -1)
        if (
            place >= 0
            and status.st_mtime_ns == times[place]
            and status.st_size == sizes[place]
            and status.st_ino == inodes[place]
            and status.st_nlink == 1
        ):
            unchanged.add(place)
        else:
            changed.append(key)
    return unchanged, changed
