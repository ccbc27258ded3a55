"""What one record of a transcript says: all of it, and what of it the agent or the user wrote to say where and what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from keepthread.transcript.model import Message
from keepthread.transcript.record import blocks, mapping, string
from keepthread.transcript.slim import Slimmer

# The parts of a tool's input that say where and what. New content (`content`, `new_string`) is not among them.
_WHERE = (
    "file_path",
    "notebook_path",
    "path",
    "relative_path",
    "pattern",
    "glob",
    "query",
    "url",
    "subject",
    "skill",
    "args",
    "task_id",
)
# The beginning of an edit's old text says where; what follows is content.
_ANCHOR = 400  # characters
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1[^\n]*\n.*?(?:\n\s*\2\b|\Z)", re.DOTALL)
EDITORS = frozenset(("Edit", "MultiEdit", "Write", "NotebookEdit"))
_SHELLS = frozenset(("Bash", "PowerShell"))


def calls(raw: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield id, tool and input of the tool calls in a record."""
    if raw.get("type") == "assistant":
        for block in blocks(mapping(raw.get("message")).get("content")):
            if block.get("type") == "tool_use":
                yield (
                    string(block.get("id")),
                    string(block.get("name")),
                    mapping(block.get("input")),
                )


def failures(raw: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids of the calls that a record says have failed or were refused."""
    if raw.get("type") == "user":
        for block in blocks(mapping(raw.get("message")).get("content")):
            if block.get("type") == "tool_result" and block.get("is_error") is True:
                yield string(block.get("tool_use_id"))


def everything(raw: Mapping[str, Any]) -> Iterator[str]:
    """Yield every text of a record: words, inputs, results."""
    if raw.get("type") in ("user", "assistant"):
        yield from _strings(mapping(raw.get("message")).get("content"))
    elif raw.get("type") == "attachment":
        yield from _strings(mapping(raw.get("attachment")).get("prompt"))
    elif raw.get("type") == "queue-operation":
        yield from _strings(raw.get("content"))


def written(raw: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the agent wrote in a record to say something or to say where and what, commands among it."""
    message = mapping(raw.get("message"))
    if raw.get("type") != "assistant" or message.get("model") == "<synthetic>":
        return
    for block in blocks(message.get("content")):
        if block.get("type") == "text":
            yield string(block.get("text"))
    for _, _, given in calls(raw):
        yield from (given[key] for key in _WHERE if isinstance(given.get(key), str))
        yield string(given.get("old_string"))[:_ANCHOR]
        edits = given.get("edits")
        for edit in edits if isinstance(edits, list) else ():
            yield string(mapping(edit).get("old_string"))[:_ANCHOR]
        yield without_heredocs(string(given.get("command")))


def commands(raw: Mapping[str, Any]) -> Iterator[str]:
    """Yield the shell commands in a record, on one line each; one with a document inside is none."""
    for _, name, given in calls(raw):
        command = " ".join(string(given.get("command")).split())
        if name in _SHELLS and command and "<<" not in command:
            yield command


def without_heredocs(command: str) -> str:
    """Return a command without the documents it holds."""
    return _HEREDOC.sub(" ", command) if "<<" in command else command


def typed(line: bytes, offset: int, end: int) -> list[Message]:
    """Return what a person typed on a line of the transcript; what only went into the queue is not among it."""
    found: list[Message] = []
    for record in Slimmer().records(line, offset, end):
        found += [part for part in record.parts if isinstance(part, Message) and part.typed]
    return [message for message in found if message.text]


def enqueued(raw: Mapping[str, Any]) -> str:
    """Return what a person typed into the queue while the agent worked, "" when the record says nothing such."""
    text = string(raw.get("content")).strip()
    notice = text.startswith(("<", "/", "{"))
    return text if raw.get("operation") == "enqueue" and not notice else ""


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < 20 and isinstance(value, dict):
        for key, item in value.items():
            if key not in ("signature", "data", "id", "tool_use_id", "type", "thinking"):
                yield from _strings(item, depth + 1)
    elif depth < 20 and isinstance(value, list):
        for item in value:
            yield from _strings(item, depth + 1)
