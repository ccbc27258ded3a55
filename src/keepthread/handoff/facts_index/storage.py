"""The index file of one session: a line that says whose it is, then one line for each stretch of the transcript.

Each line begins with a checksum of its rest, so that a torn or damaged one ends what is read. A stretch is full (all
records, as they were read) or an outline (what was typed, and which files were changed); outlines come first, and
together they cover the transcript from its first byte without a gap. Each bears a checksum of the transcript's own
bytes: of all for a full one, of samples for an outline. A file that differs there is another one.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Sequence
from io import FileIO
from typing import Any, NamedTuple

from keepthread import files
from keepthread.transcript.known import Block, Entry
from keepthread.transcript.lines import BLOCK, size_of

NAME = "facts-index"
VERSION = 1
LARGEST = 24 * 1024 * 1024  # bytes
_READ = LARGEST + 8 * 1024 * 1024  # a file over the bound is made smaller with the next update
_SAMPLES = 32
_SAMPLE = 512  # bytes
_DIGITS = 8


class Stretch(NamedTuple):
    """One stretch of the transcript.

    `full` tells a full one from an outline; `live` says that it begins where the live part does; `check` is the
    checksum of the transcript's bytes; `line` is how it stands in the index.
    """

    block: Block
    full: bool
    live: bool
    check: int
    line: bytes | memoryview


class Stored(NamedTuple):
    """What an index file holds: its stretches in order, and whether nothing damaged stands behind them."""

    stretches: list[Stretch]
    sound: bool


def load(folder: str, transcript_path: str) -> Stored | None:
    """Return what the index in a session's folder says of a transcript; None when there is none. Never raises."""
    try:
        data = files.read_regular(os.path.join(folder, NAME), _READ, tighten=True)
        first = data.find(b"\n") + 1
        if json.loads(_checked(memoryview(data)[:first]) or b"{}") != _whose(transcript_path):
            return None
        found = list(_stretches(data, first))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None  # absent, too large, or not ours
    sound = bool(found) and sum(len(one.line) for one in found) + first == len(data)
    return Stored(found, sound) if found else None


def fits(file: FileIO, stretches: Sequence[Stretch]) -> bool:
    """Return whether the stretches are of this very file, which may have grown since.

    Raises:
        OSError: the file cannot be read.
    """
    if not stretches or stretches[-1].block.stop > size_of(file):
        return False
    return all(
        checksum(file, one.block.start, one.block.stop, full=one.full) == one.check
        for one in stretches
    )


def checksum(file: FileIO, start: int, stop: int, *, full: bool) -> int:
    """Return the checksum of a transcript's bytes between two offsets: of all, or of samples of them."""
    length = stop - start
    if full or length <= _SAMPLES * _SAMPLE:
        places = [(at, min(BLOCK, stop - at)) for at in range(start, stop, BLOCK)]
    else:
        gaps = _SAMPLES - 1
        places = [
            (start + (length - _SAMPLE) * number // gaps, _SAMPLE) for number in range(_SAMPLES)
        ]
    value = 0
    for at, size in places:
        file.seek(at)
        value = zlib.crc32(file.read(size), value)
    return value


def stretch(
    file: FileIO,
    start: int,
    stop: int,
    entries: Sequence[Entry],
    names: Sequence[str],
    *,
    full: bool,
    live: bool = False,
    spent: int = 0,
) -> Stretch:
    """Return a new stretch.

    Raises:
        OSError: the transcript cannot be read.
    """
    check = checksum(file, start, stop, full=full)
    about = {"start": start, "stop": stop, "full": full, "live": live, "check": check}
    raw = dumped(entries)
    body = f"{dumped({**about, 'spent': spent, 'names': names})}\t{raw}"
    return Stretch(Block(start, stop, spent, names, raw), full, live, check, _line(body))


def dumped(value: Any) -> str:
    """Return a JSON value as the index writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def write(folder: str, transcript_path: str, stretches: Sequence[Stretch]) -> None:
    """Write the index anew.

    Raises:
        OSError: it could not be written; the old one stays.
    """
    head = _line(dumped(_whose(transcript_path)))
    files.write_private(
        os.path.join(folder, NAME), b"".join([head, *(one.line for one in stretches)])
    )


def append(folder: str, stretches: Sequence[Stretch]) -> None:
    """Add stretches to the index; whoever reads it meanwhile takes a torn line for its end.

    Raises:
        OSError: they could not be written; a torn line is left out at the next reading.
    """
    flags = os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(os.path.join(folder, NAME), flags)
    try:
        files.write_all(descriptor, b"".join(one.line for one in stretches))
    finally:
        os.close(descriptor)


def _whose(transcript_path: str) -> dict[str, Any]:
    return {"version": VERSION, "transcript": transcript_path}


def _line(body: str) -> bytes:
    data = body.encode()
    return b"%08x %b\n" % (zlib.crc32(data), data)


def _checked(line: memoryview) -> bytes:
    """Return what stands behind a line's checksum, b"" when it is not what the checksum is of."""
    return bytes(line[_DIGITS + 1 : -1]) if _is_sound(line) else b""


def _is_sound(line: memoryview) -> bool:
    return line[:_DIGITS] == b"%08x" % zlib.crc32(line[_DIGITS + 1 : -1])


def _stretches(data: bytes, start: int) -> Iterator[Stretch]:
    """Yield the stretches of sound lines, as long as each goes on where the one before it ends."""
    view = memoryview(data)
    end, full = 0, False
    while (stop := data.find(b"\n", start) + 1) > 0 and _is_sound(view[start:stop]):
        tab = data.index(b"\t", start, stop)
        told = json.loads(data[start + _DIGITS + 1 : tab])
        raw = view[tab + 1 : stop - 1]
        block = Block(told["start"], told["stop"], told["spent"], told["names"], raw)
        if block.start != end or (full and not told["full"]):
            return
        yield Stretch(block, told["full"], told["live"], told["check"], view[start:stop])
        start, end, full = stop, block.stop, told["full"]
