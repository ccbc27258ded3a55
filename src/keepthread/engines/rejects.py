"""What is no handoff: login nags, API errors, limit notices, refusals, echoes and empty shells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from keepthread.engines.model import FailureReason

# Such sentences stand at the beginning of what the program says; further down they may be part of the work itself.
_HEAD = 400

_SAYINGS: tuple[tuple[FailureReason, str], ...] = (
    (
        "no_login",
        r"not logged in|please run /login|invalid api key|invalid x-api-key|authentication_error"
        r"|api key (?:not valid|is missing|expired)|authentication failed|failed to authenticate"
        r"|oauth token (?:has expired|revoked)|oauth authentication is currently not"
        r"|token has (?:expired|been revoked)|permission_error|api error: 40[13]\b"
        r"|organization has been disabled|does not have access to claude",
    ),
    (
        "rate_limit",
        r"you.ve (?:hit|reached) your .{0,40}limit|usage limit reached|limit reached .{0,20}resets"
        r"|out of extra usage|rate[ _-]?limit|too many requests|api error:.{0,40}\b429\b\)?"
        r"|\b429\b.{0,40}rejected|quota (?:exceeded|exhausted)|spend(?:ing)? limit|billing_error"
        r"|credit balance is too low|insufficient (?:credits|quota)",
    ),
    (
        "overflow",
        r"prompt is too long|input is too long|context (?:window|length|limit)|maximum context"
        r"|conversation is too long|request(?: is)? too large|request_too_large"
        r"|too many (?:input )?tokens|exceeds the (?:model.s )?(?:maximum|limit)",
    ),
    (
        "overload",
        r"overloaded|api error: (?:connection|5\d\d)|service unavailable|bad gateway"
        r"|internal server error|server_error|connection (?:error|refused|reset)|unable to connect"
        r"|fetch failed|econnre(?:fused|set)|etimedout|enotfound|request timed out|api error",
    ),
)
_PATTERNS = tuple((reason, re.compile(saying, re.IGNORECASE)) for reason, saying in _SAYINGS)

# How such a sentence begins. Inside a document only this counts: a task may well be about limits and logins.
_NOTICE = re.compile(
    r"\W*(?:api error|not logged in|please run /login|invalid api key|you.ve (?:hit|reached) your"
    r"|(?:claude )?(?:ai )?usage limit reached|[\w-]+ limit reached|prompt is too long|overloaded\b"
    r"|credit balance is too low|error: 4\d\d|error: 5\d\d)",
    re.IGNORECASE,
)

_REFUSAL = re.compile(
    r"\W*(?:i(?:.m| am) (?:sorry|afraid|unable|not able)|i (?:can.?t|cannot|can not|won.?t|will not|must decline)"
    r"|sorry,|unfortunately,? i|as an ai\b|i apologi[sz]e)",
    re.IGNORECASE,
)

# A rule of the user's may be quoted at length; nothing of this size is a quotation.
_ECHO = 4000
_ECHO_HEAD = 120

_ERROR_TEXT = re.compile(r'\s*(?:api error|\{\s*"type":\s*"error")', re.IGNORECASE)


def failure(text: str) -> tuple[FailureReason, str] | None:
    """Return the reason that an error text gives and the words it is known by, or None when it is no known error."""
    # The JSON that comes after some talk is a document, unless the whole is an API error.
    text = text if _ERROR_TEXT.match(text) else text.partition("{")[0]
    head = text.lstrip()[:_HEAD]
    for reason, pattern in _PATTERNS:
        found = pattern.search(head)
        if found:
            return reason, " ".join(found[0].split())
    return None


def from_status(status: int) -> FailureReason | None:
    """Return the reason that an HTTP status of the API stands for, or None when the status alone does not say."""
    if status in (401, 403):
        return "no_login"
    if status == 429:
        return "rate_limit"
    if status == 413:
        return "overflow"
    return "overload" if status >= 500 or status == 408 else None


def refusal(text: str) -> bool:
    """Return whether a text begins as a model's refusal does."""
    return bool(_REFUSAL.match(text))


def echo(text: str, prompt: str) -> bool:
    """Return whether a text gives the prompt back: its opening words, or a whole page of it."""
    text = " ".join(text.split())
    if len(text) < _ECHO_HEAD:
        return False
    prompt = " ".join(prompt.split())
    head = prompt[:_ECHO_HEAD]
    return (len(head) == _ECHO_HEAD and head in text) or (len(text) >= _ECHO and text in prompt)


def document(value: dict[str, Any], prompt: str) -> tuple[FailureReason, str] | None:
    """Return why a document that meets its schema is still no answer, or None when it may be one.

    A document is refused for what all of it says, not for one sentence among others.
    """
    leaves = [leaf for leaf in _leaves(value) if leaf.strip()]
    if not leaves:
        return "bad_answer", "every field of the answer is empty"
    if any(echo(leaf, prompt) for leaf in leaves):
        return "bad_answer", "the answer is an echo of the prompt"
    if all(_NOTICE.match(leaf) for leaf in leaves):
        failed = failure(leaves[0])
        reason = failed[0] if failed else "bad_answer"
        return reason, "the answer is an error message in the form of a document"
    if all(refusal(leaf) for leaf in leaves):
        return "bad_answer", "the answer is a refusal in the form of a document"
    return None


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
