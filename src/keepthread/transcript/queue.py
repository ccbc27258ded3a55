"""Prompts typed while the agent worked: the host's queue is replayed, since many stand nowhere else."""

from __future__ import annotations

from collections.abc import Sequence

from keepthread.transcript.model import Message
from keepthread.transcript.record import Record
from keepthread.transcript.wording import is_local_command, is_notice

_SENT = frozenset(("prompt", "queued", "command", "plan"))


def queued(records: Sequence[Record]) -> list[Message]:
    """Return the prompts that left the queue and have no record of their own, in file order.

    `popAll` took the text back into the input box: it was not sent. What is still queued at the end
    will be sent by the host itself.
    """
    waiting: list[tuple[str, Record]] = []
    sent: list[tuple[str, Record]] = []
    for record in records:
        operation, text = record.extra.get("queue", ("", ""))
        if operation == "enqueue":
            waiting.append((text, record))
        elif operation == "popAll":
            waiting.clear()
        elif operation in ("dequeue", "remove") and waiting:
            sent.append(waiting.pop(_index(waiting, text)))
    return _without_record(sent, records)


def _index(waiting: list[tuple[str, Record]], text: str) -> int:
    """Return which entry leaves: the one with this text, else the oldest prompt, else the oldest entry.

    The host takes what a person typed before its own notices, and of many notices it never notes that they left.
    """
    for index, (other, _) in enumerate(waiting):
        if other == text if text else _is_prompt(other):
            return index
    return 0


def _without_record(sent: list[tuple[str, Record]], records: Sequence[Record]) -> list[Message]:
    recorded: dict[str, list[int]] = {}
    for record in records:
        for part in record.parts:
            if isinstance(part, Message) and part.via in _SENT:
                recorded.setdefault(_key(part.text), []).append(part.place.offset)
    found = []
    for text, record in sent:
        later = recorded.get(_key(text), [])
        match = next((offset for offset in later if offset > record.offset), None)
        if match is not None:
            later.remove(match)
        elif _is_prompt(text):
            place = record.place
            found.append(Message("user", "queued", text.strip(), place, record.timestamp))
    return found


def _is_prompt(text: str) -> bool:
    bare = text.strip()
    return bool(bare) and not is_notice(bare) and not is_local_command(bare)


def _key(text: str) -> str:
    return " ".join(text.split())
