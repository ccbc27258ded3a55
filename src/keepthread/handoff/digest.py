"""The conversation as a model reads it: the latest part as it was, the user's words longest, the rest in brief."""

from __future__ import annotations

import re
from collections.abc import Callable

from keepthread.handoff.spoken import FAINT, FAR, NEAR, WHOLE, Detail, bounded, minor, mute, speak
from keepthread.handoff.stages import RECENT_LEAST, RECENT_MOST, RECENT_TEXTS
from keepthread.transcript.model import Item, Message, Transcript

BYTES_PER_TOKEN = (
    3  # of code and its output; prose has four, and a guess too low is refused as too large
)

_GAP = "\n[{} left out]"
_SUMMARY = "\nSUMMARY BY THE HOST OF WHAT CAME BEFORE (a model wrote it, it may be wrong): "

# What the host puts around a summary: an opening, and orders for the model that went on with it.
_SUMMARY_FRAME = re.compile(
    r"\A\s*This session is being continued[^\n]*\n+(?:.{0,80000}?\n)?Summary:\n"
    r"|\n(?:If you need specific details|Please continue the conversation|Continue the conversation from where)"
    r".{0,4000}\Z",
    re.DOTALL,
)


def digest(transcript: Transcript, *, budget: int, redact: Callable[[str], str] = str) -> str:
    """Return the conversation within `budget` tokens.

    The last part stands as it was (calls with their results, both bounded), the first ask always. Before that the
    user's words are kept longest, prose shrinks to its first line, calls to one line with their outcome, the further
    back the more. Every omission is marked.

    Args:
        transcript: the live part.
        budget: tokens, estimated at three bytes each.
        redact: takes secrets out of a text.
    """
    return _Digest(transcript, budget * BYTES_PER_TOKEN, redact).text()


