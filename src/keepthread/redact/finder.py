"""Finds secrets in a text and puts marks in their place."""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence

from keepthread.redact import hidden, pem
from keepthread.redact.assigned import gives_away
from keepthread.redact.commands import RULES as GIVEN
from keepthread.redact.contextual import RULES as TOLD
from keepthread.redact.file_forms import RULES as FILED
from keepthread.redact.placeholders import MARK, is_mixed
from keepthread.redact.rules import Known, Rule, Span, may_hold
from keepthread.redact.vendors import RULES as FORMED

WINDOW = 1024 * 1024  # characters
OVERLAP = 8 * 1024
WITHHELD = f"{MARK}secret-value]"
_ROUNDS = 8  # a mark may part a text so that another secret in it shows; each round leaves fewer
_SHORTEST = 6  # characters: "://:x@" is the shortest text that holds a secret

RULES: tuple[Rule, ...] = (*FORMED, *TOLD, *GIVEN, *FILED)
Hint = tuple[str, int]  # a keyword, and the place of its rule
_HINTS: tuple[Hint, ...] = tuple(
    (keyword, rank) for rank, rule in enumerate(RULES) for keyword in rule.keywords
)
_MARKED = r"\[REDACTED:[a-z0-9-]{1,40}\]"
_WRAPPED = r"(?<=[A-Za-z0-9_=+/.-])\\?\r?\n[ \t]{0,8}(?=[A-Za-z0-9_=+/.-])"


TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing takes longer than everything else here
    from typing import Any, NamedTuple

    class Finding(NamedTuple):
        """A secret: the rule that told it, and where it stands, `value[start:end]`."""

        rule: str
        start: int
        end: int

    class _Found(NamedTuple):
        start: int
        end: int
        rank: int
        rule: str

else:
    Finding = namedtuple("Finding", "rule start end")
    # Of two rules that found the same text the one of lower rank, which is listed first, gives its name.
    _Found = namedtuple("_Found", "start end rank rule")


def text(value: str, secrets: Sequence[str] = ()) -> str:
    """Return `value` with "[REDACTED:rule-name]" in place of every secret; doing it again changes nothing.

    Args:
        value: any text.
        secrets: texts to be replaced wherever they occur, as of `environment_secrets`.
    """
    for _ in range(_ROUNDS):
        found = _findings(value, secrets)
        if not found:
            break
        value = _replaced(value, found)
    return value


def scan(value: str, hints: Sequence[Hint] = _HINTS) -> list[Finding]:
    """Return the secrets in `value`, in order, without overlap; `hints` are those that may occur in it."""
    return _findings(value, (), hints)


def occurring(words: str) -> list[Hint]:
    """Return the hints that may occur in texts with these words, as `rules.words_in` returns them."""
    return [hint for hint in _HINTS if may_hold(words, hint[0])]


def parted(value: str, hints: Sequence[Hint] = _HINTS) -> list[str]:
    """Return the pieces of the tokens that a line break cuts in two: on a line of its own, none of them is told.

    Args:
        value: any text.
        hints: those that may occur in it.
    """
    if "\n" not in value:
        return []
    lower = value.lower()
    ranks = sorted({rank for keyword, rank in hints if rank < len(FORMED) and keyword in lower})
    whole = [
        _Found(start, end, rank, RULES[rank].name)
        for rank in ranks
        for start, end in _spans(RULES[rank], value)
    ]
    found = _wrapped(value, ranks, _merged(whole)) if ranks else ()
    return [piece for item in found for piece in re.split(_WRAPPED, value[item.start : item.end])]


