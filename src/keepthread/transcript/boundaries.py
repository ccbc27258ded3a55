"""Compaction boundaries counted at the speed of a byte search; a hit is parsed before it counts."""

from __future__ import annotations

from typing import Any, BinaryIO

from keepthread.transcript.lines import chunks, line_at, open_regular, size_of
from keepthread.transcript.parse import parse

# Inside a string these quotes would be escaped, so what a tool printed never matches.
MARK = b'"compact_boundary"'
_BLOCK = 4 << 20


def is_boundary(raw: dict[str, Any]) -> bool:
    """Return whether a record is a compaction of the main chain."""
    return (
        raw.get("type") == "system"
        and raw.get("subtype") == "compact_boundary"
        and raw.get("isSidechain") is not True
    )


def count_in(file: BinaryIO, start: int, end: int) -> int:
    """Return how many boundaries the lines between two offsets of an open file hold."""
    found = 0
    for _, _, data in chunks(file, end, start, _BLOCK):
        index = data.find(MARK)
        while index >= 0:
            first, last = line_at(data, index)
            found += sum(is_boundary(raw) for _, raw in parse(data[first:last])[0])
            index = data.find(MARK, last)
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
