"""Family L: cost. Caps that hold, one call for many triggers, totals that are seen, and an off switch."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.support.fake_http import FakeHttp, chat
from tests.support.hook_runs import ANSWER, ROOT, World
from tests.support.session import SESSION

LIMIT = "You've hit your weekly limit · resets 3pm"
FILLER = "The tide of Brest comes later than the one of Le Havre. " * 500  # 7,000 tokens


def other(number: int) -> str:
    """Return the id of another session."""
    return f"{number:08d}-2222-4222-8222-222222222222"


def many(world: World, number: int) -> list[str | None]:
    """Let so many sessions compact, one after the other; return the reason of each handoff."""
    reasons = []
    for session in map(other, range(number)):
        world.session(session)
        world.run("pre_compact", world.event("pre_compact", session))
        world.settled(session)
        reasons.append(world.handoff(session)["meta"]["reason"])
    return reasons


def status(world: World) -> dict[str, object]:
    """Return what `keepthread status --json` says."""
    env = {"HOME": str(world.home), "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "keepthread", "status", "--json"]
    done = subprocess.run(command, env=env, cwd=world.cwd, capture_output=True, timeout=60)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_l1_fifty_triggers_for_one_state_of_the_session_are_one_call(world, asked):
    """Ten at a time."""
    asked.answer(ANSWER, sleep=1)
    world.session()
    for _ in range(5):
        running = [world.start("pre_compact") for _ in range(10)]
        for process in running:
            assert (process.communicate(timeout=120)[1], process.returncode) == (b"", 0)
    world.settled()
    assert len(asked.calls) == 1
    assert status(world)["calls_last_hour"] == 1


def test_l1_the_hourly_cap_stops_a_backlog(world, asked):
    """Six sessions; what is beyond the cap stays partial and says so."""
    world.variables(MAX_CALLS_PER_HOUR="3")
    assert many(world, 6) == [None, None, None, "cap", "cap", "cap"]
    assert len(asked.calls) == 3
    assert status(world)["calls_last_hour"] == 3


def test_l1_the_daily_cap_counts_dollars(world, asked):
    """A quarter a call: the third one would begin at half a dollar."""
    world.variables(MAX_USD_PER_DAY="0.5")
    assert many(world, 4) == [None, None, "cap", "cap"]
    found = status(world)
    assert (found["spent_today_usd"], found["calls_last_hour"]) == (0.5, 2)


def test_l1_failed_calls_cost_too(world, asked):
    """An answer that was no answer was paid for all the same, and the handoff says so."""
    asked.behave(result={"result": "no document at all"})
    world.variables(MAX_USD_PER_DAY="0.5")
    assert many(world, 3) == ["bad_answer", "bad_answer", "cap"]
    assert world.handoff(other(0))["meta"]["cost_usd"] == 0.25
    assert status(world)["spent_today_usd"] == 0.5


def test_l1_a_usage_limit_opens_the_circuit_of_its_session(world, asked):
    """From the fifth call on the model answers with its limit: after three of them nobody asks any more."""
    file = world.session()
    for number in range(12):
        if number == 4:
            asked.behave(result={"result": LIMIT, "is_error": True}, exit=1)
        file.assistant(FILLER)
        file.user(f"And now station {number}.")
        world.run("pre_compact")
        world.settled()
        file.boundary()
    assert len(asked.calls) == 4 + 3
    assert world.handoff()["meta"]["reason"] == "circuit_open"


@pytest.mark.parametrize(
    "switch",
    [
        {"MAX_CALLS_PER_HOUR": "0"},
        {"MAX_USD_PER_DAY": "0"},
        {"ENGINE": "facts"},
        {"DISABLE": "1"},
    ],
    ids=lambda switch: next(iter(switch)),
)
def test_l1_there_is_an_off_switch(world, asked, switch):
    """Any of four."""
    world.variables(**switch)
    world.session()
    world.run("pre_compact")
    world.settled()
    assert asked.calls == []


def test_a_handoff_on_demand_counts_like_any_other(world, asked):
    """The cap is the user's own word, also against the user's own hand."""
    world.variables(MAX_CALLS_PER_HOUR="1")
    world.session()
    env = {**asked.env(world.home), "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "keepthread", "handoff", "--session", SESSION]
    runs = [
        subprocess.run(command, env=env, cwd=world.cwd, capture_output=True, text=True, timeout=60)
        for _ in range(2)
    ]
    assert [run.returncode for run in runs] == [0, 0]
    assert "partial (cap)" in runs[1].stderr
    assert len(asked.calls) == 1


@pytest.mark.parametrize("budget", [8_000, 40_000])
def test_a_session_of_three_megabytes_is_told_within_the_budget(world, budget):
    """Three bytes to a token, as the budget counts; the request is hardly larger than what it tells."""
    file = world.session()
    while file.path.stat().st_size < 3_000_000:
        file.user(f"Station {file.path.stat().st_size}: {FILLER[:2_000]}")
        file.bash("http tides.example/9414290", FILLER[:6_000])
        file.assistant(FILLER[:2_000])
    with FakeHttp() as server:
        server.on("/v1/chat/completions", chat(ANSWER))
        world.variables(
            ENGINE="llama.cpp",
            LLAMA_CPP_BASE_URL=server.url,
            LLAMA_CPP_MODEL="m",
            PROMPT_TOKENS=str(budget),
        )
        world.run("pre_compact", KEEPTHREAD_ENGINE="")
        world.settled()
        bodies = [seen for seen in server.requests if seen.method == "POST"]
    assert world.handoff()["meta"]["status"] == "complete"
    for seen in bodies:
        texts = [message["content"] for message in seen.body["messages"]]
        prompt = len("".join(texts).encode())
        assert budget * 3 * 0.5 < prompt <= budget * 3
        assert int(seen.headers["content-length"]) <= 1.2 * prompt
