"""The `openai` engine against a real model: a schema that is met, and a window that is really too small."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import httpx
import pytest

from keepthread.engines.fitted import Fitted
from keepthread.engines.model import Answer, Deadline, EngineError, Request, Setup
from keepthread.engines.openai import OpenAIEngine
from keepthread.handoff.digest import digest
from keepthread.handoff.material import Material
from keepthread.handoff.stages import without_oldest
from keepthread.transcript.model import Transcript
from keepthread.transcript.read import read_transcript
from tests.support.handoffs import make_partial
from tests.support.llama import NoModelError, model_python, serving
from tests.support.session import SessionFile

WINDOW = 1_024  # tokens: a slow machine reads some twenty in a second
PATIENCE = 240.0  # seconds
DEMANDED = os.environ.get("KEEPTHREAD_TEST_MODEL") == "1"
# Bounded, since this model never comes to an end by itself.
TEXT = {"type": "string", "maxLength": 24}
SCHEMA = {
    "type": "object",
    "properties": {"task": TEXT, "next_steps": {"type": "array", "items": TEXT, "maxItems": 1}},
    "required": ["task", "next_steps"],
    "additionalProperties": False,
}
REQUEST = Request("You write keepthread handoff documents.", "", SCHEMA, "", "")
GOAL = "Port the endpoint parser to the new interface."


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    try:
        with serving(model_python(), WINDOW) as address:
            yield address
            return
    except NoModelError as error:
        reason = f"no real model, so the openai engine was NOT driven by one: {error}"
    if DEMANDED:
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def engine(server: str, home: Path) -> OpenAIEngine:
    user = {"KEEPTHREAD_LLAMA_CPP_BASE_URL": server}
    return OpenAIEngine("llama.cpp", Setup(user, {}, str(home)))


class Asked:
    """An engine that notes what it was asked and what came of it."""

    def __init__(self, engine: OpenAIEngine) -> None:
        self.engine = engine
        self.prompts: list[str] = []
        self.errors: list[EngineError] = []
        self.name = engine.name
        self.readiness = engine.readiness

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        self.prompts.append(request.prompt)
        try:
            return self.engine.ask(request, deadline)
        except EngineError as error:
            self.errors.append(error)
            raise


class Talk:
    """A conversation, told in the size that is asked for."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript

    def prompt(
        self, budget: int, *, keep: float = 1.0, notes: Sequence[dict[str, Any] | None] = ()
    ) -> str:
        shortened = without_oldest(self.transcript, keep)
        return f"{digest(shortened.transcript, budget=budget - 100)}\n\nAnswer in JSON."

    def parts(self, room: int, budget: int) -> list[str]:
        return []


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    session = SessionFile(tmp_path / "session.jsonl")
    session.user(GOAL)
    for number in range(40):
        session.user(f"Now look at part number {number} and tell me what you find there.")
        session.bash(
            f"grep -n value src/part{number}.py", f"{number}: value = read({number})\n" * 4
        )
        session.assistant(f"Part {number} reads its value from the old interface.")
    return Talk(read_transcript(str(session.path)))


@pytest.mark.timeout(300)
def test_a_real_model_answers_under_the_schema(engine: OpenAIEngine) -> None:
    """What it writes is nonsense; its form and its counts are not."""
    request = Request(REQUEST.system, "The task is to mend the parser.", SCHEMA, "", "")
    answer = engine.ask(request, Deadline.after(PATIENCE))
    assert set(answer.document) == {"task", "next_steps"}
    assert answer.input_tokens is not None
    assert 20 < answer.input_tokens < 80
    assert answer.output_tokens


@pytest.mark.timeout(300)
def test_the_window_that_the_server_has_is_read_from_it(engine: OpenAIEngine) -> None:
    """And too small a one is refused before anything is sent."""
    assert engine.window(REQUEST, Deadline.after(PATIENCE)) == WINDOW


@pytest.mark.timeout(300)
def test_a_real_overflow_is_recovered(engine: OpenAIEngine, talk: Talk) -> None:
    """Its user says 16,000, the server has 1,024: the oldest turns go until it fits, by the server's own count."""
    asked = Asked(engine)
    fitted = Fitted(asked, talk, window=16_000, budget=4_000)
    answer = fitted.ask(REQUEST, Deadline.after(PATIENCE))
    assert set(answer.document) == {"task", "next_steps"}
    assert 1 <= len(asked.errors) <= 3
    first = asked.errors[0]
    assert first.reason == "overflow"
    assert first.limit_tokens == WINDOW
    assert first.observed_tokens is not None
    assert first.observed_tokens > WINDOW
    assert answer.input_tokens is not None
    assert answer.input_tokens < WINDOW
    last = asked.prompts[-1]
    assert GOAL in last
    assert "part number 39" in last
    assert "part number 2 " not in last
    assert "part number 2 " in asked.prompts[0]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("budget", [40_000, 12_000])
def test_the_prompt_of_a_long_transcript_stays_in_its_budget(
    server: str, tmp_path: Path, budget: int
) -> None:
    """Counted by a real tokenizer, one of the poorer ones: 3 MB in at most N tokens."""
    session = SessionFile(tmp_path / "session.jsonl")
    session.user(GOAL)
    number = 0
    while session.path.stat().st_size < 3_000_000:
        number += 1
        session.read(f"src/part{number}.py", _code(60))
        session.bash(f"pytest -q tests/test_part{number}.py", f"{_code(20)}\n3 passed")
        session.edit(f"src/part{number}.py", _code(4), _code(5))
        session.assistant(f"Part {number} is ported; its tests pass, so the next one follows.")
        if number % 5 == 0:
            session.user(f"Good. Never touch part {number} again, and go on with the next.")
    material = Material(make_partial(), read_transcript(str(session.path)))
    prompt = f"{material.system()}\n{material.prompt(budget)}"
    tokens = httpx.post(f"{server}/tokenize", json={"content": prompt}, timeout=60).json()["tokens"]
    assert budget // 2 < len(tokens) <= budget


def _code(lines: int) -> str:
    return "\n".join(
        f"    value_{line} = config.read(section, '{name}') or default_of({name})  # {name} wins"
        for line, name in zip(range(lines), cycle(("parser", "stream", "handler", "cache")))
    )
