"""How full the context was after each of the last turns, from the API's own usage. Light: the status line asks it.

Only the newest branch counts: what was rewound is no part of the context. A transcript that cannot be read tells
nothing.
"""

from __future__ import annotations

from keepthread.transcript.boundaries import is_boundary
from keepthread.transcript.lines import lines, open_regular, size_of
from keepthread.transcript.parse import parse, reported
from keepthread.transcript.wording import is_local_command, wording

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from collections.abc import Sequence
    from typing import Any

LIMIT = 256 * 1024  # bytes
_TURNS = 10  # the last ones, of which growth is the median


class Pace:
    """What the end of a transcript says of the context's size, in tokens.

    Attributes:
        tokens: as the API reported with the last answer, 0 when no answer since the last compaction did.
        turns: the same at the end of each turn, the newest first.
        crossed: a compaction was met; what came before it is in the context no more.
        cut: the transcript is longer than what was read.
        model: the model that gave the last answer, "" when there is none.
    """

    __slots__ = ("crossed", "cut", "model", "tokens", "turns")

    def __init__(self) -> None:
        self.tokens, self.model, self.crossed, self.cut = 0, "", False, False
        self.turns: list[int] = []

    @property
    def growth(self) -> int:
        """Tokens by which the context grows in a turn: the median of the last ones, 0 when it is not known."""
        pairs = list(zip(self.turns, self.turns[1:], strict=False))[:_TURNS]
        steps = sorted(newer - older for newer, older in pairs)
        return max(0, steps[len(steps) // 2]) if steps else 0


def pace(path: str, *, limit: int = LIMIT) -> Pace:
    """Return what the last `limit` bytes of a transcript say, back to the last compaction."""
    walk = _Walk()
    try:
        with open_regular(path) as file:
            size = size_of(file)
            walk.found.cut = size > limit
            for _, _, line in lines(file, size, max(0, size - limit)):
                if b'"uuid"' in line and not walk.take(line):
                    break
    except OSError:
        pass  # no transcript: nothing is known
    return walk.found


class _Walk:
    """Follows the newest branch from its end backwards."""

    def __init__(self) -> None:
        self.found = Pace()
        self.wanted: object = None
        self.in_turn = 0  # what the answer met first in this turn, its last one, reported

    def take(self, line: bytes) -> bool:
        """Take in a line; return False at the compaction behind which nothing counts."""
        for _, raw in reversed(parse(line)[0]):
            if is_boundary(raw):
                self.found.crossed = True
                return False
            if self._is_next(raw):
                self._record(raw)
        return True

    def _is_next(self, raw: dict[str, Any]) -> bool:
        if raw.get("isSidechain") is True or not isinstance(raw.get("uuid"), str):
            return False
        if raw["uuid"] != self.wanted and (
            self.wanted is not None or raw.get("type") not in ("user", "assistant")
        ):
            return False
        self.wanted = raw.get("parentUuid") or ""
        return True

    def _record(self, raw: dict[str, Any]) -> None:
        message = raw.get("message")
        if not isinstance(message, dict):
            return
        if raw.get("type") == "assistant" and message.get("model") != "<synthetic>":
            tokens = reported(message.get("usage"))
            self.found.tokens = self.found.tokens or tokens
            self.in_turn = self.in_turn or tokens
            self.found.model = self.found.model or str(message.get("model") or "")
        elif raw.get("type") == "user" and _is_prompt(raw, message.get("content")):
            if self.in_turn:
                self.found.turns.append(self.in_turn)
            self.in_turn = 0


def _is_prompt(raw: dict[str, Any], content: Any) -> bool:
    """Return whether a user record begins a turn."""
    if raw.get("isMeta") is True or raw.get("isCompactSummary") is True:
        return False
    blocks: Sequence[Any] = content if isinstance(content, list) else [content]
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    words = next((text for text in texts if isinstance(text, str)), "")
    via, said = wording(words)
    return via in ("prompt", "plan", "command") and not is_local_command(said)
