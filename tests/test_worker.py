"""The one corrective retry: what is missing is named, the better answer stays, the rest comes from the facts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keepthread.engines.ladder import said_of
from keepthread.engines.model import Rung
from keepthread.handoff.checkpoint import Job, take
from keepthread.handoff.model import Handoff
from keepthread.handoff.store import update_worker
from keepthread.host.config import load
from keepthread.launch import Task, outlet_of
from keepthread.worker import upgrade
from tests.handoff.answer_sessions import answer_to, ledger
from tests.support.fake_claude import FakeClaude
from tests.support.session import SESSION, SessionFile

GOOD = dict(answer_to("ledger"))
BAD = {
    **GOOD,
    "task": "",
    "works": ["All tests pass"],
    "next_steps": ["Continue the work"],
    "rules": ["Prefer httpie to curl, please."],
    "completed_tasks": ["Moved src/a/one.py to src/a/two.py", "Committed and pushed it all"],
}


@pytest.fixture
def claude(tmp_path: Path) -> FakeClaude:
    """A `claude` for the front of PATH."""
    return FakeClaude(tmp_path / "bin")


def upgraded(claude: FakeClaude, home: Path, tmp_path: Path, timeout: float = 60.0) -> Handoff:
    """Take a handoff of the ledger session and let the worker upgrade it."""
    file = SessionFile(tmp_path / "s" / f"{SESSION}.jsonl")
    ledger(file)
    env = claude.env(home)
    config = replace(load(env, str(home / ".claude")), timeout=timeout, document="off")
    outlet = outlet_of(config, env)
    partial = take(Job(SESSION, str(file.path), file.cwd, "auto"), outlet).handoff
    return upgrade(partial, Task(config, env, outlet))


def said(handoff: Handoff) -> str:
    """Return what the model's fields say."""
    return str({name: value for name, value in handoff.items() if name not in ("audit", "facts")})


def test_a_good_answer_is_asked_for_once(claude: FakeClaude, home: Path, tmp_path: Path) -> None:
    """No second call is paid for."""
    claude.answer(GOOD)
    result = upgraded(claude, home, tmp_path)
    assert (result["meta"]["status"], len(claude.calls)) == ("complete", 1)
    assert result["audit"]["failed"] == []


def test_a_bad_answer_is_sent_back_once_with_what_is_missing(
    claude: FakeClaude, home: Path, tmp_path: Path
) -> None:
    """The second, good one is what is stored, with the cost of both."""
    claude.answer_in_turn(BAD, GOOD)
    result = upgraded(claude, home, tmp_path)
    first, second = (call["stdin"] for call in claude.calls)
    assert "Your answer had the faults below." not in first
    note = second[second.index("Your answer had the faults below.") :]
    for missing in ("All tests pass", "Continue the work", "Prefer httpie", "task", "Committed"):
        assert missing in note
    assert result["task"] == GOOD["task"]
    assert result["audit"]["failed"] == []
    assert [rung["result"] for rung in result["meta"]["rungs"]] == ["ok", "ok"]
    assert result["meta"]["cost_usd"] == pytest.approx(0.5)


def test_an_answer_that_stays_bad_is_repaired_from_the_facts(
    claude: FakeClaude, home: Path, tmp_path: Path
) -> None:
    """Two calls, no third; complete, and the audit says what was done to what."""
    claude.answer_in_turn(BAD, BAD, BAD)
    result = upgraded(claude, home, tmp_path)
    assert len(claude.calls) == 2
    assert result["meta"]["status"] == "complete"
    assert result["task"].startswith("Move the refund endpoint")
    assert "make test_refund_retries pass" in result["next_steps"][0]
    assert "All tests pass" not in said(result)
    assert "Continue the work" not in said(result)
    assert "one.py" not in said(result)
    rules = [rule["text"] for rule in result["constraints"]["rules"]]
    assert "Always use httpie, never curl." in rules
    assert not any("Prefer" in rule for rule in rules)
    actions = {(entry["check"], entry["action"]) for entry in result["audit"]["failed"]}
    assert {
        ("claims", "dropped"),
        ("acts", "marked"),
        ("names", "dropped"),
        ("concrete_step", "repaired"),
        ("rules", "dropped"),
        ("rules_kept", "repaired"),
        ("sections", "repaired"),
    } <= actions


def test_of_two_answers_the_better_one_stays(
    claude: FakeClaude, home: Path, tmp_path: Path
) -> None:
    """A correction may make it worse."""
    claude.answer_in_turn({**GOOD, "works": ["All tests pass"]}, BAD)
    result = upgraded(claude, home, tmp_path)
    assert len(claude.calls) == 2
    assert result["task"] == GOOD["task"]
    assert result["next_steps"] == GOOD["next_steps"]
    assert len(result["meta"]["rungs"]) == 2


def test_when_the_second_call_fails_the_first_answer_stands(
    claude: FakeClaude, home: Path, tmp_path: Path
) -> None:
    """Repaired, complete, with the failure among the rungs."""
    bad: dict[str, Any] = {"result": {"result": "", "structured_output": BAD}}
    claude.behave(turns=[bad, {"stderr": "API Error: 500", "exit": 1}])
    result = upgraded(claude, home, tmp_path)
    assert result["meta"]["status"] == "complete"
    assert "All tests pass" not in said(result)
    assert len(result["meta"]["rungs"]) >= 2


def test_without_time_for_a_second_call_there_is_none(
    claude: FakeClaude, home: Path, tmp_path: Path
) -> None:
    """The deadline holds for both."""
    claude.answer(BAD)
    result = upgraded(claude, home, tmp_path, timeout=7.0)
    assert len(claude.calls) == 1
    assert result["meta"]["status"] == "complete"
    assert "All tests pass" not in said(result)


def test_what_an_engine_said_of_its_failure_stands_in_the_workers_line(
    claude: FakeClaude, home: Path, tmp_path: Path
) -> None:
    """The reason alone does not tell which setting is missing."""
    claude.answer(GOOD)
    env = {**claude.env(home), "KEEPTHREAD_ENGINE": "command,facts"}
    told: list[str] = []
    file = SessionFile(tmp_path / "s" / f"{SESSION}.jsonl")
    ledger(file)
    config = replace(load(env, str(home / ".claude")), engine="command", document="off")
    outlet = outlet_of(config, env)
    taken = take(Job(SESSION, str(file.path), file.cwd, "auto"), outlet).handoff
    update_worker(outlet.state, SESSION, lambda _: {"run": "r", "state": "running"})
    upgrade(taken, Task(config, env, outlet), told)
    assert told == ["command: KEEPTHREAD_COMMAND is not set"]


def test_a_failure_is_told_in_one_line_without_secrets() -> None:
    """Vendors' words come in many lines, and a key may be among them."""
    token = "ghp" + "_" + "a1B2" * 9
    rungs = [Rung("x", "no_login", 0.1, f"bad key\n{token} and MY-SECRET-77"), Rung("y", "ok", 0.1)]
    [line] = said_of([*rungs, rungs[0]], ["MY-SECRET-77"])
    assert line.startswith("x: bad key ")
    assert token not in line
    assert "MY-SECRET-77" not in line
