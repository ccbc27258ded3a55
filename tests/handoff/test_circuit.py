"""The circuit breaker of one session, whatever the clock does."""

from __future__ import annotations

from typing import Any

import pytest

from keepthread.handoff import circuit

HOUR = 3_600.0
NOW = 1_700_000_000.0


def failed(times: int, now: float = NOW, reason: str = "timeout") -> dict[str, Any]:
    worker: dict[str, Any] = {}
    for _ in range(times):
        worker = circuit.after(worker, reason, complete=False, now=now)
    return worker


@pytest.mark.parametrize(
    ("times", "state"), [(0, "closed"), (2, "closed"), (3, "open"), (9, "open")]
)
def test_three_failures_in_a_row_open_it(times, state):
    assert circuit.state(failed(times), NOW + 1) == state


def test_after_the_pause_one_call_may_try_again_and_its_failure_opens_it_anew():
    worker = failed(3)
    assert circuit.state(worker, NOW + circuit.PAUSE) == "half-open"
    worker = circuit.after(worker, "overload", complete=False, now=NOW + circuit.PAUSE)
    assert circuit.state(worker, NOW + circuit.PAUSE + 1) == "open"


def test_a_complete_handoff_closes_it():
    assert circuit.state(circuit.after(failed(5), None, complete=True, now=NOW), NOW) == "closed"


@pytest.mark.parametrize(
    "reason", ["no_login", "cap", "engine_facts", "circuit_open", "no_transcript"]
)
def test_what_costs_nothing_to_find_out_does_not_count(reason):
    assert circuit.state(failed(9, reason=reason), NOW) == "closed"
    assert circuit.after(failed(2), reason, complete=False, now=NOW) == failed(2)


@pytest.mark.parametrize("shift", [-10 * 365 * 24 * HOUR, -HOUR, HOUR, 10 * 365 * 24 * HOUR])
def test_a_clock_that_was_set_holds_nobody_up(shift):
    assert circuit.state(failed(3), NOW + shift) == "half-open"


@pytest.mark.parametrize(
    "worker",
    [
        None,
        {},
        {"failures": "3", "failed_at": NOW},
        {"failures": 3},
        {"failures": 3, "failed_at": "now"},
    ],
)
def test_a_damaged_state_is_a_closed_circuit(worker):
    assert circuit.state(worker, NOW) == "closed"
    assert circuit.after(worker or {}, "timeout", complete=False, now=NOW)["failures"] >= 1


def test_what_else_is_known_of_the_worker_stays():
    assert circuit.after({"complete": {"size": 1}}, "timeout", complete=False, now=NOW)[
        "complete"
    ] == {"size": 1}
