"""When a session's memory is to be brought up to date. Standard library only and light: the Stop hook asks each turn.

What is known of the earlier runs stands in the session's memory-state.json:

    model     {size, tokens}: bytes of the transcript and tokens of the context at the last extraction
    tried     the same of the last run in which no model answered
    begun     the same of a run that has begun, with `count`, how often; it goes when the run ends by itself
    read      {path, size}: how far code alone has read
    state, pid, process   the run at work, as keepthread.handoff.alive knows it again
    failures, failed_at   the circuit breaker, as keepthread.handoff.circuit counts them
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from keepthread.transcript.growth import Growth

STATE = "memory-state.json"
FIRST = 10_000  # tokens in context before the first extraction
GROWN = 5_000  # tokens more for each that follows
CALLS = 3  # tool calls that go with them, unless the last turn had none
ATTEMPTS = 3  # at one and the same point; a run that was killed is taken up by the next Stop
NEW_BYTES = 64 << 10  # of transcript, after which code reads on


def baseline(known: Mapping[str, Any], size: int) -> dict[str, int] | None:
    """Return the point from which growth counts, None when nothing was extracted yet.

    Args:
        known: memory-state.json.
        size: of the transcript; one that is smaller than it was has been written anew, and counts as new.
    """
    begun = _mark(known.get("begun"))
    given_up = begun if begun is not None and begun["count"] >= ATTEMPTS else None
    marks = [_mark(known.get("model")), _mark(known.get("tried")), given_up]
    found = [mark for mark in marks if mark is not None and mark["size"] <= size]
    return max(found, key=lambda mark: mark["size"]) if found else None


def is_due(since: Mapping[str, int] | None, now: Growth) -> bool:
    """Return whether the rule asks for an extraction: the one of the first, or the one of those that follow.

    Growth is counted within one context: after a compaction or a rewind from where the context then began. A size that
    the API has not told is unknown, and nothing is due.
    """
    if not now.tokens:
        return False
    if since is None:
        return now.tokens >= FIRST
    lowest = now.lowest or now.tokens
    start = lowest if now.crossed else min(since["tokens"], lowest)
    enough = now.calls >= CALLS or now.calls_of_turn == 0 or now.cut
    return now.tokens - start >= GROWN and enough


def reads_on(known: Mapping[str, Any], path: str, size: int) -> bool:
    """Return whether so much is new that code reads on, without a model."""
    read = known.get("read")
    same = isinstance(read, dict) and read.get("path") == path
    before = read.get("size") if same and isinstance(read, dict) else 0
    if not isinstance(before, int) or before > size:
        before = 0
    return size - before >= NEW_BYTES


def _mark(value: object) -> dict[str, int] | None:
    if not isinstance(value, dict):
        return None
    names = ("size", "tokens", "count")
    found = {name: value[name] for name in names if type(value.get(name)) is int}
    if min(found.values(), default=0) < 0:
        return None  # damaged
    return {"count": 0, **found} if "size" in found and "tokens" in found else None
