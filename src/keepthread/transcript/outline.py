"""The outline of a transcript's older part: what was typed and decided, and which files were changed; no more.

It is taken of lines that are found by byte marks, so of a gigabyte within seconds, or of records that are at hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import FileIO

from keepthread.transcript.earlier import MARKS, candidates, says_something
from keepthread.transcript.lines import chunks
from keepthread.transcript.merge import Merger, in_order, without_copies
from keepthread.transcript.model import Call, Item, Message, Result
from keepthread.transcript.queue import queued
from keepthread.transcript.record import Answer, Part, Record
from keepthread.transcript.slim import Slimmer
from keepthread.transcript.text import bounded
from keepthread.transcript.tools import decisions

EDITORS = ("Edit", "MultiEdit", "Write", "NotebookEdit")
_SHELLS = ("Bash", "PowerShell")
_PATHS = ("file_path", "notebook_path")
_BLOCK = 4 << 20
_WORDS = 8_000  # characters of a text's head, and as many of its tail
_COMMAND = 500
# Shell commands by which an edited file goes or gets another name.
_MOVES = ("rm ", "mv ", "git rm ", "git mv ")
_OUTLINED = (
    *MARKS,
    *(f'"name":"{name}"'.encode() for name in EDITORS),
    *(f'"command":"{word}'.encode() for word in _MOVES),
    b"&& rm ",
    b"&& mv ",
    b'"is_error":true',
    b'"type":"create"',
)


def outline(
    file: FileIO, start: int, stop: int, newer: Newer
) -> Iterator[tuple[int, int, list[Record]]]:
    """Yield line by line, the last one first, offset, end and records of those between two offsets that say something.

    Raises:
        OSError: the file cannot be read.
    """
    for offset, _, data in chunks(file, stop, start, _BLOCK):
        for first, last in reversed(candidates(data, _OUTLINED)):
            line = data[first:last]
            records = Slimmer().records(line, offset + first, offset + last + 1)
            found = newer.adds(records)
            if found:
                yield offset + first, offset + last + 1, found


class Newer:
    """What has been outlined while going backwards: an edit of a file that is edited again later adds nothing."""

    def __init__(self) -> None:
        self._failed: set[str] = set()
        self._edited: set[tuple[str, str]] = set()
        self._created: set[str] = set()

    def adds(self, records: Sequence[Record]) -> list[Record]:
        """Return the outline of the records of the line before all the others, the last one of it first seen."""
        found = []
        for record in reversed(records):
            thin = outlined(record)
            if thin is not None:
                thin.parts = [part for part in reversed(thin.parts) if self._counts(part)][::-1]
                found += [thin] if thin.parts or "queue" in thin.extra else []
        return found[::-1]

    def _counts(self, part: Part) -> bool:
        if isinstance(part, Answer):
            known = self._created if part.result.data else self._failed
            known.add(part.id)
        elif isinstance(part, Call) and part.name in EDITORS:
            where = (part.cwd, next(iter(part.input.values())))
            again = where in self._edited and part.id not in self._created
            if not again and part.id not in self._failed:
                self._edited.add(where)
            return not again
        return True


def outlined(record: Record) -> Record | None:
    """Return what the outline keeps of a record, None when that is nothing."""
    if record.side:
        return None
    parts = [part for each in record.parts for part in _outlined(each, record.cwd)]
    queue = record.extra.get("queue")
    if not parts and queue is None:
        return None
    return Record(
        record.offset,
        record.end,
        record.kind,
        record.uuid,
        timestamp=record.timestamp,
        parts=parts,
        size=record.size,
        prompt=record.prompt,
        cwd=record.cwd,
        extra={} if queue is None else {"queue": (queue[0], _short(queue[1]))},
    )


def items(records: Sequence[Record]) -> list[Item]:
    """Return the words and the changes in outlined records, in file order; each change was carried out.

    Which branch they stand on cannot be told without the records between them.
    """
    merger = Merger()
    main = without_copies(records)
    for record in main:
        merger.add(record)
    found = in_order([*merger.items, *queued(main)])
    return [item for item in map(_settled, found) if item is not None]


def _settled(item: Item) -> Item | None:
    if isinstance(item, Message):
        return item if says_something(item) else None
    if not isinstance(item, Call):
        return None
    if item.result is None:  # of results only what is no plain success is in the outline
        return replace(item, result=Result("", is_error=False, rejected=False, place=item.place))
    return None if item.result.is_error or item.result.rejected else item


def _outlined(part: Part, cwd: str) -> Iterator[Part]:
    if isinstance(part, Message):
        if part.typed:
            yield replace(part, text=_short(part.text))
    elif isinstance(part, Call):
        kept = _change(part)
        if kept:
            yield replace(part, input=kept)
    elif isinstance(part, Answer):
        yield from _answered(part, cwd)


def _short(text: str) -> str:
    # What has been cut once is a little longer than the bound, and stays as it is.
    return text if len(text) <= 2 * _WORDS + 100 else bounded(text, _WORDS, _WORDS)


def _change(call: Call) -> dict[str, str]:
    """Return the input of a call that changes files as far as it names them, {} for another call."""
    if call.name in EDITORS:
        return {name: call.input[name] for name in _PATHS if isinstance(call.input.get(name), str)}
    command = call.input.get("command")
    if call.name not in _SHELLS or not isinstance(command, str) or len(command) > _COMMAND:
        return {}
    return {"command": command} if any(word in command for word in _MOVES) else {}


def _answered(answer: Answer, cwd: str) -> Iterator[Part]:
    result = answer.result
    if answer.refusal and not answer.doubtful:
        yield replace(answer.refusal, text=_short(answer.refusal.text))
    for text in decisions(result.data):
        yield Message("user", "answer", _short(text), result.place, result.timestamp, cwd)
    created = result.data.get("type") == "create"
    if result.is_error or result.rejected or created:
        data = {"type": "create"} if created else {}
        slim = Result("", result.is_error, result.rejected, result.place, result.timestamp, data)
        yield Answer(answer.id, slim)
