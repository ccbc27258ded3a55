"""What was spent, and the two caps on it, calls in an hour and dollars in a day, for all processes of one user."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from keepthread import files
from keepthread.engines.model import EngineError

NAME = "spend.json"
_LOCK = "spend.lock"
_WAIT = 2.0  # seconds for the lock; it is held for milliseconds
_HOUR = 3_600.0
_KEPT = 2 * 86_400.0  # seconds: a day and what a change of the clock may add to it
_MOST = 10_000  # entries
_LIMIT = 4 * 1024 * 1024


class Spending(NamedTuple):
    """Calls of the last 60 minutes, and USD since midnight, local time, as far as engines said what they cost."""

    calls_last_hour: int
    spent_today_usd: float


@dataclass(frozen=True, slots=True)
class Caps:
    """The caps of one user. `state` is the state folder, "" for none, and then nothing is counted."""

    state: str
    calls_per_hour: int
    usd_per_day: float

    def enter(self, engine: str, *, free: bool, now: float | None = None) -> str:
        """Count one call before it is made, so that a killed process has counted too; return its id.

        Args:
            engine: the engine's name.
            free: it costs nothing, so the dollars spent today do not stop it.
            now: seconds since the epoch; None for the clock's.

        Raises:
            EngineError: a cap is reached; reason "cap".
        """
        now = time.time() if now is None else now
        with _ledger(self.state) as calls:
            self._check(calls, now, free)
            name = os.urandom(8).hex()
            calls.append({"id": name, "at": now, "engine": engine, "usd": None})
        return name

    def leave(self, name: str, usd: float | None) -> None:
        """Note what a counted call cost, answered or failed; None when it was not said."""
        if usd is None:
            return
        with _ledger(self.state) as calls:
            for call in reversed(calls):
                if call["id"] == name:
                    call["usd"] = usd
                    break

    def _check(self, calls: list[dict[str, Any]], now: float, free: bool) -> None:
        spent = _spending(calls, now)
        if spent.calls_last_hour >= self.calls_per_hour:
            detail = (
                f"{spent.calls_last_hour} calls in the last hour (KEEPTHREAD_MAX_CALLS_PER_HOUR)"
            )
            raise EngineError("cap", detail)
        if not free and spent.spent_today_usd >= self.usd_per_day:
            detail = f"{spent.spent_today_usd:.2f} USD spent today (KEEPTHREAD_MAX_USD_PER_DAY)"
            raise EngineError("cap", detail)


def spending(state: str, now: float | None = None) -> Spending:
    """Return what was spent, for people to see; zeros when nothing was counted yet."""
    return _spending(_read(state), time.time() if now is None else now)


def _spending(calls: list[dict[str, Any]], now: float) -> Spending:
    day = time.localtime(now)[:3]
    return Spending(
        sum(1 for call in calls if call["at"] > now - _HOUR),
        sum(call["usd"] or 0.0 for call in calls if time.localtime(call["at"])[:3] == day),
    )


@contextlib.contextmanager
def _ledger(state: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the calls counted so far and store what became of them; whatever the disk refuses, the call goes on."""
    if not state:
        yield []
        return
    with _locked(state):
        calls = _read(state)
        yield calls
        now = time.time()
        # What a clock that was set wrongly left far ahead would count for ever.
        kept = [call for call in calls if now - _KEPT < call["at"] < now + _KEPT][-_MOST:]
        with contextlib.suppress(OSError):
            files.write_private(os.path.join(state, NAME), json.dumps(kept).encode())


@contextlib.contextmanager
def _locked(state: str) -> Iterator[None]:
    from filelock import FileLock, Timeout  # 50 ms that only a process about to call should pay

    with contextlib.ExitStack() as stack:
        # Without the lock two processes may count one call; without the folder nothing can be counted. Neither is a
        # reason to lose the handoff.
        with contextlib.suppress(OSError, Timeout, NotImplementedError):
            files.make_private(state)
            stack.enter_context(FileLock(os.path.join(state, _LOCK), timeout=_WAIT, mode=0o600))
        yield


def _read(state: str) -> list[dict[str, Any]]:
    try:
        found = json.loads(files.read_regular(os.path.join(state, NAME), _LIMIT))
    except (OSError, ValueError, RecursionError):
        return []  # none yet, or damaged: counting begins anew
    return [call for call in found if _is_call(call)] if isinstance(found, list) else []


def _is_call(call: Any) -> bool:
    return (
        isinstance(call, dict)
        and isinstance(call.get("id"), str)
        and isinstance(call.get("at"), (int, float))
        and isinstance(call.get("usd"), (int, float, type(None)))
    )
