"""How the context has grown and what was called since a byte offset: the Stop hook asks it after every turn.

Standard library only, light, read from the end and bounded. A transcript that cannot be read says nothing.
"""

from __future__ import annotations

from keepthread.transcript.boundaries import is_boundary
from keepthread.transcript.lines import lines, open_regular, size_of
from keepthread.transcript.parse import parse, reported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = 2 << 20  # bytes


class Growth:
    """What the end of a transcript says.

    Attributes:
        size: bytes of the file that were looked at.
        tokens: the context as the API counted it with the last request (input and cache); 0: unknown.
        lowest: the smallest such figure since the offset, 0 when there is none; a compaction or rewind makes it small.
        crossed: a compaction lies between the offset and the end; what came before it was not looked at.
        calls: tool calls since the offset, or since that compaction.
        calls_of_turn: tool calls since the last prompt.
        cut: the limit was reached first; what came before it was not looked at.
        answered: the last record of the talk is an answer in words: the turn is whole in the file.
    """

    __slots__ = (
        "answered",
        "calls",
        "calls_of_turn",
        "crossed",
        "cut",
        "lowest",
        "size",
        "tokens",
    )

    def __init__(self) -> None:
        self.size = self.tokens = self.lowest = self.calls = self.calls_of_turn = 0
        self.crossed = self.cut = self.answered = False


def growth(path: str, since: int | None, *, end: int | None = None, limit: int = LIMIT) -> Growth:
    """Return what was said and done after the byte offset `since`; None asks for the context's size alone.

    Args:
        path: the session's file.
        since: how far it is known already.
        end: read up to here; the file's size when None.
        limit: read no more bytes than this.
    """
    found = Growth()
    seen = _Seen(found)
    try:
        with open_regular(path) as file:
            size = size_of(file)
            found.size = size if end is None else min(size, end)
            floor = max(since or 0, found.size - limit)
            found.cut = floor > (since or 0)
            for _, _, line in lines(file, found.size, floor):
                if not seen.add_line(line) or (since is None and found.tokens):
                    break
    except OSError:
        pass  # gone or unreadable: nothing is known
    return found


class _Seen:
    """Reads records, the last one first, into a Growth."""

    def __init__(self, found: Growth) -> None:
        self.found = found
        self.ids: set[str] = set()
        self.in_turn = True
        self.talked = False

    def add_line(self, line: bytes) -> bool:
        """Take in a line; return False when nothing before it belongs to this context."""
        if not _worth(line):
            return True
        for _, raw in reversed(parse(line)[0]):
            if raw.get("isSidechain") is True:
                continue
            if is_boundary(raw):
                self.found.crossed = True
                return False
            if raw.get("type") == "assistant":
                self._assistant(raw.get("message"))
            elif raw.get("type") == "user":
                self._user(raw)
        return True

    def _assistant(self, message: Any) -> None:
        if not isinstance(message, dict) or message.get("model") == "<synthetic>":
            return
        content = message.get("content")
        blocks = [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
        calls = [str(block.get("id")) for block in blocks if block.get("type") == "tool_use"]
        if not self.talked:
            self.talked = True
            self.found.answered = any(block.get("type") == "text" for block in blocks)
        for name in calls:
            if name not in self.ids:  # a record may stand in the file more than once
                self.ids.add(name)
                self.found.calls += 1
                self.found.calls_of_turn += self.in_turn
        tokens = reported(message.get("usage"), answer=False)
        if tokens:
            found = self.found
            found.tokens = found.tokens or tokens
            found.lowest = min(found.lowest or tokens, tokens)

    def _user(self, raw: dict[str, Any]) -> None:
        if raw.get("isMeta") is True or raw.get("isCompactSummary") is True:
            return
        self.talked = True
        message = raw.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        blocks = content if isinstance(content, list) else []
        if not any(isinstance(b, dict) and b.get("type") == "tool_result" for b in blocks):
            self.in_turn = False


def _worth(line: bytes) -> bool:
    """Return whether a line can say something; results of tools, the largest ones, are not parsed."""
    if b'"usage"' in line or b'"compact_boundary"' in line:
        return True
    return b'"user"' in line and b'"tool_use_id"' not in line
