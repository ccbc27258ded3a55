"""From a status and an error's words to the reason, and whether and when to ask again."""

from __future__ import annotations

import email.utils
import json
import time
from typing import Any

import pytest

from keepthread.engines.endpoints import OPENAI_LIKE, find
from keepthread.engines.failures import error_of
from keepthread.engines.http import Reply
from tests.engines.asking import KEY, setup

ENDPOINT = find("openai", OPENAI_LIKE["openai"], setup({"OPENAI_API_KEY": KEY}))


def failure(status: int, body: str = "", kind: str = "application/json", **headers: str) -> Any:
    found = {name.replace("_", "-"): value for name, value in headers.items()}
    return error_of(Reply(status, {"content-type": kind, **found}, body), ENDPOINT)


@pytest.mark.parametrize(
    ("status", "body", "reason", "permanent"),
    [
        (401, '{"error": {"message": "Incorrect API key provided"}}', "no_login", True),
        (401, "", "no_login", True),
        (403, '{"error": {"type": "permission_error", "message": "no"}}', "no_login", True),
        (400, '[{"error": {"code": 400, "message": "API key not valid."}}]', "no_login", True),
        (402, '{"error": {"message": "Insufficient Balance"}}', "rate_limit", False),
        (403, '{"error": {"message": "Your credits are used up"}}', "rate_limit", False),
        (404, '{"error": {"message": "not found"}}', "bad_answer", True),
        (404, "404 page not found", "bad_answer", True),
        (408, "", "overload", False),
        (413, "<html>413 Request Entity Too Large</html>", "overflow", False),
        (429, '{"error": {"message": "Slow down"}}', "rate_limit", False),
        (500, '{"error": {"message": "boom"}}', "overload", False),
        (502, "<html>Bad gateway</html>", "overload", False),
        (503, "upstream connect error", "overload", False),
        (504, "", "overload", False),
        (529, '{"type": "error", "error": {"type": "overloaded_error"}}', "overload", False),
        (301, "", "bad_answer", True),
        (418, "", "bad_answer", False),
        (400, '{"error": {"message": "odd"}}', "bad_answer", False),
    ],
)
def test_a_status_and_its_words_give_a_reason(
    status: int, body: str, reason: str, permanent: bool
) -> None:
    """An empty account is no failure for good: it is filled up in its own time."""
    kind = "text/html" if body.startswith("<") else "application/json"
    found = failure(status, body, kind)

    assert (found.reason, found.permanent) == (reason, permanent)
    assert str(status) in found.detail
    assert "api.openai.com" in found.detail


@pytest.mark.parametrize(
    ("status", "body", "headers", "after"),
    [
        (429, "", {}, 1.0),
        (429, "", {"retry_after": "7"}, 7.0),
        (429, "", {"retry_after": "0.5"}, 0.5),
        (429, "", {"retry_after": "soon"}, 1.0),
        (529, "", {"retry_after": "3"}, 3.0),
        (503, "", {}, 0.0),
        (429, '{"error": {"message": "Please try again in 7.66s."}}', {}, 7.66),
        (429, '{"error": {"message": "Please try again in 1m2.5s."}}', {}, 62.5),
        (429, '{"error": {"message": "Please try again in 250ms."}}', {}, 0.25),
        (429, '{"error": {"message": "You exceeded your current quota."}}', {}, None),
        (
            429,
            '{"error": {"message": "You exceeded your current quota. Please retry in 23.5s."}}',
            {},
            23.5,
        ),
        (402, "", {}, None),
        (401, "", {"retry_after": "7"}, None),
        (400, "", {"retry_after": "7"}, None),
    ],
)
def test_only_what_passes_is_worth_another_try(
    status: int, body: str, headers: dict[str, str], after: float | None
) -> None:
    """In a header or in words, in seconds, minutes or parts of them."""
    assert failure(status, body, **headers).retry_after == after


def test_a_date_in_retry_after_is_counted_from_now() -> None:
    """And one in the past is now."""
    later = email.utils.formatdate(time.time() + 600, usegmt=True)
    assert 500 < failure(429, retry_after=later).retry_after <= 600
    assert failure(429, retry_after="Thu, 01 Jan 2015 00:00:00 GMT").retry_after == 0.0


def test_a_key_that_the_vendor_quotes_is_taken_out() -> None:
    """Some do."""
    found = failure(401, f'{{"error": {{"message": "Incorrect API key provided: {KEY}"}}}}')
    assert KEY not in found.vendor_text + found.detail
    assert "***" in found.vendor_text


def test_a_request_beyond_the_whole_minute_is_final() -> None:
    """No waiting helps, and what would fit is no summary any more."""
    said = (
        "Request too large for model `llama` in organization `o` on tokens per minute (TPM): Limit 6000, "
        "Requested 9000, please reduce your message size and try again."
    )
    found = failure(413, f'{{"error": {{"message": "{said}", "code": "rate_limit_exceeded"}}}}')
    assert (found.reason, found.permanent, found.retry_after) == ("overflow", True, None)
    assert (found.observed_tokens, found.limit_tokens) == (9000, 6000)


def test_what_stands_behind_a_router_is_heard() -> None:
    """OpenRouter wraps the provider's own error."""
    raw = "prompt is too long: 9000 tokens > 8000 maximum"
    error = {"code": 400, "message": "Provider returned error", "metadata": {"raw": raw}}
    found = failure(400, json.dumps({"error": error}))
    assert (found.reason, found.observed_tokens) == ("overflow", 9000)
