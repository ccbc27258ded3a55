"""The transcript's bytes: opened safely, read from the end backwards, never whole.

Standard library only, and light: SessionStart reads through this module too.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from io import FileIO

from keepthread import platforms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCK = 1 << 20
# What is kept of a single line; the rest of its middle is dropped, and the line then fails to parse.
LONGEST = 8 << 20

# The first characters of a run stay, so that an escape sequence the run begins in stays whole.
_BASE64 = rb"(?<![A-Za-z0-9+/=])([A-Za-z0-9+/=]{16})[A-Za-z0-9+/=]{1008,}"


def open_regular(path: str) -> FileIO:
    """Open a regular file for reading, unbuffered; never blocks on a pipe or a device.

    Raises:
        OSError: there is no such file, it may not be read, or it is no regular file.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(platforms.extended(path), flags)
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, str(error), "") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        return open(descriptor, "rb", buffering=0)
    except OSError:
        os.close(descriptor)
        raise


def size_of(file: FileIO) -> int:
    """Return the size of an open file in bytes."""
    return os.fstat(file.fileno()).st_size


def chunks(
    file: FileIO, end: int, floor: int = 0, block: int = BLOCK
) -> Iterator[tuple[int, int, bytes]]:
    """Yield (offset, stop, data) of whole lines between `floor` and `end`, the last ones first.

    A line longer than a block comes alone, with its base64 squeezed out: only then is `data`
    shorter than `stop - offset`. A line that begins before `floor` is left out.
    """
    pieces: list[bytes] = []
    stop = position = end
    while position > floor:
        size = min(block, position - floor)
        file.seek(position - size)
        data = file.read(size)
        if len(data) < size:
            return
        position -= size
        first = 0 if position == floor and _starts_line(file, floor) else data.find(b"\n") + 1
        if first == 0 and position > floor:
            _put_aside(pieces, data)
            continue
        if pieces:
            last = data.rfind(b"\n") + 1
            yield position + last, stop, b"".join([data[last:], *reversed(pieces)])
            stop, data = position + last, data[:last]
        if first < len(data):
            yield position + first, stop, data[first:]
        stop = position + first
        pieces = [data[:first]] if first else []


def lines(file: FileIO, end: int, floor: int = 0) -> Iterator[tuple[int, int, bytes]]:
    r"""Yield (offset, stop, line) from the end backwards; `stop` is just past the line's \n, which is cut off."""
    for offset, stop, data in chunks(file, end, floor):
        parts = data.split(b"\n")
        if parts[-1]:
            parts.append(b"")
            at = stop + 1
        else:
            at = stop
        if len(parts) == 2:
            yield offset, stop, parts[0]
            continue
        for part in reversed(parts[:-1]):
            before = at - len(part) - 1
            yield before, min(at, stop), part
            at = before


def line_at(data: bytes, index: int) -> tuple[int, int]:
    r"""Return start and end (without its \n) of the line of `data` that holds `index`."""
    end = data.find(b"\n", index)
    return data.rfind(b"\n", 0, index) + 1, len(data) if end < 0 else end


def _starts_line(file: FileIO, offset: int) -> bool:
    if offset == 0:
        return True
    file.seek(offset - 1)
    return file.read(1) == b"\n"


def _put_aside(pieces: list[bytes], data: bytes) -> None:
    """Keep a block that lies within one line, squeezed, unless the line has grown past all measure."""
    if sum(map(len, pieces)) > LONGEST:
        # Head and tail hold what names the record; `pieces` runs backwards, so the newest is the head.
        del pieces[2:]
    pieces.append(re.sub(_BASE64, rb"\1", data))
