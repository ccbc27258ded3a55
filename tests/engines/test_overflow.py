"""Errors of providers that a request was too large, told from what only looks alike (`overflow_messages.json`)."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from keepthread.engines.overflow import Overflow, recognise

_TABLE = json.loads(Path(__file__).with_name("overflow_messages.json").read_text(encoding="utf-8"))


def _rows(part: str) -> list[Any]:
    return [
        pytest.param(row, id=f"{number} {row['provider']}")
        for number, row in enumerate(_TABLE[part])
    ]


def test_the_table_is_as_wide_as_promised() -> None:
    """Forty messages and more, of thirty providers and more."""
    assert len(_TABLE["overflow"]) >= 40
    assert len({row["provider"].partition(",")[0] for row in _TABLE["overflow"]}) >= 30
    assert {row["kind"] for row in _TABLE["other"]} >= {"rate limit", "billing", "reasoning"}


@pytest.mark.parametrize("row", _rows("overflow"))
def test_an_overflow_is_recognised_with_its_numbers(row: dict[str, Any]) -> None:
    """The count and the limit are read out wherever they are said."""
    assert recognise(row["message"]) == Overflow(row["tokens"], row["limit"])


@pytest.mark.parametrize("row", _rows("overflow"))
def test_the_message_may_be_wrapped_by_whoever_passes_it_on(row: dict[str, Any]) -> None:
    """Proxies and clients quote the vendor's body inside their own."""
    wrapped = f"Error code: {row['status']} - " + json.dumps(
        {"error": {"message": row["message"]}}, ensure_ascii=False
    )
    assert recognise(wrapped) is not None


@pytest.mark.parametrize("row", _rows("terminal"))
def test_more_than_a_whole_minutes_allowance_is_terminal(row: dict[str, Any]) -> None:
    """No waiting helps there."""
    assert recognise(row["message"]) == Overflow(row["tokens"], row["limit"], terminal=True)


@pytest.mark.parametrize("row", _rows("other"))
def test_what_only_looks_alike_is_no_overflow(row: dict[str, Any]) -> None:
    """Dropping conversation would not help against it."""
    assert recognise(row["message"]) is None


def test_a_count_within_the_limit_is_not_believed() -> None:
    """It counts something else."""
    assert recognise("prompt is too long: 300 tokens > 9000 maximum") == Overflow(None, 9000)


@pytest.mark.parametrize(
    "text", ["(" * 100_000, "maximum context length is 1 tokens, " * 9_000, "1" * 200_000]
)
def test_hostile_text_takes_no_time(text: str) -> None:
    """The message comes from a server."""
    started = time.process_time()
    recognise(text)
    assert time.process_time() - started < 5  # a hundred times what it takes
