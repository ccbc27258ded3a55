"""Secrets that their own form gives away, and what they look like once a name or a cut text holds only a part of them.

A name is cut out of a text at hyphens and dots, and a long line is cut anywhere. What is left of a token bears no mark
of its vendor, so it is known by the token that stands whole somewhere in the session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from keepthread.redact.hidden import shown
from keepthread.redact.placeholders import MARK, is_mixed
from keepthread.redact.rules import Known
from keepthread.redact.vendors import RULES

_SHORTEST = 20  # bytes without a space or a sign between
_PART = 8
_PIECE = 6
_MOST = 2_000  # tokens
_TOKEN_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.:~+/="
# What lies beyond ASCII counts as well: it may be unseen, and the token goes on behind it.
_FLAT = bytes(120 if code in _TOKEN_CHARACTERS or code > 126 else 32 for code in range(256))
_RUN = b"x" * _SHORTEST
_RANDOM = rb"[0-9]|[a-z][A-Z]"
_SCRAMBLED = r"[a-z][A-Z]+[a-z].*[A-Z]"


def formed(texts: Iterable[str]) -> list[Known]:
    """Return the tokens in the texts that are in a vendor's format, each once.

    Only runs of token characters are looked at, each different one once: they are found in one pass over the bytes.
    """
    seen: dict[bytes, None] = {}
    for text in texts:
        if len(text) < _SHORTEST:
            continue
        visible = shown(text) if "\x1b" in text else text
        seen.update(dict.fromkeys(_runs(visible.encode("utf-8", "replace"))))
    told = shown("\n".join(run.decode() for run in seen if re.search(_RANDOM, run)))
    lower = told.lower()
    found: dict[Known, None] = {}
    for rule in RULES:
        if any(keyword in lower for keyword in rule.keywords):
            for start, end in rule.spans(told, 0, len(told)):
                found[Known(told[start:end], rule.name)] = None
    return list(found)[:_MOST]


def parts(secrets: Iterable[str]) -> list[Known]:
    """Return the random parts of secrets: what stands between hyphens, dots and other signs in them."""
    found: dict[Known, None] = {}
    for secret in secrets:
        rule = getattr(secret, "rule", Known.rule)
        for part in re.split(r"[^A-Za-z0-9]+", secret):
            if len(part) >= _PART and part != secret and _is_random(part):
                found[Known(part, rule)] = None
    return list(found)


def cut(text: str, secrets: Sequence[str]) -> list[Known]:
    """Return the beginnings and endings of the secrets, of 8 characters or more, that stand in the text."""
    found: dict[Known, None] = {}
    for secret in secrets:
        rule = getattr(secret, "rule", Known.rule)
        if len(secret) > _PART and secret.isalnum():
            for piece in (*_beginnings(text, secret), *_endings(text, secret)):
                found[Known(piece, rule)] = None
    return list(found)


def is_piece(name: str, whole: str) -> bool:
    """Return whether a name is nothing but a part of the secrets in `whole`, one a line; a plain word is none."""
    if len(name) < _PIECE or MARK in name or name not in whole:
        return False
    return not re.fullmatch(r"[A-Za-z]?[a-z]+(?:[_-][a-z]+)*|[A-Z]+(?:[_-][A-Z]+)*", name)


def _runs(data: bytes) -> Iterator[bytes]:
    flat = data.translate(_FLAT)
    at = flat.find(_RUN)
    while at >= 0:
        end = flat.find(b" ", at + _SHORTEST)
        end = end if end >= 0 else len(flat)
        yield data[at:end]
        at = flat.find(_RUN, end)


def _is_random(part: str) -> bool:
    return is_mixed(part) or re.search(_SCRAMBLED, part) is not None


def _beginnings(text: str, secret: str) -> Iterator[str]:
    at = text.find(secret[:_PART])
    while at >= 0:
        size = _PART
        while size < len(secret) and text[at + size : at + size + 1] == secret[size]:
            size += 1
        yield secret[:size]
        at = text.find(secret[:_PART], at + size)


def _endings(text: str, secret: str) -> Iterator[str]:
    at = text.find(secret[-_PART:])
    while at >= 0:
        size = _PART
        while (
            size < len(secret)
            and text[at + _PART - size - 1 : at + _PART - size] == secret[-size - 1]
        ):
            size += 1
        yield secret[-size:]
        at = text.find(secret[-_PART:], at + _PART)
