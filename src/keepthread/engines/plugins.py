"""Engines of third parties: installed packages that name a maker in the entry-point group `keepthread.engines`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from keepthread.engines import parse
from keepthread.engines.answers import checked
from keepthread.engines.model import (
    Answer,
    Deadline,
    Engine,
    EngineError,
    Readiness,
    Request,
    Setup,
)

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "keepthread.engines"

# What a bug in somebody else's code raises. It costs its rung, never the handoff.
_BUGS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)


def names() -> list[str]:
    """Return the names of the engines that installed packages bring."""
    return sorted({point.name for point in _points()})


def find(name: str) -> Callable[[Setup], Engine] | None:
    """Return the maker of an installed engine, None when no package brings one of that name. Loads nothing yet."""
    point = next((point for point in _points() if point.name.lower() == name), None)
    return None if point is None else lambda setup: _Foreign(name, point, setup)


def _points() -> list[EntryPoint]:
    from importlib.metadata import entry_points  # 50 ms, paid only for a name that is none of ours

    return list(entry_points(group=GROUP))


class _Foreign:
    """An engine that somebody else wrote: what it answers is held to the schema, what it breaks stays in its rung."""

    def __init__(self, name: str, point: EntryPoint, setup: Setup) -> None:
        self._name = name
        self._engine: Engine | None = None
        self._fault = ""
        try:
            self._engine = point.load()(setup)
        except _BUGS as bug:
            self._fault = f"{point.value} cannot be loaded ({type(bug).__name__})"

    @property
    def name(self) -> str:
        """The name of its entry point."""
        return self._name

    @property
    def local(self) -> bool:
        """What the engine says, False when it says nothing."""
        return getattr(self._engine, "local", False) is True

    def readiness(self) -> Readiness:
        """Say what the engine says, or that it is broken."""
        if self._engine is None:
            return Readiness(False, self._fault, "Install the package again, or take the name out.")
        try:
            return self._engine.readiness()
        except _BUGS as bug:
            return Readiness(False, f"{self._name} is broken ({type(bug).__name__})")

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        """Answer as the engine does.

        Raises:
            EngineError: it raised one, has a bug, or gave what is no answer.
        """
        if self._engine is None:
            raise EngineError("no_login", self._fault, permanent=True)
        try:
            answer = self._engine.ask(request, deadline)
            fault = parse.misfit(answer.document, request.schema)
        except _BUGS as bug:
            detail = f"{self._name} is broken ({type(bug).__name__})"
            raise EngineError("bad_answer", detail) from bug
        if fault:
            raise EngineError("bad_answer", fault, cost_usd=answer.cost_usd)
        document = checked(parse.mend(answer.document), request, answer.cost_usd)
        tokens = (answer.input_tokens, answer.output_tokens)
        return Answer(document, self._name, *tokens, answer.cost_usd)
