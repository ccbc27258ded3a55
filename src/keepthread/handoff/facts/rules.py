"""Rules among what the user typed: sentences that bind future work, verbatim, in any language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from keepthread.handoff.facts.confirmations import is_bare
from keepthread.handoff.facts.machine_lines import is_machine
from keepthread.handoff.facts.rule_forms import is_terse, orders_language
from keepthread.handoff.facts.rule_words import (
    is_correction,
    is_english,
    is_question,
    is_unknown_script,
    strength,
)
from keepthread.handoff.facts.statements import begins_as_ask, is_statement
from keepthread.handoff.facts.text import (
    all_sentences,
    head_tail,
    lazy,
    prose_lines,
    sentences,
    source,
    units,
)
from keepthread.handoff.facts.withdrawn import Taken, is_withdrawn, taken_back, takes_back
from keepthread.handoff.model import Sourced
from keepthread.transcript.model import Item, Message
from keepthread.transcript.wording import is_local_command

MOST = 40
SHORT = 200
_SENTENCE = 600
_CARRIED = 20  # of the previous handoff at least, however many new ones there are
_STATED = 5  # the rank of a plain statement
_LONGEST_SENTENCE = 4_000  # what is longer was pasted
_READ = 20_000
_VIAS = frozenset(("prompt", "queued", "rejection", "approval", "memory", "command"))
_LIST_MARK = lazy(r"^\s*(?:[-*•●–]|\(?(?:\d{1,2}|[a-z])[.)])\s+")
# A line that announces rules, in the languages people write them in.
_HEADING = lazy(
    r"^\W*(?:[^\W_]+[\s’'-]+){0,4}?(?:constraints?|rules?|conventions?|requirements?|guidelines?|standards?"
    r"|principles?|policies"
    r"|policy|preferences?|(?:code|coding)\s+style|style\s+guide|must[\s-]haves?|no-gos?|dos\s+and\s+don[’']?ts"
    r"|\w*regeln|vorgaben|konventionen|einschränkungen|anforderungen|\w*richtlinien|règles|contraintes|consignes"
    r"|exigences"
    r"|reglas|restricciones|convenciones|requisitos|normas|regras|restrições|convenções|regole|vincoli|convenzioni"
    r"|requisiti"
    r"|regels|afspraken|eisen|zasady|reguły|ograniczenia|wymagania|правила|ограничения|соглашения|требования"
    r"|обмеження|вимоги"
    r"|kurallar|kısıtlar|regler|säännöt|pravidla|szabályok|reguli|quy\s+tắc|aturan|κανόνες|כללים|قواعد|قيود|नियम|กฎ"
    r"|.{0,12}(?:规则|規則|约束|約束|约定|約定|要求|规范|規範|原则|ルール|制約|規約|条件|규칙|제약|컨벤션|원칙))"
    r"(?:[\s’'-]+[^\W_]+){0,6}\W*?(?:[:：]|$)(?P<rest>.*)$",
    re.IGNORECASE,
)
_HEADS = lazy(r"[:：]\W*$|^\s*#|^\s*\*\*.*\*\*\s*$")
_LONGEST_HEADING = 80
_POINTS_BACK = lazy(
    r"^\W*(?:(?:and|so|but|please|also)\s+)?(?:(?:do\s*not|don[’']?t|never|always)\s+(?:do|use|touch"
    r"|change)\s+)?(?:that|this|it|them|those|these|das|cela|ça|eso|isso|questo|это|这|那|それ|그거)\b",
    re.IGNORECASE,
)
_WORD = lazy(r"[^\W_]+")
_BRIEF = 16
_HEAD = 4  # words
_CLAUSE = lazy(r"[,;，、；]")
_TO_BE_DONE = lazy(
    r"^\W*(?:please\s+|and\s+|also\s+)*(?:make\s+sure|be\s+sure|ensure)\b", re.IGNORECASE
)
_NEWS = lazy(r"\balready\b|\b(?:has|have|had)\s+been\b", re.IGNORECASE)
_AGREES = lazy(
    r"^\W*(?:ok|okay|yes|yeah|yep|sure|thanks|thank\s+you|great|good|perfect|done)\b", re.IGNORECASE
)


class _Rule(NamedTuple):
    rank: int
    order: int
    text: str
    source: str


def rules(
    earlier: Sequence[Message], items: Sequence[Item], previous: Sequence[Sourced]
) -> list[Sourced]:
    """Return the rules, those of short messages and the newest first, then those of the previous handoff.

    Plain statements stand behind whatever binds, of the previous handoff too. What the user took back
    later is left out.
    """
    found: list[_Rule] = []
    withdrawn: list[tuple[int, Taken]] = []
    order = 0
    last: Item | None = None
    for item in [*earlier, *items]:
        if isinstance(item, Message) and item.via in _VIAS:
            order += 1
            found += _in_message(item, order, corrects=_after_refusal(last))
            withdrawn += (
                (order, taken_back(each))
                for each in all_sentences(item.text[:_READ])
                if takes_back(each)
            )
        last = item
    found += [
        _Rule(4 if _binds(entry["text"]) else _STATED, -at, entry["text"], entry["source"])
        for at, entry in enumerate(previous)
    ]
    if withdrawn:
        found = [part for rule in found for part in _standing(rule, withdrawn)]
    found.sort(key=lambda rule: (rule.rank, -rule.order))
    kept: dict[str, Sourced] = {}
    for rule in found:
        kept.setdefault(_key(rule.text), {"text": rule.text, "source": rule.source})
    return _bounded(_without_parts(list(kept.values())), {_key(rule["text"]) for rule in previous})


def _standing(rule: _Rule, withdrawn: Sequence[tuple[int, Taken]]) -> list[_Rule]:
    """Return the rule, or of one that was taken back in part the sentences that still bind."""
    later = [taken for order, taken in withdrawn if order > rule.order]
    parts = [_LIST_MARK.sub("", part) for part in all_sentences(rule.text)] if later else []
    kept = [part for part in parts if not is_withdrawn(part, later)]
    if len(kept) == len(parts):
        return [rule]
    english = is_english(rule.text)
    return [rule._replace(text=part) for part in kept if _is_rule(part, english=english)]


def _is_rule(sentence: str, *, english: bool) -> bool:
    """Return whether a sentence that stood among rules is one by itself."""
    told = is_terse(sentence) or is_statement(sentence, english=english)
    return told or strength(sentence, english=english) > 0


def only_binds(text: str) -> bool:
    """Return whether a typed message only gives rules, or takes some back, and asks for nothing to be done now."""
    bare = text.strip()
    if not bare or units(bare) >= SHORT:
        return False
    english = is_english(bare)
    return all(_is_only_rule(part, english=english) for part in all_sentences(bare))


def _is_only_rule(sentence: str, *, english: bool) -> bool:
    """Return whether a sentence is a rule from its beginning on: "rename it, but never touch the API" is an ask too."""
    if is_question(sentence):
        return False
    first, *others = _CLAUSE.split(sentence)
    if takes_back(sentence):
        return not any(map(begins_as_ask, others))
    if is_terse(sentence) or orders_language(sentence):
        return True
    head = " ".join(first.split()[:_HEAD])
    begins = not _TO_BE_DONE.match(sentence) and strength(head, english=english) > 0
    return begins and strength(sentence, english=english) == 3


def _bounded(found: list[Sourced], known: set[str]) -> list[Sourced]:
    """Return the first 40, but never so many new ones that those of the previous handoff fall out."""
    old = [entry for entry in found if _key(entry["text"]) in known]
    room = MOST - min(len(old), _CARRIED)
    kept: list[Sourced] = []
    for entry in found:
        is_old = _key(entry["text"]) in known
        if is_old or room > 0:
            kept.append(entry)
            room -= not is_old
    return kept[:MOST] if len(old) <= _CARRIED else _thinned(kept, known)


def _thinned(kept: list[Sourced], known: set[str]) -> list[Sourced]:
    """Return at most 40, leaving out old ones from the end first."""
    surplus = len(kept) - MOST
    for at in range(len(kept) - 1, -1, -1):
        if surplus > 0 and _key(kept[at]["text"]) in known:
            del kept[at]
            surplus -= 1
    return kept


def _in_message(message: Message, order: int, *, corrects: bool) -> Iterator[_Rule]:
    text = message.text.strip()
    if message.via == "command":
        # What a command of the host or of ours is told is an order to it, once.
        text = "" if is_local_command(text) else text.partition(" ")[2].strip()
    if not text or is_bare(text) or text == "[image]":
        return
    where = source(message.place)
    if message.via == "memory":
        yield _Rule(0, order, head_tail(text, _SENTENCE), where)
        return
    if units(text) < SHORT and "\n\n" not in text and not _is_pasted(text):
        rank = _rank_of_short(message, text, corrects)
        if rank:
            yield _Rule(rank, order, text, where)
        elif message.via in ("prompt", "queued"):
            for statement in _statements(text):
                yield _Rule(3 if is_terse(statement) else _STATED, order, statement, where)
        return
    for sentence in islice(_bound_sentences(text[:_READ]), MOST):
        yield _Rule(4, order, sentence, where)


def _is_pasted(text: str) -> bool:
    """Return whether a short message begins like a program's output; one line of it must say so without doubt."""
    first, _, more = text.partition("\n")
    return is_machine(first, typed=not more) and not (more and _LIST_MARK.match(first))


