"""Text of others, made fit to be shown: on one line, without what moves a cursor or cannot be seen."""

from __future__ import annotations

import unicodedata

_UNSEEN = frozenset(("Cc", "Cf", "Cn", "Co", "Cs"))
_JOINERS = "\u200c\u200d"  # several scripts and most emoji need them


def one_line(text: str, limit: int) -> str:
    """Return the text on one line of at most `limit` characters, without invisible ones."""
    seen = visible(" ".join(text[: 8 * limit].split()), keep=_JOINERS)
    return seen if len(seen) <= limit else seen[: limit - 1].rstrip() + "…"


def visible(text: str, keep: str = "\n\t" + _JOINERS) -> str:
    """Return the text without control, formatting and unassigned characters but those in `keep`."""
    if text.isprintable():
        return text
    return "".join(c for c in text if c in keep or unicodedata.category(c) not in _UNSEEN)
