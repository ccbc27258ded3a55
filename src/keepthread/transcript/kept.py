"""What the host kept verbatim through a compaction: records before the boundary that it does not write again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import FileIO
from typing import Any

from keepthread.transcript.lines import lines
from keepthread.transcript.record import Record, mapping, string
from keepthread.transcript.slim import Slimmer

# The host keeps a short tail; what lies further back than this is not it.
_REACH = 4 << 20
_UUID = re.compile(rb'"uuid":"([^"\\]{1,100})"')


def kept_before(file: FileIO, boundary: Record, after: list[Record], floor: int) -> list[Record]:
    """Return the kept records of the main chain, in file order.

    One that was written again after the boundary is among the live ones already; some ids that the
    boundary lists are in no file.

    Args:
        file: the open transcript.
        boundary: the boundary, with its `compaction` details.
        after: the records after it.
        floor: the lowest offset that may be read.
    """
    details = boundary.extra["compaction"]
    before = lines(file, boundary.offset, max(floor, boundary.offset - _REACH))
    if "preservedMessages" in details:
        wanted = _listed(details["preservedMessages"]) - {record.uuid for record in after}
        found = _by_uuid(before, wanted)
    else:
        segment = mapping(details.get("preservedSegment"))
        head, tail = string(segment.get("headUuid")), string(segment.get("tailUuid"))
        found = _between(before, head, tail) if head and tail else []
    return [record for record in reversed(found) if not record.side]


def _listed(preserved: Any) -> set[str]:
    given = mapping(preserved).get("allUuids") or mapping(preserved).get("uuids")
    return {uuid for uuid in given if isinstance(uuid, str)} if isinstance(given, list) else set()


def _by_uuid(before: Iterator[tuple[int, int, bytes]], wanted: set[str]) -> list[Record]:
    """Return the wanted records, last first; only lines that name one of them are parsed."""
    slimmer = Slimmer()
    found: list[Record] = []
    names = {uuid.encode("utf-8", "replace") for uuid in wanted}
    for offset, end, line in before if wanted else ():
        if names.isdisjoint(_UUID.findall(line)):
            continue
        for record in reversed(slimmer.records(line, offset, end)):
            if record.uuid in wanted:
                wanted.discard(record.uuid)
                found.append(record)
        if not wanted:
            break
    return found


def _between(before: Iterator[tuple[int, int, bytes]], head: str, tail: str) -> list[Record]:
    """Return the records from tail to head, last first; none when either is not there."""
    slimmer = Slimmer()
    found: list[Record] = []
    for offset, end, line in before:
        for record in reversed(slimmer.records(line, offset, end)):
            if found or record.uuid == tail:
                found.append(record)
            if found and record.uuid == head:
                return found
    return []
