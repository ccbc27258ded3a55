"""A request made to fit: windows, overflow recovery, and stages (issue: at most three recoveries, one deadline)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from keepthread.engines.fitted import RECOVERIES, Fitted, Size, smaller
from keepthread.engines.model import Answer, Deadline, EngineError, Readiness, Request

REQUEST = Request("system", "", {"type": "object"}, "sonnet", "low")
DOCUMENT = {"task": "t"}


class Server:
    """An engine that counts three bytes to a token and refuses what is larger than its limit."""

    def __init__(self, limit: int = 10**9, *, says: bool = True, cost: float | None = 0.5) -> None:
        self.limit, self.says, self.cost = limit, says, cost
        self.seen: list[Request] = []
        self.fails: dict[int, EngineError] = {}
        self._lock = threading.Lock()

    name = "openai"
    local = True

    def readiness(self) -> Readiness:
        return Readiness(True, "here")

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        with self._lock:
            self.seen.append(request)
            failure = self.fails.get(len(self.seen))
        if failure:
            raise failure
        tokens = request.size // 3
        if tokens > self.limit:
            numbers = (tokens, self.limit) if self.says else (None, None)
            raise EngineError(
                "overflow", "too large", observed_tokens=numbers[0], limit_tokens=numbers[1]
            )
        return Answer(DOCUMENT, self.name, tokens, 10, self.cost)


class Talk:
    """Material of a given size, in parts when asked for."""

    def __init__(self, parts: int = 0) -> None:
        self.asked: list[tuple[int, float]] = []
        self.noted: list[Sequence[dict[str, Any] | None]] = []
        self.number = parts
        self.split = 0

    def prompt(
        self, budget: int, *, keep: float = 1.0, notes: Sequence[dict[str, Any] | None] = ()
    ) -> str:
        self.asked.append((budget, keep))
        self.noted.append(list(notes))
        return "x" * (budget * 3 - 6)

    def parts(self, room: int, budget: int) -> list[str]:
        self.split += 1
        return [f"part {number}" for number in range(self.number)]


def ask(server: Server, talk: Talk, *, window: int = 0, budget: int = 40_000) -> Answer:
    fitted = Fitted(server, talk, window=window, budget=budget)
    return fitted.ask(REQUEST, Deadline.after(60))


def test_a_request_that_fits_is_asked_once_in_full() -> None:
    """Nothing is left out without need."""
    server, talk = Server(), Talk()
    assert ask(server, talk).document == DOCUMENT
    assert talk.asked == [(40_000, 1.0)]


def test_the_window_bounds_the_budget() -> None:
    """4,096 tokens stay free."""
    talk = Talk()
    ask(Server(), talk, window=20_000)
    assert talk.asked == [(20_000 - 4_096, 1.0)]


def test_a_window_too_small_is_refused_before_anything_is_sent() -> None:
    """And for good."""
    server = Server()
    with pytest.raises(EngineError) as caught:
        ask(server, Talk(), window=15_999)
    assert (caught.value.reason, caught.value.permanent) == ("overflow", True)
    assert server.seen == []


def test_what_the_server_says_of_its_window_counts() -> None:
    """Unless the user said something else."""
    server, talk = Server(), Talk()
    server.window = lambda request, deadline: 24_000  # type: ignore[attr-defined]
    ask(server, talk)
    ask(server, talk, window=30_000)
    assert [budget for budget, _ in talk.asked] == [24_000 - 4_096, 30_000 - 4_096]


@pytest.mark.parametrize("says", [True, False])
def test_an_overflow_is_recovered_by_the_observed_count_or_a_fifth_less(says: bool) -> None:
    """Most providers count; some only refuse."""
    server, talk = Server(30_000, says=says), Talk()
    assert ask(server, talk).document == DOCUMENT
    shares = [keep for _, keep in talk.asked]
    if says:
        assert len(shares) == 2
        assert server.seen[-1].size // 3 <= 30_000 - 4_096
    else:
        assert shares == pytest.approx([1.0, 0.8, 0.64, 0.512][: len(shares)])


def test_three_recoveries_and_no_more() -> None:
    """A server that refuses everything is left alone."""
    server = Server(10, says=False)
    with pytest.raises(EngineError) as caught:
        ask(server, Talk())
    assert caught.value.reason == "overflow"
    assert len(server.seen) == RECOVERIES + 1


def test_what_no_shrinking_mends_is_not_tried_again() -> None:
    """A request beyond the whole allowance of a minute, and every other failure."""
    for error in (
        EngineError("overflow", "per minute", permanent=True),
        EngineError("rate_limit", "later"),
        EngineError("bad_answer", "nonsense"),
    ):
        server = Server()
        server.fails = {1: error}
        with pytest.raises(EngineError) as caught:
            ask(server, Talk())
        assert caught.value is error
        assert len(server.seen) == 1


def test_no_recovery_is_begun_after_the_deadline() -> None:
    """One deadline holds for all of it."""
    server = Server(10)
    with pytest.raises(EngineError):
        Fitted(server, Talk(), window=0, budget=40_000).ask(REQUEST, Deadline.after(0))
    assert len(server.seen) == 1


def test_the_size_that_fitted_is_remembered_for_the_correction() -> None:
    """Otherwise each further request would run into the same limit."""
    server, talk = Server(30_000), Talk()
    fitted = Fitted(server, talk, window=0, budget=40_000)
    fitted.ask(REQUEST, Deadline.after(60))
    fitted.ask(REQUEST, Deadline.after(60))
    assert len(server.seen) == 3


def test_older_parts_are_summed_up_and_their_notes_told() -> None:
    """One call for each part, one for the whole; all of them are paid for."""
    server, talk = Server(), Talk(parts=3)
    answer = ask(server, talk)
    assert sorted(request.prompt for request in server.seen[:3]) == ["part 0", "part 1", "part 2"]
    assert talk.noted == [[DOCUMENT] * 3]
    assert answer.cost_usd == pytest.approx(2.0)
    assert answer.output_tokens == 40
    assert all(request.system == "system" for request in server.seen)


def test_a_part_that_fails_leaves_a_gap_and_no_failure() -> None:
    """It is told in brief instead."""
    server, talk = Server(), Talk(parts=2)
    server.fails = {1: EngineError("timeout", "late", cost_usd=0.25)}
    answer = ask(server, talk)
    assert sorted(talk.noted[0], key=bool) == [None, DOCUMENT]
    assert answer.cost_usd == pytest.approx(1.25)


def test_parts_are_paid_for_once_however_often_is_asked() -> None:
    """The ladder asks again after an overload, the worker for a correction."""
    server, talk = Server(), Talk(parts=2)
    server.fails = {3: EngineError("overload", "busy", retry_after=0.0)}
    fitted = Fitted(server, talk, window=0, budget=40_000)
    with pytest.raises(EngineError) as caught:
        fitted.ask(REQUEST, Deadline.after(60))
    assert caught.value.cost_usd == pytest.approx(1.0)
    fitted.ask(REQUEST, Deadline.after(60))
    assert (len(server.seen), talk.split) == (4, 1)


def test_without_time_for_parts_there_are_none() -> None:
    """The latest part alone is better than nothing."""
    server, talk = Server(), Talk(parts=2)
    Fitted(server, talk, window=0, budget=40_000).ask(REQUEST, Deadline.after(5))
    assert len(server.seen) == 1


def test_the_engine_shines_through() -> None:
    """Name, readiness and whether it is local are the engine's own."""
    fitted = Fitted(Server(), Talk(), window=0, budget=1)
    assert (fitted.name, fitted.local, fitted.readiness().why) == ("openai", True, "here")


@pytest.mark.parametrize(
    ("observed", "limit", "share"),
    [
        (213_462, 200_000, 0.95 * (200_000 - 4_096) / 213_462),
        (6_031, 4_096, 0.95 * 3_072 / 6_031),
        (None, None, 0.8),
        (None, 200_000, 0.8),
        (None, 20_000, 0.95 * (20_000 - 4_096) / 40_000),
    ],
)
def test_the_next_size_follows_from_what_was_said(
    observed: int | None, limit: int | None, share: float
) -> None:
    """The answer's room is kept free in it."""
    error = EngineError("overflow", "", observed_tokens=observed, limit_tokens=limit)
    size = smaller(Size(50_000), 40_000, error)
    assert size.keep == pytest.approx(share)
    assert size.budget == int(40_000 * share)
