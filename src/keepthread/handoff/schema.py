"""The schemas of handoffs and of answers; a handoff is validated with its fields named, never their content."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from keepthread import resources

if TYPE_CHECKING:
    from jsonschema import ValidationError

MAX_MESSAGES = 20

_KINDS = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def handoff_schema() -> dict[str, Any]:
    """Return a fresh copy of the handoff's JSON Schema (draft 2020-12)."""
    return _load("handoff.schema.json")


def answer_schema() -> dict[str, Any]:
    """Return a fresh copy of the schema an engine's answer must meet.

    It holds plain objects, arrays and strings only, all required: structured-output interfaces refuse references,
    bounds and optional fields.
    """
    return _load("answer.schema.json")


def memory_schema() -> dict[str, Any]:
    """Return a fresh copy of the schema of a session memory: an answer and what a handoff has no place for."""
    return _load("session-memory.schema.json")


def validate(handoff: object) -> list[str]:
    """Return what is wrong with a handoff, one message per fault (at most 20); empty when it is valid.

    Messages read "constraints.rules[2].source: is missing". They hold no text of the document, so they can be logged.
    """
    errors = sorted(_validator().iter_errors(handoff), key=_order)
    messages = dict.fromkeys(message for error in errors for message in _messages(error))
    return list(messages)[:MAX_MESSAGES]


def _load(name: str) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(resources.read("templates", name)))


@lru_cache(maxsize=1)
def _validator() -> Any:
    from jsonschema import Draft202012Validator  # 100 ms: only when something is validated

    return Draft202012Validator(handoff_schema())


def _order(error: ValidationError) -> list[tuple[int, int, str]]:
    return [
        (0, part, "") if isinstance(part, int) else (1, 0, str(part))
        for part in error.absolute_path
    ]


def _messages(error: ValidationError) -> list[str]:
    path = _path(error.absolute_path)
    if error.validator == "required":
        present = error.instance if isinstance(error.instance, dict) else {}
        return [
            f"{_join(path, str(name))}: is missing"
            for name in cast("list[str]", error.validator_value)
            if name not in present
        ]
    if error.validator == "additionalProperties":
        return [f"{_join(path, name)}: is not a known field" for name in _unknown(error)]
    describe = _DESCRIPTIONS.get(str(error.validator), _other)
    return [f"{path or 'document'}: {describe(error)}"]


def _unknown(error: ValidationError) -> list[str]:
    schema = cast("dict[str, Any]", error.schema)
    instance = cast("dict[str, Any]", error.instance)
    known = schema.get("properties", {})
    return [" ".join(str(name).split())[:60] or "?" for name in instance if name not in known]


def _path(parts: Iterable[str | int]) -> str:
    path = ""
    for part in parts:
        path = f"{path}[{part}]" if isinstance(part, int) else _join(path, str(part))
    return path


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _wrong_type(error: ValidationError) -> str:
    wanted = error.validator_value
    names = wanted if isinstance(wanted, list) else [wanted]
    return f"is {_KINDS.get(type(error.instance), 'something else')}, must be {' or '.join(map(str, names))}"


def _not_listed(error: ValidationError) -> str:
    values = cast("list[object]", error.validator_value)
    return "must be one of " + ", ".join(
        "null" if value is None else str(value) for value in values
    )


def _other(error: ValidationError) -> str:
    return f"breaks the rule {error.validator!r}"


_DESCRIPTIONS: dict[str, Callable[[ValidationError], str]] = {
    "type": _wrong_type,
    "enum": _not_listed,
    "const": lambda error: f"must be {error.validator_value}",
    "minLength": lambda _: "is empty",
    "minItems": lambda _: "is empty",
    "maxLength": lambda error: f"is longer than {error.validator_value} characters",
    "maxItems": lambda error: f"has more than {error.validator_value} entries",
    "minimum": lambda error: f"is below {error.validator_value}",
    "pattern": lambda _: "is not a time in ISO 8601 with a zone",
}
