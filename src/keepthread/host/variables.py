"""How each KEEPTHREAD_* variable is read: its range, and how far the process environment may narrow it."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping

from keepthread import platforms
from keepthread.host.locations import home_of_user

Value = str | int | float | bool | tuple[str, ...]
Reader = Callable[[str, Mapping[str, str]], Value]

SOURCES = ("startup", "resume", "clear", "compact", "fork")  # the host's, of SessionStart
_TRUE = ("1", "true", "yes", "on")
_BETWEEN = r"[,;]|\s(?=[~$%]|[A-Za-z]:[\\/])" if os.pathsep == ";" else r"[,;]|[:\s](?=[/~$])"
_HOME = re.compile(r"(?:~|\$HOME|\$\{HOME\}|%USERPROFILE%)(?=[/\\]|$)")
# Not read here, so that it cannot be told what was meant: other variables, a user's home that there is not, a list in
# brackets, what no folder holds.
_UNREAD = re.compile(r"[\x00-\x1f\x7f]|\$[A-Z{(]|%[A-Z]+%|^(?:[$%!~]|[\[(<=][\"'~/$])")
_FALSE = ("0", "false", "no", "off")
# What names an endpoint of the user's own choosing: KEEPTHREAD_<NAME>_BASE_URL and the like.
_ENDPOINT = ("_base_url", "_api_key", "_model", "_ca_bundle", "_num_ctx", "_command", "_price")


class BadValueError(ValueError):
    """A value that cannot be used; says what is expected."""


def value(key: str, text: str, env: Mapping[str, str]) -> Value:
    """Return the value of a variable (`key` without the prefix, in lower case) from its text.

    Raises:
        BadValueError: the text is no value of this variable.
    """
    return ALL[key](text.strip(), env)


def narrower(key: str, current: Value, text: str, env: Mapping[str, str]) -> Value:
    """Return the value that the process environment narrows `current` to.

    Raises:
        BadValueError: the text is no value of this variable, or one that would widen what is done.
    """
    found = value(key, text, env)
    allowed = NARROWING[key]
    if allowed is None:  # a number
        if isinstance(found, int | float) and isinstance(current, int | float) and found <= current:
            return found
        raise BadValueError(f"at most {current} is in force")
    if found == current:
        return current
    if found in allowed and current != "off":
        return found
    raise BadValueError("it would widen what is done")


def misspelt(key: str) -> str:
    """Return the variable that an unknown name probably means, or ""."""
    if key.endswith(_ENDPOINT):
        return ""
    import difflib

    return next(iter(difflib.get_close_matches(key, ALL, 1, 0.8)), "")


def _number(low: float, high: float = math.inf) -> Reader:
    def read(text: str, _env: Mapping[str, str]) -> float:
        try:
            found = float(text)
        except ValueError:
            raise BadValueError(f"{_range(low, high)} is expected") from None
        if not low <= found <= high or math.isinf(found):
            raise BadValueError(f"{_range(low, high)} is expected")
        return found

    return read


def _whole(low: int, high: float = math.inf) -> Reader:
    def read(text: str, _env: Mapping[str, str]) -> int:
        # The host reads 500k as 500; here it is refused, as is every other way to write a number.
        if (
            not re.fullmatch(r"[0-9][0-9_]{0,17}", text)
            or not low <= int(text.replace("_", "")) <= high
        ):
            raise BadValueError(f"{_range(low, high)}, in digits only, is expected")
        return int(text.replace("_", ""))

    return read


def _one_of(*names: str) -> Reader:
    def read(text: str, _env: Mapping[str, str]) -> str:
        if text.lower() not in names:
            raise BadValueError(f"one of {', '.join(names)} is expected")
        return text.lower()

    return read


def _switch(text: str, _env: Mapping[str, str]) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise BadValueError("on or off is expected")


def _words(text: str, _env: Mapping[str, str]) -> str:
    if not text or len(text) > 4096 or re.search(r"[\x00-\x1f\x7f]", text):
        raise BadValueError("one line of text is expected")
    return text


def _document(text: str, env: Mapping[str, str]) -> str:
    if text.lower() in _FALSE:
        return "off"
    if os.path.isabs(text) or ".." in text.replace("\\", "/").split("/"):
        raise BadValueError("a path inside the project, or off, is expected")
    return _words(text, env)


def _sources(text: str, _env: Mapping[str, str]) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(re.findall(r"[^\s,|]+", text.lower())))
    if not names or not set(names) <= set(SOURCES):
        raise BadValueError(f"names out of {', '.join(SOURCES)}, with commas between, are expected")
    return names


def _turns(text: str, _env: Mapping[str, str]) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in text.split(",") if part.strip())
    if not all(re.fullmatch(r"(?:[a-z][a-z0-9_-]{0,39}=)?[0-9]{1,6}", part) for part in parts):
        raise BadValueError("a number, or engine=number with commas between, is expected")
    return parts


def _folders(text: str, env: Mapping[str, str]) -> tuple[str, ...]:
    # Read as widely as it can be meant: what its user wanted left alone must not be dropped for a slip. A folder that
    # is not absolute is meant wherever it lies, and a list may be written as PATH is.
    home = platforms.home(env) or home_of_user()
    text = text.replace("\\ ", " ") if os.sep == "/" else text  # as a shell is told of a blank
    found = []
    for part in (one.strip().strip("\"'") for one in re.split(_BETWEEN, text)):
        named = _HOME.match(part)
        rest = part[named.end() :] if named else os.path.expanduser(part)  # ~name
        folder = home + rest if named else rest
        if _UNREAD.search(rest) or rest.count("{") != rest.count("}"):
            raise BadValueError("folders, written out or with ~, commas between, are expected")
        if part and not os.path.isabs(folder):
            folder = os.path.join(os.path.abspath(os.sep), "**", folder)
        if part:
            found.append(os.path.normpath(folder))
    return tuple(found)


def _range(low: float, high: float) -> str:
    return f"a number from {low} up" if math.isinf(high) else f"a number from {low} to {high}"


ALL: Mapping[str, Reader] = {
    "engine": _words,
    "model": _words,
    "memory_model": _words,
    "session_memory": _one_of("facts", "model", "off"),
    "effort": _one_of("low", "medium", "high", "xhigh", "max"),
    "prompt_tokens": _whole(4_000),
    "timeout": _number(1, 70),  # the host ends PreCompact after 75 s
    "join": _number(0, 8),  # and SessionStart after 10 s
    "mode": _one_of("overlap", "wait"),
    "budget": _whole(1_000, 9_900),  # the host shows 10,000 units of one output
    "index": _whole(0, 9_900),
    "memory_budget": _whole(0, 9_900),
    "sources": _sources,
    "guide": _switch,
    "document": _document,
    "disable": _switch,
    "max_calls_per_hour": _whole(0),
    "max_usd_per_day": _number(0),
    "keep_sessions": _whole(0),
    "keep_days": _whole(0, 36_500),
    "spill": _switch,
    "spill_chars": _whole(2_000, 1_000_000),
    "spill_turn_chars": _whole(0),
    "max_transcript_bytes": _whole(0),
    "window": _whole(0),
    "turns": _turns,
    "command": _words,
    "off_projects": _folders,
    "local_only_projects": _folders,
}

# What the process environment may set: only these values, where it is not "off", or (None) only a smaller number.
NARROWING: Mapping[str, tuple[Value, ...] | None] = {
    "engine": ("facts",),
    "disable": (True,),
    "session_memory": ("facts", "off"),
    "timeout": None,
    "mode": ("overlap", "wait"),
    "join": None,
    "budget": None,
    "index": None,
    "memory_budget": None,
    "guide": (False,),
    "spill": (False,),
}

# What each decides, in one line: docs/reference.md is made from this.
MEANINGS: Mapping[str, str] = {
    "engine": "who answers: one engine, or several between commas, tried in that order",
    "model": "the model of the handoff",
    "memory_model": "the model of the session memory",
    "session_memory": "the session memory: `facts` without a model, `model` with one, or `off`",
    "effort": "the model's effort",
    "prompt_tokens": "size of the prompt sent, in tokens",
    "timeout": "seconds for all engines together",
    "join": "seconds SessionStart waits for a worker that still runs",
    "mode": "`wait` makes PreCompact wait for the model",
    "budget": "size of the context, in UTF-16 units",
    "index": "size of the index, in UTF-16 units",
    "memory_budget": "size of what is shown of the memories at a start, in UTF-16 units; `0`: nothing",
    "sources": "starts at which the context is put back; with `clear`, what `/clear` ends is offered to the "
    "next session of the project, once, within 24 hours; run `keepthread install` after a change",
    "guide": "whether the host's own summary is steered",
    "document": "the document for people, a path inside the project, or `off`",
    "disable": "on: no hook does anything",
    "max_calls_per_hour": "spending cap: model calls",
    "max_usd_per_day": "spending cap: their cost in USD as far as it is known",
    "keep_sessions": "so many of the newest sessions are kept whole; beyond them only the handoff and what is "
    "shown of it; `0`: all",
    "keep_days": "after so many days without a change a session's handoff is removed; `0` keeps it for ever",
    "spill": "on: long results of tools go to a file and the model gets a short form; run `keepthread install` "
    "after a change",
    "spill_chars": "characters from which on a result is long",
    "spill_turn_chars": "characters that the results of one turn may have together before a fourth of that "
    "counts as long; `0`: no limit",
    "max_transcript_bytes": "bytes of a transcript over which `keepthread status` and the status line warn",
    "window": "the model's context window in tokens, where it is not known",
    "turns": "how many of your last turns the model is told, beside your first ask: `30`, or by engine: "
    "`30,ollama=8`; without it as many as fit",
    "command": "the program of the `command` engine, with its arguments",
    "off_projects": "folders in which no hook does anything, between commas; `*`, `?` and `**` stand for names",
    "local_only_projects": "folders whose transcripts are told only to engines on this machine, written the same way",
}
