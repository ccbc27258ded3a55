"""A transcript's live part, read from the end of the file backwards and never whole."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from io import FileIO

from keepthread.errors import KeepthreadError
from keepthread.transcript import branch, notes, tokens
from keepthread.transcript.boundaries import MARK, count_boundaries, count_in
from keepthread.transcript.kept import kept_before
from keepthread.transcript.known import Known
from keepthread.transcript.lines import lines, open_regular, size_of
from keepthread.transcript.merge import Merger, in_order, without_copies
from keepthread.transcript.model import Boundary, Item, Message, Note, Transcript
from keepthread.transcript.queue import queued
from keepthread.transcript.record import Record, string
from keepthread.transcript.slim import Slimmer

__all__ = ["LIMIT", "count_boundaries", "read_transcript"]

LIMIT = 64 << 20  # bytes of a transcript that are read at most
_LITTLE = 4 << 20  # where memory is short
_HEAD = 64 * 1024
_TIMESTAMP = re.compile(rb'"timestamp":"(\d{4}-\d\d-\d\dT[^"\\]{5,30})"')
_SESSION = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TALK = frozenset(("prompt", "queued", "rejection", "approval", "answer", "plan", "reply"))


@dataclass(slots=True)
class _Scan:
    """What reading backwards came to: records in file order, `start` the first byte that was used."""

    records: list[Record] = field(default_factory=list)
    boundary: Record | None = None
    start: int = 0
    skipped: int = 0
    truncated: bool = False


def read_transcript(
    path: str, *, end: int | None = None, limit: int = LIMIT, known: Known | None = None
) -> Transcript:
    """Return the live part of a session: from the last compaction, or `limit` bytes, to `end`.

    Args:
        path: the session's JSONL file.
        end: byte offset to read up to; the file's size when None.
        limit: how many bytes to read at most, and in how many to count boundaries.
        known: what an earlier reading of the same lines came to; the result is the same with it and without.

    Raises:
        KeepthreadError: the path is no regular file, or it cannot be read.
    """
    try:
        with open_regular(path) as file:
            size = size_of(file)
            stop = size if end is None else max(0, min(end, size))
            return _read(file, path, stop, limit, known)
    except OSError as error:
        raise KeepthreadError(
            f"{path}: no readable transcript ({error.strerror or error})",
            "Name the session's .jsonl file below the host's projects folder.",
        ) from error


def _read(file: FileIO, path: str, stop: int, limit: int, known: Known | None) -> Transcript:
    """Return the live part; where memory does not suffice for all of it, its end."""
    for most in (limit, limit // 4):
        with suppress(MemoryError):
            return _within(file, path, stop, limit, max(0, stop - most), known)
    return _within(file, path, stop, limit, max(0, stop - min(limit, _LITTLE)), known)


def _within(
    file: FileIO, path: str, stop: int, limit: int, floor: int, known: Known | None
) -> Transcript:
    scan = _scan(file, stop, floor, known)
    kept = kept_before(file, scan.boundary, scan.records, floor) if scan.boundary else []
    transcript = Transcript(path, stop, scan.start, skipped=scan.skipped, truncated=scan.truncated)
    if scan.boundary:
        transcript.boundaries = 1 + count_in(file, max(0, stop - limit), scan.boundary.offset)
    _fill(transcript, scan, kept)
    transcript.session_started = _first_timestamp(file, stop) or _first(scan.records)
    return transcript


def _scan(file: FileIO, stop: int, floor: int, known: Known | None) -> _Scan:
    slimmer, scan = Slimmer(), _Scan(start=stop)
    if known is not None and floor < known.stop <= stop:
        _backwards(file, stop, known.stop, slimmer, scan)
        stop = known.stop
        found = known.records(file, slimmer, floor) if scan.boundary is None else None
        if found is not None:
            _take(scan, *found)
            stop = floor
    if scan.boundary is None:
        _backwards(file, stop, floor, slimmer, scan)
    scan.records.reverse()
    scan.skipped = slimmer.skipped
    scan.truncated = scan.boundary is None and floor > 0
    return scan


def _backwards(file: FileIO, stop: int, floor: int, slimmer: Slimmer, scan: _Scan) -> None:
    """Add the records between two offsets, the last ones first, down to a boundary."""
    for offset, end, line in lines(file, stop, floor):
        records = slimmer.records(line, offset, end)
        index = _last_boundary(records) if MARK in line else None
        scan.records += reversed(records[index:])
        scan.start = offset
        if index is not None:
            scan.boundary = records[index]
            scan.start = scan.boundary.offset
            break


def _take(scan: _Scan, records: list[Record], start: int) -> None:
    """Add records that are known, given in file order, down to a boundary."""
    index = _last_boundary(records)
    scan.records += reversed(records[index:])
    scan.start = start
    if index is not None:
        scan.boundary = records[index]
        scan.start = scan.boundary.offset


def _last_boundary(records: list[Record]) -> int | None:
    """Return which record is a boundary of the main chain, the last one if several are."""
    for index in range(len(records) - 1, -1, -1):
        if "compaction" in records[index].extra:
            return index
    return None


def _fill(transcript: Transcript, scan: _Scan, kept: list[Record]) -> None:
    """Turn records into what the transcript says."""
    records = without_copies(scan.records)
    live, dead = branch.split(records)
    merger = Merger()
    for record in [*kept, *live]:
        merger.add(record)
    merger.items += queued(live + dead)
    merger.items += _closing_notes(live)
    transcript.items = in_order(merger.items)
    transcript.kept = [item for item in transcript.items if item.place.offset < scan.start]
    transcript.abandoned = _abandoned(dead, transcript.items)
    transcript.tokens = tokens.count(live, kept)
    _position(transcript, live)
    if scan.boundary:
        transcript.boundary = _boundary(scan.boundary, transcript.items)
    _surroundings(transcript, live)


def _closing_notes(live: list[Record]) -> Iterable[Note]:
    uuids = {record.uuid for record in live if record.uuid}
    return filter(None, (notes.file_history(live), notes.last_title(live, uuids)))


def _abandoned(dead: list[Record], items: list[Item]) -> list[Message]:
    """Return the prompts typed on abandoned branches, without those that a resume wrote again."""
    again = {(item.timestamp, item.text) for item in items if isinstance(item, Message)}
    return [
        part
        for record in dead
        for part in record.parts
        if isinstance(part, Message) and part.typed and (part.timestamp, part.text) not in again
    ]


def _position(transcript: Transcript, live: list[Record]) -> None:
    for record in reversed(live):
        if record.uuid and any(_is_talk(part) for part in record.parts):
            transcript.position, transcript.position_offset = record.uuid, record.end
            return


def _is_talk(part: object) -> bool:
    if isinstance(part, Message):
        return part.via in _TALK
    return not isinstance(part, Note)


def _boundary(record: Record, items: list[Item]) -> Boundary:
    details = record.extra["compaction"]
    before = details.get("preTokens")
    summary = next(
        (item.text for item in items if isinstance(item, Message) and item.via == "summary"), ""
    )
    return Boundary(
        record.offset,
        record.uuid,
        string(details.get("trigger")),
        before if isinstance(before, int) else 0,
        summary,
        record.timestamp,
    )


def _surroundings(transcript: Transcript, live: list[Record]) -> None:
    """Fill in where, when and with which version the session ran, as last seen."""
    for record in live:
        transcript.cwd = record.cwd or transcript.cwd
        transcript.git_branch = record.branch or transcript.git_branch
        transcript.version = record.version or transcript.version
        transcript.session_id = record.session or transcript.session_id
        transcript.last_timestamp = max(transcript.last_timestamp, record.timestamp)
        if record.kind == "assistant" and record.model:
            transcript.model = record.model
    name = os.path.basename(transcript.path).partition(".")[0]
    if _SESSION.fullmatch(name):
        transcript.session_id = name


def _first_timestamp(file: FileIO, stop: int) -> str:
    file.seek(0)
    found = _TIMESTAMP.search(file.read(min(_HEAD, stop)))
    return found.group(1).decode("ascii", "replace") if found else ""


def _first(records: list[Record]) -> str:
    return next((record.timestamp for record in records if record.timestamp), "")
