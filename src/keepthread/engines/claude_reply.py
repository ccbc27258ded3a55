"""Reads what `claude -p --output-format json` left: an answer, or the reason why there is none."""

from __future__ import annotations

import json
import re
from typing import Any

from keepthread.engines import overflow, parse, rejects
from keepthread.engines.answers import checked, count, document_in, permanent, tokens_read, usage_of
from keepthread.engines.claude_flags import too_old, unknown_flag
from keepthread.engines.model import Answer, EngineError, Request
from keepthread.engines.process import Completed

_MISFIT = re.compile(r"required schema: (/[\w/]*|): (must [a-z ]{1,40})")


def read(done: Completed, request: Request, engine: str) -> Answer:
    """Return the answer in a finished child's output.

    Raises:
        EngineError: it was late, reported an error, or said what is no answer. The detail quotes the known words of an
            error and nothing else.
    """
    stdout = done.stdout.decode("utf-8", "replace")
    reply = _envelope(stdout)
    # A child that answered and then would not end has answered all the same.
    code = 0 if done.timed_out and reply is not None else done.returncode
    if reply is None and done.timed_out:
        raise EngineError("timeout", "claude did not answer in time")
    if reply is None:
        return _plain(done, stdout, request, engine)
    if reply.get("is_error") or reply.get("subtype") != "success" or code != 0:
        raise _error(reply, code)
    document = _document(reply, request)
    usage = usage_of(reply)
    tokens = (tokens_read(usage), count(usage, "output_tokens"))
    return Answer(document, engine, *tokens, _cost(reply))


def _envelope(stdout: str) -> dict[str, Any] | None:
    # Something in the user's set-up may print before or after; the result is one line of its own.
    for line in (stdout, *reversed(stdout.splitlines())):
        if line.lstrip().startswith(("{", "[")):
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            # A user's "verbose" setting makes it a list of all messages, the result last.
            last = value[-1] if isinstance(value, list) and value else value
            if isinstance(last, dict) and last.get("type") == "result":
                return last
    return None


def _error(reply: dict[str, Any], returncode: int) -> EngineError:
    status = reply.get("api_error_status")
    # The words come before the status: a 400 may be anything, and a 403 or a 429 a matter of billing.
    said = _said(reply)
    reason, words = rejects.failure(said) or (None, "")
    too_large = overflow.recognise(said)
    if too_large or reply.get("terminal_reason") in ("prompt_too_long", "blocking_limit"):
        reason = "overflow"
    detail = f"claude failed with exit code {returncode}"
    if reply.get("subtype") != "success":
        detail += f", {reply.get('subtype')}"
    if isinstance(status, int):
        reason = reason or rejects.from_status(status)
        detail += f", API status {status}"
    words = words or _field(reply)
    return EngineError(
        reason or "bad_answer",
        f"{detail}: {words}" if words else detail,
        # A model that is not there will not come.
        permanent=permanent(reason, words)
        or status == 404
        or bool(too_large and too_large.terminal),
        cost_usd=_cost(reply),
        observed_tokens=too_large.tokens if too_large else None,
        limit_tokens=too_large.limit if too_large else None,
    )


def _document(reply: dict[str, Any], request: Request) -> dict[str, Any]:
    cost = _cost(reply)
    structured = reply.get("structured_output")
    if isinstance(structured, dict):
        fault = parse.misfit(structured, request.schema)
        if fault:
            raise EngineError("bad_answer", fault, cost_usd=cost)
        return checked(parse.mend(structured), request, cost)
    text = reply.get("result")
    return document_in(text if isinstance(text, str) else "", request, cost)


def _plain(done: Completed, stdout: str, request: Request, engine: str) -> Answer:
    """Read output that is no result object: a fault on the way to it, or a program that answers in plain text."""
    if done.returncode == 0:
        return Answer(document_in(stdout, request, None), engine)
    stderr = done.stderr.decode("utf-8", "replace")
    failed = rejects.failure(stdout) or rejects.failure(stderr)
    if failed:
        raise EngineError(failed[0], failed[1], permanent=permanent(*failed))
    detail = f"claude ended with exit code {done.returncode} and no result"
    flag = unknown_flag(done)
    if flag:  # and the same flags will fail again
        raise too_old(flag)
    raise EngineError("bad_answer", detail)


def _said(reply: dict[str, Any]) -> str:
    errors = reply.get("errors")
    parts = [reply.get("result"), *(errors if isinstance(errors, list) else [])]
    return "\n".join(part for part in parts if isinstance(part, str))


def _field(reply: dict[str, Any]) -> str:
    """Return the field that never met the schema, with the rule; the program's message names it with slashes."""
    found = _MISFIT.search(_said(reply))
    return f"{found[1].strip('/').replace('/', '.') or 'the document'} {found[2]}" if found else ""


def _cost(reply: dict[str, Any] | None) -> float | None:
    cost = reply.get("total_cost_usd") if reply else None
    return float(cost) if isinstance(cost, (int, float)) else None
