"""The last rung: no model at all. The computed handoff stands as it is."""

from __future__ import annotations

from keepthread.engines.model import Answer, Deadline, Readiness, Request

NAME = "facts"


class FactsEngine:
    """Always there, offline and deterministic. The ladder ends at it without asking it for words."""

    @property
    def name(self) -> str:
        """The name as in KEEPTHREAD_ENGINE."""
        return NAME

    def readiness(self) -> Readiness:
        """Say that it is ready: there is nothing it could lack."""
        return Readiness(True, "computed from the transcript, no model involved")

    def ask(self, request: Request, deadline: Deadline) -> Answer:  # noqa: ARG002  # the Engine form
        """Return an empty document: it adds no judgement to the facts."""
        return Answer({}, NAME)