def _statements(text: str) -> list[str]:
    """Return the plain statements and terse rules of a short message: the whole of it when there is nothing else."""
    english = is_english(text)
    lines = _typed_lines(text).splitlines()
    parts = [part for line in lines for part in sentences(_LIST_MARK.sub("", line))]
    stated = [
        part
        for part in parts
        if is_statement(part, english=english) or (is_terse(part) and not is_question(part))
    ]
    return [text] if stated and len(stated) == len(parts) else stated


def _binds(text: str) -> bool:
    english = is_english(text)
    return any(_sentence_binds(part, english=english) for part in all_sentences(text))


def _rank_of_short(message: Message, text: str, corrects: bool) -> int:
    """Return 1 (binds plainly), 2 (perhaps, or corrects), 3 (weakly, or not to be told), or 0 when it is no rule."""
    english = is_english(text)
    parts = all_sentences(_typed_lines(text))
    best = max((_strength(part, english=english) for part in parts), default=0)
    if best >= 2:
        return 4 - best
    asks = all(is_question(part) for part in parts)
    if message.via in ("rejection", "approval") and not asks:
        return 2
    if (
        ((corrects and not _AGREES.match(text) and not _NEWS.search(text)) or is_correction(text))
        and not asks
        and len(text) > _BRIEF
    ):
        return 2
    if best == 1 or (is_unknown_script(text) and not asks) or _lists_rules(text):
        return 3
    return 0


