"""How a session's context grew: the API's own figures, once per answer, with the compactions between them."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from keepthread.evaluate.timeline import MOST_POINTS, Fold, epoch, read_timeline
from tests.support.session import SessionFile


@pytest.fixture
def session(tmp_path: Path) -> SessionFile:
    """Give the test an empty transcript."""
    return SessionFile(tmp_path / "s.jsonl")


def read(session: SessionFile) -> Any:
    """Return the timeline of the session."""
    return read_timeline(str(session.path))


def test_each_answer_is_one_point_with_the_figure_of_the_api(session: SessionFile) -> None:
    """Input, cache and output together; the builder adds 23 to the cache's tokens."""
    session.user("First.")
    session.assistant("Yes.", tokens=10_000)
    session.bash("ls", "a b", tokens=12_000)
    session.user("Second.")
    session.assistant("Done.", tokens=15_000)

    found = read(session)

    assert [point[:3] for point in found["points"]] == [
        (1, 1, 10_023),
        (2, 1, 12_023),
        (3, 2, 15_023),
    ]
    assert (found["answers"], found["turns"], found["folds"]) == (3, 2, [])
    assert found["model"] == "claude-sonnet-4-6"
    assert found["started"] == epoch("2026-11-01T09:00:05Z")
    assert found["ended"] == found["points"][-1].at


def test_an_answer_of_several_lines_counts_once_with_its_largest_figure(
    session: SessionFile,
) -> None:
    """The host writes a line for each block, while the answer is still being generated."""
    session.user("Go.")
    session.assistant("a", "b", tokens=500, message_id="msg_1")
    session.assistant("c", tokens=700, message_id="msg_1")
    session.assistant("d", tokens=600, message_id="msg_1")

    found = read(session)

    assert (found["answers"], [point.tokens for point in found["points"]]) == (1, [723])


def test_a_compaction_has_its_trigger_and_the_tokens_around_it(session: SessionFile) -> None:
    """Before it the host's figure, after it the API's of the next answer."""
    session.user("Go.")
    session.assistant("x", tokens=160_000)
    session.boundary(trigger="manual", tokens=167_000)
    session.assistant("y", tokens=30_000)
    session.boundary()

    first, second = read(session)["folds"]

    assert first[:5] == (1, 1, "manual", 167_000, 30_023)
    assert second[:5] == (2, 2, "auto", 170_000, 0)
    assert first.at is not None


def test_what_the_host_does_not_say_of_a_compaction_the_answers_do(session: SessionFile) -> None:
    """An odd trigger or figure is none."""
    session.user("Go.")
    session.assistant("x", tokens=160_000)
    session.boundary(trigger="<b>", tokens=-5)
    session.add(
        type="system",
        subtype="compact_boundary",
        compactMetadata={"trigger": None, "preTokens": True, "postTokens": 12_000},
    )

    first, second = read(session)["folds"]

    assert first[:5] == (1, 1, "", 160_023, 0)
    assert second[:5] == (2, 1, "", 0, 12_000)


def test_subagents_errors_and_answers_without_figures_are_no_points(session: SessionFile) -> None:
    """Their contexts are not the session's."""
    session.user("Go.")
    session.sidechain("Look around.")
    session.model = "<synthetic>"
    session.assistant("API Error")
    session.model = "claude-sonnet-4-6"
    session.add(
        type="assistant", message={"id": "m", "content": [], "usage": {"input_tokens": "7"}}
    )
    session.assistant("Here.", tokens=1_000)

    found = read(session)

    assert (found["answers"], found["turns"]) == (1, 1)


def test_the_title_is_the_users_then_the_hosts_then_the_first_prompt(session: SessionFile) -> None:
    """Each the last one of its kind, on one line and bounded."""
    session.user("Port \x1b[31mthe\n ledger " + "x" * 500)
    session.user("Go on.")
    first = read(session)["title"]
    session.record({"type": "ai-title", "aiTitle": "Ledger port", "sessionId": "s"})
    session.record({"type": "ai-title", "aiTitle": "Ledger, ported", "sessionId": "s"})
    second = read(session)["title"]
    session.record({"type": "custom-title", "customTitle": "Mine", "sessionId": "s"})
    session.record({"type": "custom-title", "customTitle": ["no", "title"], "sessionId": "s"})

    assert first.startswith("Port the ledger xxx") and first.endswith("x…") and len(first) == 140
    assert (second, read(session)["title"]) == ("Ledger, ported", "Mine")


