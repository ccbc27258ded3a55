from __future__ import annotations

import pytest

from keepthread.handoff.facts import commands, tasks
from tests.handoff.facts.talk import Talk


def ranked(talk: Talk) -> list[tuple[str, str, int]]:
    runs = commands.runs(talk.items, tasks.finished(talk.items))
    return [
        (each["command"], each["outcome"], each["count"])
        for each in commands.ranked(runs, len(talk.items))
    ]


def check(talk: Talk):
    return commands.last_check(commands.runs(talk.items))


def test_runs_of_the_same_command_are_one_entry_with_the_last_outcome():
    talk = Talk()
    talk.fail("npm test", "1 failing")
    talk.bash("cd /home/dev/proj && npm  test 2>&1 | tail -5", "2 passing")

    [(command, outcome, count)] = ranked(talk)

    assert (outcome, count) == ("ok", 2)
    assert command.endswith("npm test 2>&1 | tail -5")


def test_what_builds_and_runs_stands_before_what_only_looks():
    talk = Talk()
    talk.bash("cargo build", "Finished")
    talk.bash("git commit -m x", "[main abc1234] x")
    for name in ("ls -la", "cat a.txt", "grep -rn foo src | head", "git status"):
        talk.bash(name)

    assert {command for command, _, _ in ranked(talk)[:2]} == {"cargo build", "git commit -m x"}


def test_every_outcome_is_told():
    talk = Talk()
    talk.bash("make ok", "done")
    talk.fail("make failed", "boom")
    talk.call("Bash", {"command": "make refused"}, "no", error=True, rejected=True)
    talk.bash("make stopped", "", interrupted=True)
    talk.bash("npm run dev", "Command running in background with ID: b1", backgroundTaskId="b1")
    talk.call("Bash", {"command": "make open"}, None)

    assert {command: outcome for command, outcome, _ in ranked(talk)} == {
        "make ok": "ok",
        "make failed": "failed",
        "make refused": "rejected",
        "make stopped": "interrupted",
        "npm run dev": "running",
        "make open": "unknown",
    }


def test_background_work_that_was_reported_as_done_runs_no_more():
    talk = Talk()
    talk.bash("npm run dev", "", backgroundTaskId="b1")
    talk.host("<task-notification><task-id>b1</task-id><status>completed</status>")

    assert ranked(talk)[0][1] == "ok"


def test_long_commands_are_cut_and_the_list_is_bounded():
    talk = Talk()
    for number in range(100):
        talk.bash(f"deploy --host h{number} " + "x" * 500)

    found = ranked(talk)

    assert len(found) == commands.MOST
    assert all(len(command) <= 302 for command, _, _ in found)


