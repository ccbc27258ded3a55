"""The same scenes for every engine that asks a model: the right result, in time, and nobody left behind."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from keepthread.engines.choose import engines_for
from keepthread.engines.fitted import Fitted
from keepthread.engines.ladder import climb
from keepthread.engines.model import Deadline, Outcome
from keepthread.host.config import Config
from tests.engines.asking import DOCUMENT, GUARD, KEY, PROMPT, REQUEST
from tests.support.fake_claude import NAG, FakeClaude
from tests.support.fake_http import FakeHttp, Reply, chat, messages, ollama

DEADLINE = 20.0
SHORT = 1.5  # seconds, for what never ends
TEXTS = {
    "success": json.dumps(DOCUMENT),
    "bad JSON": '{"task": "Mend the parser", "next_steps": [',
    "schema violation": '{"task": "Mend the parser"}',
    "refusal": "I'm sorry, I can't help with that.",
}
RESULTS = {
    "success": "ok",
    "timeout": "timeout",
    "overload": "overload",
    "overflow": "overflow",
    "bad JSON": "bad_answer",
    "schema violation": "bad_answer",
    "refusal": "bad_answer",
    "login missing": "no_login",
}
PATHS = {"anthropic": "/v1/messages", "openai": "/v1/chat/completions", "ollama": "/api/chat"}
SAYS: dict[str, Any] = {"anthropic": messages, "openai": chat, "ollama": ollama}
TOO_LONG = "prompt is too long: 9000 tokens > 8000 maximum"


class Stage:
    """One engine and what stands behind it."""

    name = ""
    user: dict[str, str]
    env: dict[str, str]

    def play(self, scene: str) -> None:
        """Let what is asked next go as the scene says."""
        raise NotImplementedError

    def alive(self) -> list[int]:
        """Return the processes that were left behind."""
        return []


class ClaudeStage(Stage):
    name = "claude"

    def __init__(self, folder: Path, home: Path) -> None:
        self.fake = FakeClaude(folder / "bin")
        self.user, self.env = {}, self.fake.env(home)

    def play(self, scene: str) -> None:
        failures: dict[str, dict[str, Any]] = {
            "overload": {"result": "API Error: 529 Overloaded", "api_error_status": 529},
            "overflow": {"result": f"API Error: 400 {TOO_LONG}", "api_error_status": 400},
            "login missing": {"result": NAG},
        }
        if scene == "timeout":
            self.fake.behave(sleep=120, deaf=True, children=["child", "session", "daemon"])
        elif scene in failures:
            self.fake.behave(result={"is_error": True, **failures[scene]}, exit=1)
        elif scene == "success":
            self.fake.answer(DOCUMENT)
        else:
            self.fake.behave(result={"result": TEXTS[scene]})

    def alive(self) -> list[int]:
        return self.fake.alive()


class CommandStage(ClaudeStage):
    """The same program, started as any other one."""

    name = "command"

    def __init__(self, folder: Path, home: Path) -> None:
        super().__init__(folder, home)
        self.user = {"KEEPTHREAD_COMMAND": f"'{self.fake.program}'"}

    def play(self, scene: str) -> None:
        said = {"overload": "Error: overloaded", "overflow": TOO_LONG, "login missing": NAG}
        if scene == "timeout":
            super().play(scene)
        elif scene in said:
            self.fake.behave(stderr=said[scene], exit=1)
        else:
            self.fake.behave(stdout=TEXTS[scene])


class HttpStage(Stage):
    """An engine over HTTP, with the shape of its vendor's answers and errors."""

    def __init__(self, name: str, server: FakeHttp) -> None:
        self.name, self.server, self.env = name, server, {}
        upper = name.upper()
        given = {"BASE_URL": server.url, "API_KEY": KEY, "MODEL": "claude-m-1"}
        self.user = {f"KEEPTHREAD_{upper}_{part}": value for part, value in given.items()}
        server.on("/api/show", Reply({"model_info": {"m.context_length": 131_072}}))

    def play(self, scene: str) -> None:
        said = {
            "timeout": Reply(hang=True),
            "overload": self._error(503, "overloaded_error", "Overloaded"),
            "overflow": self._error(400, "invalid_request_error", TOO_LONG),
            "login missing": self._error(401, "authentication_error", "invalid x-api-key"),
        }
        path = PATHS[self.name]
        self.server.on(path, said[scene] if scene in said else SAYS[self.name](TEXTS[scene]))

    def _error(self, status: int, kind: str, message: str) -> Reply:
        error: Any = {"type": kind, "message": message}
        return Reply(
            {"type": "error", "error": message if self.name == "ollama" else error}, status
        )


