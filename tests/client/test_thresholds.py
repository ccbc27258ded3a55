"""The compaction point of the real client, and what its status line shows; benchmarks/thresholds.py holds all of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keepthread.host.thresholds import thresholds
from keepthread.installing import register_line, remove_line
from tests.support.api import Answer, FakeApi, is_talk
from tests.support.client import MODEL, Client, python
from tests.support.compaction_point import Setup, decisions

pytestmark = pytest.mark.client

ROOT = Path(__file__).resolve().parents[2]
MARGIN = 500  # tokens


@pytest.mark.parametrize(
    "setup",
    [
        Setup(MODEL),
        Setup("claude-opus-5-5", {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}),
        Setup("claude-haiku-4-5", {"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "120k"}),
    ],
    ids=["as it comes", "half of a million", "a window of one's own"],
)
def test_the_client_compacts_at_the_predicted_point(executable: Path, setup: Setup) -> None:
    """Nothing happens 500 tokens before it; 500 after it PreCompact comes, and the host asks for its summary."""
    point = thresholds(setup.model, setup.env).threshold
    assert point is not None
    found = decisions(executable, setup, [1_000, point - MARGIN, point + MARGIN])

    assert [one.fired for one in found] == [False, False, True]
    assert found[-1].summarised


def test_after_one_turn_precompact_comes_and_no_compaction(executable: Path) -> None:
    """It follows at the hard stop only: a PreCompact proves no compaction."""
    point = thresholds(MODEL, {})
    assert point.threshold is not None and point.hard_stop is not None
    announced = decisions(executable, Setup(MODEL), [point.threshold + MARGIN])[-1]
    stopped = decisions(executable, Setup(MODEL), [point.hard_stop + MARGIN])[-1]

    assert (announced.fired, announced.summarised) == (True, False)
    assert (stopped.fired, stopped.summarised) == (True, True)


def test_a_model_that_waits_for_the_api_is_not_compacted_before(executable: Path) -> None:
    """Not at the formula's point, and not just below its window."""
    setup = Setup("claude-haiku-4-5")
    found = decisions(executable, setup, [1_000, 168_000, 199_000])

    assert thresholds(setup.model, {}).threshold is None
    assert not any(one.fired or one.summarised or one.refused for one in found)


@pytest.mark.skipif(os.name == "nt", reason="a pseudo terminal is needed")
def test_the_client_shows_our_status_line(client: Client, api: FakeApi, tmp_path: Path) -> None:
    """With its own figures, before the first answer and after it; later lines are drawn only where they differ."""
    from tests.support.terminal import Terminal

    command, lines = python(ROOT / "hooks" / "status_line.py"), tmp_path / "lines"
    kept = f"{command} | tee -a {lines}; echo >> {lines}"
    client.settings({"statusLine": {"type": "command", "command": kept}})
    api.rule(is_talk, Answer(input_tokens=83_990))
    with Terminal(client) as terminal:
        terminal.wait("context new | compacts at 167k | no handoff yet")
        terminal.type("hello there")
        terminal.wait("42%")

    assert lines.read_text().splitlines()[-1] == (
        "context 42% of 200k | 83k to compaction | no handoff yet"
    )


@pytest.mark.skipif(os.name == "nt", reason="a pseudo terminal is needed")
def test_the_client_shows_the_status_line_that_was_registered(client: Client) -> None:
    """Without any settings of its user's; the file goes with it."""
    from tests.support.terminal import Terminal

    register_line(client.environment(), str(client.project))
    with Terminal(client) as terminal:
        terminal.wait("context new | compacts at 167k | no handoff yet")
    remove_line(client.environment(), str(client.project))

    assert not (client.config / "settings.json").exists()
