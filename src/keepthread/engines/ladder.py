"""Tries engines in order under one deadline, and remembers what each of them came to."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from keepthread import redact
from keepthread.engines import facts, retry
from keepthread.engines.model import (
    Answer,
    Deadline,
    Engine,
    EngineError,
    FailureReason,
    Outcome,
    Request,
    Rung,
    plus,
)

# How near a rung came to an answer: the nearest failure is what its user wants to hear of.
_TELLING: dict[FailureReason, int] = {
    "bad_answer": 7,
    "overflow": 6,
    "rate_limit": 5,
    "overload": 4,
    "timeout": 3,
    "cap": 2,
    "circuit_open": 1,
    "no_login": 0,
}

Accept = Callable[[dict[str, Any]], str]


def climb(
    engines: Sequence[Engine],
    request: Request,
    deadline: Deadline,
    *,
    accept: Accept | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> Outcome:
    """Ask one engine after the other until one answers; `facts` ends the ladder.

    A rung whose failure passes (an overload, a rate limit) is asked again after a pause, while the deadline allows.

    Args:
        engines: the ladder, first choice first.
        request: what all of them are asked.
        deadline: for all rungs together; a rung that it leaves no time for counts as a timeout.
        accept: looks at a document that met the schema and returns "" or why it is refused.
        sleep: waits for a number of seconds.

    Returns:
        The answer with `reason` None; or no answer, and as reason "engine_facts" when `facts` came first by choice,
        else the most telling failure (None when there was no engine at all).
    """
    outcome = Outcome(None, None)
    for engine in engines:
        if engine.name == facts.NAME:
            outcome.rungs.append(Rung(engine.name, "ok", 0.0))
            outcome.reason = outcome.reason or "engine_facts"
            return outcome
        ask = _Ask(request, deadline, accept, sleep)
        answer = _try(engine, ask, outcome)
        if answer is not None:
            outcome.answer, outcome.reason = answer, None
            return outcome
    return outcome


def both(first: Outcome, second: Outcome) -> Outcome:
    """Return what an answer and its correction came to together; without a correction the answer stands."""
    answer = second.answer or first.answer
    cost = plus(first.cost_usd, second.cost_usd)
    return Outcome(answer, None, [*first.rungs, *second.rungs], cost)


def said_of(rungs: Sequence[Rung], secrets: Sequence[str]) -> list[str]:
    """Return what each engine that failed said of it, in one line without the secrets, and each only once."""
    failed = [f"{rung.engine}: {rung.detail}" for rung in rungs if rung.detail]
    return [redact.text(" ".join(line.split()), secrets) for line in dict.fromkeys(failed)]


class _Ask(NamedTuple):
    request: Request
    deadline: Deadline
    accept: Accept | None
    sleep: Callable[[float], None]


def _try(engine: Engine, ask: _Ask, outcome: Outcome) -> Answer | None:
    start = time.monotonic()
    for tries in range(1, retry.TRIES + 1):
        try:
            answer = _once(engine, ask)
        except EngineError as error:
            outcome.cost_usd = plus(outcome.cost_usd, error.cost_usd)
            wait = retry.pause(error, tries, ask.deadline.left())
            if wait is not None:
                ask.sleep(wait)
                continue
            _fell(outcome, engine, error, time.monotonic() - start)
            return None
        outcome.rungs.append(Rung(engine.name, "ok", time.monotonic() - start))
        outcome.cost_usd = plus(outcome.cost_usd, answer.cost_usd)
        return answer
    return None


def _once(engine: Engine, ask: _Ask) -> Answer:
    if ask.deadline.left() <= 0:
        raise EngineError("timeout", "no time was left for this rung")
    answer = engine.ask(ask.request, ask.deadline)
    refusal = ask.accept(answer.document) if ask.accept else ""
    if refusal:
        raise EngineError("bad_answer", refusal, cost_usd=answer.cost_usd)
    return answer


def _fell(outcome: Outcome, engine: Engine, error: EngineError, seconds: float) -> None:
    outcome.rungs.append(Rung(engine.name, error.reason, seconds, error.detail))
    outcome.reason = _more_telling(outcome.reason, error.reason)


def _more_telling(before: str | None, now: FailureReason) -> FailureReason:
    for reason in _TELLING:
        if reason in (before, now):
            return reason
    return now
