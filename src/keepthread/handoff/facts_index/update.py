"""Bringing a session's index up to the last whole line of its transcript. For a detached process, never for a hook."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import FileIO
from typing import NamedTuple

from keepthread import files
from keepthread.handoff.facts_index import storage
from keepthread.handoff.facts_index.searching import Line, Search
from keepthread.handoff.facts_index.storage import LARGEST, NAME, Stored, Stretch, dumped, stretch
from keepthread.handoff.lock import alone
from keepthread.host.locations import session_dir
from keepthread.transcript.boundaries import MARK
from keepthread.transcript.known import Entry, again
from keepthread.transcript.lines import BLOCK, lines, open_regular, size_of
from keepthread.transcript.outline import Newer, outline
from keepthread.transcript.packed import unpack
from keepthread.transcript.read import LIMIT
from keepthread.transcript.record import Budget, Record
from keepthread.transcript.slim import Slimmer

LOCK = ".facts-index.lock"
_KEPT = 20  # indexes: the one of an older session is made again when that goes on
_OUTLINES = 2 * 1024 * 1024  # bytes
_FIRST = 256 * 1024  # of them for how the session began
_WIDEST = LIMIT * 3 // 2  # bytes of the transcript that are kept in full


def update(transcript_path: str, session_id: str, state: str, secrets: Sequence[str] = ()) -> str:
    """Bring the session's index up to the transcript's last whole line; only what is new is read.

    Args:
        transcript_path: the session's JSONL file.
        session_id: the session.
        state: the state folder.
        secrets: texts that count as secrets wherever they stand, as of `redact.environment_secrets`.

    Returns:
        "unchanged", "appended", "rebuilt" (also the first time, after a compaction, and when the file is another one),
        "busy" when another process is at it (nobody is waited for), "unreadable" when there is no such transcript.

    Raises:
        OSError: the state folder cannot be written.
    """
    folder = session_dir(state, session_id)
    files.make_private_within(state, folder)
    with alone(folder, LOCK) as held:
        if not held:
            return "busy"
        try:
            file = open_regular(transcript_path)
        except OSError:
            return "unreadable"
        with file:
            return _updated(file, transcript_path, folder, secrets)


class _Fresh(NamedTuple):
    """Lines behind what is indexed, in file order: from `start` on, where a compaction is if `live`.

    `spent` says of each line how many characters of a reading's budget its texts took.
    """

    start: int
    live: bool
    lines: list[Line]
    spent: list[int]


def _updated(file: FileIO, path: str, folder: str, secrets: Sequence[str]) -> str:
    stored = storage.load(folder, path)
    if stored is not None and not storage.fits(file, stored.stretches):
        stored = None
    known = stored.stretches if stored else []
    done = known[-1].block.stop if known else 0
    stop = _end_of_lines(file)
    if stop <= done:
        return "unchanged"
    fresh = _fresh(file, done, stop)
    search = Search(secrets)
    search.learn(_given_away(file, known))
    search.learn(record for _, _, records in fresh.lines for record in records)
    if fresh.start > done or fresh.live:
        before = [_outline(file, known, fresh.start, search)] if fresh.start else []
        wanted = [*before, _full(file, fresh, stop, search)]
    elif known and not known[-1].full:  # the live part is too large to be kept
        wanted = [*known, _outline(file, (), stop, search, start=done)]
    else:
        wanted = [*known, _full(file, fresh, stop, search)]
    wanted = [_cleared(file, one, search) for one in wanted]
    return _write(folder, path, stored, _bounded(file, wanted, stop, search))


def _end_of_lines(file: FileIO) -> int:
    """Return the offset behind the last whole line: the host may be writing the next one."""
    end = size_of(file)
    while end > 0:
        start = max(0, end - BLOCK)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def _fresh(file: FileIO, done: int, stop: int) -> _Fresh:
    """Read the lines between two offsets backwards, down to a compaction or as far as any reading goes."""
    slimmer = Slimmer()
    found: list[Line] = []
    spent: list[int] = []
    start, live = stop, False
    for offset, end, line in lines(file, stop, max(done, stop - LIMIT)):
        room, skipped = slimmer.room, slimmer.skipped
        records = slimmer.records(line, offset, end)
        start = offset
        if records or slimmer.skipped > skipped:
            found.append((offset, end, records if slimmer.skipped == skipped else []))
            spent.append(room - slimmer.room)
        if MARK in line and any("compaction" in record.extra for record in records):
            live = True
            break
    return _Fresh(start, live or start == 0, found[::-1], spent[::-1])


def _given_away(file: FileIO, known: Iterable[Stretch]) -> Iterator[Record]:
    """Yield the records that stand in the index as places only: some hold secrets, which others may repeat."""
    for one in known:
        for entry in one.block.entries:
            if len(entry) == 2:
                yield from again(file, Slimmer(), entry[0], entry[1])


def _full(file: FileIO, fresh: _Fresh, stop: int, search: Search) -> Stretch:
    entries, names = search.entries(fresh.lines)
    kept = zip(fresh.spent, entries, strict=True)
    spent = sum(spent for spent, entry in kept if len(entry) > 2)
    return stretch(file, fresh.start, stop, entries, names, full=True, live=fresh.live, spent=spent)


def _outline(
    file: FileIO, known: Sequence[Stretch], stop: int, search: Search, *, start: int = 0
) -> Stretch:
    """Return the outline of what is known, which begins at `start`, and of the lines from its end to `stop`."""
    newer = Newer()
    found = list(outline(file, known[-1].block.stop if known else start, stop, newer))
    search.learn(record for _, _, records in found for record in records)
    kept: set[int] = set()
    for one in reversed(known):
        for entry in reversed(one.block.entries):
            records = newer.adds(_records(file, one, entry))
            if records:
                found.append((entry[0], entry[1], records))
            if len(entry) == 2:
                kept.add(entry[0])
    entries, names = search.entries(found[::-1])
    # What was no more than a place stays so: whatever told of its secret may not be known any longer.
    entries = [entry[:2] if entry[0] in kept else entry for entry in entries]
    return stretch(file, start, stop, _few(entries), names, full=False)


def _records(file: FileIO, one: Stretch, entry: Entry) -> list[Record]:
    bare = len(entry) == 2
    return again(file, Slimmer(), *entry) if bare else [unpack(entry, one.block.names)]


def _few(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries, without those in the middle when they are too large together."""
    sizes = [len(dumped(entry).encode()) for entry in entries]
    room = _OUTLINES - sum(sizes)
    if room >= 0:
        return list(entries)
    first, size = 0, 0
    while size + sizes[first] < _FIRST:
        size += sizes[first]
        first += 1
    last = first
    while room < 0:
        room += sizes[last]
        last += 1
    return [*entries[:first], *entries[last:]]


