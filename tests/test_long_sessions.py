"""Sessions larger than their child: an overflow is recovered, older parts are summed up, small windows are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_claude import FakeClaude
from tests.support.hook_runs import ANSWER, GOAL, World


@pytest.fixture
def world(tmp_path: Path, home: Path) -> World:
    return World(tmp_path, home)


@pytest.fixture
def claude(tmp_path: Path) -> FakeClaude:
    return FakeClaude(tmp_path / "bin")


def long_session(world: World, turns: int, *, tokens: int) -> None:
    """Write a session whose context the API has counted as `tokens`."""
    file = world.session()
    for turn in range(turns):
        file.user(f"Now import the station numbered {turn:04}.")
        file.bash(f"tides import {turn:04}", f"{turn:04} 23:54 1.204 rising\n" * 80, tokens=tokens)
        file.assistant(f"Station {turn:04} is imported, without a footer.", tokens=tokens)


def compact(world: World, claude: FakeClaude) -> dict[str, Any]:
    """Let the host compact and return the meta of what is stored."""
    env: dict[str, Any] = claude.env(world.home, KEEPTHREAD_ENGINE="")
    world.run("pre_compact", **env)
    world.settled()
    return dict(world.handoff()["meta"])


def test_a_refused_request_is_made_smaller_and_answered(world, claude):
    """The goal and a line on what is missing are in the second one."""
    claude.answer(ANSWER, takes=40_000)
    long_session(world, 120, tokens=100_000)
    meta = compact(world, claude)
    assert (meta["status"], meta["engine"]) == ("complete", "claude")
    first, second = (call["stdin"] for call in claude.calls)
    assert len(second) < 40_000 < len(first)
    assert "Left out so that this fits" in second
    assert "Left out so that this fits" not in first
    assert GOAL in second
    assert "0119" in second


def test_a_child_that_takes_nothing_is_asked_four_times_and_not_again(world, claude):
    """Three recoveries, then the handoff stays partial and says why."""
    claude.answer(ANSWER, takes=10)
    long_session(world, 60, tokens=100_000)
    meta = compact(world, claude)
    assert (meta["status"], meta["reason"]) == ("partial", "overflow")
    assert 2 <= len(claude.calls) <= 4


def test_older_parts_of_a_session_larger_than_the_window_are_summed_up(world, claude):
    """Each by a call of its own; what they came to is told with the latest part, and all of it is paid for."""
    world.variables(WINDOW="32000")
    part = ANSWER | {"open_questions": ["Which stations have no footer?"]}
    claude.answer(part)
    long_session(world, 150, tokens=190_000)
    meta = compact(world, claude)
    assert meta["status"] == "complete"
    prompts = [call["stdin"] for call in claude.calls]
    parts = [prompt for prompt in prompts if "of a long conversation" in prompt]
    whole = [prompt for prompt in prompts if "of a long conversation" not in prompt]
    assert 2 <= len(parts) <= 6
    assert "Which stations have no footer?" in whole[0]
    assert "numbered 0149" in whole[0]
    assert all(len(prompt.encode()) <= 32_000 * 3 for prompt in prompts)
    assert meta["cost_usd"] == pytest.approx(0.25 * len(prompts))


def test_a_window_too_small_is_refused_without_a_call(world, claude):
    """The facts stand, with the reason."""
    world.variables(WINDOW="15000")
    claude.answer(ANSWER)
    long_session(world, 3, tokens=1_000)
    meta = compact(world, claude)
    assert (meta["status"], meta["reason"]) == ("partial", "overflow")
    assert claude.calls == []
