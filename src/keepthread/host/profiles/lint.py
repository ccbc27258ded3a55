"""Looks at values of the host's variables one by one; `together` looks at what contradicts what.

A note tells what is useless, a fault what does not do what its writer meant. Values are shown only of variables in
the catalogue: none of them is a secret.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from keepthread.host.profiles import names
from keepthread.host.profiles.catalogue import CATALOGUE, RETIRED
from keepthread.host.profiles.variable import (
    VERIFIED,
    Variable,
    amount,
    effect,
    number,
    older,
    switch,
    version_key,
)

Level = Literal["fault", "note"]
Rule = Literal[
    "default",
    "no-effect",
    "retired",
    "unknown",
    "misspelt",
    "range",
    "unit",
    "value",
    "contradiction",
    "minimum",
    "profile",
]
_SUFFIXED = re.compile(r"[+-]?\d+(?:\.\d+)?\s*([kKmM])")
_SPELLED = re.compile(r"[+-]?\d{1,3}(?:[_,]\d{3})+|[+-]?[\d.]+[eE][+-]?\d+")
_SPELLED_SINCE = "2.1.211"
_SMALL = 1000  # fewer tokens, characters or milliseconds than anybody means


class Finding(NamedTuple):
    """One thing found: a note or a fault, the variable, the rule, and the sentence for its user."""

    level: Level
    name: str
    rule: Rule
    message: str


class Client(NamedTuple):
    """The client values are judged for: its version, "" when it is not known, and what finds a name in its program."""

    version: str = ""
    knows: names.Knows | None = None


UNKNOWN_CLIENT = Client()


def lint_values(values: Mapping[str, str], client: Client = UNKNOWN_CLIENT) -> list[Finding]:
    """Return what is wrong or useless in values of the host's variables; foreign variables are passed over."""
    from keepthread.host.profiles.together import contradictions

    found = [one for name, text in values.items() for one in _one(name, text, client)]
    bad = {one.name for one in found if one.level == "fault"}
    sound = {name: text for name, text in values.items() if name not in bad and text.strip()}
    return [*found, *contradictions(sound)]


def _one(name: str, text: str, client: Client) -> list[Finding]:
    if name in RETIRED:
        return [Finding("fault", name, "retired", f"{name} does nothing: {RETIRED[name]}")]
    variable = CATALOGUE.get(name)
    if variable is None:
        return _unknown(name, client)
    if not text.strip():
        return []  # counts as unset
    told = effect(variable, client.version)
    if told.startswith("none"):
        return [Finding("fault", name, "no-effect", f"{name} has no effect: {told[6:]}")]
    numeric = variable.kind in ("number", "percent")
    found = _number(variable, text, client) if numeric else _word(variable, text)
    return found or _default(variable, text)


def _unknown(name: str, client: Client) -> list[Finding]:
    if names.is_known(name, client.knows):
        return []
    guess = names.meant(name)
    if guess:
        message = f"{name} is no variable of the client's; is {guess} meant?"
        return [Finding("fault", name, "misspelt", message)]
    if not name.startswith(names.NAMESPACE):
        return []
    newer = older(VERIFIED, client.version) and client.knows is None
    if newer:
        message = f"{name} is not known; client {client.version} is newer than keepthread's list"
        return [Finding("note", name, "unknown", message)]
    which = client.version if client.knows and client.version else VERIFIED
    return [Finding("fault", name, "unknown", f"{name} is unknown to client {which}")]


def _word(variable: Variable, text: str) -> list[Finding]:
    name, word = variable.name, text.strip()
    wrong = (variable.kind == "switch" and switch(word) is None) or (
        variable.kind == "choice" and word not in variable.choices
    )
    if name == "ENABLE_TOOL_SEARCH":
        wrong = switch(word) is None and not re.fullmatch(r"auto(:(100|[0-9]{1,2}))?", word)
    if not wrong:
        return []
    expected = "true, false, auto or auto:N" if variable.kind == "words" else variable.range
    return [Finding("fault", name, "value", f"{name} is {_quoted(text)}: {expected} is expected")]


