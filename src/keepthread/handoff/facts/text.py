"""Small text tools that every part of the facts needs: cutting, flattening, splitting into sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, cast

from keepthread.handoff.units import word_end, word_start
from keepthread.transcript.model import Place


class _Pattern:
    """Stands for a pattern until it is first used."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> Any:
        # Reached only until the method has been laid into the instance.
        method = getattr(re.compile(*self._source), name)
        setattr(self, name, method)
        return method


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is compiled when first used: hooks start often, and one session needs few of them."""
    return cast("re.Pattern[str]", _Pattern(pattern, flags))


_FENCE = lazy(r"^[ \t]*(?:```|~~~)")
_SENTENCE_END = lazy(r"(?<=[.!?…])[\"')\]*_]*\s+(?=\S)|(?<=[。！？।؟])")


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set: long lists read better as running text."""
    return frozenset(text.split())


def as_text(value: Any) -> str:
    """Return the value when it is a string, else "": inputs of tools may have any JSON type."""
    return value if isinstance(value, str) else ""


def as_list(value: Any) -> list[Any]:
    """Return the value when it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def as_dict(value: Any) -> dict[str, Any]:
    """Return the value when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def source(place: Place) -> str:
    """Return how a record is named in a handoff: its uuid, else "@<byte offset>"."""
    return place.uuid or f"@{place.offset}"


def units(text: str) -> int:
    """Return the length in UTF-16 units, which is how the host counts."""
    return len(text) + sum(1 for character in text if character > "\uffff")


def one_line(text: str, limit: int) -> str:
    """Return the text on one line, cut after `limit` characters with an ellipsis."""
    flat = " ".join(text[: limit * 4].split())
    return flat if len(flat) <= limit else flat[: word_end(flat, limit - 1)].rstrip() + "…"


def head_tail(text: str, limit: int) -> str:
    """Return the text whole, or its head and tail with a line between them that says how much is missing."""
    text = text.strip()
    if len(text) <= limit:
        return text
    room = max(limit - 40, 2)
    head = text[: word_end(text, room * 2 // 3)].rstrip()
    tail = text[word_start(text, len(text) - room // 3) :].lstrip()
    return f"{head}\n[… {len(text) - len(head) - len(tail)} characters …]\n{tail}"


def first_line(text: str) -> str:
    """Return the first line that is not blank, without surrounding space."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def prose_lines(text: str) -> Iterator[str]:
    """Yield the lines that are not inside a fenced code block and not quoted."""
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and not line.lstrip().startswith(">"):
            yield line


def sentences(line: str) -> list[str]:
    """Split one line after sentence marks of any script; a dot inside a file name ends nothing."""
    return [part.strip() for part in _SENTENCE_END.split(line) if part and part.strip()]


def all_sentences(text: str) -> list[str]:
    """Return the sentences of a text of several lines, in order."""
    return [part for line in text.splitlines() for part in sentences(line)]


def unique(texts: list[str], limit: int) -> list[str]:
    """Return the first `limit` different non-empty texts, in order."""
    return [text for text in dict.fromkeys(texts) if text][:limit]
