"""One session as people have it: a rule, edited files, an unfinished ask; and what keepthread made of it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.support.api import (
    SUMMARY,
    Answer,
    Body,
    FakeApi,
    is_child,
    is_summariser,
    is_talk,
    talk_texts,
)
from tests.support.client import Client, Run
from tests.support.hook_runs import write_variables

FULL = 170_000  # tokens; over the 167,000 at which the model's sessions compact
RULE = "Never add a dependency to this project, and always answer in British English."
ASK = "Now teach the gantry parser to skip blank lines, and keep its old name."
EDITED = ("src/gantry/parser.py", "notes/the plan.md", "setup.cfg")
JUDGED = "Teach the gantry parser to skip blank lines without renaming it."
DOCUMENT: dict[str, Any] = {
    "task": JUDGED,
    "completed_tasks": ["The parser module exists."],
    "in_flight": "Skipping blank lines.",
    "works": ["The parser reads one line."],
    "broken": [],
    "rules": [RULE],
    "ruled_out": [{"approach": "A regular expression", "reason": "It was too slow."}],
    "file_summaries": [{"path": EDITED[0], "summary": "The parser."}],
    "issues_discovered": [],
    "open_questions": [],
    "next_steps": ["Add the blank-line branch to src/gantry/parser.py."],
    "resume_prompt": "Go on with the blank-line branch of the gantry parser.",
}


def variables(client: Client, **values: str) -> None:
    """Write keepthread's variables into the user's own file."""
    write_variables(client.config, **values)


def turn(api: FakeApi, prompt: str, *answers: Answer) -> None:
    """Answer the requests of the turn that `prompt` begins, one after the other."""
    waiting: Iterator[Answer] = iter(answers)
    api.rule(
        lambda body: is_talk(body) and prompt in talk_texts(body),
        lambda _: next(waiting),
        times=len(answers),
    )


def write(client: Client, path: str, content: str = "first\n", tokens: int = 1000) -> Answer:
    """Return an answer that writes a file of the project."""
    arguments = {"file_path": str(client.project / path), "content": content}
    return Answer(tool=("Write", arguments), input_tokens=tokens)


def edit(client: Client, path: str, tokens: int = 1000) -> Answer:
    """Return an answer that edits a file just written."""
    target = str(client.project / path)
    arguments = {"file_path": target, "old_string": "first", "new_string": "second"}
    return Answer(tool=("Edit", arguments), input_tokens=tokens)


LEFT = "And what is left to do?"


def script(client: Client, api: FakeApi, *, full: bool) -> None:
    """Lay down what the model does in the session's first two turns: it edits three files, then fills the context."""
    writes = [write(client, path) for path in EDITED]
    turn(api, RULE, *writes, edit(client, EDITED[0]), Answer("The files are there."))
    tokens = FULL if full else 1000
    turn(api, LEFT, Answer("The blank lines.", input_tokens=tokens))


def begin(client: Client, api: FakeApi, *, full: bool = True) -> str:
    """Hold the session up to its full context and return its id: a rule is typed, three files are edited."""
    script(client, api, full=full)
    run = client.converse(RULE, LEFT)
    assert run.text == "The blank lines.", run
    return run.session


def compacted(client: Client, api: FakeApi) -> tuple[str, Body]:
    """Hold the session over an automatic compaction; return its id and the request that went on."""
    script(client, api, full=True)
    run = client.converse(RULE, LEFT, ASK)
    assert (run.code, run.text) == (0, "OK."), run
    assert len(api.summaries) == 1
    return run.session, api.talks[-1].body


def go_on(client: Client, api: FakeApi, session: str) -> Run:
    """Type the ask that meets the full context; the compaction has to happen and the turn to end well."""
    before = len(api.summaries)
    run = client.prompt(ASK, session)
    assert run.code == 0, run
    assert len(api.summaries) == before + 1
    assert run.text == "OK."
    return run


def injected(body: Body) -> str:
    """Return what SessionStart hooks put into this request."""
    pattern = r"<system-reminder>\nSessionStart hook additional context: (.*?)\n</system-reminder>"
    return "\n".join(re.findall(pattern, talk_texts(body), re.DOTALL))


def assert_holds_the_thread(body: Body) -> None:
    """Check that rule, files and ask stand in the request word for word, put there by keepthread."""
    text = injected(body)
    assert RULE in text
    assert ASK in text
    for path in EDITED:
        assert path in text, path


def answer_child(api: FakeApi, answer: Answer | Callable[[Body], Answer]) -> None:
    """Answer keepthread's child."""
    api.rule(is_child, answer)


def summarise_slowly(client: Client, api: FakeApi) -> None:
    """Let the host's summary take as long as the child, as it mostly does."""

    def answer(_: Body) -> Answer:
        for path in (client.config / "keepthread" / "sessions").iterdir():
            settled(client, path.name)
        return Answer(SUMMARY)

    api.rule(is_summariser, answer)


def asked(api: FakeApi) -> int:
    """Return how often a child has begun: its first request holds no answer of its own yet."""
    roles = [[m["role"] for m in request.body["messages"]] for request in api.children]
    return sum("assistant" not in spoken for spoken in roles)


def folder(client: Client, session: str) -> Path:
    """Return where keepthread keeps the session."""
    return client.config / "keepthread" / "sessions" / session


def handoff(client: Client, session: str) -> dict[str, Any]:
    """Return the stored handoff."""
    return _json(folder(client, session) / "handoff.json")


def settled(client: Client, session: str) -> dict[str, Any]:
    """Return the stored handoff as soon as no worker is busy with it."""
    for _ in range(900):
        if _json(folder(client, session) / "worker.json").get("state") != "running":
            return handoff(client, session)
        time.sleep(0.1)
    raise AssertionError("the worker never ended")


def log(client: Client) -> list[dict[str, Any]]:
    """Return the lines of the log."""
    path = client.config / "keepthread" / "log.jsonl"
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _json(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value
