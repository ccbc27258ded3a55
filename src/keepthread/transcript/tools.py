"""Tool calls and results, slim: bounded texts, no base64, none of the file contents the host repeats."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from keepthread.transcript.model import Call, Message, Result
from keepthread.transcript.record import Answer, Budget, Record, blocks, mapping, string
from keepthread.transcript.text import IMAGE, carried, clean
from keepthread.transcript.tokens import of_result
from keepthread.transcript.wording import (
    INTERRUPTED,
    REFUSALS,
    names_denials,
    refusal_words,
    without_reminders,
)

# File contents, outputs that `Result.text` holds already, and prompts that the call holds.
_DROPPED = frozenset(
    (
        "content",
        "originalFile",
        "originalFileContents",
        "oldString",
        "newString",
        "stdout",
        "stderr",
        "edits",
        "oldTodos",
        "base64",
        "data",
        "prompt",
        "result",
        "usage",
        "toolStats",
        "normalizedMessages",
        "questions",
        "snippet",
    )
)
# The user's decisions and the plan: kept whole as far as any text is.
_WHOLE = frozenset(("plan", "answers", "annotations"))
_REJECTED = "User rejected tool use"
_VALUE = 1_000
_ENTRIES = 100
_DEPTH = 5
_ANSWERED = re.compile(r'"([^"]+)"="(.*?)"(?=, "|\. |$)', re.DOTALL)


def call(block: dict[str, Any], record: Record, budget: Budget) -> Call:
    """Return a `tool_use` block as a call."""
    given = block.get("input")
    arguments = slim_input(given if isinstance(given, dict) else {}, budget)
    name = clean(string(block.get("name"))[:200])
    return Call(
        string(block.get("id")), name, arguments, record.place, record.timestamp, record.cwd
    )


def answer(block: dict[str, Any], raw: dict[str, Any], record: Record, budget: Budget) -> Answer:
    """Return a `tool_result` block of the raw record as an answer that waits for its call."""
    text = _result_text(block.get("content"))
    record.size += of_result(text)
    text = carried(without_reminders(text), budget.bound, budget.bound)
    budget.spend(len(text))
    is_error = block.get("is_error") is True
    detail, denial = raw.get("toolUseResult"), raw.get("toolDenialKind")
    data = slim_data(detail) if isinstance(detail, dict) else {}
    if "<tool_use_error>" in text[:40] and (
        "Sibling tool call" in text or "Cancelled" in text[:80]
    ):
        data["cancelled"] = True
    if is_error and text.startswith(INTERRUPTED):
        data["interrupted"] = True
    rejected = is_error and _is_rejected(text, detail, denial, record.version)
    result = Result(text, is_error, rejected, record.place, record.timestamp, data)
    found = Answer(string(block.get("tool_use_id")), result)
    if rejected:
        found.refusal = Message(
            "user", "rejection", refusal_words(text), record.place, record.timestamp, record.cwd
        )
        found.doubtful = denial is None and detail != _REJECTED
    return found


def decisions(data: dict[str, Any]) -> list[str]:
    """Return what the user answered to AskUserQuestion, "question -> answer" each, from the slim result."""
    annotations = mapping(data.get("annotations"))
    found = []
    for question, given in mapping(data.get("answers")).items():
        words = ", ".join(map(str, given)) if isinstance(given, list) else str(given)
        notes = string(mapping(annotations.get(question)).get("notes"))
        more = f" ({notes})" if notes and notes not in words else ""
        found.append(f"{question} -> {words}{more}")
    return found


def decisions_in_text(text: str, asked: Sequence[str]) -> list[str]:
    """Return the same from the text of the result, for records that lack the structured answer.

    Only the questions that were asked are looked for, each once: an answer may hold what looks like another one.
    """
    if not text.startswith("User has answered your questions:"):
        return []
    given: dict[str, str] = {}
    for question, words in _ANSWERED.findall(text):
        if question in asked:
            given.setdefault(question, words)
    return [f"{question} -> {words}" for question, words in given.items()]


def questions(given: dict[str, Any]) -> list[str]:
    """Return what a call of AskUserQuestion asks, from its input."""
    listed = given.get("questions")
    return [
        string(mapping(each).get("question"))
        for each in (listed if isinstance(listed, list) else [])
    ]


def slim_input(arguments: dict[str, Any], budget: Budget) -> dict[str, Any]:
    """Return a tool's input with every string clean, bounded and free of base64."""
    slim: dict[str, Any] = _slim_value(arguments, budget, 0)
    return slim


def slim_data(detail: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """Return the host's structured result without large texts."""
    slim: dict[str, Any] = {}
    for key, value in list(detail.items())[:_ENTRIES]:
        if key in _DROPPED:
            continue
        bound = 32 * _VALUE if key in _WHOLE else _VALUE
        slim[clean(key[:_VALUE])] = _slim_datum(value, bound, depth)
    return slim


def _slim_datum(value: Any, bound: int, depth: int) -> Any:
    if isinstance(value, str):
        return carried(value, bound, 0)
    if depth >= _DEPTH:
        return None if isinstance(value, (dict, list)) else value
    if isinstance(value, dict):
        if bound > _VALUE:
            return {clean(key): _slim_datum(item, bound, depth + 1) for key, item in value.items()}
        return slim_data(value, depth + 1)
    if isinstance(value, list):
        return [_slim_datum(item, bound, depth + 1) for item in value[:_ENTRIES]]
    return value


def _slim_value(value: Any, budget: Budget, depth: int) -> Any:
    if isinstance(value, str):
        text = carried(value, budget.bound, budget.bound)
        budget.spend(len(text))
        return text
    if depth > 20:
        return None
    if isinstance(value, dict):
        return {clean(key): _slim_value(item, budget, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_slim_value(item, budget, depth + 1) for item in value]
    return value


def _result_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, map(_block_text, blocks(content))))


def _block_text(block: dict[str, Any]) -> str:
    kind = block.get("type")
    if kind == "text":
        return string(block.get("text"))
    if kind == "image":
        return IMAGE
    if kind == "document":
        return "[document]"
    if kind == "tool_reference":
        return f"[tool {string(block.get('tool_name'))}]"
    return ""


def _is_rejected(text: str, detail: Any, denial: Any, version: str) -> bool:
    """Return whether the user refused: by the host's mark, which every version that writes it writes each time.

    Any tool may print the words, so they count only for versions without the mark.
    """
    if denial is not None or names_denials(version):
        return bool(denial == "user-rejected")
    return bool(detail == _REJECTED) or text.startswith(REFUSALS)
