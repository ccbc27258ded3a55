"""A session's index as a compaction uses it: what need not be parsed again, and what lies before the live part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keepthread.handoff.facts_index import storage
from keepthread.handoff.facts_index.storage import Stretch
from keepthread.handoff.model import Handoff
from keepthread.host.locations import session_dir
from keepthread.transcript.known import Entry, Known
from keepthread.transcript.lines import open_regular
from keepthread.transcript.model import Item, Transcript
from keepthread.transcript.outline import Newer, items, outline, outlined
from keepthread.transcript.packed import PARTS
from keepthread.transcript.record import Record
from keepthread.transcript.slim import Slimmer

_DAMAGED = (ValueError, TypeError, LookupError, AttributeError)
_BEHIND = 64 << 20  # bytes behind the index that are searched when a compaction came after it


class Index(NamedTuple):
    """An index that fits its transcript.

    `known` is what a reading takes up, None when the live part is not kept.
    """

    path: str
    stretches: Sequence[Stretch]
    known: Known | None

    def searched(self) -> set[int]:
        """Return the identities of the texts and values in it, none of which gives a secret away.

        They hold as long as this index does.
        """
        found: set[int] = set()
        for one in self.stretches:
            if one.block.decoded:
                for entry in one.block.entries:
                    found.update(map(id, _values(entry)))
        return found

    def before(self, transcript: Transcript, previous: Handoff | None) -> list[Item]:
        """Return what was typed before the live part and is in no handoff, and the calls that changed files there.

        In file order; [] when the file cannot be read, or the index is damaged after all.
        """
        if previous is None:
            return self._between(0, transcript.start)
        known = previous["meta"]["transcript"]
        same = known["path"] == transcript.path
        return self._between(known["size"], transcript.start) if same else []

    def _between(self, since: int, offset: int) -> list[Item]:
        records: list[Record] = []
        try:
            with open_regular(self.path) as file:
                for one in self.stretches:
                    if one.block.start < offset and one.block.stop > since:
                        records += one.block.records(file, Slimmer(), since)
                end = self.stretches[-1].block.stop
                start = max(end, since, offset - _BEHIND)
                behind = list(outline(file, start, offset, Newer()))
                for _, _, found in reversed(behind):
                    records += found
        except (OSError, *_DAMAGED):
            return []
        thin = (outlined(record) for record in records if record.offset < offset)
        return items([record for record in thin if record is not None])


def opened(state: str, session_id: str, transcript_path: str) -> Index | None:
    """Return the session's index if there is one that fits the transcript as it is now; nobody is waited for.

    It never raises: whatever is amiss, the transcript is read without an index.
    """
    stored = storage.load(session_dir(state, session_id), transcript_path) if state else None
    if stored is None:
        return None
    try:
        with open_regular(transcript_path) as file:
            if not storage.fits(file, stored.stretches):
                return None
    except OSError:
        return None  # the reading that follows says so
    full = [one for one in stored.stretches if one.full]
    known = Known([one.block for one in full], whole=full[0].live) if full else None
    return Index(transcript_path, stored.stretches, known)


def _values(entry: Entry) -> Iterator[object]:
    """Yield the texts and values of an entry that a transcript's items are made of."""
    for part in entry[PARTS] if len(entry) > PARTS else ():
        yield from part
