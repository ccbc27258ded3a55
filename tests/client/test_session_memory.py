"""The session memory in the real client: extractions when the rule says so, none of them lost; the warm path."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from typing import Any

import pytest

from tests.client.story import DOCUMENT, folder, handoff, injected, log, variables
from tests.support.api import Answer, Body, FakeApi, Request, is_child, is_talk, texts
from tests.support.client import Client
from tests.support.fuzzed import SCALE

pytestmark = [pytest.mark.client, pytest.mark.usefixtures("hooks")]

TURNS = 12 if SCALE <= 1 else 30
MEMORY: dict[str, Any] = {
    **DOCUMENT,
    "title": "The gantry parser learns to skip blank lines",
    "workflow": ["Run the parser on one line after each change."],
    "codebase_documentation": [],
    "learnings": ["A regular expression was too slow."],
    "worklog": ["Looked at the parser."],
}


def is_memory(body: Body) -> bool:
    """Whether a model is asked for the memory: its own child, with the first request of its talk."""
    return is_child(body) and "running memory" in texts(body)


def begun(api: FakeApi) -> list[Request]:
    """Return the first request of each extraction, without those for a correction."""
    asked = [r for r in list(api.requests) if is_memory(r.body)]
    first = [r for r in asked if all(m["role"] != "assistant" for m in r.body["messages"])]
    return [r for r in first if "Your answer had the faults below" not in texts(r.body)]


def state(client: Client, session: str) -> dict[str, Any]:
    """Return memory-state.json."""
    path = folder(client, session) / "memory-state.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}


def memory(client: Client, session: str) -> dict[str, Any]:
    """Return the stored memory, which is whole whenever it is there."""
    path = folder(client, session) / "session-memory.json"
    return dict(json.loads(path.read_text())) if path.exists() else {}


def settle(client: Client) -> None:
    """Wait until what the Stop hooks have started has ended by itself."""
    for _ in range(1200):
        lines = log(client)
        started = sum(
            1 for line in lines if (line["event"], line["outcome"]) == ("stop", "started")
        )
        if started == sum(1 for line in lines if line["event"] == "memory"):
            return
        time.sleep(0.05)
    raise AssertionError("an extraction never ended")


def with_model(client: Client, api: FakeApi, **more: str) -> None:
    """Turn the memory on, asked over HTTP: the host's own program would take seconds for each answer."""
    endpoint = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "fake", "ENGINE": "anthropic"}
    endpoint["ANTHROPIC_MODEL"] = "claude-haiku-4-5"
    variables(client, SESSION_MEMORY="model", **(endpoint | more))
    store(client)
    api.rule(is_memory, Answer(json.dumps(MEMORY)))


def store(client: Client) -> None:
    """Let the hooks know what the file says, as `keepthread memory session on` does."""
    from keepthread.host.config import load, store_resolved

    store_resolved(str(client.config / "keepthread"), load({}, str(client.config)))


class Story:
    """Turns of growing context: each has a prompt, some tool calls, and an answer with words of its own."""

    def __init__(
        self,
        client: Client,
        api: FakeApi,
        number: int,
        *,
        first: int = 3_000,
        ends_of_extractions: bool = True,
    ) -> None:
        self.waits = ends_of_extractions
        self.tokens: list[int] = []
        self.calls: list[int] = []
        grown, steps = first, (1_900, 2_700, 4_600, 800, 1_300, 5_400, 2_100)
        for turn in range(number):
            grown += steps[turn % len(steps)]
            self.tokens.append(grown)
            self.calls.append((0, 1, 2, 0, 1, 1, 0, 2, 1)[turn % 9])
        for turn in range(number):
            self._script(client, api, turn)

    def prompt(self, turn: int) -> str:
        """Return what is typed."""
        return f"Prompt-{turn:02d} please."

    def _script(self, client: Client, api: FakeApi, turn: int) -> None:
        path = str(client.project / f"part{turn}.py")
        tool = Answer(
            tool=("Write", {"file_path": path, "content": "x\n"}), input_tokens=self.tokens[turn]
        )
        answers = [tool] * min(self.calls[turn], 1)
        again = {"file_path": path, "old_string": "x", "new_string": "y"}
        answers += [Answer(tool=("Edit", again), input_tokens=self.tokens[turn])] * (
            self.calls[turn] - 1
        )
        waiting = iter(
            [*answers, Answer(f"Reply-{turn:02d} it is.", input_tokens=self.tokens[turn])]
        )

        def answer(_: Body) -> Answer:
            if self.waits:
                settle(client)  # a person types no faster than an extraction takes
            return next(waiting)

        api.rule(
            lambda body: (
                is_talk(body)
                and self.prompt(turn) in texts(body)
                and (turn + 1 == len(self.tokens) or self.prompt(turn + 1) not in texts(body))
            ),
            answer,
        )

    def due(self) -> list[int]:
        """Return the turns after which the rule asks for an extraction, by the figures of the story alone."""
        found, last, calls = [], None, 0
        for turn, (tokens, called) in enumerate(zip(self.tokens, self.calls, strict=True)):
            calls += called
            grown = tokens >= 10_000 if last is None else tokens - last >= 5_000
            if grown and (last is None or calls >= 3 or called == 0):
                found.append(turn)
                last, calls = tokens, 0
        return found


