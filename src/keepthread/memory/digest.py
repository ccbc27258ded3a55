"""What a session start reads of a memory: one file outside it, prepared by `memory.prepare`, copied and not judged.

<state>/memory/<project key>.team.digest, <project key>.private.digest

The first line tells of the folder: `shape`, `root`, `count`, `authors` (how many entries each has), `folders` (their
times of change). One line follows for each entry, the most relevant first, its texts redacted and defused. Nothing in
the memory itself is opened: an entry is shown while its file is the one that the line was made of.
"""

from __future__ import annotations

import json
import os

from keepthread.files import read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

SHAPE = 1  # another number is another version's, and made anew
LIMIT = 16 << 20  # bytes
_FIRST = 256 * 1024  # bytes with which most starts do
LONGEST_HEAD = _FIRST // 2  # bytes of the first line
_MOST_FOUND = 20  # rows that one word leads to
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
_FLAGS |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NEVER = 1 << 62


class Row:
    """An entry as it may be shown: all texts are fit for the model. `told` is its line, `text` its body or "".

    `changed` and `expires` are seconds since 1970, `expires` 0 for never. `score` says how well it fits the work.
    """

    __slots__ = (
        "author",
        "changed",
        "expires",
        "key",
        "scope",
        "score",
        "stat",
        "text",
        "told",
        "type",
    )

    def __init__(self, scope: str, fields: list[Any]) -> None:
        key, kind, author, changed, expires, stat, told, text = fields
        if not all(isinstance(one, str) for one in (key, kind, author, told, text)):
            raise TypeError("no row of ours")
        self.key: str = key
        self.type: str = kind
        self.author: str = author
        self.changed = int(changed)
        self.expires = int(expires)
        self.stat = tuple(map(int, stat))
        self.told: str = told
        self.text: str = text
        self.scope = scope
        self.score = 0

    def is_over(self, now: float) -> bool:
        """Return whether it has expired."""
        return now > (self.expires or _NEVER)

    def is_still(self, root: str) -> bool:
        """Return whether its file is the one that this was made of."""
        try:
            status = os.lstat(os.path.join(root, *self.key.split("/")))
        except (OSError, ValueError):
            return False
        return self.stat == (status.st_size, status.st_mtime_ns, status.st_ino)


class Digest:
    """A file of rows. `root` is the real path of the memory that it is about."""

    __slots__ = ("_data", "_path", "authors", "count", "folders", "root", "scope")

    def __init__(self, scope: str, path: str) -> None:
        data = _beginning(path)
        head = json.loads(data[: data.index(b"\n")])
        if head["shape"] != SHAPE:
            raise ValueError("another version's")
        self._data, self._path = data, path
        self.scope = scope
        self.root = str(head["root"])
        self.count = int(head["count"])
        self.authors: dict[str, int] = {str(k): int(v) for k, v in head["authors"].items()}
        self.folders = [(str(path), int(changed)) for path, changed in head["folders"]]

    def is_fresh(self, root: str) -> bool:
        """Return whether it is about this folder and no file was added, removed or replaced there since."""
        if self.root != root:
            return False
        try:
            return all(
                os.lstat(os.path.join(root, path) if path else root).st_mtime_ns == changed
                for path, changed in self.folders
            )
        except (OSError, ValueError):
            return False

    def rows(self) -> Iterator[Row]:
        """Yield the first rows, the most relevant before others; one that is damaged is left out."""
        return self._rows(self._data)

    def all_rows(self) -> Iterator[Row]:
        """Yield every row."""
        return self._rows(self._whole())

    def holding(self, words: Sequence[str]) -> Iterator[Row]:
        """Yield the rows in which one of some words stands, two dozen at most for each word."""
        data = self._whole() if words else b""
        folded = data.lower()
        for word in words:
            at, found = data.find(b"\n"), 0
            while found < _MOST_FOUND and (at := folded.find(word.encode(), at)) >= 0:
                start, end = folded.rfind(b"\n", 0, at) + 1, folded.find(b"\n", at)
                if end < 0:
                    break
                if row := self._row(data[start:end]):
                    yield row
                at, found = end, found + 1

    def _whole(self) -> bytes:
        if len(self._data) < _FIRST:
            return self._data
        try:
            return read_regular(self._path, LIMIT)
        except OSError:
            return self._data  # gone this instant

    def _rows(self, data: bytes) -> Iterator[Row]:
        start = data.find(b"\n") + 1
        while (end := data.find(b"\n", start)) >= 0:
            if row := self._row(data[start:end]):
                yield row
            start = end + 1

    def _row(self, line: bytes) -> Row | None:
        try:
            return Row(self.scope, json.loads(line))
        except (ValueError, TypeError, RecursionError):
            return None


def _beginning(path: str) -> bytes:
    fd = os.open(path, _FLAGS)
    try:
        if os.fstat(fd).st_mode & 0o170000 != 0o100000:
            raise ValueError("no regular file")
        return os.read(fd, _FIRST)
    finally:
        os.close(fd)


def load(path: str, scope: str) -> Digest | None:
    """Return the digest in a file, None when there is none of this version."""
    try:
        return Digest(scope, path)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None  # absent, or not ours: it is made anew
