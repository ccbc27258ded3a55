"""A session whose memory a model keeps: hooks as registered, and a stand-in for the API on loopback."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from keepthread.host.config import load, store_resolved
from tests.support.api import FakeApi, Request, texts
from tests.support.hook_runs import ANSWER, RULE, World, until
from tests.support.session import SESSION, SessionFile

MEMORY: dict[str, Any] = {
    **ANSWER,
    "next_steps": ["Use httpie, never curl, in src/importer.py; then test files without a footer."],
    "title": "The tide importer and its last reading",
    "workflow": ["Read a day with src/importer.py, then look at its last reading."],
    "codebase_documentation": ["src/importer.py reads a day."],
    "learnings": ["Some files have no footer."],
    "worklog": ["Edited src/importer.py."],
}


class Kept(World):
    """A world whose sessions have a memory."""

    api: FakeApi
    talk: SessionFile

    def choose(self, form: str = "model", **more: str) -> None:
        """Write the user's file as `keepthread memory session` does."""
        endpoint = {"ENGINE": "anthropic", "ANTHROPIC_MODEL": "claude-haiku-4-5"}
        endpoint |= {"ANTHROPIC_BASE_URL": self.api.url, "ANTHROPIC_API_KEY": "fake-key-of-a-test"}
        self.variables(SESSION_MEMORY=form, **(endpoint | more))
        store_resolved(str(self.state), load({}, str(self.config)))

    def stop(
        self,
        env: Mapping[str, str] | None = None,
        *,
        settle: bool = True,
        event: dict[str, Any] | None = None,
    ) -> None:
        """Run the Stop hook, and wait for what it has started."""
        self.run(
            "stop",
            self.event("stop", **(event or {})),
            **{"KEEPTHREAD_ENGINE": ""} | dict(env or {}),
        )
        if settle:
            self.settle()

    def settle(self) -> None:
        """Wait until what was started has left its line in the log."""
        until(lambda: self.count("stop", "started") <= self.count("memory"))

    def count(self, event: str, outcome: str = "") -> int:
        """Return how many lines of the log are of this event."""
        return sum(1 for line in self.log(event) if outcome in ("", line["outcome"]))

    def document(self, name: str = "session-memory.json") -> dict[str, Any]:
        """Return a stored document, {} when there is none; it is whole whenever it is there."""
        path = self.folder_of() / name
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def known(self) -> dict[str, Any]:
        """Return memory-state.json."""
        return self.document("memory-state.json")

    def markdown(self) -> str:
        """Return the rendering."""
        return (self.folder_of() / "session-memory.md").read_text()

    def asked(self) -> list[Request]:
        """Return the requests, corrections left out."""
        found = self.api.requests
        return [r for r in found if "Your answer had the faults below" not in texts(r.body)]

    def grow(self, tokens: int, words: str = "") -> None:
        """Let the session go on: a prompt, three calls, an answer that brings the context to `tokens`."""
        self.talk.user(words or f"Now the context of {tokens}.")
        for number in range(3):
            self.talk.bash(f"python -m importer {tokens}-{number}", "ok", tokens=tokens)
        self.talk.assistant(f"That was the answer at {tokens}.", tokens=tokens)


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """Return a stand-in for the API."""
    with FakeApi() as api:
        yield api


@pytest.fixture
def kept(tmp_path: Path, home: Path, api: FakeApi) -> Kept:
    """Return a world with the memory turned on and a session of 12,000 tokens."""
    world = Kept(tmp_path, home)
    world.api = api
    world.choose()
    world.talk = world.session()
    world.grow(12_000)
    return world


__all__ = ["MEMORY", "RULE", "SESSION", "Kept"]
