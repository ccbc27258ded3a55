"""The grammar of keys. Pure: a key is judged by its text alone, so the answer is the same on every system.

A key is a relative path with "/" between its segments. The directory is shared, so what any member's file system would
read differently is refused here: never repaired, decoded or expanded. `check` raises, `repaired` makes an offer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from keepthread.memory.errors import PathRejected

MAX_BYTES = 1000
MAX_SEGMENT_BYTES = 200
MAX_SEGMENTS = 8

_RESERVED = frozenset('<>:"|?*')
_BAD_FIRST = frozenset(".-~ ")
_BAD_LAST = frozenset(". ")
_UNSEEN = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"))
# Invisible characters of other categories: fillers, joiners and variation selectors.
_IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_DEVICES = frozenset(("con", "prn", "aux", "nul", "conin$", "conout$", "clock$")) | {
    f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"
}
_ALIAS = re.compile(r"~[0-9]+(?:\.|$)")  # GIT~1, MEMORY~1.MD
_ESCAPE = re.compile(r"%[0-9A-Fa-f]{2}")
# Keys that break no rule, told at once: most are of this form, and a listing judges every name it finds.
_SIMPLE_SEGMENT = (
    r"(?!(?i:con|prn|aux|nul|com[0-9]|lpt[0-9]) *(?:[./]|\Z))"
    r"[A-Za-z0-9_](?:[A-Za-z0-9_. -]*[A-Za-z0-9_-])?"
)
_SIMPLE = re.compile(rf"{_SIMPLE_SEGMENT}(?:/{_SIMPLE_SEGMENT}){{0,7}}")
_LATIN = re.compile(r"[ -~]*")


def check(key: str) -> tuple[str, ...]:
    """Return the segments of an acceptable key.

    Raises:
        TypeError: it is no str; a Path has lost what was wrong with it already.
        PathRejected: it breaks a rule; the first one is named.
    """
    if type(key) is not str:
        raise TypeError(f"a key is a str, not {type(key).__name__}")
    rule = broken_rule(key)
    if rule:
        raise PathRejected(key, rule, repaired(key))
    return tuple(key.split("/"))


def broken_rule(key: str) -> str:
    """Return the name of the first rule that a text breaks as a key, "" when it is one."""
    if len(key) <= MAX_SEGMENT_BYTES and _SIMPLE.fullmatch(key):
        return ""
    return by_every_rule(key)


def by_every_rule(key: str) -> str:
    """Return what `broken_rule` returns, without its shortcut for simple keys."""
    return _whole(key) or next(filter(None, map(_segment, key.split("/"))), "")


def _whole(key: str) -> str:
    if not key:
        return "empty"
    if any("\ud800" <= char <= "\udfff" for char in key):
        return "surrogate"
    if len(key.encode()) > MAX_BYTES:
        return "too long"
    for char, rule in (("\0", "nul"), ("\\", "backslash")):
        if char in key:
            return rule
    if key.startswith("/"):
        return "absolute"
    if not unicodedata.is_normalized("NFC", key):
        return "not NFC"
    return "too deep" if key.count("/") >= MAX_SEGMENTS else ""


def _segment(name: str) -> str:
    if not name:
        return "empty segment"
    if name in (".", ".."):
        return "dot segment"
    if len(name.encode()) > MAX_SEGMENT_BYTES:
        return "segment too long"
    return _spelling(name) or _encoded(name) or _compatible(name)


def _spelling(name: str) -> str:
    """Return the rule on characters and names that a segment breaks, read literally."""
    if not name:
        return "empty segment"
    if _has_unseen(name):
        return "control/invisible char"
    if not _RESERVED.isdisjoint(name):
        return "reserved char"
    if name[0] in _BAD_FIRST:
        return "bad first char"
    if name[-1] in _BAD_LAST:
        return "bad last char"
    if name.partition(".")[0].rstrip(" ").lower() in _DEVICES:
        return "device name"
    return "8.3 alias" if _ALIAS.search(name) else ""


def _has_unseen(name: str) -> bool:
    if _LATIN.fullmatch(name):
        return False
    return bool(_IGNORABLE.search(name)) or any(unicodedata.category(c) in _UNSEEN for c in name)


def _encoded(name: str) -> str:
    """Return the rule that a segment breaks once somebody decodes it, however often."""
    while _ESCAPE.search(name):
        try:
            name = _unquoted(name).decode()
        except UnicodeDecodeError:
            return "percent: bad utf-8"
        for form in (name, unicodedata.normalize("NFKC", name)):
            if _leads_away(form):
                return "percent-encoded traversal"
            if (rule := _spelling(form)) in ("device name", "8.3 alias"):
                return f"percent-encoded {rule}"
    return ""


def _unquoted(name: str) -> bytes:
    # Not urllib: it takes longer to load than a key to judge.
    return re.sub(rb"%([0-9A-Fa-f]{2})", lambda code: bytes([int(code[1], 16)]), name.encode())


def _leads_away(name: str) -> bool:
    return (
        not name
        or "/" in name
        or "\\" in name
        or ":" in name
        or name[0] in _BAD_FIRST
        or not name.strip(". ")
        or _has_unseen(name)
    )


def _compatible(name: str) -> str:
    """Return the rule that a segment breaks in its compatibility form, which some systems and programs make of it."""
    if name.isascii():
        return ""
    form = unicodedata.normalize("NFKC", name)
    unsafe = "/" in form or "\\" in form or _spelling(form) or _encoded(form)
    return "NFKC form unsafe" if unsafe else ""


def repaired(key: str) -> str:
    """Return an acceptable key that is close to `key`, "" when there is none. Nothing is stored under it by itself."""
    text = key[: 4 * MAX_BYTES].encode("utf-8", "ignore").decode()
    for form in (_literal, _plain, _decoded):
        parts = [_mended(part) for part in re.split(r"[/\\]", form(text))]
        offer = "/".join(part for part in parts if part)
        if not broken_rule(offer):
            return offer
    return ""


def _literal(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _decoded(text: str) -> str:
    while _ESCAPE.search(text):
        text = _unquoted(text).decode("utf-8", "ignore")
    return _plain(text)


_MENDS: tuple[Callable[[str], str], ...] = (
    lambda name: "".join(char for char in name if not _has_unseen(char)),
    lambda name: "".join("-" if char in _RESERVED else char for char in name),
    lambda name: re.sub(r"~([0-9]+(?:\.|$))", r"-\1", name),
    lambda name: name.lstrip("".join(_BAD_FIRST)),
    lambda name: name.encode()[:MAX_SEGMENT_BYTES].decode("utf-8", "ignore"),
    lambda name: name.rstrip("".join(_BAD_LAST)),
)


def _mended(name: str) -> str:
    for mend in _MENDS:
        name = mend(name)
    if _spelling(name) == "device name":
        stem, dot, rest = name.partition(".")
        name = f"{stem.rstrip()}_{dot}{rest}"
    return unicodedata.normalize("NFC", name)


def folded(name: str) -> str:
    """Return the form in which two names of one folder must differ: some systems ignore case and composition."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", name).casefold())
