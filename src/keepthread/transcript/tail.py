"""What the end of a transcript says, cheaply: SessionStart asks it, and pays for each millisecond.

Standard library only, nothing that is not light, and no error leaves these functions: a transcript
that cannot be read says nothing.
"""

from __future__ import annotations

from io import FileIO

from keepthread.transcript.boundaries import count_in, is_boundary
from keepthread.transcript.lines import lines, open_regular, size_of
from keepthread.transcript.parse import parse
from keepthread.transcript.wording import (
    PLAN,
    REFUSALS,
    is_local_command,
    is_notice,
    names_denials,
    refusal_words,
    wording,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_ASK = 600
_COUNTED = 64 << 20  # bytes in which boundaries are counted
_EDITORS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
_WORTH = (
    b'"user"',
    b'"assistant"',
    b'"queued_command"',
    b'"queue-operation"',
    b'"compact_boundary"',
)


def since(path: str, offset: int, *, limit: int = 2 << 20) -> dict[str, Any]:
    """Return what was said and done after a byte offset, from the last `limit` bytes only.

    Returns:
        asks: what the user typed, oldest first, each at most 600 characters.
        edits: paths that the edit tools were called with, oldest first.
        boundaries: compactions of the main chain, all of them; -1 when the file has grown too far to count them.
        records: records of the conversation.
        truncated: whether the limit left out what came first.
    """
    found = _Since()
    truncated = False
    try:
        with open_regular(path) as file:
            size = size_of(file)
            truncated = size - limit > offset
            for _, raw in _records(file, size, max(offset, size - limit), _WORTH):
                found.add(raw)
            if truncated:
                near = size - offset <= _COUNTED
                found.boundaries = count_in(file, max(0, offset), size) if near else -1
    except OSError:
        pass  # it is gone or unreadable; the handoff at hand is all there is
    return {
        "asks": found.asks[::-1],
        "edits": found.edits[::-1],
        "boundaries": found.boundaries,
        "records": found.talk,
        "truncated": truncated,
    }


def uuids_from_end(path: str, *, end: int | None = None, limit: int = 2 << 20) -> list[str]:
    """Return the uuids of the main chain's records within `limit` bytes before `end`, newest first."""
    try:
        with open_regular(path) as file:
            size = size_of(file)
            stop = size if end is None else max(0, min(end, size))
            records = _records(file, stop, max(0, stop - limit), (b'"uuid"',))
            return [
                raw["uuid"]
                for _, raw in records
                if isinstance(raw.get("uuid"), str) and raw.get("isSidechain") is not True
            ]
    except OSError:
        return []


def leaves_out(path: str, uuid: str, *, limit: int = 2 << 20) -> bool:
    """Return whether the talk's newest branch goes past this record, as far as the last `limit` bytes tell.

    It does after a rewind, and beside one of several parallel calls; False when the record is not among those bytes,
    or when a compaction came after it.
    """
    wanted: object = None
    met = False
    try:
        with open_regular(path) as file:
            size = size_of(file)
            for _, raw in _records(file, size, max(0, size - limit), (b'"uuid"',)):
                if raw.get("isSidechain") is True or not isinstance(raw.get("uuid"), str):
                    continue
                if is_boundary(raw):
                    return met
                met = met or raw["uuid"] == uuid
                newest = wanted is None and raw.get("type") in ("user", "assistant")
                if newest or raw["uuid"] == wanted:
                    if met:
                        return bool(raw["uuid"] != uuid)
                    wanted = raw.get("parentUuid") or ""
    except OSError:
        pass  # what cannot be read tells of no rewind
    return met


def belongs(path: str, session_id: str, *, limit: int = 1 << 20) -> bool:
    """Return whether a file is this session's own: the last record of its main chain names it.

    The first records may be another session's, copied in by a resume. A subagent's file repeats its
    parent's id, but is all sidechain.
    """
    try:
        with open_regular(path) as file:
            size = size_of(file)
            for _, raw in _records(file, size, max(0, size - limit), (b'"sessionId"',)):
                if isinstance(raw.get("sessionId"), str) and raw.get("isSidechain") is not True:
                    return bool(raw["sessionId"] == session_id)
    except OSError:
        pass  # what cannot be read belongs to no one
    return False


def _records(
    file: FileIO, stop: int, floor: int, worth: tuple[bytes, ...]
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (offset of its line, record), last first, of the lines that hold one of the byte strings."""
    for offset, _, line in lines(file, stop, floor):
        if any(mark in line for mark in worth):
            for _, raw in reversed(parse(line)[0]):
                yield offset, raw


class _Since:
    """What has been found, last first."""

    def __init__(self) -> None:
        self.asks: list[str] = []
        self.edits: list[str] = []
        self.taken_back: list[str] = []
        self.boundaries = 0
        self.talk = 0

    def add(self, raw: dict[str, Any]) -> None:
        """Take in one record."""
        if raw.get("isSidechain") is True:
            return
        kind = raw.get("type")
        if kind == "user":
            self._user(raw)
        elif kind == "assistant":
            self._assistant(raw)
        elif kind == "attachment":
            self._attachment(raw.get("attachment"))
        elif kind == "queue-operation":
            self._queued(raw.get("operation"), _texts(raw.get("content")))
        elif kind == "system" and raw.get("subtype") == "compact_boundary":
            self.boundaries += 1

    def _user(self, raw: dict[str, Any]) -> None:
        if raw.get("isMeta") is True or raw.get("isCompactSummary") is True:
            return
        origin = raw.get("origin")
        if isinstance(origin, dict) and origin.get("kind", "human") != "human":
            return
        content = _blocks(raw)
        results = [block for block in content if block.get("type") == "tool_result"]
        self.talk += bool(results)
        for text in reversed([block["text"] for block in content if _is_text(block)]):
            via, words = wording(text)
            if raw.get("promptSource") == "system" and via == "prompt":
                continue
            self._say(via, words, talk=not results)
        for block in reversed(results):
            self._result(block, raw)

    def _result(self, block: dict[str, Any], raw: dict[str, Any]) -> None:
        text = "\n".join(_texts(block.get("content")))
        denial = raw.get("toolDenialKind")
        unmarked = denial is None and not names_denials(str(raw.get("version", "")))
        told = denial == "user-rejected" or unmarked
        if told and block.get("is_error") is True and text.startswith(REFUSALS):
            self._ask(refusal_words(text))
        detail = raw.get("toolUseResult")
        answers = detail.get("answers") if isinstance(detail, dict) else None
        if isinstance(answers, dict):
            for question, answer in reversed(answers.items()):
                self._ask(f"{question} -> {answer}")

    def _assistant(self, raw: dict[str, Any]) -> None:
        message = raw.get("message")
        if isinstance(message, dict) and message.get("model") == "<synthetic>":
            return
        content = _blocks(raw)
        calls = [block for block in content if block.get("type") == "tool_use"]
        self.talk += bool(calls or any(_is_text(block) for block in content))
        for block in reversed(calls):
            given = block.get("input")
            if block.get("name") in _EDITORS and isinstance(given, dict):
                path = given.get("file_path") or given.get("notebook_path")
                if isinstance(path, str):
                    self.edits.append(path)

    def _attachment(self, given: Any) -> None:
        if isinstance(given, dict) and given.get("commandMode") == "prompt":
            for text in reversed(_texts(given.get("prompt"))):
                self._say(*wording(text), talk=True)

    def _queued(self, operation: Any, texts: list[str]) -> None:
        if operation == "popAll":
            self.taken_back += texts
        for text in texts if operation == "enqueue" else ():
            sent = not any(text in others for others in self.taken_back)
            if sent and not is_notice(text) and not is_local_command(text):
                self._ask(text)

    def _say(self, via: str, words: str, *, talk: bool) -> None:
        if via in ("prompt", "plan"):
            self.talk += talk
            self._ask(PLAN if via == "plan" else words)
        elif via in ("bash", "memory") or (via == "command" and not is_local_command(words)):
            self._ask(words)

    def _ask(self, text: str) -> None:
        """Keep what was typed, once: a prompt that passed through the queue has a record there too."""
        bare = text.strip()[:_ASK].encode("utf-8", "replace").decode("utf-8")
        if bare and bare not in self.asks[-5:]:
            self.asks.append(bare)


def _blocks(raw: dict[str, Any]) -> list[dict[str, Any]]:
    message = raw.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def _texts(content: Any) -> list[str]:
    return [
        block["text"] for block in _blocks({"message": {"content": content}}) if _is_text(block)
    ]


def _is_text(block: dict[str, Any]) -> bool:
    return block.get("type") == "text" and isinstance(block.get("text"), str)
