"""Each thing said once: replayed and growing copies joined, results given to their calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from keepthread.transcript.model import Call, Item, Message, Note, Place, Result
from keepthread.transcript.record import Answer, Record
from keepthread.transcript.tools import decisions, decisions_in_text, questions


def without_copies(records: Iterable[Record]) -> list[Record]:
    """Return the records with each uuid once: at its first place, with its largest content."""
    first: dict[str, int] = {}
    found: list[Record] = []
    for record in records:
        index = first.get(record.uuid) if record.uuid else None
        if index is None:
            first[record.uuid] = len(found)
            found.append(record)
        elif record.size > found[index].size:
            place = found[index].place
            parts = [_moved(part, place) for part in record.parts]
            found[index] = replace(record, offset=place.offset, parts=parts)
    return found


# A message has few blocks of text; more than this many are no copies of one another.
_COPIES = 50


class Merger:
    """Collects the parts of live records in file order and joins what belongs together.

    Args:
        calls: whether the calls are among the parts. Without them a result's own fields say what it answers.
    """

    def __init__(self, *, calls: bool = True) -> None:
        self._with_calls = calls
        self.items: list[Item] = []
        self._calls: dict[str, Call] = {}
        self._early: dict[str, Answer] = {}
        self._replies: dict[str, list[int]] = {}
        self._said: set[tuple[str, str]] = set()
        self._notes: dict[str, Note] = {}

    def add(self, record: Record) -> None:
        """Add the parts of one record."""
        for part in record.parts:
            if isinstance(part, Answer):
                self._answer(part)
            elif isinstance(part, Call):
                self._call(part)
            elif isinstance(part, Note):
                self._note(part)
            elif part.via == "reply" and record.message_id:
                self._reply(part, record.message_id)
            else:
                self._message(part)

    def _call(self, call: Call) -> None:
        known = self._calls.get(call.id) if call.id else None
        if known is None:
            self._calls[call.id] = call
            self.items.append(call)
            early = self._early.pop(call.id, None)
            if early:
                self._answered(call, early)
        elif call.input:
            known.input = call.input

    def _answer(self, answer: Answer) -> None:
        call = self._calls.get(answer.id) if answer.id else None
        if call:
            self._answered(call, answer)
        elif self._with_calls:
            if answer.id:  # parallel calls: a result can be written before the line of its call
                self._early[answer.id] = answer
        else:
            if answer.refusal and not answer.doubtful:
                self._message(answer.refusal)
            self._decisions(answer.result, ())

    def _answered(self, call: Call, answer: Answer) -> None:
        """Give a result to its call; what the user said with it counts only from a tool that lets them speak."""
        # An MCP server chooses its own error text: without the host's mark it speaks for nobody.
        if answer.doubtful and call.name.startswith("mcp__"):
            answer.result.rejected = False
            answer.refusal = None
        call.result = answer.result
        if answer.refusal:
            self._message(answer.refusal)
        if call.name == "AskUserQuestion":
            self._decisions(answer.result, questions(call.input))

    def _decisions(self, result: Result, asked: Sequence[str]) -> None:
        texts = decisions(result.data) or decisions_in_text(result.text, asked)
        for text in texts:
            self._message(Message("user", "answer", text, result.place, result.timestamp))

    def _reply(self, reply: Message, message_id: str) -> None:
        """Add a reply, unless it is a copy, shorter or longer, of one that the same message said already."""
        known = self._replies.setdefault(message_id, [])
        for index in known[-_COPIES:]:
            said = self.items[index]
            if isinstance(said, Message) and said.text.startswith(reply.text):
                return
            if isinstance(said, Message) and reply.text.startswith(said.text):
                self.items[index] = replace(said, text=reply.text)
                return
        known.append(len(self.items))
        self.items.append(reply)

    def _message(self, message: Message) -> None:
        """Add a message, unless a resumed session wrote it again: same words at the same millisecond."""
        key = (message.timestamp, f"{message.via} {message.text}")
        if message.timestamp and message.text and key in self._said:
            return
        self._said.add(key)
        self.items.append(message)

    def _note(self, note: Note) -> None:
        """Add a note, unless the one before it of its kind says the same."""
        known = self._notes.get(note.kind)
        if known is None or known.data != note.data:
            self._notes[note.kind] = note
            self.items.append(note)


def in_order(items: Sequence[Item]) -> list[Item]:
    """Return the items in file order."""
    return sorted(items, key=lambda item: item.place.offset)


def _moved(part: Message | Call | Note | Answer, place: Place) -> Message | Call | Note | Answer:
    return part if isinstance(part, Answer) else replace(part, place=place)
