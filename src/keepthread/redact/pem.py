"""Whole private-key blocks: as they are, escaped into one line, with line numbers or diff signs, cut at either end.

https://www.rfc-editor.org/rfc/rfc7468, and for PGP https://www.rfc-editor.org/rfc/rfc9580#section-6
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from keepthread.redact.rules import Span

NAME = "private-key"
_LIMIT = 32 * 1024  # characters; a 16,384-bit RSA key takes 13,000

_SPACE = r"(?: |\+|%20)"  # the latter two in forms and addresses
_KIND = rf"{_SPACE}(?:[A-Z0-9]{{1,16}}{_SPACE}){{0,3}}PRIVATE{_SPACE}KEY(?:{_SPACE}BLOCK)?(?:-----| ----)"
_BEGIN = rf"(?:-----|---- )BEGIN{_KIND}"
_END = rf"(?:-----|---- )END{_KIND}"
_KEY_TEXT = r"[A-Za-z0-9+/=]{16,}"

_BREAK = r"(?:[ \t]{0,8}(?:\\{1,4}(?:[nr]|u000[aAdD])|%0[aAdD]|\r?\n))"
_LEAD = r"[ \t]{0,16}(?:[0-9]{1,6}[ \t]{0,4}[→|:\t\-)]?)?[ \t+>|#*\"']{0,8}"
_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash): [^\r\n\\]{0,120}"
_FULL = r"[A-Za-z0-9+/=]{16,256}"
_REST = r"(?:[A-Za-z0-9+/]{4}){0,3}(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)"
_DONE = r"(?=[\"'`,;]{0,3}[ \t]{0,8}(?:[\r\n\\]|$))"
# What follows a BEGIN that has no END: long lines of base64 and a last short one, or one run behind a space.
_BODY = (
    rf"(?:[\"' \t]{{0,4}}[A-Za-z0-9+/=]{{16,16384}})?"
    rf"(?:{_BREAK}{{1,3}}{_LEAD}(?:{_FULL}|{_HEADER}){_DONE}){{0,400}}"
    rf"(?:{_BREAK}{_LEAD}(?:{_REST}{_DONE}|[A-Za-z0-9+/=]{{1,15}}$))?"
)
# Nowhere but at the beginning of a run, or each character of a long block would be tried.
_LAST_LINES = (
    rf"(?<![A-Za-z0-9+/=]){_LEAD}[A-Za-z0-9+/=]{{20,16384}}{_BREAK}(?:{_LEAD}[A-Za-z0-9+/=]{{20,256}}{_BREAK}){{0,399}}"
    rf"(?:{_LEAD}=[A-Za-z0-9+/]{{4}}{_BREAK})?{_LEAD}$"
)


def holds(value: str) -> bool:
    """Return whether the words of a private key's first or last line occur in `value`."""
    return any(words in value for words in ("PRIVATE KEY", "PRIVATE+KEY", "PRIVATE%20KEY"))


def spans(value: str) -> Iterator[Span]:
    """Yield where private keys stand in `value`, header lines included."""
    if not holds(value):
        return
    done = 0
    for end in _ends(value):
        begin = re.compile(_BEGIN).search(value, done, end[0])
        while begin:
            following = re.compile(_BEGIN).search(value, begin.end(), end[0])
            if following is None:
                break
            yield from _unfinished(value, begin)
            begin = following
        if begin and end[0] - begin.end() <= _LIMIT:
            if re.compile(_KEY_TEXT).search(value, begin.end(), end[0]):
                yield begin.start(), end[1]
        else:
            yield from _headless(value, done, end)
        done = end[1]
    for begin in re.compile(_BEGIN).finditer(value, done):
        yield from _unfinished(value, begin)


def _ends(value: str) -> list[Span]:
    return [match.span() for match in re.compile(_END).finditer(value)]


def _unfinished(value: str, begin: re.Match[str]) -> Iterator[Span]:
    body = re.compile(_BODY).match(value, begin.end())
    if body and re.compile(_KEY_TEXT).search(body.group()):
        yield begin.start(), body.end()


def _headless(value: str, start: int, end: Span) -> Iterator[Span]:
    start = max(start, end[0] - _LIMIT)
    if start and value[start - 1] != "\n":  # the middle of a line
        start = max(start, value.find("\n", start, end[0]) + 1)
    body = re.compile(_LAST_LINES).search(value, start, end[0])
    if body:
        yield body.start(), end[1]