def document(value: Any, secrets: Sequence[str] = ()) -> Any:
    """Return a JSON value with the secrets taken out of every string, keys included; `value` itself stays."""
    if isinstance(value, str):
        return text(value, secrets)
    if isinstance(value, dict):
        names = _telling(value)
        return {
            text(str(key), secrets): WITHHELD
            if _is_told(names[key], item)
            else document(item, secrets)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [document(item, secrets) for item in value]
    return value


def withheld(value: Any) -> Any:
    """Return a JSON value without the members whose names say that they are secret; texts are not looked into."""
    if isinstance(value, dict):
        names = _telling(value)
        return {
            key: WITHHELD if _is_told(names[key], item) else withheld(item)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [withheld(item) for item in value]
    return value


def named(value: Any) -> Iterator[str]:
    """Yield the values of the members whose names say that they are secret."""
    if isinstance(value, dict):
        names = _telling(value)
        for key, item in value.items():
            if _is_told(names[key], item):
                yield item
            else:
                yield from named(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from named(item)


def _telling(members: Mapping[Any, Any]) -> dict[Any, str]:
    """Return what tells of each member: its key, or of {"name": "DB_PASSWORD", "value": "..."} the name."""
    names = {key: str(key) for key in members}
    told = next((members[key] for key in ("name", "key", "Name", "Key") if key in members), None)
    for key in ("value", "Value"):
        if key in members and isinstance(told, str):
            names[key] = told
    return names


def _is_told(name: str, item: Any) -> bool:
    return isinstance(item, str) and gives_away(name, item)


def _replaced(value: str, found: Sequence[Finding]) -> str:
    parts, done = [], 0
    for rule, start, end in found:
        parts += [value[done:start], f"{MARK}{rule}]"]
        done = end
    return "".join([*parts, value[done:]])


def _findings(value: str, secrets: Sequence[str], hints: Sequence[Hint] = _HINTS) -> list[Finding]:
    if len(value) < _SHORTEST:
        return []
    found = _told(value, secrets, hints)
    found += _unhidden(value, secrets)
    return _merged(_outside_marks(value, found)) if found else []


def _told(value: str, secrets: Sequence[str], hints: Sequence[Hint] = _HINTS) -> list[_Found]:
    lower = value.lower()
    found = [_Found(start, end, -1, pem.NAME) for start, end in pem.spans(value)]
    found += _exact(value, secrets)
    ranks = sorted({rank for keyword, rank in hints if keyword in lower})
    for rank in ranks:
        rule = RULES[rank]
        found += [_Found(start, end, rank, rule.name) for start, end in _spans(rule, value)]
    formed = [rank for rank in ranks if rank < len(FORMED)]
    if formed:
        found += _wrapped(value, formed, _merged(found))
    return found


def _unhidden(value: str, secrets: Sequence[str]) -> Iterator[_Found]:
    """Yield what is told once the characters that nobody sees are gone: whoever shows the text takes them out."""
    gone, ends = hidden.runs(value), hidden.plain_ends(value)
    if not gone and ends == value:
        return
    from bisect import bisect

    seen, places, removed = _joined(ends, gone)
    for start, end, rank, name in _told(seen, secrets):
        last = end - 1 + removed[bisect(places, end - 1)]
        yield _Found(start + removed[bisect(places, start)], last + 1, rank, name)


def _spans(rule: Rule, value: str) -> Iterator[Span]:
    start = 0
    while True:
        end = min(len(value), start + WINDOW)
        yield from rule.spans(value, start, end)
        if end == len(value):
            return
        start = end - OVERLAP


def _exact(value: str, secrets: Sequence[str]) -> Iterator[_Found]:
    for secret in secrets:
        at = value.find(secret) if secret else -1
        rank, rule = -1, "environment"
        if at >= 0 and isinstance(secret, Known):  # where a rule tells it too, that one names it
            rank, rule = len(RULES), secret.rule
        while at >= 0:
            yield _Found(at, at + len(secret), rank, rule)
            at = value.find(secret, at + len(secret))


def _wrapped(value: str, ranks: Sequence[int], known: Sequence[Finding]) -> Iterator[_Found]:
    """Yield the tokens that a line break cuts in two, as terminals and mail programs do."""
    from bisect import bisect

    breaks = [match.span() for match in re.finditer(_WRAPPED, value)]
    if not breaks:
        return
    joined, places, removed = _joined(value, breaks)
    starts = [item.start for item in known]
    for rank in ranks:
        rule = RULES[rank]
        for start, end in _spans(rule, joined):
            before, within = bisect(places, start), bisect(places, end - 1)
            if before == within:
                continue  # no break inside: found already
            first, last = start + removed[before], end
            inside = bisect(starts, first) - 1
            if inside >= 0 and first < known[inside].end:
                last = _random_until(joined, places[before:within], end)
            yield _Found(first, last + removed[bisect(places, last - 1)], rank, rule.name)


def _joined(value: str, breaks: Sequence[Span]) -> tuple[str, list[int], list[int]]:
    """Return the text without the breaks, their places in it, and what is left out before the n-th place."""
    parts, places, removed, done = [], [], [0], 0
    for start, end in breaks:
        parts.append(value[done:start])
        places.append(start - removed[-1])
        removed.append(removed[-1] + end - start)
        done = end
    parts.append(value[done:])
    return "".join(parts), places, removed


def _random_until(joined: str, places: Sequence[int], end: int) -> int:
    # The token could end at the break: what follows belongs to it only if it looks as random as a token.
    for place, following in zip(places, [*places[1:], end], strict=True):
        if following - place < 6 or not is_mixed(joined[place:following]):
            return place
    return end


def _outside_marks(value: str, found: list[_Found]) -> list[_Found]:
    if MARK not in value:
        return found
    marks = [match.span() for match in re.finditer(_MARKED, value)]
    return [
        item
        for item in found
        if not any(start <= item.start and item.end <= end for start, end in marks)
    ]


def _merged(found: list[_Found]) -> list[Finding]:
    merged: list[_Found] = []
    for item in sorted(found):
        if merged and item.start < merged[-1].end:
            last = merged[-1]
            best = min(last, item, key=lambda one: one.rank)
            merged[-1] = _Found(last.start, max(last.end, item.end), best.rank, best.rule)
        else:
            merged.append(item)
    return [Finding(item.rule, item.start, item.end) for item in merged]
