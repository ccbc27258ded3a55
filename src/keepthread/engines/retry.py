"""When a rung that failed for now is asked again: after a pause with jitter, and only while the deadline allows."""

from __future__ import annotations

import random
from collections.abc import Callable

from keepthread.engines.model import EngineError

TRIES = 4  # calls of one rung in all
_FIRST = 0.5  # seconds; doubled from try to try
_LONGEST = 8.0
_CALL = 3.0  # seconds that must be left after the pause: no call is done in less


def pause(
    error: EngineError, tries: int, left: float, jitter: Callable[[], float] = random.random
) -> float | None:
    """Return the seconds to wait before the next try, or None when there is to be none.

    Args:
        error: how the last try failed; only an overload or a rate limit that passes is tried again.
        tries: how many tries there have been.
        left: seconds until the deadline.
        jitter: a number from 0 to 1, so that many sessions do not all come back at once.
    """
    passing = error.reason in ("overload", "rate_limit") and not error.permanent
    if not passing or error.retry_after is None or tries >= TRIES:
        return None
    back_off = min(_LONGEST, _FIRST * 2 ** (tries - 1)) * (0.5 + jitter() / 2)
    # What the server asks for is the least, never the most.
    wait = max(back_off, error.retry_after + back_off / 4)
    return wait if wait + _CALL <= left else None
