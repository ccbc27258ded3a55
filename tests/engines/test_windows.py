"""The window of the child's model: who says so, and what is too small."""

from __future__ import annotations

import pytest

from keepthread.engines.windows import LEAST, RESERVE, SCANT, window_of


def test_the_users_word_goes_before_the_servers_and_that_before_the_table() -> None:
    """Then the table, then what is usual."""
    assert window_of("gpt-4o", configured=50_000, said=60_000).tokens == 50_000
    assert window_of("gpt-4o", said=60_000).tokens == 60_000
    assert window_of("gpt-4o").tokens == 128_000
    assert window_of("nobody-knows-it").tokens == 200_000


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("sonnet", 200_000),
        ("claude-sonnet-4-6[1m]", 1_000_000),
        ("claude-haiku-4-5", 200_000),
        ("models/gemini-2.5-pro", 1_048_576),
        ("openai/gpt-oss-120b", 131_072),
        ("Qwen3-Coder-30B", 262_144),
        ("qwen3:8b", 40_960),
        ("gpt-4", 8_192),
    ],
)
def test_models_are_found_by_their_names(model: str, tokens: int) -> None:
    """Whatever their vendor or a router puts around them."""
    assert window_of(model).tokens == tokens


def test_a_window_too_small_for_a_handoff_is_refused_with_who_says_so() -> None:
    """And one that is merely small is warned of."""
    small = window_of("m", configured=LEAST - 1)
    assert "KEEPTHREAD_WINDOW" in small.fault
    assert not small.warning
    scant = window_of("m", said=SCANT - 1)
    assert not scant.fault
    assert str(SCANT - 1) in scant.warning
    wide = window_of("m", configured=SCANT)
    assert (wide.fault, wide.warning) == ("", "")


def test_instructions_schema_and_answer_have_their_room() -> None:
    """The request gets what is left."""
    assert window_of("m", configured=20_000).room == 20_000 - RESERVE
