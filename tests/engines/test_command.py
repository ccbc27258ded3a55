"""Any program as an engine: argument list, prompt on stdin, JSON on stdout."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from keepthread.engines.command import CommandEngine
from keepthread.engines.model import Answer, Setup
from tests.engines.asking import DOCUMENT, PROMPT, REQUEST, ask, failed, program, setup

ECHO = f"""#!{sys.executable} -I
import json, os, sys
seen = {{"argv": sys.argv[1:], "env": dict(os.environ), "cwd": os.getcwd(), "files": os.listdir(),
        "stdin": sys.stdin.read()}}
json.dump(seen, open(os.path.join(os.path.dirname(__file__), "seen.json"), "w"))
print({json.dumps(json.dumps(DOCUMENT))})
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    return program(tmp_path / "my script", ECHO)


def says(tmp_path: Path, text: str, code: int = 0, to: str = "stdout") -> CommandEngine:
    body = f"#!{sys.executable} -I\nimport sys\nsys.stdin.read()\nsys.{to}.write({text!r})\nsys.exit({code})\n"
    return engine(program(tmp_path / "says", body))


def engine(command: str, **env: str) -> CommandEngine:
    return CommandEngine(setup({"COMMAND": command}, {"PATH": "/usr/bin:/bin", **env}))


def seen(tmp_path: Path) -> dict[str, object]:
    return dict(json.loads((tmp_path / "seen.json").read_text()))


def test_the_answer_of_a_program_is_taken(script: str) -> None:
    """Without tokens and cost: it cannot say them."""
    assert ask(engine(f"'{script}'")) == Answer(DOCUMENT, "command")


def test_the_prompt_goes_through_stdin_and_the_words_become_arguments(
    script: str, tmp_path: Path
) -> None:
    """No shell looks at them."""
    ask(engine(f"'{script}' --mode \"a b\" '$HOME' ';' 'rm -rf x'"))
    found = seen(tmp_path)

    assert found["argv"] == ["--mode", "a b", "$HOME", ";", "rm -rf x"]
    stdin = str(found["stdin"])
    assert stdin.startswith(REQUEST.system)
    assert PROMPT in stdin
    assert '"next_steps"' in stdin  # the schema


def test_its_folder_is_empty_and_its_environment_free_of_the_host(
    script: str, tmp_path: Path
) -> None:
    """Should it be a coding agent, our hooks do nothing in it."""
    ask(engine(f"'{script}'", CLAUDECODE="1", KEEPTHREAD_TIMEOUT="5", MY_KEY="k"))
    found = seen(tmp_path)
    env = found["env"]

    assert isinstance(env, dict)
    assert found["files"] == []
    assert (env["KEEPTHREAD_CHILD"], env["MY_KEY"]) == ("1", "k")
    assert not {"CLAUDECODE", "KEEPTHREAD_TIMEOUT"} & set(env)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("", "KEEPTHREAD_COMMAND is not set"),
        ("/no/such/program x", "/no/such/program was not found"),
        ("no-such-program", "no-such-program was not found"),
        ("bin/tool", "bin/tool was not found"),
        ("./tool", "./tool was not found"),
        ("'open quote", "KEEPTHREAD_COMMAND cannot be split into words: No closing quotation"),
    ],
)
def test_what_cannot_be_run_is_named(command: str, why: str) -> None:
    """Before anything is started, with the variable that helps."""
    asked = engine(command)
    found = failed(asked)

    assert (found.reason, found.permanent, found.detail) == ("no_login", True, why)
    assert asked.readiness().why == why
    assert "KEEPTHREAD_COMMAND" in asked.readiness().fix


def test_a_program_on_path_counts_only_outside_the_project(tmp_path: Path) -> None:
    """A repository must not bring its own."""
    project = tmp_path / "project"
    (project / "bin").mkdir(parents=True)
    program(project / "bin" / "tool", ECHO)
    outside = tmp_path / "outside"
    outside.mkdir()
    env = {"PATH": f"{project}/bin:relative:{outside}"}

    def found() -> str:
        made = Setup({"KEEPTHREAD_COMMAND": "tool"}, env, "/c", str(project))
        return CommandEngine(made).readiness().why

    assert found() == "tool was not found"
    program(outside / "tool", ECHO)
    assert found() == str(outside / "tool")


def test_the_environments_command_does_not_count(script: str) -> None:
    """Only the user's own file names programs."""
    asked = CommandEngine(setup({}, {"KEEPTHREAD_COMMAND": script}))
    assert asked.readiness().why == "KEEPTHREAD_COMMAND is not set"


@pytest.mark.parametrize(
    ("text", "code", "to", "reason", "words"),
    [
        ("nothing of use", 0, "stdout", "bad_answer", "no JSON object"),
        ("", 0, "stdout", "bad_answer", "empty"),
        ('{"task": "x"}', 0, "stdout", "bad_answer", "next_steps is missing"),
        ("I'm sorry, I can't help.", 0, "stdout", "bad_answer", "refusal"),
        ("Not logged in", 1, "stderr", "no_login", "exit code 1: Not logged in"),
        ("Error: rate limit reached", 3, "stderr", "rate_limit", "exit code 3"),
        ("Traceback: a secret", 1, "stderr", "bad_answer", "exit code 1"),
    ],
)
def test_what_is_no_answer_is_named(
    tmp_path: Path, text: str, code: int, to: str, reason: str, words: str
) -> None:
    """Of its own words only known ones are passed on."""
    found = failed(says(tmp_path, text, code, to))

    assert found.reason == reason
    assert words in found.detail
    assert "a secret" not in found.detail


def test_a_chatty_answer_is_read(tmp_path: Path) -> None:
    """Fences, thoughts and prose around it."""
    text = f"Sure!\n```json\n{json.dumps(DOCUMENT)}\n```\nAnything else?"
    assert ask(says(tmp_path, text)).document == DOCUMENT


def test_it_is_never_local(script: str) -> None:
    """What it does with its input cannot be known."""
    assert engine(f"'{script}'").local is False


def test_no_program_of_the_repository_at_work_is_found_on_path(tmp_path):
    """The session works in a package of it; npm has put the repository's own folder on PATH."""
    app = tmp_path / "repo" / "packages" / "app"
    app.mkdir(parents=True)
    (tmp_path / "repo" / ".git").mkdir()
    planted = tmp_path / "repo" / "node_modules" / ".bin" / "summarise"
    planted.parent.mkdir(parents=True)
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    env = {"PATH": str(planted.parent), "PWD": str(app)}
    made = Setup({"KEEPTHREAD_COMMAND": "summarise"}, env, str(tmp_path), "")
    assert not CommandEngine(made).readiness().ready
