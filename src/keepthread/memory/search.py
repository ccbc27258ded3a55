"""Finds entries by words: ranked, with the place where the words stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keepthread.memory.words import one_line

MOST_HITS = 20
MOST_WORDS = 16
_SNIPPET = 160  # characters
_BEFORE = 40  # characters of it before the first word
# A word in the key or the head says more about an entry than one in its text.
_IN_KEY, _IN_HEAD, _IN_BODY = 8.0, 4.0, 1.0
_ENOUGH = 5  # times that a word counts in one text: long entries are not better ones


class Hit(NamedTuple):
    """An entry that was found: its key, how well it fits, and one line of it."""

    key: str
    score: float
    snippet: str


def terms_of(query: str) -> list[str]:
    """Return the words of a query, each once."""
    words = re.findall(r"\S+", query[:1000].casefold())
    return [*dict.fromkeys(words)][:MOST_WORDS]


def search(files: Iterable[tuple[str, bytes]], query: str, limit: int = MOST_HITS) -> list[Hit]:
    """Return the entries that hold words of the query, the best first: those with more of the words before others.

    Args:
        files: key and bytes of each.
        query: words, matched as parts of words and without case.
        limit: the most that are returned.
    """
    terms = terms_of(query)
    best: list[tuple[float, str, str]] = []
    plain = [term.encode() for term in terms] if query.isascii() else []
    for key, data in files:
        # Most files hold none of the words: they are told without decoding them. Case folding makes ASCII of a few
        # other letters (the Kelvin sign), so only a text of ASCII is settled by this.
        if plain and data.isascii() and not _any_in(plain, data.lower(), key):
            continue
        text = data.decode("utf-8", "replace")
        score = _score(terms, key.casefold(), text.casefold())
        if score:
            best.append((-score, key, text))
    best.sort(key=lambda one: one[:2])
    return [Hit(key, round(-score, 2), _snippet(terms, text)) for score, key, text in best[:limit]]


def _any_in(terms: Sequence[bytes], data: bytes, key: str) -> bool:
    if any(term in data for term in terms):
        return True
    folded = key.casefold().encode()
    return any(term in folded for term in terms)


def _score(terms: Sequence[str], key: str, text: str) -> float:
    end = text.find("\n---", 3) if text.startswith("---") else -1
    head, body = (text[:end], text[end:]) if end > 0 else (text[:200], text)
    total, found = 0.0, 0
    for term in terms:
        points = _IN_KEY * (term in key) + _IN_HEAD * (term in head)
        points += _IN_BODY * min(_ENOUGH, body.count(term))
        total += points
        found += points > 0
    return total + 100.0 * (found - 1) if found else 0.0


def _snippet(terms: Sequence[str], text: str) -> str:
    _, fence, body = text.partition("\n---\n") if text.startswith("---") else ("", "", text)
    body = body if fence or not text.startswith("---") else text
    for part in (body, text):
        folded = part.casefold() if len(part.casefold()) == len(part) else part.lower()
        places = [at for term in terms if (at := folded.find(term)) >= 0]
        if places:
            start = max(0, min(places) - _BEFORE)
            start = part.rfind("\n", start, min(places)) + 1 or start
            cut = part[start : start + 4 * _SNIPPET].split("\n", 1)[0]
            return one_line(("…" if start and part[start - 1] != "\n" else "") + cut, _SNIPPET)
    return one_line(body, _SNIPPET)
