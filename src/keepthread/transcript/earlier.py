"""What the user typed before a compaction that no handoff was taken at, found without parsing the file."""

from __future__ import annotations

from collections.abc import Sequence
from io import FileIO

from keepthread.errors import KeepthreadError
from keepthread.transcript.lines import chunks, line_at, open_regular, size_of
from keepthread.transcript.merge import Merger, in_order, without_copies
from keepthread.transcript.model import Message
from keepthread.transcript.queue import queued
from keepthread.transcript.record import Record
from keepthread.transcript.slim import Slimmer
from keepthread.transcript.wording import is_local_command

_BLOCK = 4 << 20
_MOST = 500
# The ways a line with typed words is written; quotes inside strings are escaped and do not match.
MARKS = (
    b'"role":"user","content":"',
    b'"role":"user","content":[{"type":"text"',
    b'"role":"user","content":[{"type":"image"',
    b'"type":"queue-operation"',
    b'"attachment":{"type":"queued_command"',
    b"the user said:",
    b'"answers":{',
)


def earlier_prompts(path: str, before: int, *, limit: int = 64 << 20) -> list[Message]:
    """Return what the user typed before a byte offset, oldest first, at most the last 500 messages.

    Args:
        path: the transcript.
        before: where the part that is read in full begins.
        limit: how many bytes before that to search at most.

    Raises:
        KeepthreadError: the path is no regular file, or it cannot be read.
    """
    try:
        with open_regular(path) as file:
            stop = max(0, min(before, size_of(file)))
            records = _records(file, stop, max(0, stop - limit))
    except OSError as error:
        raise KeepthreadError(
            f"{path}: no readable transcript ({error.strerror or error})"
        ) from error
    return _typed(records)[-_MOST:]


def _records(file: FileIO, stop: int, floor: int) -> list[Record]:
    """Return the records of lines that may hold typed words, in file order."""
    slimmer = Slimmer()
    found: list[Record] = []
    prompts = 0
    for offset, _, data in chunks(file, stop, floor, _BLOCK):
        for first, last in reversed(candidates(data, MARKS)):
            records = slimmer.records(data[first:last], offset + first, offset + last + 1)
            found += reversed(records)
            prompts += sum(record.prompt for record in records)
        if prompts >= _MOST:
            break
    found.reverse()
    return found


def candidates(data: bytes, marks: Sequence[bytes]) -> list[tuple[int, int]]:
    """Return start and end of the lines that hold one of the marks, in order."""
    found: set[tuple[int, int]] = set()
    for mark in marks:
        index = data.find(mark)
        while index >= 0:
            line = line_at(data, index)
            found.add(line)
            index = data.find(mark, line[1])
    return sorted(found)


def _typed(records: list[Record]) -> list[Message]:
    """Return the words, each once. Which branch they stand on cannot be told without the records between them."""
    merger = Merger(calls=False)
    main = [record for record in without_copies(records) if not record.side]
    for record in main:
        merger.add(record)
    items = in_order([*merger.items, *queued(main)])
    return [item for item in items if isinstance(item, Message) and says_something(item)]


def says_something(message: Message) -> bool:
    """Return whether a person typed these words for the agent to read."""
    local = message.via == "command" and is_local_command(message.text)
    return message.typed and bool(message.text) and not local
