"""Makes the request fit the model that is asked: within its window, in stages when the session is larger than that,
and smaller once more when the provider refuses it as too large.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

from keepthread.engines import facts
from keepthread.engines.model import Answer, Deadline, Engine, EngineError, Readiness, Request, plus
from keepthread.engines.windows import RESERVE, Window, window_of

RECOVERIES = 3
_SHRINK = 0.8  # what is kept when nobody said how much too large it was
_MARGIN = 0.95  # no two requests of one size have the same number of tokens
_CALLS = 4  # stages at a time
_STAGES_SHARE = 0.6  # of the time that is left; the rest is for the answer itself
_STAGES_LEAST = 20.0  # seconds without which stages are not begun
_ESTIMATE = 3  # bytes to a token, as in the budget


class Material(Protocol):
    """What the request is made of. Sizes in tokens, estimated as the prompt's own budget is."""

    def prompt(self, budget: int, *, keep: float, notes: Sequence[dict[str, Any] | None]) -> str:
        """Return the prompt within `budget`.

        Args:
            budget: for system prompt and prompt together.
            keep: the share of the conversation that stays, the latest; 1.0 is all of it.
            notes: one document for each of `parts`, None where there is none; empty when there were no parts.
        """

    def parts(self, room: int, budget: int) -> list[str]:
        """Return prompts for the older parts of a conversation that does not fit into `room`; none when it does."""


@dataclass(slots=True)
class _Spent:
    """What was paid on the way to an answer."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None

    def add(self, answer: Answer) -> None:
        self.input_tokens = plus(self.input_tokens, answer.input_tokens)
        self.output_tokens = plus(self.output_tokens, answer.output_tokens)
        self.cost(answer.cost_usd)

    def cost(self, usd: float | None) -> None:
        self.cost_usd = plus(self.cost_usd, usd)


class Size(NamedTuple):
    """How large a request may be: its budget in tokens, and the share of the conversation it is made from."""

    budget: int
    keep: float = 1.0


class Fitted:
    """An engine that is asked for what fits. Every call it makes goes to the engine as an ordinary one.

    Args:
        engine: who is asked.
        material: what the prompt is made of; the prompt of the request itself is not used.
        window: KEEPTHREAD_WINDOW, 0 when it is not set.
        budget: the most tokens one prompt may take.
    """

    def __init__(self, engine: Engine, material: Material, *, window: int, budget: int) -> None:
        self._engine = engine
        self._material = material
        self._configured = window
        self._budget = budget
        # Learned once; whoever asks again pays for no stage twice and runs into no limit twice.
        self._notes: list[dict[str, Any] | None] | None = None
        self._size: Size | None = None

    @property
    def name(self) -> str:
        """The name as in KEEPTHREAD_ENGINE."""
        return self._engine.name

    @property
    def local(self) -> bool:
        """Whether the prompt stays on this machine."""
        return getattr(self._engine, "local", False) is True

    def readiness(self) -> Readiness:
        """Say what the engine says."""
        return self._engine.readiness()

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        """Answer before the deadline.

        Raises:
            EngineError: as the engine raises it; its cost holds all calls. Reason "overflow", for good, when the window
                is too small for any handoff.
        """
        window = self._window(request, deadline)
        if window.fault:
            raise EngineError("overflow", window.fault, permanent=True)
        self._size = self._size or Size(min(self._budget, window.room))
        spent = _Spent()
        try:
            if self._notes is None:
                self._notes = self._stages(request, window, deadline, spent)
            answer = self._recovered(request, self._size, deadline, spent)
        except EngineError as error:
            spent.cost(error.cost_usd)
            error.cost_usd = spent.cost_usd
            raise
        spent.add(answer)
        return replace(
            answer,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cost_usd=spent.cost_usd,
        )

    def _window(self, request: Request, deadline: Deadline) -> Window:
        said = None
        ask = getattr(self._engine, "window", None)
        if callable(ask) and not self._configured:
            said = ask(request, deadline)
        return window_of(request.model, configured=self._configured, said=said)

    def _stages(
        self, request: Request, window: Window, deadline: Deadline, spent: _Spent
    ) -> list[dict[str, Any] | None]:
        """Let the older parts be summed up side by side; a part that failed leaves None."""
        if deadline.left() < _STAGES_LEAST:
            return []
        parts = self._material.parts(window.room, min(self._budget, window.room))
        if not parts:
            return []
        until = Deadline.after(deadline.left() * _STAGES_SHARE)
        with ThreadPoolExecutor(max_workers=_CALLS) as pool:
            calls = [
                pool.submit(self._engine.ask, replace(request, prompt=part), until)
                for part in parts
            ]
        return [self._note(call, spent) for call in calls]

    def _note(self, call: Future[Answer], spent: _Spent) -> dict[str, Any] | None:
        try:
            answer = call.result()
        except EngineError as error:
            spent.cost(error.cost_usd)
            return None
        spent.add(answer)
        return answer.document

    def _recovered(self, request: Request, size: Size, deadline: Deadline, spent: _Spent) -> Answer:
        for _ in range(RECOVERIES):
            fitted = self._request(request, size)
            try:
                return self._engine.ask(fitted, deadline)
            except EngineError as error:
                # For good: the request is larger than all its user may send in a minute.
                if error.reason != "overflow" or error.permanent or deadline.left() <= 0:
                    raise
                spent.cost(error.cost_usd)
                size = self._size = smaller(size, fitted.size // _ESTIMATE, error)
        return self._engine.ask(self._request(request, size), deadline)

    def _request(self, request: Request, size: Size) -> Request:
        notes = self._notes or ()
        prompt = self._material.prompt(size.budget, keep=size.keep, notes=notes)
        return replace(request, prompt=prompt)


def fit(engine: Engine, material: Material, *, window: int, budget: int) -> Engine:
    """Return the engine so that it is asked for what fits; `facts` is told nothing and stays as it is."""
    if engine.name == facts.NAME:
        return engine
    return Fitted(engine, material, window=window, budget=budget)


def smaller(size: Size, estimated: int, error: EngineError) -> Size:
    """Return the size to try after an overflow: by the provider's own count if it gave one, else a fifth less.

    Args:
        size: of the request that was refused.
        estimated: how many tokens that request was taken to have.
        error: what the provider said.
    """
    share = _SHRINK
    if error.limit_tokens:
        # What the answer needs has to fit as well: many servers keep one window for both.
        target = error.limit_tokens - min(RESERVE, error.limit_tokens // 4)
        counted = _MARGIN * target / max(error.observed_tokens or estimated, 1)
        share = counted if error.observed_tokens else min(share, counted)
    return Size(int(min(size.budget, estimated) * share), size.keep * share)