def test_extractions_come_at_exactly_the_turns_the_rule_names_one_at_a_time(client, api):
    with_model(client, api, MAX_CALLS_PER_HOUR="100")
    story = Story(client, api, TURNS)

    run = client.converse(*map(story.prompt, range(TURNS)))
    settle(client)

    assert run.code == 0, run
    asked = [texts(request.body) for request in begun(api)]
    told = [
        [t for t in range(TURNS) if re.search(rf"^AGENT: Reply-{t:02d}", text, re.MULTILINE)]
        for text in asked
    ]
    due = story.due()
    assert len(due) >= 3
    # Each is told what came since the one before, and nothing of it again.
    assert told == [
        list(range(before + 1, turn + 1)) for before, turn in zip([-1, *due], due, strict=False)
    ]
    assert memory(client, run.session)["tokens"] == story.tokens[due[-1]]


def test_an_extraction_that_was_killed_is_taken_up_by_the_next_stop(client, api):
    with_model(client, api)
    story = Story(client, api, 2, first=12_000, ends_of_extractions=False)
    api.rule(is_memory, Answer(hang=True), times=1)
    first: list[Any] = []

    def kill(_: Body) -> Answer:
        """Kill the extraction that the first turn has started, while the second one is answered."""
        api.wait(is_memory)
        first.append(state(client, next(iter(sessions(client)))))
        os.kill(first[0]["pid"], signal.SIGKILL)
        return Answer("Done.", input_tokens=12_500)

    api.rule(lambda body: is_talk(body) and story.prompt(1) in texts(body), kill)

    run = client.converse(story.prompt(0), story.prompt(1))
    ended(client, run.session)

    assert first[0]["state"] == "running"
    assert memory(client, run.session)["form"] == "model"
    assert state(client, run.session)["model"]["tokens"] == 12_500
    assert len(begun(api)) == 2


def test_the_clients_exit_loses_no_extraction_and_the_warm_memory_completes_the_handoff(
    client, api
):
    with_model(client, api, ENGINE="auto")  # the host's own program
    api.rule(is_talk, Answer("It is there.", input_tokens=15_000))
    api.rule(is_memory, Answer(document=MEMORY, sleep=2))

    run = client.prompt("Teach the gantry parser to skip blank lines, and keep its old name.")
    left_at_work = ("stop", "started", "model") in events(client) and not memory(
        client, run.session
    )
    ended(client, run.session)
    calls = len(api.children)
    client.compact(run.session)

    assert left_at_work
    assert memory(client, run.session)["form"] == "model"
    stored = handoff(client, run.session)
    assert (stored["meta"]["status"], stored["meta"]["engine"]) == ("complete", "session-memory")
    assert stored["task"] == MEMORY["task"]
    assert len(api.children) == calls
    client.prompt("Go on.", run.session)
    assert MEMORY["task"] in injected(api.talks[-1].body)


def events(client: Client) -> list[tuple[str, str, str]]:
    """Return event, outcome and reason of each line of the log."""
    return [(line["event"], line["outcome"], line["reason"]) for line in log(client)]


def sessions(client: Client) -> list[str]:
    """Return the sessions that keepthread keeps something of."""
    return [path.name for path in (client.config / "keepthread" / "sessions").iterdir()]


def ended(client: Client, session: str) -> None:
    """Wait until a model's memory of the session is stored."""
    for _ in range(3600):
        if "model" in state(client, session) and state(client, session)["state"] == "done":
            return
        time.sleep(0.05)
    raise AssertionError("no memory was stored")
