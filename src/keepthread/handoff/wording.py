"""Small things done with sentences: comparing, cutting, quoting, and marking one with the age of where it came from."""

from __future__ import annotations

import re
import unicodedata

from keepthread import log
from keepthread.handoff import units

NOT_FOUND = "(not found in the transcript)"

_AGED = re.compile(
    r" ?\(from (?:the|an earlier) handoff(?: (\d{1,6}) (min|h|d) ago| just before)?\)"
)
_MINUTES = {"min": 1, "h": 60, "d": 1440}
_WORD = re.compile(r"[^\W_]+(?:[_.'-][^\W_]+)*")
_WIDE = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)


def cut(text: str, limit: int) -> str:
    """Return the text within `limit` characters, ended at a word with an ellipsis when it was longer."""
    text = text.strip()
    if len(text) <= limit:
        return text
    head = units.cut(text, limit - 1)
    space = head.rfind(" ", limit * 2 // 3)
    return (head[:space] if space > 0 else head).rstrip(" ,;:") + "…"


def key(text: str) -> str:
    """Return what two wordings of the same sentence share: no case, marks, punctuation or spacing."""
    return " ".join(words(text)) or " ".join(unmarked(text).split())


def words(text: str) -> list[str]:
    """Return the words in lower case, marks left out; scripts without spaces give one word per character."""
    plain = unmarked(unicodedata.normalize("NFC", text)).replace(NOT_FOUND, "").casefold()
    return [match[0] for match in _WORD.finditer(_WIDE.sub(lambda match: f" {match[0]} ", plain))]


def same(one: str, other: str) -> bool:
    """Return whether two sentences say the same: they have nearly all their words in common."""
    first, second = set(words(one)), set(words(other))
    if not first or not second:
        return key(one) == key(other)
    return len(first & second) >= 0.8 * len(first | second)


def distinct(items: list[str], limit: int) -> list[str]:
    """Return the first `limit` items that are not blank and not the same as an earlier one."""
    kept: dict[str, str] = {}
    for item in items:
        if item.strip():
            kept.setdefault(key(item), item)
    return list(kept.values())[:limit]


def find_verbatim(quote: str, texts: list[str]) -> tuple[int, str] | None:
    """Find a quotation, spacing and outer quotation marks aside.

    Returns:
        The index of the text it stands in and the passage as it stands there, or None. A quotation of one short word
        proves nothing and is not looked for.
    """
    bare = quote.strip().strip("\"'`“”„‘’«»「」").strip()
    parts = bare.split()
    if not parts or (len(parts) < 2 and len(bare.encode()) < 10):
        return None
    pattern = re.compile(r"\s+".join(re.escape(part) for part in parts))
    for index, text in enumerate(texts):
        match = pattern.search(text)
        if match:
            return index, match[0]
    return None


def aged(text: str, written: str, now: str) -> str:
    """Return the text marked with the age of the handoff it comes from, instead of any such mark it bears.

    A mark it bears already is counted on: "2 h ago", said in a handoff of one hour ago, becomes "3 h ago".

    Args:
        text: what is carried over.
        written: when the handoff that holds it was generated (ISO 8601).
        now: the present (ISO 8601).
    """
    elapsed = _minutes_between(written, now)
    before = _AGED.search(text)
    if before and before[1]:
        elapsed = None if elapsed is None else elapsed + int(before[1]) * _MINUTES[before[2]]
    plain = unmarked(text)
    return f"{plain} {_mark(elapsed)}" if plain else ""


def is_aged(text: str) -> bool:
    """Return whether the text bears the mark of an earlier handoff."""
    return bool(_AGED.search(text))


def unmarked(text: str) -> str:
    """Return the text without marks of age."""
    return _AGED.sub("", text).strip()


def _mark(minutes: int | None) -> str:
    if minutes is None:
        return "(from an earlier handoff)"
    if minutes < 1:
        return "(from the handoff just before)"
    if minutes < 120:
        return f"(from the handoff {minutes} min ago)"
    if minutes < 2 * 1440:
        return f"(from the handoff {minutes // 60} h ago)"
    return f"(from the handoff {min(minutes // 1440, 9999)} d ago)"


def _minutes_between(start: str, end: str) -> int | None:
    begun, ended = log.epoch(start), log.epoch(end)
    if begun is None or ended is None:
        return None  # a time nobody can read has no age
    return max(0, int((ended - begun) // 60))
