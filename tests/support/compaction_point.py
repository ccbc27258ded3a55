"""At how many reported tokens the real client compacts: the API's stand-in reports them, hooks tell what came."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.api import Answer, Body, FakeApi, is_summariser, is_talk, talk_texts
from tests.support.client import Client
from tests.support.recorder import Recorder

_OUTPUT = 10  # tokens of each answer, part of what is reported
_WORDS = "turn {} of it"
_NUMBER = re.compile(r"turn (\d+) of it")


class Decision(NamedTuple):
    """What the client did when a prompt came while the API had last reported `tokens` in context.

    `fired` is whether PreCompact(auto) ran, `summarised` whether the host asked for a summary too, `refused` whether
    the prompt never reached the API: the client holds the context for full.
    """

    tokens: int
    earlier_turns: int
    fired: bool
    summarised: bool
    refused: bool


class Setup(NamedTuple):
    """A model, variables of its environment, and its user's settings."""

    model: str
    env: Mapping[str, str] = {}
    settings: Mapping[str, Any] = {}


def decisions(executable: Path, setup: Setup, reports: Sequence[int]) -> list[Decision]:
    """Hold a session in which the turns report `reports` tokens one after the other; return what each next prompt did.

    It ends with the first that compacted, for what is in context after it was not reported.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, FakeApi() as api:
        client, recorder = _client(executable, Path(folder), api, setup)
        api.rule(is_talk, lambda body: _answer(reports, _turn(body)))
        run = client.converse(*map(_WORDS.format, range(len(reports) + 1)), model=setup.model)
        sent = {_turn(talk.body) for talk in api.talks}
        assert 0 in sent, run
        fired, summarised = _fired(recorder.labels), _summarised(api)
    found = []
    for number, tokens in enumerate(reports, 1):
        refused = number not in sent
        found.append(Decision(tokens, number, number in fired, number in summarised, refused))
        if number in fired | summarised or refused:
            break
    return found


def _turn(body: Body) -> int:
    """Return which prompt a request goes on from; it need not be the last message, -1 when there is none."""
    return max((int(number) for number in _NUMBER.findall(talk_texts(body))), default=-1)


def _answer(reports: Sequence[int], turn: int) -> Answer:
    tokens = reports[turn] if 0 <= turn < len(reports) else 1_000
    return Answer(input_tokens=tokens - _OUTPUT, output_tokens=_OUTPUT)


def _fired(labels: Sequence[str]) -> set[int]:
    """Return the numbers of the prompts before whose answer the client announced an automatic compaction."""
    prompt, found = -1, set()
    for label in labels:
        if label == "UserPromptSubmit":
            prompt += 1
        elif label == "PreCompact(auto)":
            found.add(prompt)
    return found


def _summarised(api: FakeApi) -> set[int]:
    """Return the numbers of the prompts before whose answer the client asked for a summary."""
    turns, found = 0, set()
    talks = {id(request) for request in api.talks}
    for request in list(api.requests):
        if is_summariser(request.body):
            found.add(turns)
        elif id(request) in talks:
            turns += 1
    return found


def _client(executable: Path, folder: Path, api: FakeApi, setup: Setup) -> tuple[Client, Recorder]:
    home, project = folder / "home", folder / "proj"
    home.mkdir()
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    client = Client(executable, home.resolve(), project.resolve(), api, dict(setup.env))
    recorder = Recorder(folder / "recorder")
    for event in ("UserPromptSubmit", "PreCompact"):
        recorder.add(event)
    recorder.install(client)
    hooks = json.loads((client.config / "settings.json").read_text(encoding="utf-8"))
    client.settings({**setup.settings, **hooks})
    return client, recorder
