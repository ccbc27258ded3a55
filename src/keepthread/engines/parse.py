"""Finds the document in what a model wrote: fenced, chatty, after its thoughts, inside an array, or plain."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

# An answer is a few KiB; beyond these bounds only hostile or broken text is left.
_TEXT = 1024 * 1024
# Half a second, in characters that the decoder's error counts lines in. Decoding one takes ten times as long,
# and holding an object against a schema as long as this many.
_WORK = 1_000_000_000
_DECODE = 10
_OBJECT = 250_000

_THOUGHTS = re.compile(r"\s*<(think|thinking|analysis)>.*?</\1>", re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Found:
    """What a text holds: a document that meets the schema, or the fault of what came nearest to one.

    `near` says that an object with some of the schema's fields was there, so the text is a failed answer and no notice.
    """

    document: dict[str, Any] | None
    fault: str = ""
    near: bool = False


def find(text: str, schema: dict[str, Any]) -> Found:
    """Return the last object in `text` that meets `schema`; a fault names the field that is wrong, never its value."""
    thoughts = _THOUGHTS.match(text[:_TEXT])
    best: dict[str, Any] | None = None
    fault, most = "", -1
    for document in objects(text[thoughts.end() if thoughts else 0 :]):
        wrong = misfit(document, schema)
        shared = len(document.keys() & schema.get("properties", {}).keys())
        if not wrong:
            best = document
        elif shared > most:
            most, fault = shared, wrong
    if best is not None:
        return Found(mend(best))
    return Found(None, fault or _without_object(text), most > 0)


def objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield every JSON object in `text` that is not part of another one, in order; bounded on hostile text."""
    decoder = json.JSONDecoder()
    text = text[:_TEXT]
    work = 0
    at = text.find("{")
    while at >= 0 and work < _WORK:
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            work += error.pos + _DECODE * (error.pos - at)
            end = at + 1
        except RecursionError:
            # Thousands of nested brackets are no document.
            return
        else:
            work += _OBJECT + _DECODE * (end - at)
            yield value
        at = text.find("{", end)


def misfit(document: Any, schema: dict[str, Any]) -> str:
    """Return "" when `document` meets `schema`, else the field that does not and the rule it breaks."""
    import jsonschema  # 0.1 s of imports that only a process with an answer in hand should pay

    validator = jsonschema.Draft202012Validator(schema)
    error = next(iter(sorted(validator.iter_errors(document), key=_order)), None)
    return "" if error is None else _words(error)


def mend(value: Any) -> Any:
    """Return a JSON value whose strings can all be encoded: lone surrogates become U+FFFD."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, list):
        return [mend(item) for item in value]
    if isinstance(value, dict):
        return {mend(key): mend(item) for key, item in value.items()}
    return value


def _order(error: ValidationError) -> tuple[int, str]:
    return len(error.absolute_path), ".".join(map(str, error.absolute_path))


def _words(error: ValidationError) -> str:
    # jsonschema's own message quotes the value, which may be the user's text.
    place = ".".join(str(step) for step in error.absolute_path)
    rule = str(error.validator)
    required = error.validator_value
    if rule == "required" and isinstance(required, list) and isinstance(error.instance, dict):
        missing = next((str(name) for name in required if name not in error.instance), "")
        return f"{'.'.join(filter(None, (place, missing)))} is missing"
    if rule == "type":
        return f"{place or 'the document'} is not of type {required}"
    return f"{place or 'the document'} breaks the rule {rule}"


def _without_object(text: str) -> str:
    if not text.strip():
        return "the answer is empty"
    if "{" in text and text.count("{") > text.count("}"):
        return "the answer is cut off"
    return "the answer holds no JSON object"