def _cleared(file: FileIO, one: Stretch, search: Search) -> Stretch:
    """Return the stretch without what has turned out to hold a secret."""
    if search.is_free(one):
        return one
    entries, names = search.cleared(one)
    block = one.block
    return stretch(
        file,
        block.start,
        block.stop,
        entries,
        names,
        full=one.full,
        live=one.live,
        spent=block.spent,
    )


def _bounded(file: FileIO, wanted: list[Stretch], stop: int, search: Search) -> list[Stretch]:
    """Return the stretches, as an outline those that are more than a reading carries or than the index may hold."""
    full = [one for one in wanted if one.full]
    spent = sum(one.block.spent for one in full)
    size = sum(len(one.line) for one in wanted)
    if full and (spent >= Budget().left or size > LARGEST - _OUTLINES):
        return [_outline(file, wanted, stop, search)]
    if full and stop - full[0].block.start > _WIDEST:
        number = sum(1 for one in wanted if one.block.stop <= stop - LIMIT)
        before, rest = wanted[:number], wanted[number:]
        if before:
            return [_outline(file, before, before[-1].block.stop, search), *rest]
    return wanted


def _write(folder: str, path: str, stored: Stored | None, wanted: Sequence[Stretch]) -> str:
    known = stored.stretches if stored else []
    same = len(wanted) > len(known) and all(
        one is other for one, other in zip(known, wanted, strict=False)
    )
    if stored is not None and stored.sound and same:
        storage.append(folder, wanted[len(known) :])
        return "appended"
    storage.write(folder, path, wanted)
    if stored is None:
        _forget_others(os.path.dirname(folder))
    return "rebuilt"


def _forget_others(sessions: str) -> None:
    """Remove the indexes that nobody has used for the longest time."""
    found: list[tuple[float, str]] = []
    with suppress(OSError), os.scandir(sessions) as listing:  # what cannot be listed stays
        for entry in listing:
            path = os.path.join(entry.path, NAME)
            with suppress(OSError):  # most sessions have none
                found.append((os.lstat(path).st_mtime, path))
    for _, path in sorted(found, reverse=True)[_KEPT:]:
        with suppress(OSError):  # gone this instant
            os.unlink(path)
