"""Compaction boundaries counted at the speed of a byte search; a hit is parsed before it counts."""

from __future__ import annotations

from io import FileIO

from keepthread.transcript.lines import open_regular, size_of
from keepthread.transcript.parse import parse

TYPE_CHECKING = False
if TYPE_CHECKING:  # SessionStart reads through this module too
    from typing import Any

# Inside a string these quotes would be escaped, so what a tool printed never matches.
MARK = b'"compact_boundary"'
# One buffer for all of the file: fresh memory for each block would cost more than the search.
_BUFFER = 1 << 20
# A boundary is a short line; what stands glued in front of one need not be known.
_REACH = 64 * 1024


def is_boundary(raw: dict[str, Any]) -> bool:
    """Return whether a record is a compaction of the main chain."""
    return (
        raw.get("type") == "system"
        and raw.get("subtype") == "compact_boundary"
        and raw.get("isSidechain") is not True
    )


def count_in(file: FileIO, start: int, end: int) -> int:
    """Return how many boundaries the lines between two offsets of an open file hold."""
    found = 0
    counted = start
    for hit in _hits(file, start, end):
        if hit >= counted:
            line, counted = _line_around(file, hit, start, end)
            found += sum(is_boundary(raw) for _, raw in parse(line)[0])
    return found


def count_boundaries(path: str, start: int, end: int) -> int:
    """Return how many compaction boundaries lie between two byte offsets of a transcript.

    Args:
        path: the transcript.
        start: first byte; a record that begins before it does not count.
        end: where to stop, at most the file's size.

    Raises:
        OSError: the file cannot be read.
    """
    with open_regular(path) as file:
        return count_in(file, max(0, start), min(end, size_of(file)))


def _hits(file: FileIO, start: int, end: int) -> list[int]:
    """Return the offsets at which the mark stands."""
    buffer = bytearray(_BUFFER)
    overlap = len(MARK) - 1
    hits = []
    position = start
    file.seek(position)
    while position < end:
        size = file.readinto(memoryview(buffer)[: min(_BUFFER, end - position)])
        index = buffer.find(MARK, 0, size)
        while index >= 0:
            hits.append(position + index)
            index = buffer.find(MARK, index + 1, size)
        if size <= overlap or position + size >= end:
            break
        position += size - overlap
        file.seek(position)
    return hits


def _line_around(file: FileIO, hit: int, start: int, end: int) -> tuple[bytes, int]:
    """Return the line that holds a hit, as far as the reach goes, and where it ends."""
    first, last = max(start, hit - _REACH), min(end, hit + _REACH)
    file.seek(first)
    data = file.read(last - first)
    index = hit - first
    stop = data.find(b"\n", index)
    stop = len(data) if stop < 0 else stop
    return data[data.rfind(b"\n", 0, index) + 1 : stop], first + stop
