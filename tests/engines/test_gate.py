"""What stands before an engine: caps, readiness, and the memory of what failed for good."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from keepthread.engines.caps import Caps, spending
from keepthread.engines.gate import Failed, Gate
from keepthread.engines.model import Answer, Deadline, EngineError, Readiness, Request
from tests.engines.asking import DOCUMENT, REQUEST


class Scripted:
    """An engine that answers, or fails, as it is told."""

    name = "scripted"

    def __init__(self, *outcomes: Any, ready: bool = True, local: bool = False) -> None:
        self.outcomes = list(outcomes)
        self.ready = ready
        self.local = local
        self.asked = 0

    def readiness(self) -> Readiness:
        return Readiness(self.ready, "scripted", "")

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        self.asked += 1
        outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(outcome, EngineError):
            raise outcome
        return Answer(DOCUMENT, self.name, cost_usd=outcome)


def gate(
    folder: Path, engine: Scripted, *, calls: int = 20, session: str = "s", **more: Any
) -> Gate:
    state = folder / "keepthread"
    place = str(state / "sessions" / session) if session else ""
    return Gate(engine, Caps(str(state), calls, 5.0), Failed(place, str(folder), **more))


def ask(gate: Gate) -> Answer:
    return gate.ask(REQUEST, Deadline.after(20))


def reason(gate: Gate) -> tuple[str, str]:
    with pytest.raises(EngineError) as caught:
        ask(gate)
    return caught.value.reason, caught.value.detail


GONE = EngineError("no_login", "the key is wrong", permanent=True, cost_usd=0.25)


def test_a_call_and_its_cost_are_counted(tmp_path: Path) -> None:
    """Answered or failed."""
    ask(gate(tmp_path, Scripted(0.5)))
    reason(gate(tmp_path, Scripted(EngineError("bad_answer", "x", cost_usd=0.25))))
    assert spending(str(tmp_path / "keepthread")) == (2, 0.75)


def test_beyond_the_cap_nothing_is_asked(tmp_path: Path) -> None:
    """Another process may have reached it."""
    ask(gate(tmp_path, Scripted(0.5), calls=1))
    second = Scripted(0.5)
    assert reason(gate(tmp_path, second, calls=1))[0] == "cap"
    assert second.asked == 0


def test_an_engine_that_is_not_ready_is_neither_asked_nor_counted(tmp_path: Path) -> None:
    """Who has no login must not reach the cap by it."""
    engine = Scripted(0.5, ready=False)
    assert reason(gate(tmp_path, engine)) == ("no_login", "scripted")
    assert engine.asked == 0
    assert spending(str(tmp_path / "keepthread")).calls_last_hour == 0


def test_what_failed_for_good_is_not_asked_again_in_its_session(tmp_path: Path) -> None:
    """In another process either; another session tries anew."""
    engine = Scripted(GONE)
    assert reason(gate(tmp_path, engine)) == ("no_login", "the key is wrong")
    again = reason(gate(tmp_path, engine))
    assert again == ("no_login", "not tried again in this session: the key is wrong")
    assert engine.asked == 1
    reason(gate(tmp_path, engine, session="another"))
    assert engine.asked == 2


def test_what_failed_for_now_is_asked_again(tmp_path: Path) -> None:
    """The next compaction may find it well."""
    engine = Scripted(EngineError("overload", "x"), 0.5)
    reason(gate(tmp_path, engine))
    assert ask(gate(tmp_path, engine)).document == DOCUMENT


@pytest.mark.parametrize("name", [".env", "settings.json", ".credentials.json"])
def test_a_change_of_login_or_settings_makes_it_worth_a_try(tmp_path: Path, name: str) -> None:
    """Mending it takes effect at once."""
    engine = Scripted(GONE, 0.5)
    reason(gate(tmp_path, engine))
    (tmp_path / name).write_text("mended")
    assert ask(gate(tmp_path, engine)).document == DOCUMENT
    os.remove(tmp_path / name)
    assert ask(gate(tmp_path, engine)).document == DOCUMENT  # the success has cleared the memory


def test_a_person_who_asks_is_not_put_off(tmp_path: Path) -> None:
    """`keepthread handoff` tries everything, and what it finds is remembered."""
    engine = Scripted(GONE)
    reason(gate(tmp_path, engine))
    reason(gate(tmp_path, engine, afresh=True))
    assert engine.asked == 2
    reason(gate(tmp_path, engine))
    assert engine.asked == 2


def test_without_a_session_nothing_is_remembered(tmp_path: Path) -> None:
    """`doctor --live`, and transcripts that are only printed."""
    engine = Scripted(GONE)
    reason(gate(tmp_path, engine, session=""))
    reason(gate(tmp_path, engine, session=""))
    assert engine.asked == 2


@pytest.mark.parametrize("content", ["", "[", "[]", '{"scripted": 1}', '{"scripted": {}}'])
def test_a_damaged_memory_is_no_memory(tmp_path: Path, content: str) -> None:
    """It must not silence an engine."""
    folder = tmp_path / "keepthread" / "sessions" / "s"
    folder.mkdir(parents=True)
    (folder / "engines.json").write_text(content)
    assert ask(gate(tmp_path, Scripted(0.5))).document == DOCUMENT


class Windowed(Scripted):
    """An engine that knows its window."""

    def window(self, request: Request, deadline: Deadline) -> int:
        if isinstance(self.outcomes[0], EngineError):
            raise self.outcomes[0]
        return 8_192


def test_the_window_is_the_engines_and_costs_no_call(tmp_path: Path) -> None:
    """Whatever is wrong shows when it is asked for more."""
    deadline = Deadline.after(20)
    assert gate(tmp_path, Windowed(0.5)).window(REQUEST, deadline) == 8_192
    assert gate(tmp_path, Windowed(GONE)).window(REQUEST, deadline) is None
    assert gate(tmp_path, Windowed(0.5, ready=False)).window(REQUEST, deadline) is None
    assert gate(tmp_path, Scripted(0.5)).window(REQUEST, deadline) is None
    assert spending(str(tmp_path / "keepthread")).calls_last_hour == 0
