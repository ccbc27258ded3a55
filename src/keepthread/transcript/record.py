"""A record as it is kept while reading: what threading needs, and its parts already slim. The raw line is gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from keepthread.transcript.model import Call, Message, Note, Place, Result


@dataclass(slots=True)
class Answer:
    """A tool result before it has met its call.

    `refusal` holds the user's words when the call was rejected; `doubtful` says that nothing but the
    text itself speaks for a rejection, as in old versions, which an MCP server's text can forge.
    """

    id: str
    result: Result
    refusal: Message | None = None
    doubtful: bool = False


Part = Message | Call | Note | Answer


@dataclass(slots=True)
class Record:
    """One record.

    Attributes:
        offset, end: where it begins, and the first byte after its line.
        kind: `type`, with `:subtype` behind it when there is one.
        parent: `parentUuid`, or at null `logicalParentUuid`.
        size: estimated tokens that its content takes in the context.
        usage: tokens the API reported up to and including this message, 0 when it did not.
        prompt: whether a person typed it as a prompt of its own (what can be rewound to).
        extra: fields of single kinds: "queue", "compaction", "history", "title".
    """

    offset: int
    end: int
    kind: str
    uuid: str = ""
    parent: str = ""
    side: bool = False
    timestamp: str = ""
    parts: list[Part] = field(default_factory=list)
    message_id: str = ""
    model: str = ""
    usage: int = 0
    size: int = 0
    prompt: bool = False
    cwd: str = ""
    branch: str = ""
    version: str = ""
    session: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> Place:
        """Where the record stands."""
        return Place(self.offset, self.uuid)


class Budget:
    """How many characters may still be carried at full length.

    Reading runs from the end of the file: what is beyond the budget is older than any context
    window reaches back, and is kept as its outline only.
    """

    HEAD = 32 * 1024
    OUTLINE = 1024

    def __init__(self, characters: int = 12 << 20) -> None:
        self.left = characters

    @property
    def bound(self) -> int:
        """How much of a text's head, and as much of its tail, is carried now."""
        return self.HEAD if self.left > 0 else self.OUTLINE

    def spend(self, characters: int) -> None:
        """Count what has been carried."""
        self.left -= characters


def string(value: Any) -> str:
    """Return the value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else {}."""
    return value if isinstance(value, dict) else {}


def blocks(content: Any) -> list[dict[str, Any]]:
    """Return message content as a list of blocks, whichever way it was written."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    return []
