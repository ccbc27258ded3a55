"""The size of the context: the API's figure, and estimates only for what came after it."""

from __future__ import annotations

import pytest

from keepthread.transcript.model import Tokens
from keepthread.transcript.parse import reported
from keepthread.transcript.tokens import estimate, weigh
from tests.support.session import SessionFile
from tests.transcript.views import read


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), ("a" * 40, 10), ("é" * 40, 20), ('{"a": 1}' * 10, 40), (" \n{}" * 4, 8)],
)
def test_a_quarter_of_the_bytes_and_half_for_json(text: str, tokens: int) -> None:
    assert estimate(text) == tokens


def test_a_lone_surrogate_is_estimated_too() -> None:
    assert estimate("ok \ud83d") >= 1


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, 0),
        ([], 0),
        ({"input_tokens": "5"}, 0),
        ({"input_tokens": -5, "output_tokens": 2}, 2),
        (
            {
                "input_tokens": 1,
                "cache_creation_input_tokens": 20,
                "cache_read_input_tokens": 300,
                "output_tokens": 4000,
                "service_tier": "standard",
            },
            4321,
        ),
    ],
)
def test_what_usage_adds_up_to(usage: object, tokens: int) -> None:
    assert reported(usage) == tokens


def test_deep_values_are_weighed_without_recursion_errors() -> None:
    deep: object = "x" * 400
    for _ in range(900):
        deep = [deep]

    assert weigh(deep) == 0
    assert weigh({"command": "x" * 400, "n": [5, None, True]}) == 100 + estimate("command") + 0


def test_the_last_message_counts_once_with_its_largest_figure(session: SessionFile) -> None:
    session.assistant("old", tokens=50_000)
    session.assistant("one", tokens=60_000, message_id="m")
    session.assistant("two", tokens=60_900, message_id="m")

    assert read(session).tokens == Tokens(60_923, 0)


def test_only_what_came_after_is_estimated(session: SessionFile) -> None:
    session.bash("ls", "x" * 4_000_000, tokens=1_000)
    session.assistant("done", tokens=90_000)
    session.user("a" * 400)

    assert read(session).tokens == Tokens(90_023, 100)


def test_results_among_the_lines_of_the_last_message_are_not_counted_yet(
    session: SessionFile,
) -> None:
    """Parallel calls: call, result, call, result, all one message."""
    for number in range(2):
        block = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {}}
        session.assistant(block, tokens=1_000, message_id="m")
        session.result(f"t{number}", "y" * 4_000)

    assert read(session).tokens == Tokens(1_023, 2_000)


def test_synthetic_and_sidechain_lines_have_no_say(session: SessionFile) -> None:
    session.assistant("real", tokens=7_000)
    session.sidechain("task")
    session.model = "<synthetic>"
    session.assistant("API Error: 500", tokens=0, isApiErrorMessage=True)

    assert read(session).tokens.reported == 7_023


def test_after_a_boundary_nothing_of_before_counts(session: SessionFile) -> None:
    session.assistant("old", tokens=170_000)
    session.boundary("s" * 4_000)
    session.user("b" * 400)

    tokens = read(session).tokens

    assert tokens.reported == 0
    assert 1_100 <= tokens.estimated <= 1_200


def test_what_was_kept_counts_but_not_the_usage_it_carries(session: SessionFile) -> None:
    kept = session.assistant("k" * 400, tokens=170_000)
    session.last = None
    session.system("compact_boundary", compactMetadata={"preservedMessages": {"uuids": [kept]}})

    assert read(session).tokens == Tokens(0, 100)


def test_an_abandoned_answer_is_no_anchor(session: SessionFile) -> None:
    fork = session.assistant("ready", tokens=10_000)
    session.user("first try")
    session.assistant("long", tokens=99_000)
    session.rewind(fork)
    session.user("c" * 400)

    assert read(session).tokens == Tokens(10_023, 100)


def test_usage_of_the_wrong_shape_counts_nothing() -> None:
    """Whoever wrote it."""
    wrong: list[object] = [None, [], {"input_tokens": "9"}, {"input_tokens": -4}]
    for usage in [*wrong, {"input_tokens": True}, {"input_tokens": 10**400}]:
        assert reported(usage) == 0
    assert reported({"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5}) == 12