def test_results_of_tools_and_local_commands_are_no_turns(session: SessionFile) -> None:
    """What was typed to the agent is."""
    session.user("Go.")
    session.bash("ls", "a")
    session.command("/clear")
    session.command("/review", "the diff")
    session.attachment("queued_command", prompt="And mind the tests.", commandMode="prompt")
    session.boundary()

    assert read(session)["turns"] == 3


def test_thousands_of_answers_are_thinned_but_never_around_a_compaction(
    session: SessionFile,
) -> None:
    """The first, the last, and what stands beside a compaction stay; numbers stay those of the answers."""
    for number in range(1, 3_001):
        session.assistant("x", tokens=number)
        if number in (1_001, 1_002, 2_777):
            session.boundary()

    found = read(session)
    numbers = [point.answer for point in found["points"]]

    assert found["answers"] == 3_000
    assert len(numbers) <= MOST_POINTS + 10
    assert {1, 1_001, 1_002, 1_003, 2_777, 2_778, 3_000} <= set(numbers)
    assert numbers == sorted(set(numbers))
    assert all(point.tokens == point.answer + 23 for point in found["points"])
    assert [fold.answers for fold in found["folds"]] == [1_001, 1_002, 2_777]


def test_memory_is_bounded_while_reading(
    session: SessionFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of a gigabyte holds a hundred thousand answers; the ends and the compactions stay right."""
    monkeypatch.setattr("keepthread.evaluate.timeline._MOST_HELD", 100)
    for number in range(1, 1_001):
        session.assistant("x", tokens=number)
        if number == 500:
            session.boundary()

    found = read(session)

    assert (found["answers"], len(found["points"]) <= 101) == (1_000, True)
    assert found["folds"] == [Fold(1, 500, "auto", 170_000, 524, found["folds"][0].at)]
    assert {1, 500, 501, 1_000} <= {point.answer for point in found["points"]}


def test_an_empty_file_and_one_without_answers_have_no_points(session: SessionFile) -> None:
    """Nothing is made up."""
    empty = read(session)
    session.user("Hello?")

    assert (empty["points"], empty["title"], empty["started"]) == ([], "", None)
    assert (read(session)["points"], read(session)["turns"]) == ([], 1)


def test_damaged_lines_change_nothing_but_themselves(session: SessionFile) -> None:
    """Torn, glued, foreign, absurd."""
    session.user("Go.")
    session.assistant("x", tokens=1_000)
    session.raw('{"type":"assistant","message":{"usage":{"input_tokens":5}\n')
    session.raw(b'\xff\xfe "usage" \x00\n[1,2,"usage"]\n"usage"\n')
    session.record({"type": "assistant", "message": {"id": 7, "usage": {"input_tokens": 10**30}}})
    session.raw('{"type":"assistant","timestamp":"0001-01-01","message":{"usage":[5]}}\n')

    found = read(session)

    assert [point.tokens for point in found["points"]] == [1_023]  # what no API gives is no figure


def test_noise_never_raises(tmp_path: Path) -> None:
    """Bytes of a session in any disorder."""
    session = SessionFile(tmp_path / "s.jsonl")
    session.user("Go.")
    session.assistant("x")
    session.boundary()
    data = session.path.read_bytes()
    noise = random.Random(7)

    for _ in range(300):
        broken = bytearray(data)
        for _ in range(noise.randrange(1, 30)):
            broken[noise.randrange(len(broken))] = noise.randrange(256)
        session.path.write_bytes(broken)
        read(session)


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    """A pipe would block for ever."""
    os.mkfifo(tmp_path / "pipe.jsonl")

    with pytest.raises(OSError, match="not a regular file"):
        read_timeline(str(tmp_path / "pipe.jsonl"))
    with pytest.raises(FileNotFoundError):
        read_timeline(str(tmp_path / "gone.jsonl"))


@pytest.mark.parametrize(
    ("stamp", "seconds"),
    [
        ("1970-01-02T00:00:00.250Z", 86_400),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:01", 1),
        ("", None),
        ("yesterday", None),
        ("2026-13-01T00:00:00Z", None),
    ],
)
def test_times(stamp: str, seconds: int | None) -> None:
    """In seconds since 1970; UTC when the time does not say."""
    assert epoch(stamp) == seconds
