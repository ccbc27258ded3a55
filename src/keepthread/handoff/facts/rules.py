"""Rules among what the user typed: sentences that bind future work, verbatim, in any language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keepthread.handoff.facts.confirmations import is_bare
from keepthread.handoff.facts.rule_words import (
    is_correction,
    is_english,
    is_question,
    is_unknown_script,
    strength,
)
from keepthread.handoff.facts.text import lazy, prose_lines, sentences, source, units
from keepthread.handoff.model import Sourced
from keepthread.transcript.model import Item, Message

MOST = 40
SHORT = 200
_SENTENCE = 600
_PER_MESSAGE = 8
_READ = 20_000
_VIAS = frozenset(("prompt", "queued", "rejection", "approval", "memory", "command"))
_MACHINE_LINE = lazy(
    r"^\s*(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\[\w+\]|at \S+|File \"|Traceback|error\b|warning\b|ERROR|WARN|INFO"
    r"|DEBUG|npm |\$ |[❯│✗✓✖⎿⏺●]|\+\+\+ |--- a/|@@ |import |from \S+ import|def |class |func |const |let |var |return "
    r"|if \(|for \(|//|/\*|<\w)"
    r"|[─│└├┌┐┘┤┬┴┼═║✅❌✔✘🔲☐☑]|[{};]\s*$|^\s*[\w.]+\(.*\)\s*$|\w+Error:|Exception:|^\s*[\w./\\-]+:\d+",
)
_LIST_MARK = lazy(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
_POINTS_BACK = lazy(
    r"^\W*(?:(?:and|so|but|please|also)\s+)?(?:(?:do\s*not|don[’']?t|never|always)\s+(?:do|use|touch|change)\s+)?(?:that|this|it|them|those|these|das|cela|ça|eso|isso|questo|это|这|那|それ|그거)\b",
    re.IGNORECASE,
)
_BRIEF = 16


class _Rule(NamedTuple):
    rank: int
    order: int
    text: str
    source: str


def rules(
    earlier: Sequence[Message], items: Sequence[Item], previous: Sequence[Sourced]
) -> list[Sourced]:
    """Return the rules, those of short messages and the newest first, then those of the previous handoff."""
    found: list[_Rule] = []
    order = 0
    last: Item | None = None
    for item in [*earlier, *items]:
        if isinstance(item, Message) and item.via in _VIAS:
            order += 1
            found += _in_message(item, order, corrects=_after_refusal(last))
        last = item
    found.sort(key=lambda rule: (rule.rank, -rule.order))
    kept: dict[str, Sourced] = {}
    for rule in found:
        kept.setdefault(_key(rule.text), {"text": rule.text, "source": rule.source})
    for entry in previous:
        kept.setdefault(_key(entry["text"]), {"text": entry["text"], "source": entry["source"]})
    return _without_parts(list(kept.values()))[:MOST]


def _in_message(message: Message, order: int, *, corrects: bool) -> Iterator[_Rule]:
    text = message.text.strip()
    if message.via == "command":
        text = text.partition(" ")[2].strip()
    if not text or is_bare(text) or text == "[image]":
        return
    where = source(message.place)
    short = units(text) < SHORT
    if message.via == "memory":
        yield _Rule(0, order, text[:_SENTENCE], where)
        return
    if short and "\n\n" not in text and not _is_machine(text):
        rank = _rank_of_short(message, text, corrects)
        if rank:
            yield _Rule(rank, order, text, where)
        return
    for number, sentence in enumerate(_bound_sentences(text[:_READ])):
        if number == _PER_MESSAGE:
            break
        yield _Rule(4, order, sentence, where)


def _rank_of_short(message: Message, text: str, corrects: bool) -> int:
    """Return 1 (binds plainly), 2 (perhaps, or corrects), 3 (weakly, or not to be told), or 0 when it is no rule."""
    english = is_english(text)
    parts = [part for line in text.splitlines() for part in sentences(line)]
    best = max((strength(part, english=english) for part in parts), default=0)
    if best >= 2:
        return 4 - best
    asks = all(is_question(part) for part in parts)
    if message.via in ("rejection", "approval") and not asks:
        return 2
    if (corrects or is_correction(text)) and not asks and len(text) > _BRIEF:
        return 2
    if best == 1 or (is_unknown_script(text) and not asks):
        return 3
    return 0


def _bound_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a long message that bind, each with the one before it when it points back to it."""
    english = is_english(text)
    before = ""
    for line in prose_lines(text):
        if len(line) > 4_000 or _is_machine(line):
            continue
        for sentence in sentences(_LIST_MARK.sub("", line)):
            if len(sentence) > _SENTENCE:
                continue
            if len(sentence) >= 8 and strength(sentence, english=english) == 3:
                brief = len(sentence) < _BRIEF or _POINTS_BACK.match(sentence)
                whole = (
                    f"{before} {sentence}"
                    if brief and before and f"{before} {sentence}" in text
                    else sentence
                )
                yield whole if len(whole) <= _SENTENCE else sentence
            before = sentence


def _after_refusal(item: Item | None) -> bool:
    return isinstance(item, Message) and item.via in ("interruption", "rejection")


def _is_machine(line: str) -> bool:
    return bool(_MACHINE_LINE.search(line[:300]))


def _key(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum()) or text


def _without_parts(found: list[Sourced]) -> list[Sourced]:
    """Leave out a rule that stands word for word within another, shorter than 600 characters."""
    keys = [_key(entry["text"]) for entry in found]
    return [
        entry
        for entry, key in zip(found, keys, strict=True)
        if not any(
            key != other and key in other for other in keys if len(key) < len(other) <= _SENTENCE
        )
    ]