@pytest.mark.parametrize(
    ("command", "output", "outcome", "result"),
    [
        (
            "pytest -q",
            "..F\n= 1 failed, 210 passed in 3.2s =",
            "failed",
            "1 failed, 210 passed in 3.2s",
        ),
        ("uv run pytest | tail -3", "3 passed in 0.1s", "ok", "3 passed in 0.1s"),
        ("python -m unittest", "Ran 4 tests in 0.1s\n\nOK", "ok", "Ran 4 tests in 0.1s; OK"),
        (
            "cargo test",
            "test result: ok. 5 passed; 0 failed;\ntest result: ok. 2 passed; 0 failed;",
            "ok",
            "test result: ok. 7 passed in 2 suites",
        ),
        (
            "cargo build",
            "error[E0308]: mismatched types\n",
            "failed",
            "1 error: error[E0308]: mismatched types",
        ),
        ("go test ./...", "--- FAIL: TestA (0.0s)\nFAIL", "failed", "FAIL: TestA"),
        ("go test ./...", "ok  \tx/y\t0.01s\nok  \tx/z\t(cached)", "ok", "ok: 2 packages"),
        (
            "npx vitest run",
            " Tests  2 failed | 10 passed (12)",
            "failed",
            "Tests  2 failed | 10 passed (12)",
        ),
        ("npm test", "  5 passing (2s)\n  1 failing", "failed", "5 passing (2s); 1 failing"),
        (
            "npx tsc --noEmit",
            "a.ts(1,2): error TS2304: no x",
            "failed",
            "1 error: a.ts(1,2): error TS2304: no x",
        ),
        (
            "npx eslint .",
            "✖ 3 problems (3 errors, 0 warnings)",
            "failed",
            "✖ 3 problems (3 errors, 0 warnings)",
        ),
        ("ruff check .", "Found 2 errors.", "failed", "Found 2 errors."),
        (
            "mypy src",
            "Success: no issues found in 9 source files",
            "ok",
            "Success: no issues found in 9 source files",
        ),
        ("./gradlew build", "BUILD SUCCESSFUL in 3s", "ok", "BUILD SUCCESSFUL in 3s"),
        (
            "mvn test",
            "[ERROR] Tests run: 8, Failures: 1, Errors: 0",
            "failed",
            "[ERROR] Tests run: 8, Failures: 1, Errors: 0",
        ),
        (
            "dotnet test",
            "Failed!  - Failed: 1, Passed: 3",
            "failed",
            "Failed!  - Failed: 1, Passed: 3",
        ),
        (
            "vendor/bin/phpunit",
            "OK (12 tests, 30 assertions)",
            "ok",
            "OK (12 tests, 30 assertions)",
        ),
        ("bundle exec rspec", "10 examples, 0 failures", "ok", "10 examples, 0 failures"),
        (
            "mix test",
            "14 doctests, 73 tests, 0 failures",
            "ok",
            "14 doctests, 73 tests, 0 failures",
        ),
        ("make check", "all good\n", "ok", "all good"),
        ("pnpm --filter api build", "built in 3.1s", "ok", "built in 3.1s"),
    ],
)
def test_the_last_check_is_told_in_one_line_of_its_output(command, output, outcome, result):
    talk = Talk()
    run = talk.fail if outcome == "failed" else talk.bash
    run(command, output)
    talk.bash("git status")

    found = check(talk)

    assert found is not None
    assert (found["outcome"], " ".join(found["result"].split())) == (
        outcome,
        " ".join(result.split()),
    )


def test_a_check_without_a_telling_line_falls_back_to_the_exit_code():
    talk = Talk()
    talk.bash("make lint", "Exit code 2\nsomething odd happened", error=True)

    found = check(talk)

    assert found is not None
    assert found["result"] == "exit code 2: something odd happened"


def test_of_a_long_command_line_only_the_check_is_shown():
    talk = Talk()
    talk.bash("cat >> t.py <<'EOF'\nassert 1\nEOF\npytest t.py -q", "1 passed in 0.1s")

    found = check(talk)

    assert found is not None
    assert found["command"] == "pytest t.py -q"


def test_a_summary_that_tells_of_failures_counts_whatever_the_exit_code():
    talk = Talk()
    talk.bash("pytest -q; echo done", "= 1 failed, 210 passed in 3.2s =\ndone")
    assert check(talk)["outcome"] == "failed"

    talk.bash("npx tsc --noEmit | head", "a.ts(1,2): error TS2304: no x")
    assert check(talk)["outcome"] == "failed"


def test_errors_printed_by_a_run_that_succeeded_belong_to_its_tests():
    talk = Talk()
    talk.bash("bun run test", "error: Database connection failed\n 120 pass\n 0 fail\n")

    found = check(talk)

    assert found is not None
    assert (found["outcome"], found["result"]) == ("ok", "120 pass; 0 fail")


@pytest.mark.parametrize(
    "command", ["ls tests", "cat Makefile", "npm install", "pytest --version", "git log"]
)
def test_what_is_no_check_is_taken_for_none(command):
    talk = Talk()
    talk.bash(command, "ok")

    assert check(talk) is None


def test_commands_typed_by_the_user_count_too():
    talk = Talk()
    talk.user("make deploy", via="bash")

    assert ranked(talk) == [("make deploy", "unknown", 1)]


def test_a_background_check_ended_as_its_notice_says() -> None:
    talk = Talk()
    talk.call("Bash", {"command": "pnpm build"}, "running", backgroundTaskId="b1")
    talk.host(
        "<task-notification><task-id>b1</task-id><status>failed</status>"
        "<summary>Background command failed with exit code 2</summary></task-notification>"
    )

    runs = commands.runs(talk.items, tasks.finished(talk.items))

    assert [(run.outcome, run.result) for run in runs] == [("failed", "ended in the background")]
