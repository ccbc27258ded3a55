"""Family I under load: sessions of one project at once. Nothing mixed, nothing lost, no lock outlives its holder."""

from __future__ import annotations

from tests.support.crowd import Crowd, Outcome

NUMBER = 8  # benchmarks/concurrency.py has 50


def right(number: int) -> Outcome:
    return Outcome(number, 0, 0, 0, 0, 0, 0, 0)


def test_i8_sessions_of_one_project_compact_at_once_with_a_model(world):
    crowd = Crowd(world, NUMBER, clients=1)
    crowd.with_model()
    crowd.compact()
    assert crowd.outcome(crowd.shown()) == right(NUMBER)


def test_i8_two_clients_on_each_session_and_kills_in_between(world):
    crowd = Crowd(world, NUMBER, clients=2)
    world.variables(ENGINE="facts")
    crowd.compact()
    crowd.compact_and_be_killed()
    crowd.compact()
    outcome = crowd.outcome(crowd.shown(), complete=False)
    assert outcome._replace(leftovers=0) == right(NUMBER)
    for session, mark in crowd.marks.items():
        assert f"And now the notes of {mark}." in str(world.handoff(session))