class _Digest:
    """Pieces of text by the index of their item, and the bytes that are left."""

    def __init__(self, transcript: Transcript, room: int, redact: Callable[[str], str]) -> None:
        self.transcript = transcript
        self.items = [
            item
            for item in transcript.items
            if not mute(item) and not (transcript.boundary and _is_summary(item))
        ]
        self.redact = redact
        self.pieces: dict[int, str] = {}
        self.room = room
        self.left = room - min(room // 20, 2_000)  # the rest is for the marks of omissions

    def text(self) -> str:
        """Choose what fits, the most needed first, and return it in order."""
        first = self._first_ask()
        opening = self._opening()
        start = self._recent()
        older = [
            index
            for index in range(min(start, len(self.items)) - 1, -1, -1)
            if index not in self.pieces  # the first ask, and texts that belong to the latest part
        ]
        self._older_words([index for index in older if self._typed(index)])
        self._older_rest([index for index in older if not self._typed(index)])
        return self._assembled(opening, first)

    def _add(self, index: int, text: str, most: int) -> bool:
        """Take the piece when it is no larger than `most` bytes."""
        size = _size(text)
        if size > min(most, self.left):
            return False
        if text:
            self.left += _size(self.pieces[index]) if index in self.pieces else 0
            self.pieces[index] = text
            self.left -= size
        return True

    def _speak(self, index: int, detail: Detail) -> str:
        return speak(self.items[index], detail, self.redact)

    def _typed(self, index: int) -> bool:
        item = self.items[index]
        return isinstance(item, Message) and (item.typed or item.via == "plan")

    def _first_ask(self) -> int:
        """Take the first thing the user asked for; return its index, -1 when there is none."""
        for index in range(len(self.items)):
            if self._typed(index):
                limit = max(min(4_000, self.room // 24), 40)
                self._add(index, self._speak(index, WHOLE._replace(typed=limit)), self.left)
                return index
        return -1

    def _opening(self) -> str:
        """Return the host's summary of what came before, and what was typed and then rewound."""
        parts: list[str] = []
        boundary = self.transcript.boundary
        if boundary is not None and boundary.summary.strip():
            limit = min(8_000, self.room // 24)
            summary = _SUMMARY_FRAME.sub("", boundary.summary)
            parts.append(_SUMMARY + _indented(bounded(summary, limit, self.redact)))
        for message in self.transcript.abandoned[-5:]:
            text = speak(message, Detail(min(200, self.room // 160), 0, 0, 0), self.redact)
            parts.append(text.replace("\nUSER", "\nTRIED AND REWOUND BY THE USER", 1))
        taken = "".join(part for part in parts if part)
        if _size(taken) > self.left // 3:
            return ""
        self.left -= _size(taken)
        return taken

    def _recent(self) -> int:
        """Take the latest items as they were; return the index of the first of them."""
        least = min(RECENT_LEAST, self.left * 3 // 4)
        most = min(RECENT_MOST * BYTES_PER_TOKEN, max(self.left * 7 // 10, least))
        used, texts = 0, 0
        for index in range(len(self.items) - 1, -1, -1):
            if used >= least and texts >= RECENT_TEXTS:
                return index + 1
            text = self._speak(index, WHOLE)
            if not self._add(index, text, most - used):
                self._earlier_texts(index, RECENT_TEXTS - texts)
                return index + 1 if used else self._squeezed(index, most)
            used += _size(text)
            texts += self._in_words(index)
        return 0

    def _in_words(self, index: int) -> bool:
        item = self.items[index]
        return isinstance(item, Message) and (item.typed or item.via == "reply")

    def _earlier_texts(self, start: int, missing: int) -> None:
        """Take messages in words that lie behind large tool output, so that the latest part holds enough of them."""
        allowance = self.left // 2
        for index in range(start, -1, -1):
            if missing <= 0:
                return
            if self._in_words(index):
                before = self.left
                if not self._add(index, self._speak(index, WHOLE), allowance):
                    return
                allowance -= before - self.left
                missing -= 1

    def _squeezed(self, index: int, most: int) -> int:
        """Take the very last item although it is larger than the whole recent part may be."""
        limit = max(most // 16, 20)
        for share in (limit * 3, limit * 2, limit):
            if self._add(index, self._speak(index, Detail(share, share, share, share)), most):
                return index
        return index + 1

    def _older_words(self, indexes: list[int]) -> None:
        """Take what the user typed earlier: the nearest whole, farther back head and tail."""
        allowance = self.left * 6 // 10
        used = 0
        for index in indexes:
            part = used / allowance if allowance else 1.0
            detail = NEAR if part < 0.5 else FAR if part < 0.75 else FAINT
            before = self.left
            if not self._add(index, self._speak(index, detail), allowance - used):
                return
            used += before - self.left

    def _older_rest(self, indexes: list[int]) -> None:
        """Take what the agent said and did earlier, in less and less detail."""
        allowance = self.left
        for index in indexes:
            part = 1 - self.left / allowance if allowance else 1.0
            detail = NEAR if part < 0.5 else FAR if part < 0.8 else FAINT
            if not self._add(index, self._speak(index, detail), self.left):
                return

    def _assembled(self, opening: str, first: int) -> str:
        """Join the pieces with marks where something is missing; when those need the room, give up the oldest prose."""
        while True:
            text = (opening + self._joined()).strip("\n")
            over = _size(text) - self.room
            if over <= 0:
                return text
            others = sorted((self._typed(index), index) for index in self.pieces if index != first)
            if not others:
                return text.encode()[: self.room].decode("utf-8", "ignore")
            for _, index in others:
                over -= _size(self.pieces.pop(index))
                if over <= 0:
                    break

    def _joined(self) -> str:
        parts: list[str] = []
        missing = 0
        for index, item in enumerate(self.items):
            if index in self.pieces:
                parts += [_gap(missing), self.pieces[index]]
                missing = 0
            elif not minor(item):
                missing += 1
        return "".join((*parts, _gap(missing)) if parts else ())


def _gap(number: int) -> str:
    return _GAP.format(f"{number} item{'s' if number > 1 else ''}") if number else ""


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _is_summary(item: Item) -> bool:
    return isinstance(item, Message) and item.via == "summary"
