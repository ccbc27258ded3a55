"""From an HTTP reply that is no answer to the reason why there is none."""

from __future__ import annotations

import email.utils
import re
import time
from typing import Any

from keepthread.engines import overflow, rejects
from keepthread.engines.endpoints import Endpoint
from keepthread.engines.http import Reply
from keepthread.engines.model import EngineError, FailureReason

# An account without money, or one whose plan is used up: waiting a minute does not help.
_UNPAID = re.compile(
    r"quota|credit|billing|balance|insufficient|payment|spend(?:ing)? limit|exceeded your",
    re.IGNORECASE,
)
_KEY_WORDS = re.compile(
    r"api[ _-]?key|invalid[ _-](?:token|authentication)|unauthor|permission", re.IGNORECASE
)
_PAUSE_WORDS = re.compile(
    r"(?:retry|try again) (?:in|after) (?:(\d{1,4})m)?(\d{1,9}(?:\.\d{1,9})?) ?(ms|s)\b",
    re.IGNORECASE,
)
_PAUSE = 1.0  # seconds before a limited request is tried again when its server names no time
_TEXT = 8_000


def error_of(reply: Reply, endpoint: Endpoint) -> EngineError | None:
    """Return the failure that a reply stands for; None when it is a JSON object that may hold an answer."""
    value = reply.json()
    said = _said(value)
    if 200 <= reply.status < 300:
        if not isinstance(value, dict):
            return _no_json(reply, endpoint)
        if not value.get("error") and value.get("type") != "error":
            return None
        return failure(_inner_status(value), said, endpoint, reply)
    if 300 <= reply.status < 400:
        detail = f"{endpoint.host} sends elsewhere (status {reply.status}): correct the base URL"
        return EngineError("bad_answer", detail, permanent=True)
    if not said and "html" not in reply.kind:
        said = reply.text[:_TEXT]
    return failure(reply.status, said, endpoint, reply)


def failure(status: int, said: str, endpoint: Endpoint, reply: Reply | None = None) -> EngineError:
    """Return the failure that a status (0: none was given) and an error's words stand for."""
    too_large = overflow.recognise(said) if said else None
    reason, words = _reason(status, said, too_large is not None)
    detail = f"{endpoint.host} answered" + (f" status {status}" if status else " with an error")
    if status == 404:
        detail += ": it knows no such model or address"
    return EngineError(
        reason,
        f"{detail}: {words}" if words else detail,
        permanent=_permanent(reason, status, too_large),
        retry_after=_retry_after(reason, status, said, reply),
        observed_tokens=too_large.tokens if too_large else None,
        limit_tokens=too_large.limit if too_large else None,
        vendor_text=said.replace(endpoint.key, "***") if endpoint.key else said,
    )


def _reason(status: int, said: str, too_large: bool) -> tuple[FailureReason, str]:
    if too_large:
        return "overflow", ""
    known = rejects.failure(said)
    if status in (400, 401, 403) and _KEY_WORDS.search(said) and not _UNPAID.search(said):
        return "no_login", ""
    if known and known[0] != "overflow":
        return known
    if status in (402, 429) or (status == 403 and _UNPAID.search(said)):
        return "rate_limit", ""
    by_status = rejects.from_status(status) if status else None
    return (by_status, "") if by_status else known or ("bad_answer", "")


def _permanent(reason: FailureReason, status: int, too_large: overflow.Overflow | None) -> bool:
    if too_large:
        return too_large.terminal
    # An empty account is filled up in its own time, so it is no failure for good.
    return reason == "no_login" or status == 404


def _retry_after(
    reason: FailureReason, status: int, said: str, reply: Reply | None
) -> float | None:
    if reason not in ("rate_limit", "overload"):
        return None
    named = _named_pause(said, reply)
    if named is not None or reason == "overload":
        return named or 0.0
    return None if status == 402 or _UNPAID.search(said) else _PAUSE


def _named_pause(said: str, reply: Reply | None) -> float | None:
    """Return the seconds of Retry-After, given as a number or as a date, or those in the words; None without any."""
    text = reply.headers.get("retry-after", "").strip() if reply else ""
    if re.fullmatch(r"\d{1,9}(?:\.\d+)?", text):
        return float(text)
    if not text:
        found = _PAUSE_WORDS.search(said)
        return _seconds(found) if found else None
    try:
        return max(0.0, email.utils.parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _seconds(found: re.Match[str]) -> float:
    return int(found[1] or 0) * 60 + float(found[2]) / (1000 if found[3].lower() == "ms" else 1)


def _no_json(reply: Reply, endpoint: Endpoint) -> EngineError:
    kind = re.sub(r"[^\w/+.-]", "", reply.kind)[:40] or "no content type"
    detail = f"{endpoint.host} answered with {kind} that is no JSON object: is the base URL right?"
    if "json" in reply.kind:
        detail = f"{endpoint.host} answered with JSON that is cut off or no object"
    return EngineError("bad_answer", detail)


def _said(value: Any) -> str:
    """Return an error's type, code and message as one text; vendors put them in many places."""
    if isinstance(value, list):
        value = value[0] if value else None
    if not isinstance(value, dict):
        return ""
    error = value.get("error")
    places = [error] if isinstance(error, dict) else [value]
    parts: list[Any] = [error]
    for place in places:
        parts += [place.get(name) for name in ("type", "code", "status", "message", "detail")]
    raw = error.get("metadata") if isinstance(error, dict) else None
    parts += [raw.get("raw")] if isinstance(raw, dict) else []  # what stands behind a router said
    return "\n".join(part for part in parts if isinstance(part, str))[:_TEXT]


def _inner_status(value: dict[str, Any]) -> int:
    error = value.get("error")
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 0
