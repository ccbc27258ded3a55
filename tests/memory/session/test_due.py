"""The rule by which a session's memory is brought up to date."""

from __future__ import annotations

from typing import Any

import pytest

from keepthread.memory.session.due import ATTEMPTS, NEW_BYTES, baseline, is_due, reads_on
from keepthread.transcript.growth import Growth


def now(tokens: int, **more: Any) -> Growth:
    """Return what a transcript says."""
    found = Growth()
    found.tokens = found.lowest = tokens
    for name, value in more.items():
        setattr(found, name, value)
    return found


@pytest.mark.parametrize(
    ("tokens", "due"), [(0, False), (9_999, False), (10_000, True), (150_000, True)]
)
def test_the_first_extraction_comes_at_10000_tokens(tokens: int, due: bool) -> None:
    """Whatever was called until then; an unknown size is none."""
    assert is_due(None, now(tokens)) is due


@pytest.mark.parametrize(
    ("tokens", "calls", "of_turn", "due"),
    [
        (16_999, 9, 0, False),
        (17_000, 0, 0, True),  # a natural break
        (17_000, 1, 1, False),
        (17_000, 2, 1, False),
        (17_000, 3, 1, True),
        (60_000, 2, 2, False),
    ],
)
def test_those_that_follow_need_growth_and_calls_or_a_natural_break(
    tokens: int, calls: int, of_turn: int, due: bool
) -> None:
    """5,000 tokens, and 3 calls or a last turn without one."""
    since = {"size": 1, "tokens": 12_000}
    found = now(tokens, lowest=12_100, calls=calls, calls_of_turn=of_turn)

    assert is_due(since, found) is due


def test_growth_is_counted_within_one_context() -> None:
    """After a compaction or a rewind from where the context then began."""
    since = {"size": 1, "tokens": 150_000}

    assert not is_due(since, now(34_999, lowest=30_000, crossed=True))
    assert is_due(since, now(35_000, lowest=30_000, crossed=True))
    # A large context after the boundary has not grown since the extraction before it.
    assert not is_due({"size": 1, "tokens": 12_000}, now(40_000, lowest=38_000, crossed=True))
    assert is_due(since, now(90_000, lowest=85_000))
    assert not is_due(since, now(90_000, lowest=85_001))


def test_a_transcript_that_was_written_anew_counts_as_new() -> None:
    """The marks of a longer file say nothing of it."""
    known = {"model": {"size": 900, "tokens": 20_000}, "tried": {"size": 400, "tokens": 5}}

    assert baseline(known, 1_000) == {"size": 900, "tokens": 20_000, "count": 0}
    assert baseline(known, 500) == {"size": 400, "tokens": 5, "count": 0}
    assert baseline(known, 100) is None
    assert baseline({"model": {"size": "9"}, "tried": []}, 100) is None
    assert baseline({"model": {"size": -1, "tokens": 5}}, 100) is None


def test_a_point_that_was_begun_too_often_is_given_up_until_there_is_more() -> None:
    """A process that dies each time is not started for ever."""
    begun = {"size": 50, "tokens": 11_000, "count": ATTEMPTS - 1}

    assert baseline({"begun": begun}, 60) is None
    assert baseline({"begun": begun | {"count": ATTEMPTS}}, 60) == begun | {"count": ATTEMPTS}


def test_code_reads_on_after_so_many_bytes_of_the_same_file() -> None:
    """A file of another name, or one that has shrunk, is read from its beginning."""
    known = {"read": {"path": "/t", "size": 1_000}}

    assert not reads_on(known, "/t", 999 + NEW_BYTES)
    assert reads_on(known, "/t", 1_000 + NEW_BYTES)
    assert reads_on(known, "/u", NEW_BYTES)
    assert not reads_on({"read": {"path": "/t", "size": 10 * NEW_BYTES}}, "/t", NEW_BYTES - 1)
    assert not reads_on({}, "/t", NEW_BYTES - 1)
