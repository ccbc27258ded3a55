"""A conversation in pieces that belong together: turns, tool blocks, and the parts of a long session.

A turn is what the user said and what answers it. A block is the smallest piece that is never cut: a message, or tool
calls with their results as far as they overlap. Sizes are bytes of UTF-8, as the model would be told an item whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from keepthread.handoff.spoken import WHOLE, mute
from keepthread.transcript.model import Call, Item, Message, Transcript

RECENT_LEAST = (
    40_000  # bytes of the latest part that are told as they were: 10,000 tokens, be it prose
)
RECENT_MOST = 40_000  # tokens
RECENT_TEXTS = 5  # messages in words the latest part reaches back to
PARTS_MOST = 6  # every part is a call that is paid for

_RATIO = 0.4  # of the window one part may fill
_RATIO_LEAST = 0.15
_LARGE = 0.1  # of the window: from here on a message is large, and parts are made smaller
_SAFETY = 1.2


class Shortened(NamedTuple):
    """A transcript without its oldest turns, and how much was left out."""

    transcript: Transcript
    turns: int
    size: int


def weight(item: Item) -> int:
    """Return about how many bytes the item takes when it is told whole."""
    if isinstance(item, Message):
        limit = WHOLE.typed if item.typed or item.via == "plan" else WHOLE.said
        return 0 if mute(item) else min(_bytes(item.text), limit) + 8
    if isinstance(item, Call):
        inputs = sum(
            min(_bytes(value) if isinstance(value, str) else 60, WHOLE.input // 2)
            for value in item.input.values()
        )
        result = _bytes(item.result.text) if item.result else 0
        return inputs + min(result, WHOLE.result) + 40
    return 0


def turns(items: Sequence[Item]) -> list[list[Item]]:
    """Return the items by turn; what stands before the first typed message is a turn of its own."""
    found: list[list[Item]] = []
    for item in items:
        opens = isinstance(item, Message) and item.typed
        goes_on = found and all(isinstance(one, Message) and one.typed for one in found[-1])
        if not found or (opens and not goes_on):
            found.append([item])
        else:
            found[-1].append(item)
    return found


def blocks(items: Sequence[Item]) -> list[list[Item]]:
    """Return the items in pieces that are never parted: calls that run side by side stay with all their results.

    A call that failed, was refused or has no result holds nothing open. Calls without results at the very end are
    still running; they stay together.
    """
    found: list[list[Item]] = []
    open_until = -1
    for item in items:
        if found and (item.place.offset < open_until or _running(found[-1], item)):
            found[-1].append(item)
        else:
            found.append([item])
        open_until = max(open_until, _answered_at(item))
    return found


def goal_of(items: Iterable[Item]) -> list[Item]:
    """Return the first thing the user asked for, as a list of one; empty when nothing was typed."""
    first = next((item for item in items if isinstance(item, Message) and item.typed), None)
    return [first] if first is not None else []


def without_oldest(transcript: Transcript, keep: float) -> Shortened:
    """Return the transcript with its oldest turns left out, so that at most `keep` of its size stays.

    The user's first ask stays: it is the goal. When the latest turn alone is larger, its oldest blocks go too, but not
    the ask that opened it.

    Args:
        transcript: the live part.
        keep: a share from 0 to 1.
    """
    groups = turns(transcript.items)
    total = _size(transcript.items)
    most = total * keep
    gone: list[Item] = []
    dropped = 0
    while len(groups) > 1 and total - _size(gone) > most:
        gone += groups.pop(0)
        dropped += 1
    kept = [item for group in groups for item in group]
    if len(groups) == 1:
        opening, pieces = _opened(kept)
        while len(pieces) > 1 and total - _size(gone) > most:
            gone += pieces.pop(0)
        kept = [*opening, *(item for piece in pieces for item in piece)]
    if not gone:
        return Shortened(transcript, 0, 0)
    goal = goal_of(gone)
    items = [*goal, *kept]
    return Shortened(
        replace(transcript, items=items, abandoned=[]), dropped, _size(gone) - _size(goal)
    )


def last_turns(transcript: Transcript, most: int) -> Shortened:
    """Return the transcript with its last `most` turns alone, 0: all of them; calls keep their results.

    The user's first ask stays: it is the goal.
    """
    groups = turns(transcript.items)
    if not 0 < most < len(groups):
        return Shortened(transcript, 0, 0)
    gone = [item for group in groups[:-most] for item in group]
    goal = goal_of(gone)
    items = [*goal, *(item for group in groups[-most:] for item in group)]
    return Shortened(
        replace(transcript, items=items, abandoned=[]),
        len(groups) - most,
        _size(gone) - _size(goal),
    )


def split(transcript: Transcript, *, window: int, per_token: int) -> list[Transcript]:
    """Return the parts of a long session, oldest first; the last is the latest part, which is told as it was.

    One part alone means that all of it fits.

    Args:
        transcript: the live part.
        window: what the child's model can be told at once; tokens.
        per_token: bytes to a token.
    """
    items, tokens = transcript.items, transcript.tokens
    # What the host itself has let go of since is no part of its context, and no reason to pay for more calls.
    held = tokens.reported and tokens.total <= window
    if held or _size(items) <= window * per_token:
        return [transcript]
    pieces = blocks(items)
    start = _recent(pieces, per_token)
    older, recent = pieces[:start], pieces[start:]
    if not older:
        return [transcript]
    number = _number(older, window * per_token)
    parts = [[item for piece in part for item in piece] for part in _shares(older, number)]
    parts.append([item for piece in recent for item in piece])
    bare = replace(transcript, boundary=None, abandoned=[])
    first = replace(transcript, items=parts[0])
    return [first, *(replace(bare, items=part) for part in parts[1:])]


def _opened(turn: Sequence[Item]) -> tuple[list[Item], list[list[Item]]]:
    """Return what the user typed to open a turn, and the blocks of the rest."""
    opening = list(takewhile(lambda item: isinstance(item, Message) and item.typed, turn))
    return opening, blocks(turn[len(opening) :])


def _answered_at(item: Item) -> int:
    """Return where the result of a call stands, -1 when it has none that is worth waiting for."""
    result = item.result if isinstance(item, Call) else None
    return -1 if result is None or result.is_error or result.rejected else result.place.offset


def _running(block: Sequence[Item], item: Item) -> bool:
    """Whether both are calls nobody has answered: one message of the agent called them."""
    before = block[-1]
    return (
        isinstance(before, Call)
        and isinstance(item, Call)
        and before.result is None
        and item.result is None
    )


def _recent(pieces: Sequence[Sequence[Item]], per_token: int) -> int:
    """Return the index of the first piece of the latest part."""
    used = texts = 0
    for index in range(len(pieces) - 1, -1, -1):
        size = _size(pieces[index])
        enough = used >= RECENT_LEAST and texts >= RECENT_TEXTS
        if used and (enough or used + size > RECENT_MOST * per_token):
            return index + 1
        used += size
        texts += sum(_in_words(item) for item in pieces[index])
    return 0


def _in_words(item: Item) -> bool:
    return isinstance(item, Message) and (item.typed or item.via == "reply") and not mute(item)


def _number(older: Sequence[Sequence[Item]], window: int) -> int:
    """Return how many parts there are: the larger the messages, the smaller a part may be."""
    count = sum(map(len, older))
    size = sum(map(_size, older))
    share = size / count * _SAFETY / window
    ratio = _RATIO
    if share > _LARGE:
        ratio -= min(2 * share, _RATIO - _RATIO_LEAST)
    return max(1, min(PARTS_MOST, -(-size // int(window * ratio))))


def _shares(pieces: Sequence[list[Item]], number: int) -> list[list[list[Item]]]:
    """Return the pieces in at most `number` runs of about the same size."""
    total = sum(map(_size, pieces))
    found: list[list[list[Item]]] = [[]]
    done = 0
    for piece in pieces:
        size = _size(piece)
        # The nearer of the two sides takes a piece that stands on the border.
        if found[-1] and done + size / 2 > total * len(found) / number and len(found) < number:
            found.append([])
        found[-1].append(piece)
        done += size
    return found


def _size(items: Iterable[Item]) -> int:
    return sum(map(weight, items))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
