"""Who is speaking in a record: the user, the assistant, or the host under either name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from keepthread.transcript import notes, tools
from keepthread.transcript.model import Message, Speaker, Via
from keepthread.transcript.parse import reported
from keepthread.transcript.record import Answer, Budget, Record, blocks, mapping, string
from keepthread.transcript.text import IMAGE, carried
from keepthread.transcript.tokens import IMAGE as IMAGE_TOKENS
from keepthread.transcript.tokens import estimate, weigh
from keepthread.transcript.wording import wording

SYNTHETIC = "<synthetic>"
_SILENT = "No response requested."
_OUTLINE = 2_000
_HOST = frozenset(("summary", "notification", "injected", "error"))


def user(raw: dict[str, Any], record: Record, budget: Budget) -> None:
    """Add what stands in a user record: words, or tool results with the words beside them."""
    content = blocks(mapping(raw.get("message")).get("content"))
    results = [block for block in content if block.get("type") == "tool_result"]
    if results:
        for block in results:
            record.parts.append(tools.answer(block, raw, record, budget))
        _beside(content, record)
    else:
        _words(content, _mark(raw), record)
    if raw.get("todos"):
        notes.todos(raw["todos"], record)


def assistant(raw: dict[str, Any], record: Record, budget: Budget) -> None:
    """Add what the assistant wrote and the tools it called."""
    message = mapping(raw.get("message"))
    content = blocks(message.get("content"))
    record.message_id = string(message.get("id"))
    record.model = string(message.get("model"))
    if record.model == SYNTHETIC or raw.get("isApiErrorMessage") is True:
        _synthetic(content, record)
        return
    record.usage = reported(message.get("usage"))
    for block in content:
        kind = block.get("type")
        if kind == "text" and string(block.get("text")).strip():
            _say(record, "reply", block["text"], budget.bound)
            record.size += estimate(block["text"])
            budget.spend(min(len(block["text"]), 2 * budget.bound))
        elif kind == "tool_use":
            record.parts.append(tools.call(block, record, budget))
            record.size += weigh(block.get("input"))


def queued_command(given: dict[str, Any], record: Record) -> None:
    """Add what the user typed while the agent worked, from its attachment."""
    content = blocks(given.get("prompt"))
    origin = mapping(given.get("origin")).get("kind")
    if given.get("commandMode") not in ("prompt", None) or origin not in ("human", None):
        _words(content, "notification", record)
        return
    _words(content, "", record)
    record.parts = [
        _as(part, "queued") if isinstance(part, Message) and part.via == "prompt" else part
        for part in record.parts
    ]
    record.prompt = False


def text_of(content: Any) -> str:
    """Return the text of message content, whichever way it was written."""
    return "\n".join(string(block.get("text")) for block in blocks(content))


def _mark(raw: dict[str, Any]) -> str:
    """Return the speaker that the record's own marks name, "" when the text has to tell."""
    if raw.get("isCompactSummary") is True:
        return "summary"
    if raw.get("isMeta") is True or raw.get("isVisibleInTranscriptOnly") is True:
        return "injected"
    origin = mapping(raw.get("origin")).get("kind")
    if isinstance(origin, str) and origin != "human":
        return "notification"
    return "system" if raw.get("promptSource") == "system" else ""


def _words(content: list[dict[str, Any]], mark: str, record: Record) -> None:
    """Add the words of a record, those of one speaker in one message."""
    images = sum(block.get("type") == "image" for block in content)
    record.size += IMAGE_TOKENS * images
    typed: list[str] = []
    for via, text in _spoken(content, mark):
        record.size += estimate(text)
        if via == "prompt":
            typed.append(text)
        elif text:
            _say(record, via, text, _bound(via))
    if typed or (images and not record.parts):
        text = "\n".join(typed) or IMAGE
        message = _message(record, "prompt", text, 32 * 1024, images=images)
        record.parts.append(message)
        record.prompt = True


def _spoken(content: list[dict[str, Any]], mark: str) -> Iterator[tuple[str, str]]:
    for block in content:
        if block.get("type") == "document":
            yield ("injected" if mark else "prompt"), "[document]"
        if block.get("type") != "text":
            continue
        text = string(block.get("text"))
        if mark in ("", "system"):
            via, text = wording(text)
            yield ("injected" if via == "prompt" and mark else via), text
        else:
            yield mark, text.strip()


def _beside(content: list[dict[str, Any]], record: Record) -> None:
    """Add the words that stand beside a tool result: typed while approving or refusing the call."""
    refused = any(isinstance(part, Answer) and part.result.rejected for part in record.parts)
    texts = [string(block.get("text")) for block in content if block.get("type") == "text"]
    beside = "rejection" if refused else "approval"
    for via, text in map(wording, texts):
        if text:
            record.size += estimate(text)
            _say(record, beside if via == "prompt" else via, text, _bound(via))


def _synthetic(content: list[dict[str, Any]], record: Record) -> None:
    """Add what the host says under the assistant's name: a limit, an error, or nothing."""
    record.kind = "assistant:synthetic"
    text = text_of(content).strip()
    if text and text != _SILENT:
        _say(record, "error", text, _OUTLINE)


def _bound(via: str) -> int:
    return _OUTLINE if via in ("injected", "notification") else 32 * 1024


def _say(record: Record, via: str, text: str, bound: int) -> None:
    record.parts.append(_message(record, via, text, bound))


def _message(record: Record, via: str, text: str, bound: int, images: int = 0) -> Message:
    speaker: Speaker = "host" if via in _HOST else "assistant" if via == "reply" else "user"
    words = carried(text.strip(), bound, bound)
    name = cast(Via, via)
    return Message(speaker, name, words, record.place, record.timestamp, record.cwd, images)


def _as(message: Message, via: Via) -> Message:
    return Message(
        message.speaker,
        via,
        message.text,
        message.place,
        message.timestamp,
        message.cwd,
        message.images,
    )
