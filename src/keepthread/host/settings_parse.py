"""Strict reading of the host's settings file: what the host would refuse is refused here, with line and column.

The host reads strict JSON and ignores a broken file as a whole. Python's reader is laxer (duplicate keys, NaN), and
writing back what it made of such a file would lose what the user wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from keepthread.errors import KeepthreadError

BOM = b"\xef\xbb\xbf"
_SPACE = re.compile(r"[ \t\n\r]*")
_UNTOUCHED = "Nothing was changed. Mend the file, then run the command again."
_CONSTANTS = ("NaN", "Infinity", "-Infinity")


class Child(NamedTuple):
    """One member of an object or item of an array: where its key (or value) begins, where its value lies."""

    key: str
    at: int
    start: int
    end: int


class _FlawError(Exception):
    """Something that Python's reader accepts and the host does not."""


def decode(data: bytes, path: str) -> tuple[str, bool]:
    """Return the file's text and whether it begins with a byte order mark.

    Raises:
        KeepthreadError: it is not UTF-8, or empty.
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in data[:4]:
        raise KeepthreadError(
            f"{path} is UTF-16 or UTF-32; the host reads UTF-8",
            f"Save it as UTF-8 (PowerShell: -Encoding utf8). {_UNTOUCHED}",
        )
    bom = data.startswith(BOM)
    body = data[len(BOM) :] if bom else data
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise KeepthreadError(f"{path}:{line}: a byte that is not UTF-8", _UNTOUCHED) from None
    if not text.strip(" \t\r\n"):
        raise KeepthreadError(
            f"{path} is empty; a write that was cut off looks the same",
            "Restore it from a backup, or delete it if there was nothing in it.",
        )
    return text, bom


def parse(text: str, path: str) -> Any:
    """Return the document; numbers come as the bytes of their text, so that 1.10 and 1.1 differ.

    Raises:
        KeepthreadError: it is not strict JSON; names line, column and reason.
    """
    try:
        return _STRICT.decode(text)
    except json.JSONDecodeError as error:
        _refuse(text, path, error.pos, _reason(text, error))
    except _FlawError:
        _refuse(text, path, *_find_flaw(text))
    except RecursionError:
        refuse_depth(path)


def refuse_depth(path: str) -> NoReturn:
    """Refuse a document with more levels than Python can follow.

    Raises:
        KeepthreadError: always.
    """
    raise KeepthreadError(f"{path} is nested too deeply to be settings", _UNTOUCHED) from None


def refuse_edit(path: str) -> NoReturn:
    """Refuse an edit that would have changed more than it should: a fault of ours, found before the file was touched.

    Raises:
        KeepthreadError: always.
    """
    raise KeepthreadError(
        f"{path} could not be edited without touching foreign settings",
        "Nothing was changed. Please report this with the file, its secrets taken out.",
    )


def children(text: str, at: int) -> Iterator[Child]:
    """Yield the children of the object or array that begins at `at` in valid JSON."""
    is_object = text[at] == "{"
    at = skip(text, at + 1)
    while text[at] not in "]}":
        first, key = at, ""
        if is_object:
            key, at = _SPANS.raw_decode(text, at)
            at = skip(text, skip(text, at) + 1)
        _, end = _SPANS.raw_decode(text, at)
        yield Child(key, first, at, end)
        at = skip(text, end)
        if text[at] == ",":
            at = skip(text, at + 1)


def skip(text: str, at: int) -> int:
    """Return the position of the first character at or after `at` that is no JSON white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def check_shape(document: Any, path: str) -> None:
    """See that the document has the shape of settings wherever we would touch it.

    Raises:
        KeepthreadError: an object or list is expected and something else is there; names the place.
    """
    _expect(document, dict, "the top level", path)
    hooks = document.get("hooks", {})
    _expect(hooks, dict, "hooks", path)
    for event, groups in hooks.items():
        _expect(groups, list, f"hooks.{event}", path)
        for number, group in enumerate(groups):
            place = f"hooks.{event}[{number}]"
            _expect(group, dict, place, path)
            _expect(group.get("hooks"), list, f"{place}.hooks", path)
            for index, hook in enumerate(group["hooks"]):
                _expect(hook, dict, f"{place}.hooks[{index}]", path)


def check_env(document: Any, path: str) -> None:
    """See that the `env` block, if there is one, is an object.

    Raises:
        KeepthreadError: it is something else.
    """
    _expect(document.get("env", {}), dict, "env", path)


def _expect(value: Any, kind: type, place: str, path: str) -> None:
    if not isinstance(value, kind):
        names = {
            dict: "an object",
            list: "a list",
            str: "a string",
            bytes: "a number",
            bool: "a boolean",
        }
        found = names.get(type(value), "missing or null")
        raise KeepthreadError(f"{path}: {place} should be {names[kind]} and is {found}", _UNTOUCHED)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _FlawError
    return members


def _constant(_name: str) -> NoReturn:
    raise _FlawError


# str.encode keeps a number's text exactly, costs no Python call per number, and never equals a string.
_STRICT = json.JSONDecoder(
    object_pairs_hook=_unique,
    parse_int=str.encode,
    parse_float=str.encode,
    parse_constant=_constant,
)
_SPANS = json.JSONDecoder(parse_int=str.encode, parse_float=str.encode)


def _find_flaw(text: str) -> tuple[int, str]:
    """Return position and description of the first duplicate key or constant; only run when there is one."""
    waiting = [("", skip(text, 0))]
    while waiting:
        place, at = waiting.pop()
        if text.startswith(_CONSTANTS, at):
            return at, f"{place or 'the file'} is NaN or Infinity, which JSON does not know"
        if text[at] not in "{[":
            continue
        seen: set[str] = set()
        for child in children(text, at):
            inner = f"{place}.{child.key}".lstrip(".")
            if text[at] == "{" and child.key in seen:
                return child.at, f"the key {inner} is there twice"
            seen.add(child.key)
            waiting.append((inner, child.start))
    return 0, "a duplicate key"


def _reason(text: str, error: json.JSONDecodeError) -> str:
    rest = text[error.pos :].lstrip(" \t\r\n")
    before = text[: error.pos].rstrip(" \t\r\n")
    if rest.startswith(("//", "/*", "#")):
        return "a comment, and the host reads strict JSON"
    if re.match(r",[ \t\r\n]*[}\]]", rest) or (before.endswith(",") and rest[:1] in ("}", "]")):
        return "a comma before a closing bracket"
    if rest.startswith("'"):
        return "single quotes, and JSON knows only double quotes"
    if not rest:
        return "the file ends in the middle"
    return error.msg[:1].lower() + error.msg[1:]


def _refuse(text: str, path: str, at: int, reason: str) -> NoReturn:
    line = text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    raise KeepthreadError(f"{path}:{line}:{column}: {reason}", _UNTOUCHED) from None
