"""The circuit breaker of one session: after three failed model calls in a row none is made for half an hour.

It stands in the session's worker.json. A missing login or a reached cap is no failure of the model's: it costs nothing
to find out, and mending it must take effect at once.
"""

from __future__ import annotations

from typing import Any

LIMIT = 3
PAUSE = 1_800.0  # seconds
_NOT_COUNTED = (None, "no_login", "cap", "engine_facts", "circuit_open", "no_transcript")


def state(worker: dict[str, Any] | None, now: float) -> str:
    """Return "closed", "open", or "half-open" when the pause is over and one call may try again."""
    failures, opened = (worker or {}).get("failures"), (worker or {}).get("failed_at")
    if not isinstance(failures, int) or failures < LIMIT or not isinstance(opened, (int, float)):
        return "closed"
    # A clock that was set back must not keep the circuit open for longer than the pause.
    return "open" if 0 <= now - opened < PAUSE else "half-open"


def after(worker: dict[str, Any], reason: str | None, complete: bool, now: float) -> dict[str, Any]:
    """Return worker.json's content after a call that ended with `reason`, or with a complete handoff."""
    if complete:
        return {**worker, "failures": 0}
    if reason in _NOT_COUNTED:
        return worker
    failures = worker.get("failures")
    return {
        **worker,
        "failures": (failures if isinstance(failures, int) else 0) + 1,
        "failed_at": now,
    }
