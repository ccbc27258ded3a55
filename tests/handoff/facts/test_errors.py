from __future__ import annotations

import pytest

from keepthread.handoff.facts import commands, errors
from keepthread.handoff.facts.paths import Paths
from tests.handoff.facts.talk import PROJECT, Talk
from tests.support.handoffs import make_handoff


def standing(talk: Talk) -> list[tuple[str, str]]:
    found = errors.standing(talk.items, commands.runs(talk.items), Paths(PROJECT))
    return [(each["what"], each["error"]) for each in found]


def test_a_failure_stands_until_the_same_command_succeeds():
    talk = Talk()
    talk.fail("npm run build", "src/a.ts:3 error TS2304: Cannot find name 'Foo'.")
    talk.bash("npm run lint", "ok")

    assert standing(talk) == [
        ("npm run build", "Exit code 1\nsrc/a.ts:3 error TS2304: Cannot find name 'Foo'.")
    ]

    talk.bash("cd /home/dev/proj && npm run build 2>&1 | tail -3", "built in 2s")

    assert standing(talk) == []


@pytest.mark.parametrize(
    ("failed", "success", "stands"),
    [
        ("pytest tests/test_a.py", "pytest", False),
        ("pytest tests/test_a.py -k x", "pytest tests/test_a.py -q", False),
        ("pytest tests/test_a.py", "pytest tests/test_b.py", True),
        ("pytest", "pytest tests/test_a.py", True),
        ("pytest", "pytest -k footer", True),
        ("pytest tests/test_a.py", "pytest tests/test_a.py tests/test_b.py", False),
        ("pytest tests/test_a.py tests/test_b.py", "pytest tests/test_a.py", True),
        ("go test ./...", "go test ./... -run TestOne", True),
        ("git push", "git push --set-upstream origin main", False),
        ("docker compose up -d", "docker compose ps", True),
        ("python3 run.py --a", "python3 run.py --b", False),
        ("npm run build", "npm test", True),
    ],
)
def test_a_wider_run_or_a_retry_settles_it_a_narrower_one_does_not(failed, success, stands):
    talk = Talk()
    talk.fail(failed, "error: broken")
    talk.bash(success, "1 passed in 0.1s")

    assert bool(standing(talk)) is stands


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("grep -rn foo src", ""),
        ("ls nowhere", "ls: nowhere: No such file or directory"),
        ("diff a b", "1c1"),
        ("true && which tool", ""),
    ],
)
def test_looking_around_in_vain_is_no_error(command, output):
    talk = Talk()
    talk.fail(command, output)

    assert standing(talk) == []


@pytest.mark.parametrize(
    "text",
    [
        "<tool_use_error>File has not been read yet. Read it first.</tool_use_error>",
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
        "<tool_use_error>File has been modified since read</tool_use_error>",
    ],
)
def test_what_the_host_sorts_out_by_itself_is_no_error(text):
    talk = Talk()
    talk.call("Edit", {"file_path": "/home/dev/proj/a.py"}, text, error=True)

    assert standing(talk) == []


def test_an_edit_that_never_succeeded_stands():
    talk = Talk()
    talk.call(
        "Edit",
        {"file_path": "/home/dev/proj/a.py"},
        "String to replace not found in file.",
        error=True,
    )

    assert [what for what, _ in standing(talk)] == ["Edit /home/dev/proj/a.py"]

    talk.edit("/home/dev/proj/a.py")

    assert standing(talk) == []


def test_a_refusal_is_no_error():
    talk = Talk()
    talk.call("Bash", {"command": "make deploy"}, "refused", error=True, rejected=True)

    assert standing(talk) == []


def test_a_pipeline_that_hides_the_exit_code_fails_all_the_same():
    talk = Talk()
    talk.bash("pytest 2>&1 | tail -5", "FAILED tests/test_a.py::test_b\n1 failed, 3 passed in 1.0s")

    [(what, error)] = standing(talk)

    assert what == "pytest 2>&1 | tail -5"
    assert "FAILED tests/test_a.py::test_b" in error


def test_the_telling_lines_of_a_long_output_are_kept_within_bounds():
    text = "\n".join(
        [
            "Exit code 1",
            *(f"compiling part {number}" for number in range(500)),
            "src/x.rs:9: error: no field `größe`",
        ]
        + [f"    at frame (file.js:{number}:1)" for number in range(200)]
        + ["could not compile `proj`"]
    )

    found = errors.telling(text)

    assert "error: no field `größe`" in found
    assert "could not compile `proj`" in found
    assert len(found) <= 400


def test_one_off_scripts_that_failed_long_ago_have_been_given_up():
    talk = Talk()
    talk.fail("python3 - <<'PY'\nimport nothing\nPY", "ModuleNotFoundError: nothing")
    talk.fail("cargo test", "error: could not compile")
    for _ in range(60):
        talk.reply("thinking")

    assert [what for what, _ in standing(talk)] == ["cargo test"]


def test_a_wider_run_that_failed_stands_for_the_narrower_one_before_it():
    talk = Talk()
    talk.fail("pytest tests/test_a.py", "1 failed in 0.1s")
    talk.fail("pytest", "2 failed in 0.1s")

    assert [what for what, _ in standing(talk)] == ["pytest"]


@pytest.mark.parametrize(
    ("since", "carried"),
    [
        ([], True),
        ([("ruff check", "All checks passed!")], True),
        ([("pytest tests/test_a.py", "1 passed in 0.1s")], True),
        ([("pytest -q", "9 passed in 0.1s")], False),
    ],
)
def test_a_failed_check_of_the_previous_handoff_stands_until_a_run_settles_it(since, carried):
    told = {"what": "pytest -q", "error": "1 failed in 0.1s", "source": "u1"}
    other = {"what": "python3 one_off.py", "error": "boom", "source": "u2"}
    previous = make_handoff(
        meta={"generated_at": "2026-11-01T10:00:00Z"}, facts={"errors": [told, other]}
    )
    talk = Talk()
    for command, output in since:
        talk.bash(command, output)
    left = errors.carried(previous, commands.runs(talk.items), "2026-11-01T13:00:00Z")

    aged = {**told, "error": "1 failed in 0.1s (from the handoff 3 h ago)"}
    assert left == ([aged] if carried else [])
