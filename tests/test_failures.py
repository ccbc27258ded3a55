"""A failure is told at the next session start: once, in one line, to whoever starts one."""

from __future__ import annotations

import errno
import json
import os
import time
from pathlib import Path

import pytest

from keepthread import log
from keepthread.handoff.failures import untold
from tests.support.hook_runs import World
from tests.support.session import SESSION

OTHER = "77777777-7777-4777-8777-777777777777"


@pytest.fixture
def world(tmp_path: Path, home: Path) -> World:
    """Return an empty home and a project."""
    return World(tmp_path, home)


def failed(
    world: World, event: str = "pre_compact", reason: str = "no space left", **more: str
) -> None:
    """Leave a failure in the log."""
    outcome = more.get("outcome", "failed")
    log.record(str(world.state), event=event, session=SESSION, outcome=outcome, reason=reason)


def told(world: World, session: str = OTHER, source: str = "startup") -> str:
    """Start a session and return the line for the person."""
    return world.run("session_start", world.event("session_start", session, source=source)).notice


@pytest.mark.parametrize("source", ["startup", "resume", "compact", "fork", "clear"])
def test_the_next_start_tells_it_once(world: World, source: str) -> None:
    """Whatever kind of start it is."""
    failed(world)

    line = told(world, source=source)

    assert line.startswith("keepthread: pre_compact failed at 20")
    assert "no space left" in line
    assert "`keepthread logs`" in line
    assert "\n" not in line
    assert "failed at" not in told(world, source=source)
    assert "failed at" not in told(world, SESSION, source=source)


def test_the_index_s_hook_tells_nothing(world: World) -> None:
    """One line, not two."""
    failed(world)

    assert (
        world.run("session_index", world.event("session_index", OTHER, source="startup")).stdout
        == ""
    )
    assert told(world)


def test_several_are_one_line_and_a_new_one_is_told_anew(world: World) -> None:
    """The newest, and how many more."""
    for reason in ("first", "second", "third"):
        failed(world, reason=reason)
    assert "third (and 2 more)" in told(world)
    assert told(world) == ""

    failed(world, reason="fourth")

    assert "fourth; see" in told(world)
    assert len(list(world.state.glob("told-*"))) == 1


@pytest.mark.parametrize("reason", ["timeout", "no_login", "bad_answer"])
def test_a_worker_that_got_no_answer_is_a_failure(world: World, reason: str) -> None:
    """A choice is none."""
    failed(world, "worker", reason, outcome="partial")
    assert "worker failed at 2" in told(world)
    failed(world, "worker", "engine_facts", outcome="partial")
    failed(world, "worker", "", outcome="complete")
    assert told(world) == ""


def test_what_the_person_saw_at_the_terminal_is_not_told_again(world: World) -> None:
    """Commands say themselves what failed."""
    failed(world, "cli")
    failed(world, "handoff", "timeout", outcome="partial")

    assert told(world) == ""


def test_it_stands_in_one_line_with_what_was_restored(world: World) -> None:
    """Under 300 characters."""
    world.session()
    world.run("pre_compact")
    failed(world, "post_compact", "r" * 200)

    line = told(world, SESSION, "compact")

    assert line.startswith("keepthread: post_compact failed at")
    assert "handoff restored" in line
    assert len(line) < 300


def test_a_partial_that_says_why_is_not_told_twice(world: World) -> None:
    """The line about what was restored gives the reason."""
    world.session()
    world.run("pre_compact")
    failed(world, "worker", "timeout", outcome="partial")

    line = told(world, SESSION, "compact")

    assert line.startswith("keepthread: handoff restored")
    assert "failed" not in line
    assert told(world) == ""


def test_a_compaction_without_a_handoff_tells_its_reason_once(world: World) -> None:
    """Not once more as a failure."""
    failed(world)

    line = told(world, SESSION, "compact")

    assert line.count("no space left") == 1
    assert told(world) == ""


def test_an_old_failure_is_history(world: World) -> None:
    """After a week."""
    failed(world)

    assert untold(str(world.state), OTHER, "", 4e9) == ""


def test_nothing_is_told_where_keepthread_is_off(world: World) -> None:
    """Not even that."""
    failed(world)
    (world.state / "settings.json").write_text(json.dumps({"off_projects": [str(world.project)]}))

    assert told(world) == ""


def test_a_state_folder_that_cannot_be_written_still_tells(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That may be the failure itself."""
    failed(world)
    real = os.open

    def opened(path: str, flags: int, mode: int = 0o777) -> int:
        if "told-" in str(path):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(path, flags, mode)

    monkeypatch.setattr("os.open", opened)

    assert "no space left" in untold(str(world.state), OTHER, "", time.time())


@pytest.mark.parametrize(
    "data", [b"", b"\n\n", b'{"outcome":"failed"', b'["failed"]\n', b"\xff\x00" * 99_999]
)
def test_a_damaged_log_tells_nothing(world: World, data: bytes) -> None:
    """And breaks nothing."""
    world.state.mkdir(parents=True)
    (world.state / "log.jsonl").write_bytes(data)

    assert untold(str(world.state), OTHER, "", time.time()) == ""
