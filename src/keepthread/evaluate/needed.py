"""What a session needed after each compaction: what was written after it and had occurred before it.

One pass from the end of the file backwards, a line at a time: what came after a boundary is known when what came
before it is read, so memory grows with what was written and not with the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import FileIO
from typing import Any

from keepthread.errors import KeepthreadError
from keepthread.evaluate import rules, said
from keepthread.evaluate.names import Unit, named, relative
from keepthread.transcript.boundaries import count_in, is_boundary
from keepthread.transcript.lines import lines, open_regular, size_of
from keepthread.transcript.model import Message, Place
from keepthread.transcript.parse import parse
from keepthread.transcript.record import blocks, mapping, string
from keepthread.transcript.wording import is_local_command

_HEAD = 1 << 20
_CWD = re.compile(rb'"cwd":("(?:[^"\\]|\\.){1,4000}")')


@dataclass(frozen=True, slots=True)
class Compaction:
    """One compaction, and what is asked of a text that is to bridge it.

    Attributes:
        path, size: the file and its bytes.
        ordinal, offset: its number in the file, from 1, and the byte at which its boundary begins.
        root: the project's folder.
        needed: what was written after it, up to the next one, and had occurred before it.
        summary: the host's own summary.
        rules: sentences with which the user, before it, bound the work.
        edited: files edited since the compaction before it.
        ask: the user's last words since the compaction before it.
    """

    path: str
    size: int
    ordinal: int
    offset: int
    root: str
    needed: tuple[Unit, ...]
    summary: str
    rules: tuple[str, ...]
    edited: tuple[str, ...]
    ask: str


@dataclass(slots=True)
class _Boundary:
    """A boundary on the way backwards from it."""

    offset: int
    ordinal: int
    candidates: set[Unit]
    summary: str
    kept_uuids: set[str]
    head: str
    tail: str
    within: bool = False
    seen: set[Unit] = field(default_factory=set)
    kept: set[Unit] = field(default_factory=set)
    rules: list[str] = field(default_factory=list)
    edited: dict[str, None] = field(default_factory=dict)
    ask: str = ""

    def keeps(self, uuid: str) -> bool:
        """Return whether the host kept the record with this uuid verbatim; asked in the order of the pass."""
        if not uuid:
            return self.within
        if uuid == self.tail:
            self.within = True
        kept = self.within or uuid in self.kept_uuids
        if uuid == self.head:
            self.within = False
        return kept


def compactions(path: str) -> list[Compaction]:
    """Return the compactions of a transcript, in file order.

    Raises:
        KeepthreadError: the path is no regular file, or it cannot be read.
    """
    try:
        with open_regular(path) as file:
            size = size_of(file)
            total = count_in(file, 0, size)
            return _Pass(path, size, _root(file), total).run(file) if total else []
    except OSError as error:
        raise KeepthreadError(
            f"{path}: no readable transcript ({error.strerror or error})",
            "Name .jsonl files of sessions, or folders that hold such files.",
        ) from error


def _root(file: FileIO) -> str:
    """Return the folder in which the session was started: its first cwd."""
    file.seek(0)
    found = _CWD.search(file.read(_HEAD))
    try:
        return str(json.loads(found[1])) if found else ""
    except ValueError:
        return ""


class _Pass:
    def __init__(self, path: str, size: int, root: str, total: int) -> None:
        self.path, self.size, self.root = path, size, root
        self.left = total
        self.after: set[Unit] = set()
        self.summary = ""
        self.sent = False
        self.failed: set[str] = set()
        self.boundaries: list[_Boundary] = []

    def run(self, file: FileIO) -> list[Compaction]:
        """Read the file and return what was found."""
        for offset, end, line in lines(file, self.size):
            records = [raw for _, raw in parse(line)[0] if raw.get("isSidechain") is not True]
            for raw in reversed(records):
                if is_boundary(raw):
                    self._open(raw, offset)
                else:
                    self._record(raw)
            if any(raw.get("type") in ("user", "attachment") for raw in records):
                self._typed(said.typed(line, offset, end))
        return [self._closed(boundary) for boundary in reversed(self.boundaries)]

    def _open(self, raw: dict[str, Any], offset: int) -> None:
        details = mapping(raw.get("compactMetadata"))
        preserved = mapping(details.get("preservedMessages"))
        listed = preserved.get("allUuids") or preserved.get("uuids")
        segment = {} if listed else mapping(details.get("preservedSegment"))
        self.boundaries.append(
            _Boundary(
                offset,
                self.left,
                self.after,
                self.summary,
                set(filter(None, map(string, listed))) if isinstance(listed, list) else set(),
                string(segment.get("headUuid")),
                string(segment.get("tailUuid")),
            )
        )
        self.left -= 1
        self.after, self.summary, self.sent = set(), "", False
        self.failed.clear()

    def _record(self, raw: dict[str, Any]) -> None:
        if raw.get("type") == "queue-operation":
            self._queue(raw)
        elif raw.get("isCompactSummary") is True:
            self.summary = "\n".join(_words(raw))
        elif self.left:
            self.after |= self._units(said.written(raw), raw)
        self.failed.update(said.failures(raw))
        if not self.boundaries:
            return
        units = self._units(said.everything(raw), raw)
        for boundary in self.boundaries:
            seen = units & boundary.candidates
            boundary.seen |= seen
            if boundary.keeps(string(raw.get("uuid"))):
                boundary.kept |= seen
        for path in self._edited(raw):
            self.boundaries[-1].edited.setdefault(path)

    def _units(self, texts: Iterator[str], raw: dict[str, Any]) -> set[Unit]:
        found = {Unit("command", command) for command in said.commands(raw)}
        for text in texts:
            found |= named(text, self.root)
        return found

    def _edited(self, raw: dict[str, Any]) -> Iterator[str]:
        for identifier, name, given in said.calls(raw):
            path = string(given.get("file_path")) or string(given.get("notebook_path"))
            if name in said.EDITORS and path and identifier not in self.failed:
                yield relative(path, self.root)

    def _queue(self, raw: dict[str, Any]) -> None:
        """Take what was typed into the queue as said when, up to the boundary, something left the queue after it."""
        if raw.get("operation") in ("dequeue", "remove"):
            self.sent = True
        elif raw.get("operation") == "popAll":
            self.sent = False
        elif self.sent and (text := said.enqueued(raw)):
            self._typed([Message("user", "queued", text, Place(0, ""))])

    def _typed(self, messages: list[Message]) -> None:
        for message in reversed(messages):
            if self.left:
                self.after |= named(message.text, self.root)
            if self.boundaries and not self.boundaries[-1].ask and _asks(message):
                self.boundaries[-1].ask = message.text
            for boundary in self.boundaries:
                boundary.rules += reversed(rules.rules_in(message))

    def _closed(self, boundary: _Boundary) -> Compaction:
        needed = _whole_paths(boundary.seen - boundary.kept)
        return Compaction(
            self.path,
            self.size,
            boundary.ordinal,
            boundary.offset,
            self.root,
            tuple(sorted(needed)),
            boundary.summary,
            tuple(dict.fromkeys(reversed(boundary.rules))),
            tuple(boundary.edited),
            boundary.ask,
        )


def _asks(message: Message) -> bool:
    return not (message.via == "command" and is_local_command(message.text))


def _words(raw: dict[str, Any]) -> Iterator[str]:
    for block in blocks(mapping(raw.get("message")).get("content")):
        yield string(block.get("text"))


def _whole_paths(units: set[Unit]) -> set[Unit]:
    """Return the units without the bare file names that are the end of a path among them."""
    ends = {
        unit.text.rpartition("/")[2] for unit in units if unit.kind == "path" and "/" in unit.text
    }
    return {
        unit for unit in units if unit.kind != "path" or "/" in unit.text or unit.text not in ends
    }
