"""How large the context is: the API's own figure, and an estimate of what it has not counted yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from keepthread.transcript.model import Tokens
from keepthread.transcript.record import Record
from keepthread.transcript.text import IMAGE as MARK

IMAGE = 1_500
_DEPTH = 20


def estimate(text: str) -> int:
    """Return about how many tokens a text takes: a quarter of its UTF-8 bytes, half of them for JSON."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size // (2 if text[:64].lstrip().startswith("{") else 4)


def of_result(text: str) -> int:
    """Return about how many tokens a tool's result takes, the images that its text marks included."""
    return estimate(text) + IMAGE * text.count(MARK)


def weigh(value: Any, depth: int = 0) -> int:
    """Return about how many tokens a JSON value takes, counting its strings alone."""
    if isinstance(value, str):
        return estimate(value)
    if depth > _DEPTH:
        return 0
    if isinstance(value, dict):
        return sum(estimate(key) + weigh(item, depth + 1) for key, item in value.items())
    return sum(weigh(item, depth + 1) for item in value) if isinstance(value, list) else 0


def count(records: Sequence[Record], kept: Sequence[Record] = ()) -> Tokens:
    """Return the size of the context that these records of the live branch make up.

    `kept` are records before the boundary that are in context too; what the API reported with them
    was the context of then.

    The last answer that carries usage counts once, with the largest figure of its lines: they are
    written while it is still being generated. Results of its own calls stand among its lines, but
    only the next request counts them.
    """
    anchor = next((record.message_id for record in reversed(records) if record.usage), None)
    if anchor is None:
        return Tokens(0, sum(record.size for record in [*kept, *records]))
    indexes = [
        index
        for index, record in enumerate(records)
        if record.usage and record.message_id == anchor
    ]
    later = sum(
        record.size
        for record in records[indexes[0] :]
        if record.kind != "assistant" or record.message_id != anchor
    )
    return Tokens(max(records[index].usage for index in indexes), later)
