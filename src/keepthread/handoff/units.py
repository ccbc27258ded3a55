"""Text measured as the host measures it: in UTF-16 units, of which a character beyond U+FFFF takes two."""

from __future__ import annotations

# What never stands alone: variation selectors, skin tones and the joiner belong to the character before them.
_FOLLOWERS = frozenset("\u200d\u20e3") | {chr(n) for n in range(0xFE00, 0xFE10)}
_JOINER = "\u200d"

# A longer run of followers is no emoji but an attack on whoever steps back over it.
_LONGEST_SEQUENCE = 16
_WORD = 60  # characters


def units(text: str) -> int:
    """Return the number of UTF-16 units of `text`; a lone surrogate counts as one."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def cut(text: str, limit: int) -> str:
    """Return the longest beginning of `text` of at most `limit` units that splits no emoji sequence."""
    if limit <= 0:
        return ""
    # A character takes one or two units, so the first `limit` characters always hold the answer.
    head = text[:limit]
    while (over := units(head) - limit) > 0:
        head = head[: -((over + 1) // 2)]
    return head[: _whole(text, len(head))]


def cut_start(text: str, limit: int) -> str:
    """Return the longest end of `text` of at most `limit` units that splits no emoji sequence."""
    if limit <= 0:
        return ""
    tail = text[-limit:]
    while (over := units(tail) - limit) > 0:
        tail = tail[(over + 1) // 2 :]
    start = len(text) - len(tail)
    for _ in range(_LONGEST_SEQUENCE):
        if start >= len(text) or not _inside(text, start):
            break
        start += 1
    return text[start:]


def head_tail(text: str, limit: int, note: str) -> str:
    """Return `text` when it fits, else its head and its tail with `note` between, together at most `limit` units.

    The head gets two thirds of the room: what is asked for stands mostly at the beginning. A note that leaves
    no room for both is left out.
    """
    if units(text) <= limit:
        return text
    room = limit - units(note)
    if room < 2 * units(note):
        return cut(text, limit - 1) + "…" if limit > 0 else ""
    head = cut(text, room * 2 // 3)
    head = head[: word_end(text, len(head))].rstrip()
    tail = cut_start(text, room - units(head))
    return head + note + text[word_start(text, len(text) - len(tail)) :].lstrip()


def word_end(text: str, end: int) -> int:
    """Return `end`, or where the word begins that a cut there would split: half a name is a wrong name.

    A word longer than 60 characters, or one of a script without spaces, is split all the same.
    """
    start = end
    while start > 0 and end - start < _WORD and _within_word(text, start):
        start -= 1
    return end if start == 0 or _within_word(text, start) else start


def word_start(text: str, start: int) -> int:
    """Return `start`, or where the word ends that a cut there would split; see `word_end`."""
    end = start
    while end < len(text) and end - start < _WORD and _within_word(text, end):
        end += 1
    return start if end == len(text) or _within_word(text, end) else end


def _within_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and not text[at - 1].isspace() and not text[at].isspace()


def _whole(text: str, end: int) -> int:
    """Step back from `end` to where no sequence is split; a hopelessly long sequence is split after all."""
    for step in range(_LONGEST_SEQUENCE):
        if end - step <= 0 or not _inside(text, end - step):
            return end - step
    return end


def _inside(text: str, at: int) -> bool:
    """Whether a cut before `text[at]` would split a sequence."""
    if at <= 0 or at >= len(text):
        return False
    return (
        text[at] in _FOLLOWERS
        or text[at - 1] == _JOINER
        or "\U0001f3fb" <= text[at] <= "\U0001f3ff"
    )
