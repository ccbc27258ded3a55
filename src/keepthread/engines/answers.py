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


def count(values: dict[str, Any], name: str) -> int | None:
    """Return a number that a vendor gives under `name`, None when it gives none."""
    value = values.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def usage_of(value: dict[str, Any]) -> dict[str, Any]:
    """Return what an answer says of its tokens, {} when it says nothing."""
    usage = value.get("usage")
    return usage if isinstance(usage, dict) else {}


def tokens_read(usage: dict[str, Any]) -> int | None:
    """Return all tokens that an Anthropic model read, cached ones included; None when nobody said."""
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    counts = [found for name in names if (found := count(usage, name)) is not None]
    return sum(counts) if counts else None


def permanent(reason: FailureReason | None, words: str) -> bool:
    """Return whether a failure known by these words will be the same for the rest of the session."""
    return reason == "no_login" or "credit balance" in words.lower()
