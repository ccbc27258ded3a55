"""Sentences with which a user binds the work, by a definition of the evaluation's own."""

from __future__ import annotations

import re

from keepthread.handoff.units import units
from keepthread.transcript.model import Message

_VIAS = frozenset(("prompt", "queued", "rejection", "approval", "memory"))
_LONGEST_MESSAGE = (
    1_000  # characters; what is longer was mostly pasted and is no rule but a document
)
_LONGEST = 300  # units of one sentence
_SHORTEST = 8
_BREAK = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_BULLET = re.compile(r"^(?:[-*•]|\d{1,2}[.)])\s+")
_DRAWN = re.compile(r"[\u2500-\u259f|<>{}`]")
# "I don't know" and "we never had" tell; "don't touch it" and "you must never" bind.
_TELLING = r"(?<!\bi )(?<!\bwe )(?<!\bthey )(?<!\bit )(?<!\bwas )(?<!\bwere )(?<!\bhave )(?<!\bhas )(?<!\bhad )"
_BINDING = re.compile(
    rf"{_TELLING}\b(?:never|always|do not)\b"
    rf"|{_TELLING}(?<!\byou )\bdon['’]?t\b"
    r"|\bonly (?:ever )?(?:use|touch|change|edit|write|run|commit|add|fix|do)\b|\b(?:use|touch|change|edit|do) only\b"
    r"|\b(?:must|mustn['’]t|make sure|be sure to|from now on|under no circumstances|stick to|without asking)\b"
    r"|\buse\b.{1,80}\binstead\b|(?:^|[,;:] |\bplease )avoid\b"
    r"|\b(?:niemals|immer|nicht|auf keinen fall|muss|müssen|statt|jamais|toujours|ne \w+ pas|il faut"
    r"|nunca|siempre|no (?:uses|toques|cambies|hagas)|debes?|sempre|non (?:usare|toccare|modificare)"
    r"|nie wolno|zawsze|никогда|всегда|нельзя|только)\b"
    r"|不要|必须|总是|永远|禁止|务必|しないで|必ず|絶対|使わないで|하지 ?마|반드시|항상",
    re.IGNORECASE,
)


def rules_in(message: Message) -> list[str]:
    """Return the sentences of a typed message that bind the work, in order, word for word.

    A sentence counts when it is no question, has at most 300 units, and holds a word that forbids, demands or prefers,
    in one of several languages. Messages of more than 1,000 characters are pasted documents and hold none.
    """
    if message.via not in _VIAS or len(message.text) > _LONGEST_MESSAGE:
        return []
    sentences = (_BULLET.sub("", part.strip()) for part in _BREAK.split(message.text))
    return [sentence for sentence in sentences if _binds(sentence)]


def _binds(sentence: str) -> bool:
    if sentence.endswith(("?", "？")) or len(sentence) < _SHORTEST or _DRAWN.search(sentence[:3]):
        return False
    return bool(_BINDING.search(sentence)) and units(sentence) <= _LONGEST
