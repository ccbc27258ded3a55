"""A slim record as a short JSON array and back again, so that it can be kept and need not be parsed again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from keepthread.transcript.model import Call, Message, Note, Place, Result
from keepthread.transcript.record import Answer, Part, Record

_MESSAGE, _CALL, _NOTE, _ANSWER = range(4)
PARTS = 7  # where the parts stand in a packed record; one of the bare links has none
_TUPLES = ("queue", "title")  # the fields of `extra` that are tuples in a record


class Names:
    """The texts that many records repeat, each once; a packed record holds their numbers."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """Return the number that stands for a text, a new one for a new text."""
        return self.numbers.setdefault(text, len(self.numbers))

    @property
    def texts(self) -> list[str]:
        """All texts; each one's number is its place."""
        return list(self.numbers)


def pack(record: Record, number: Callable[[str], int]) -> list[Any]:
    """Return a record as a JSON array; `number` gives the numbers of texts that repeat themselves."""
    link = [record.offset, record.end, number(record.kind), record.uuid, record.parent]
    link.append(int(record.side))
    bare = Record(
        record.offset, record.end, record.kind, record.uuid, record.parent, side=record.side
    )
    if record == bare:
        return link
    return [
        *link,
        record.timestamp,
        [_pack_part(part) for part in record.parts],
        record.message_id,
        record.usage,
        record.size,
        int(record.prompt),
        *map(number, (record.model, record.cwd, record.branch, record.version, record.session)),
        record.extra,
    ]


def unpack(packed: Sequence[Any], names: Sequence[str]) -> Record:
    """Return the record of a JSON array.

    Raises:
        ValueError, TypeError, LookupError, AttributeError: it is none that `pack` has made.
    """
    offset, end, kind, uuid, parent, side, *rest = packed
    record = Record(offset, end, names[kind], uuid, parent, side=bool(side))
    if not rest:
        return record
    timestamp, parts, message_id, usage, size, prompt, *numbers, extra = rest
    record.timestamp, record.message_id = timestamp, message_id
    record.usage, record.size, record.prompt = usage, size, bool(prompt)
    model, record.cwd, record.branch, record.version, record.session = [
        names[number] for number in numbers
    ]
    record.model = model
    record.extra = extra
    for name in _TUPLES:
        if name in extra:
            record.extra = {**record.extra, name: tuple(extra[name])}
    if parts:
        place = Place(offset, uuid)
        record.parts = [_unpack_part(part, place, record) for part in parts]
    return record


def _pack_part(part: Part) -> list[Any]:
    if isinstance(part, Message):
        return [_MESSAGE, part.speaker, part.via, part.text, part.images]
    if isinstance(part, Call):
        return [_CALL, part.id, part.name, part.input]
    if isinstance(part, Note):
        return [_NOTE, part.kind, part.data]
    result, refusal = part.result, part.refusal
    flags = int(result.is_error) + 2 * int(result.rejected) + 4 * int(part.doubtful)
    words = None if refusal is None else refusal.text
    return [_ANSWER, part.id, result.text, flags, result.data, words]


def _unpack_part(packed: Sequence[Any], place: Place, record: Record) -> Part:
    kind = packed[0]
    at = record.timestamp
    if kind == _MESSAGE:
        _, speaker, via, text, images = packed
        return Message(speaker, via, text, place, at, record.cwd, images)
    if kind == _CALL:
        return Call(packed[1], packed[2], packed[3], place, at, record.cwd)
    if kind == _NOTE:
        return Note(packed[1], packed[2], place, at)
    _, identifier, text, flags, data, words = packed
    result = Result(text, bool(flags & 1), bool(flags & 2), place, at, data)
    refusal = None
    if words is not None:
        refusal = Message("user", "rejection", words, place, at, record.cwd)
    return Answer(identifier, result, refusal, doubtful=bool(flags & 4))