@pytest.fixture(params=["claude", "command", "anthropic", "openai", "ollama"])
def stage(request: pytest.FixtureRequest, tmp_path: Path, home: Path) -> Iterator[Stage]:
    if request.param == "claude":
        yield ClaudeStage(tmp_path, home)
    elif request.param == "command":
        yield CommandStage(tmp_path, home)
    else:
        with FakeHttp() as server:
            yield HttpStage(request.param, server)


def ladder(stage: Stage, home: Path) -> Any:
    config = Config(engine=stage.name, user=stage.user)
    return engines_for(config, stage.env, config_dir=str(home / ".claude"), project="")


def asked(stage: Stage, home: Path, seconds: float) -> Outcome:
    return climb(ladder(stage, home), REQUEST, Deadline.after(seconds), sleep=lambda _: None)


@pytest.mark.parametrize("scene", RESULTS)
def test_each_scene_ends_as_it_should(stage: Stage, home: Path, scene: str) -> None:
    """In time, with one line for the log, and without an orphan."""
    stage.play(scene)
    seconds = SHORT if scene == "timeout" else DEADLINE
    started = time.monotonic()
    outcome = asked(stage, home, seconds)

    assert time.monotonic() - started < seconds + 2 + GUARD
    assert outcome.rungs[0].result == RESULTS[scene], outcome.rungs
    assert (outcome.answer is not None) == (scene == "success")
    if outcome.answer is not None:
        assert outcome.answer.document == DOCUMENT
        assert outcome.answer.engine == stage.name
    assert stage.alive() == []
    told = repr(outcome.rungs)
    assert KEY not in told
    assert PROMPT[:60] not in told


class Shrinking:
    """Material that notes how large it was asked to be, and brings the stage to reason at the second try."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.asked: list[float] = []

    def prompt(self, budget: int, *, keep: float, notes: Sequence[dict[str, Any] | None]) -> str:
        self.stage.play("success" if self.asked else "overflow")
        self.asked.append(keep)
        return PROMPT

    def parts(self, room: int, budget: int) -> list[str]:
        return []


def test_an_overflow_is_recovered(stage: Stage, home: Path) -> None:
    """With less of the conversation, at the second try."""
    material = Shrinking(stage)
    engines = [Fitted(ladder(stage, home)[0], material, window=32_000, budget=20_000)]
    outcome = climb(engines, REQUEST, Deadline.after(DEADLINE), sleep=lambda _: None)

    assert outcome.answer is not None, outcome.rungs
    assert outcome.answer.document == DOCUMENT
    assert len(material.asked) == 2
    assert material.asked[0] == 1.0 > material.asked[1]
    assert stage.alive() == []


def test_a_failed_login_is_asked_for_once_in_a_session(stage: Stage, home: Path) -> None:
    """The second compaction of the session loses no time with it."""
    stage.play("login missing")
    config = Config(engine=stage.name, user=stage.user)
    folder = str(home / ".claude")
    details = []
    for _ in range(2):
        engines = engines_for(config, stage.env, config_dir=folder, project="", session="s")
        outcome = climb(engines, REQUEST, Deadline.after(DEADLINE))
        assert outcome.reason == "no_login"
        details.append(outcome.rungs[0].detail)

    assert not details[0].startswith("not tried again")
    assert details[1].startswith("not tried again")