def _typed_lines(text: str) -> str:
    """Return a message without the lines that a program wrote; one line alone is the user's."""
    lines = text.splitlines()
    if len(lines) == 1:
        return text
    return "\n".join(
        line for line in lines if _LIST_MARK.match(line) or not is_machine(line, typed=False)
    )


def _lists_rules(text: str) -> bool:
    """Return whether a short message is a heading such as "Conventions:" with something below or behind it."""
    first, _, more = text.partition("\n")
    head = _HEADING.match(first[:_LONGEST_HEADING])
    return head is not None and bool(
        head["rest"].strip() or (_HEADS.search(first) and more.strip())
    )


def _bound_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a long message that bind, each with the one before it when it points back to it.

    What is listed below a heading that announces rules binds by its place.
    """
    english = is_english(text)
    before = ""
    listing = False
    for line in prose_lines(text):
        mark = _LIST_MARK.match(line)
        bare = _LIST_MARK.sub("", line).strip()
        if listing and bare and (mark or line[:1].isspace()) and not is_machine(bare, typed=True):
            yield head_tail(bare, _SENTENCE)
            before = bare
            continue
        listing = _announces(line) if bare else listing
        if is_machine(bare, typed=bool(mark)):
            continue
        for sentence in sentences(bare):
            if len(sentence) >= 8 and _sentence_binds(sentence, english=english):
                yield _with_reference(sentence, before, text)
            before = sentence


def _announces(line: str) -> bool:
    short = len(line) <= _LONGEST_HEADING
    return short and bool(_HEADS.search(line)) and _HEADING.match(line.strip()) is not None


def _sentence_binds(sentence: str, *, english: bool) -> bool:
    if len(sentence) > _LONGEST_SENTENCE:
        return False
    looked_at = f"{sentence[:_SENTENCE]} {sentence[_SENTENCE:][-_SENTENCE:]}".strip()
    return _strength(looked_at, english=english) == 3


def _strength(sentence: str, *, english: bool) -> int:
    plainly = (orders_language(sentence) and not is_question(sentence)) or takes_back(sentence)
    return 3 if plainly else strength(sentence, english=english)


def _with_reference(sentence: str, before: str, text: str) -> str:
    """Return the sentence, bounded, behind the one before it when it is too short to stand alone or points back."""
    points_back = len(sentence) < _BRIEF or _POINTS_BACK.match(sentence)
    whole = f"{before} {sentence}"
    if points_back and before and len(whole) <= _SENTENCE and whole in text:
        return whole
    return head_tail(sentence, _SENTENCE)


def _after_refusal(item: Item | None) -> bool:
    return isinstance(item, Message) and item.via in ("interruption", "rejection")


@lru_cache(maxsize=1024)
def _key(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum()) or text


def _without_parts(found: list[Sourced]) -> list[Sourced]:
    """Leave out a rule that stands word for word within another, shorter than 600 characters."""
    keys = [f" {' '.join(_WORD.findall(entry['text'].casefold()))} " for entry in found]
    return [
        entry
        for entry, key in zip(found, keys, strict=True)
        if not any(
            key != other and key in other for other in keys if len(key) < len(other) <= _SENTENCE
        )
    ]
