"""What stands before every engine that asks a model: the caps, and the memory of what failed for good."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from keepthread import files
from keepthread.engines.caps import Caps
from keepthread.engines.model import Answer, Deadline, Engine, EngineError, Readiness, Request

_NAME = "engines.json"
_LIMIT = 256 * 1024
# What a login or a setting is mended in: a change in one of them and every rung is tried again.
_SETTINGS = (".env", "settings.json", ".credentials.json")


class Gate:
    """An engine behind the caps. It asks nothing when the engine is not ready or failed for good in this session."""

    def __init__(self, engine: Engine, caps: Caps, failed: Failed) -> None:
        self._engine = engine
        self._caps = caps
        self._failed = failed

    @property
    def name(self) -> str:
        """The name as in KEEPTHREAD_ENGINE."""
        return self._engine.name

    @property
    def local(self) -> bool:
        """Whether the prompt stays on this machine."""
        return is_local(self._engine)

    def readiness(self) -> Readiness:
        """Say what the engine says."""
        return self._engine.readiness()

    def window(self, request: Request, deadline: Deadline) -> int | None:
        """Return the model's context window as the engine knows it, None when it does not; tokens."""
        ask = getattr(self._engine, "window", None)
        if not callable(ask) or not self.readiness().ready:
            return None
        try:
            self._failed.check(self.name)
            found = ask(request, deadline)
        except EngineError:
            return None  # what is wrong shows when it is asked for more
        return found if isinstance(found, int) else None

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        """Answer, and count the call and its cost.

        Raises:
            EngineError: as the engine raises it; reason "cap" when a cap is reached; as before when it failed for good.
        """
        state = self.readiness()
        if not state.ready:
            raise EngineError("no_login", state.why, permanent=True)
        self._failed.check(self.name)
        call = self._caps.enter(self.name, free=self.local)
        try:
            answer = self._engine.ask(request, deadline)
        except EngineError as error:
            self._caps.leave(call, error.cost_usd)
            if error.permanent:
                self._failed.note(self.name, error)
            raise
        self._caps.leave(call, answer.cost_usd)
        self._failed.forget(self.name)
        return answer


def is_local(engine: Engine) -> bool:
    """Return whether what an engine is asked stays on this machine; one that does not say so is taken to send it."""
    return getattr(engine, "local", False) is True


class Failed:
    """Which rungs failed for good in a session. Kept beside its handoff; a session without a folder remembers nothing.

    Args:
        folder: the session's folder, or "".
        config_dir: the host's configuration folder: a change of its settings makes all that failed worth a try.
        afresh: remember what fails, but let every rung be tried: a person asked for it.
    """

    def __init__(self, folder: str, config_dir: str, *, afresh: bool = False) -> None:
        self._path = os.path.join(folder, _NAME) if folder else ""
        self._config_dir = config_dir
        self._afresh = afresh

    def check(self, engine: str) -> None:
        """Return when the engine may be tried.

        Raises:
            EngineError: it failed for good, with the reason of then.
        """
        known = {} if self._afresh else self._read().get(engine)
        if isinstance(known, dict) and known.get("settings") == self._settings():
            detail = f"not tried again in this session: {known.get('detail')}"
            raise EngineError(known.get("reason", "no_login"), detail, permanent=True)

    def note(self, engine: str, error: EngineError) -> None:
        """Remember that an engine failed for good."""
        entry = {"reason": error.reason, "detail": error.detail, "settings": self._settings()}
        self._change(lambda known: {**known, engine: entry})

    def forget(self, engine: str) -> None:
        """Forget what an engine that has answered came to before."""
        if self._path and engine in self._read():
            self._change(lambda known: {key: known[key] for key in known if key != engine})

    def _read(self) -> dict[str, Any]:
        try:
            known = json.loads(files.read_regular(self._path, _LIMIT)) if self._path else {}
        except (OSError, ValueError, RecursionError):
            return {}  # nothing failed yet
        return known if isinstance(known, dict) else {}

    def _change(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        if not self._path:
            return
        try:
            files.make_private(os.path.dirname(self._path))
            files.write_private(self._path, json.dumps(change(self._read())).encode())
        except OSError:
            return  # then it is tried once more, which costs a moment

    def _settings(self) -> str:
        return hashlib.sha256(repr(list(_states(self._config_dir))).encode()).hexdigest()[:16]


def _states(folder: str) -> Iterable[tuple[str, int, int]]:
    for name in _SETTINGS:
        try:
            status = os.stat(os.path.join(folder, name))
        except OSError:
            continue
        yield name, status.st_mtime_ns, status.st_size
