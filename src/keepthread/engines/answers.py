"""From what a model wrote to a document that may become a handoff: the same judgement for every engine."""

from __future__ import annotations

from typing import Any

from keepthread.engines import parse, rejects
from keepthread.engines.model import EngineError, FailureReason, Request


def document_in(text: str, request: Request, cost: float | None) -> dict[str, Any]:
    """Return the document in a model's text.

    Raises:
        EngineError: the text holds none that meets the schema, or says what is no answer. The detail names fields and
            known words of errors, never what the text says.
    """
    found = parse.find(text, request.schema)
    if found.document is not None:
        return checked(found.document, request, cost)
    failed = None if found.near else rejects.failure(text)
    if failed:
        reason, words = failed
        raise EngineError(reason, words, permanent=permanent(reason, words), cost_usd=cost)
    fault = found.fault
    if rejects.refusal(text):
        fault = "the answer is a refusal"
    elif rejects.echo(text, request.prompt):
        fault = "the answer is an echo of the prompt"
    raise EngineError("bad_answer", fault, cost_usd=cost)


def checked(document: dict[str, Any], request: Request, cost: float | None) -> dict[str, Any]:
    """Return a document that met its schema, unless it is an error or a refusal in the form of one.

    Raises:
        EngineError: it is.
    """
    refused = rejects.document(document, request.prompt)
    if refused:
        raise EngineError(refused[0], refused[1], cost_usd=cost)
    return document


def permanent(reason: FailureReason | None, words: str) -> bool:
    """Return whether a failure known by these words will be the same for the rest of the session."""
    return reason == "no_login" or "credit balance" in words.lower()
