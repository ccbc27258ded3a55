"""A rung that failed for now is asked again, after a pause and within the deadline."""

from __future__ import annotations

from typing import Any

import pytest

from keepthread.engines.facts import FactsEngine
from keepthread.engines.ladder import climb
from keepthread.engines.model import Answer, Deadline, EngineError, Outcome, Readiness, Request
from keepthread.engines.retry import TRIES, pause
from tests.engines.asking import DOCUMENT, REQUEST


class Flaky:
    """An engine that fails with one error after the other, then answers."""

    name = "flaky"

    def __init__(self, *errors: EngineError) -> None:
        self.errors = list(errors)
        self.asked = 0

    def readiness(self) -> Readiness:
        return Readiness(True, "flaky")

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return Answer(DOCUMENT, self.name, cost_usd=0.5)


def busy(reason: Any = "overload", after: float | None = 0.0, **more: Any) -> EngineError:
    return EngineError(reason, "busy", retry_after=after, **more)


def climbed(engine: Flaky, seconds: float = 60) -> tuple[Outcome, list[float]]:
    waits: list[float] = []
    outcome = climb([engine, FactsEngine()], REQUEST, Deadline.after(seconds), sleep=waits.append)
    return outcome, waits


def test_an_overload_is_waited_for_and_asked_again() -> None:
    """The pauses grow; one rung stands in the outcome, with what all its tries cost."""
    engine = Flaky(busy(cost_usd=0.25), busy(), busy("rate_limit", 1.0))
    outcome, waits = climbed(engine)

    assert outcome.answer is not None
    assert [rung.result for rung in outcome.rungs] == ["ok"]
    assert outcome.cost_usd == 0.75
    assert 0.25 <= waits[0] <= 0.5 <= waits[1] <= 1.0 <= waits[2]


def test_it_is_given_up_after_a_few_tries() -> None:
    """The ladder goes on."""
    engine = Flaky(*(busy() for _ in range(20)))
    outcome, waits = climbed(engine)

    assert engine.asked == TRIES == len(waits) + 1
    assert [rung.result for rung in outcome.rungs] == ["overload", "ok"]
    assert outcome.reason == "overload"


def test_a_pause_beyond_the_deadline_is_not_begun() -> None:
    """The next rung gets the time."""
    engine = Flaky(busy("rate_limit", 59.0))
    outcome, waits = climbed(engine)

    assert (engine.asked, waits, outcome.reason) == (1, [], "rate_limit")


@pytest.mark.parametrize(
    "error",
    [
        busy("rate_limit", None),
        busy("overload", None),
        busy("overload", 0.0, permanent=True),
        busy("timeout", 0.0),
        busy("bad_answer", 0.0),
        busy("no_login", 0.0),
        busy("overflow", 0.0),
        busy("cap", 0.0),
    ],
)
def test_what_does_not_pass_is_asked_once(error: EngineError) -> None:
    """A plan that is used up, a wrong key, an answer that was no answer."""
    engine = Flaky(error)
    climbed(engine)
    assert engine.asked == 1


@pytest.mark.parametrize(
    ("tries", "after", "left", "jitter", "seconds"),
    [
        (1, 0.0, 60, 0.0, 0.25),
        (1, 0.0, 60, 1.0, 0.5),
        (2, 0.0, 60, 1.0, 1.0),
        (3, 0.0, 60, 1.0, 2.0),
        (1, 7.0, 60, 1.0, 7.125),
        (1, 7.0, 10, 1.0, None),
        (1, 0.0, 3.4, 1.0, None),
        (1, 0.0, 3.5, 1.0, 0.5),
        (TRIES, 0.0, 60, 1.0, None),
    ],
)
def test_the_pause(
    tries: int, after: float, left: float, jitter: float, seconds: float | None
) -> None:
    """What the server asks for is the least, with some jitter on top."""
    assert pause(busy("overload", after), tries, left, lambda: jitter) == seconds