def _number(variable: Variable, text: str, client: Client) -> list[Finding]:
    """Return the first thing that is wrong with a number, in the order in which it spoils the others."""
    written = _as_written(variable, text.strip(), client)
    if written:
        return [written]
    value = amount(variable, text) or 0
    return (
        _in_unit(variable, text, value)
        or _in_range(variable, text, value)
        or _raised(variable, text, value)
    )


def _as_written(variable: Variable, text: str, client: Client) -> Finding | None:
    name, value = variable.name, amount(variable, text)
    if value is None:
        message = f"{name} is {_quoted(text)}, which is no number; the client ignores it"
        return Finding("fault", name, "value", message)
    suffix = _SUFFIXED.fullmatch(text)
    if suffix:
        return _suffixed(variable, text, client)
    if _SPELLED.fullmatch(text) and variable.kind == "number":
        if client.version and older(client.version, _SPELLED_SINCE):
            message = (
                f"{name} is {text}: clients before {_SPELLED_SINCE} read only its first digits"
            )
            return Finding("fault", name, "value", message)
        return None
    if variable.kind == "number" and re.fullmatch(r"[+-]?\d+", text):
        return None
    if variable.kind == "percent" and re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)%?", text):
        return None
    message = f"{name} is {_quoted(text)}, which the client reads as {value:g}"
    return Finding("fault", name, "value", message)


def _suffixed(variable: Variable, text: str, client: Client) -> Finding | None:
    name, read = variable.name, number(text) or 0
    if not variable.suffixes:
        message = f"{name} is {text}, which the client reads as {read:.0f}"
        return Finding("fault", name, "unit", message)
    if version_key(client.version) >= version_key(VERIFIED):
        return None
    message = (
        f"{name} is {text}, which clients before {VERIFIED} may read as {read:.0f}; write digits"
    )
    return Finding("fault", name, "unit", message)


def _in_unit(variable: Variable, text: str, value: float) -> list[Finding]:
    name = variable.name
    if variable.kind == "percent" and 0 < value < 1:
        message = f"{name} is {text}, a fraction: the client takes it for {value:g} %; write {value * 100:g}"
        return [Finding("fault", name, "unit", message)]
    small = 0 < value < _SMALL and variable.unit in ("ms", "tokens", "characters")
    if not small or name in _MAY_BE_SMALL:
        return []
    meant = "seconds" if variable.unit == "ms" else "thousands"
    message = f"{name} is {text} {variable.unit}; that looks like {meant}"
    return [Finding("fault", name, "unit", message)]


_MAY_BE_SMALL = ("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "SLASH_COMMAND_TOOL_CHAR_BUDGET")


def _in_range(variable: Variable, text: str, value: float) -> list[Finding]:
    low, high = variable.low, variable.high
    if variable.zero and value == 0:
        return []
    if (low is not None and value < low) or (high is not None and value > high):
        message = f"{variable.name} is {text}; its range is {variable.range}"
        return [Finding("fault", variable.name, "range", message)]
    return []


def _raised(variable: Variable, text: str, value: float) -> list[Finding]:
    if not variable.lowers_only or value <= float(variable.default):
        return []
    name = variable.name
    if variable.lowers_only == "all":
        message = f"{name} is {text}: it can only lower the default, {variable.default}"
        return [Finding("fault", name, "no-effect", message)]
    message = f"{name} is {text}: for text it can only lower the default, {variable.default}"
    return [Finding("note", name, "no-effect", message)]


def _default(variable: Variable, text: str) -> list[Finding]:
    same = variable.default and (
        amount(variable, text) == float(variable.default)
        if variable.kind == "number"
        else switch(text) == switch(variable.default)
        if variable.kind == "switch"
        else False
    )
    if not same:
        return []
    message = f"{variable.name} is {text.strip()}, as the client has it by default"
    return [Finding("note", variable.name, "default", message)]


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")
