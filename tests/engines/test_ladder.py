"""The ladder: one deadline, each rung's result, the most telling reason."""

from __future__ import annotations

from typing import Any

import pytest

from keepthread.engines.facts import FactsEngine
from keepthread.engines.ladder import climb
from keepthread.engines.model import Answer, Deadline, EngineError, Readiness, Request

REQUEST = Request("system", "prompt", {}, "sonnet", "low")


class Scripted:
    """An engine that answers, or fails, as it is told."""

    def __init__(self, name: str, outcome: dict[str, Any] | EngineError, cost: float | None = None):
        self.name = name
        self.outcome = outcome
        self.cost = cost
        self.asked: list[Deadline] = []

    def readiness(self) -> Readiness:
        return Readiness(True, "scripted")

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        self.asked.append(deadline)
        if isinstance(self.outcome, EngineError):
            raise self.outcome
        return Answer(self.outcome, self.name, cost_usd=self.cost)


def fails(name: str, reason: Any, **more: Any) -> Scripted:
    return Scripted(name, EngineError(reason, f"{name} {reason}", **more))


def climbed(*engines: Any, seconds: float = 60, **more: Any):
    outcome = climb(engines, REQUEST, Deadline.after(seconds), **more)
    return outcome, [(rung.engine, rung.result) for rung in outcome.rungs]


def test_the_first_answer_ends_the_climb():
    second = Scripted("b", {"task": "no"})
    outcome, rungs = climbed(Scripted("a", {"task": "x"}, 0.5), second, FactsEngine())
    assert outcome.answer == Answer({"task": "x"}, "a", cost_usd=0.5)
    assert (outcome.reason, rungs, outcome.cost_usd) == (None, [("a", "ok")], 0.5)
    assert second.asked == []


def test_a_failed_rung_leads_to_the_next_and_both_are_recorded():
    outcome, rungs = climbed(
        fails("a", "no_login", permanent=True), Scripted("b", {"task": "x"}), FactsEngine()
    )
    assert outcome.answer is not None
    assert outcome.reason is None
    assert rungs == [("a", "no_login"), ("b", "ok")]
    assert outcome.rungs[0].detail == "a no_login"


def test_all_rungs_share_one_deadline():
    first, second = fails("a", "overload"), fails("b", "overload")
    climbed(first, second)
    assert first.asked == second.asked


def test_facts_by_choice_is_no_failure():
    outcome, rungs = climbed(FactsEngine())
    assert (outcome.answer, outcome.reason, rungs) == (None, "engine_facts", [("facts", "ok")])


def test_facts_after_a_failure_keeps_its_reason():
    outcome, rungs = climbed(fails("a", "rate_limit"), FactsEngine())
    assert (outcome.answer, outcome.reason) == (None, "rate_limit")
    assert rungs == [("a", "rate_limit"), ("facts", "ok")]


def test_no_engine_at_all_is_no_answer_and_no_reason():
    assert climbed() == (climbed()[0], [])
    assert climbed()[0].answer is None


@pytest.mark.parametrize(
    ("reasons", "telling"),
    [
        (("no_login", "timeout"), "timeout"),
        (("timeout", "no_login"), "timeout"),
        (("bad_answer", "no_login"), "bad_answer"),
        (("overload", "rate_limit"), "rate_limit"),
        (("circuit_open", "no_login"), "circuit_open"),
    ],
)
def test_the_most_telling_failure_is_the_reason(reasons, telling):
    outcome, _ = climbed(*(fails(str(i), reason) for i, reason in enumerate(reasons)))
    assert outcome.reason == telling


def test_a_rung_without_time_is_a_timeout_and_is_not_asked():
    late = Scripted("a", {"task": "x"})
    outcome, rungs = climbed(late, FactsEngine(), seconds=0)
    assert late.asked == []
    assert (outcome.reason, rungs) == ("timeout", [("a", "timeout"), ("facts", "ok")])


def test_a_document_may_be_refused_by_the_caller():
    outcome, rungs = climbed(
        Scripted("a", {"task": ""}, 0.25),
        Scripted("b", {"task": "x"}, 0.5),
        accept=lambda document: "" if document["task"] else "no task",
    )
    assert outcome.answer is not None
    assert outcome.answer.engine == "b"
    assert rungs == [("a", "bad_answer"), ("b", "ok")]
    assert outcome.rungs[0].detail == "no task"
    assert outcome.cost_usd == 0.75


def test_what_failed_calls_cost_is_added_up():
    outcome, _ = climbed(fails("a", "bad_answer", cost_usd=0.25), fails("b", "timeout"))
    assert outcome.cost_usd == 0.25
