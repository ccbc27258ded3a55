"""Secrets that only their surroundings give away, so that they are known where they stand without them.

A handoff quotes names and cut commands. Beside a name, "password:" tells that it is a secret; on its own, nothing does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise

from keepthread.redact.commands import RULES as GIVEN
from keepthread.redact.contextual import RULES as TOLD
from keepthread.redact.file_forms import RULES as FILED
from keepthread.redact.finder import Hint, named, occurring, parted, scan
from keepthread.redact.hidden import shown
from keepthread.redact.pem import holds
from keepthread.redact.placeholders import is_mixed
from keepthread.redact.rules import Rule, may_hold, words_in
from keepthread.redact.vendors import RULES as FORMED

# Of the rules' own keywords the shortest; what stands in nearly every line is left to the others in it.
_COMMON = frozenset(
    (
        "--", "http", "fd", "zip", "7z", "config", "vars", "passwd", "@", "env ", "set -", "setx ", "setenv ", "--arg",
        "conn ", "connect ", "sql ", "phrase", "code=", "appid=", "pw =", "rar e ",
        "rar a ", "mc config",
    )
)  # fmt: skip
_OWN = (
    "credential",
    "sess",
    "http -",
    "https -",
    "key",
    "7z x",
    "7z a",
    "zip -",
    "@tcp(",
    "config set",
    "config:set",
)
_LINED = tuple(
    rule for rule in FILED if rule.name in ("pgpass", "cookie")
)  # the others are told on several lines, or by themselves
_KEYWORDS = {word for rule in (*TOLD, *GIVEN, *_LINED) for word in rule.keywords} - _COMMON | {
    *_OWN
}
_HINTS = tuple(sorted(w for w in _KEYWORDS if not any(o != w and o in w for o in _KEYWORDS)))
# What these look at may stand on several lines, or bears no word that would not stand in nearly every line.
_WIDE = tuple(
    rule
    for rule in (*FORMED, *TOLD, *GIVEN, *FILED)
    if rule.name in ("netrc", "kubernetes-secret")
    or {"kty", "secret key\n", "</key>", "@", "connect "}.intersection(rule.keywords)
)
_BLOCK = r"(?:[|>][0-9+-]{0,2}[ \t]{0,8}\r?|[\"']\r)$"  # the value begins below, as in YAML, or after an empty line
_AROUND = 200  # characters
_SHORTEST = 6
_JUMBLED = 12
_CLOSES = "\"'`,;:()[]{}<>"
_MOST = 400  # values
_WINDOWS = 4_000
_BATCH = 1_000_000  # characters of texts whose words are looked up together
_PARTED = 400_000  # characters of the newest texts that are looked through for tokens cut in two
_KEY_LINE = r"[A-Za-z0-9+/=]{16,}"
_ESCAPED_BREAK = r"\\{1,7}[nr]"


def exposed(texts: Iterable[str], members: Iterable[object] = ()) -> list[str]:
    """Return the secrets that stand in the texts beside what gives them away, in the order found.

    Words without a digit or a change of case are left out: in another place they are words.

    Args:
        texts: the newest first.
        members: JSON values whose keys tell of secrets, as the inputs of calls.
    """
    named_ones = islice((value for item in members for value in named(item)), _MOST)
    found: dict[str, None] = dict.fromkeys(filter(_tells, named_ones))
    seen: set[str] = set()
    room = _PARTED
    for text, places, wide, hints in _with_hints(map(shown, texts)):
        if len(text) <= room:
            room -= len(text)
            found.update(dict.fromkeys(filter(_tells, parted(text, hints))))
        found.update(dict.fromkeys(filter(_tells, _on_lines(text, wide))))
        if holds(text) or "Private-Lines" in text:
            found.update(dict.fromkeys(_key_lines(text)))
        for window in _windows(text, places):
            if window not in seen:
                seen.add(window)
                found.update(dict.fromkeys(_values(window, hints)))
        if len(found) >= _MOST or len(seen) >= _WINDOWS:
            break
    return list(found)[:_MOST]


def _with_hints(
    texts: Iterable[str],
) -> Iterator[tuple[str, list[str], list[tuple[Rule, list[str]]], list[Hint]]]:
    """Yield each text with what may hint at a secret in it: the places, the wide rules, and the hints of all rules.

    Texts repeat one another's words, and hardly any hint is among them.
    """
    rest = iter(texts)
    for first in rest:
        batch, size = [first], len(first)
        while size < _BATCH and (following := next(rest, None)) is not None:
            batch.append(following)
            size += len(following)
        words = words_in(batch)
        hints = occurring(words)
        held = {keyword for keyword, _ in hints} | {own for own in _OWN if may_hold(words, own)}
        places = [hint for hint in _HINTS if hint in held]
        wide = [
            (rule, keywords) for rule in _WIDE if (keywords := [*held.intersection(rule.keywords)])
        ]
        yield from ((text, places, wide, hints) for text in batch)


def _on_lines(text: str, wide: Sequence[tuple[Rule, Sequence[str]]]) -> Iterator[str]:
    lower = text.lower()
    for rule, keywords in wide:
        if any(keyword in lower for keyword in keywords):
            for start, end in rule.spans(text, 0, len(text)):
                yield text[start:end]


def _values(window: str, hints: Sequence[Hint]) -> Iterator[str]:
    for finding in scan(window, hints):
        value = window[finding.start : finding.end]
        bare = value.partition("\\")[0].strip(
            _CLOSES
        )  # the form that found it may take a quote along
        yield from filter(_tells, dict.fromkeys((value, bare)))


def _tells(value: str) -> bool:
    return len(value) >= _SHORTEST and (is_mixed(value) or _is_jumbled(value))


def _is_jumbled(value: str) -> bool:
    # Random letters change their case again and again; words do at most at their beginnings.
    turns = sum(
        a.islower() != b.islower() for a, b in pairwise(value) if a.isalpha() and b.isalpha()
    )
    return len(value) >= _JUMBLED and turns >= len(value) // 4


def _key_lines(text: str) -> Iterator[str]:
    for finding in scan(text):
        if finding.rule == "private-key":
            block = re.sub(_ESCAPED_BREAK, "\n", text[finding.start : finding.end])
            for line in re.findall(_KEY_LINE, block):
                yield line
                yield line.removeprefix("+")  # of a diff, or its own


def _windows(text: str, hints: Sequence[str]) -> Iterator[str]:
    """Yield the stretches of lines around whatever hints at a secret, each once."""
    lower = text.lower()
    if len(lower) != len(text):  # some letters grow when they are lowered, and places move
        lower = "".join(c.lower() if c.isascii() else c for c in text)
    done = 0
    for place in sorted(_places(lower, hints)):
        if place < done:
            continue
        start = max(text.rfind("\n", 0, place) + 1, place - _AROUND)
        line_end = text.find("\n", place)
        if line_end >= 0 and re.search(_BLOCK, text[max(start, line_end - 16) : line_end]):
            line_end = text.find("\n", text.find("\n", line_end + 1) + 1)
        end = min(line_end if line_end >= 0 else len(text), place + _AROUND)
        yield text[start:end]
        done = end


def _places(lower: str, hints: Sequence[str]) -> Iterator[int]:
    for hint in hints:
        at = lower.find(hint)
        while at >= 0:
            yield at
            at = lower.find(hint, at + len(hint))
