"""The state folder stays bounded, and nothing goes that anybody may still need."""

from __future__ import annotations

import fcntl
import json
import os
import time
import uuid
from pathlib import Path

import pytest

from keepthread import log
from keepthread.handoff import cleared, pins
from keepthread.handoff.retention import STAMP, Limits, tidy
from tests.support.hook_runs import World
from tests.support.session import SESSION

DAY = 86_400
LIMITS = Limits(sessions=5, days=90)
KEPT = {"handoff.json", "context.json", "index.json", "worker.json", "pins.json", "shown-context-1"}
EXTRAS = {"handoff.md", "host-summary.md", "upgrade.json"}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Return a state folder."""
    folder = tmp_path / "keepthread"
    folder.mkdir()
    return folder


def session(state: Path, days: float) -> Path:
    """Write a session's folder as it is after some compactions, last changed so many days ago."""
    folder = state / "sessions" / str(uuid.uuid4())
    folder.mkdir(parents=True)
    for name in KEPT | EXTRAS | {".lock"}:
        (folder / name).write_text("{}")
    return aged(folder, days)


def aged(path: Path, days: float) -> Path:
    """Let a file or folder have been changed last so many days ago."""
    then = time.time() - days * DAY
    os.utime(path, (then, then))
    return path


def names(folder: Path) -> set[str]:
    """Return what lies in a folder."""
    return set(os.listdir(folder))


def test_what_is_older_than_the_age_goes_whole(state: Path) -> None:
    """And one line of the log says how many."""
    old = [session(state, days) for days in (91, 200, 3000)]
    young = [session(state, days) for days in (0, 1, 89)]

    assert tidy(str(state), LIMITS) == 3

    assert [path.exists() for path in old] == [False] * 3
    assert [names(path) for path in young] == [KEPT | EXTRAS | {".lock"}] * 3
    assert names(state / "sessions") == {path.name for path in young}
    assert [(line["event"], line["reason"]) for line in log.read(str(state), limit=9)] == [
        ("retention", "3 sessions")
    ]


def test_beyond_the_count_the_handoff_itself_stays(state: Path) -> None:
    """With what is shown of it, its pins and its age; the newest stay whole."""
    folders = [session(state, days) for days in range(20)]
    before = [folder.stat().st_mtime for folder in folders]

    assert tidy(str(state), LIMITS) == 0

    assert [names(folder) >= EXTRAS for folder in folders] == [True] * 5 + [False] * 15
    assert all(names(folder) >= KEPT for folder in folders)
    assert [folder.stat().st_mtime for folder in folders] == pytest.approx(before)


@pytest.mark.parametrize("limits", [Limits(0, 0), Limits(0, 90), Limits(5, 0)])
def test_zero_is_no_limit(state: Path, limits: Limits) -> None:
    """Of either kind."""
    old = session(state, 1000)
    for _ in range(7):
        session(state, 1)

    tidy(str(state), limits)

    assert old.exists() == (limits.days == 0)
    assert not old.exists() or (names(old) >= EXTRAS) == (limits.sessions == 0)


def test_what_is_in_use_stays(state: Path) -> None:
    """The session at hand, one that a worker is busy with, one that is locked."""
    spare, worked, locked, gone = (session(state, 100) for _ in range(4))
    running = {"state": "running", "pid": os.getpid(), "started": time.time()}
    (worked / "worker.json").write_text(json.dumps(running))
    aged(worked, 100)
    with (locked / ".lock").open("r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        tidy(str(state), LIMITS, spare=str(spare))

    assert [path.exists() for path in (spare, worked, locked, gone)] == [True, True, True, False]


def test_it_works_once_a_day(state: Path) -> None:
    """The stamp says when."""
    tidy(str(state), LIMITS)
    old = session(state, 100)
    assert tidy(str(state), LIMITS) == 0
    assert old.exists()

    aged(state / STAMP, 1.1)

    assert tidy(str(state), LIMITS) == 1


@pytest.mark.parametrize("days", [400, -400])
def test_a_clock_that_jumped_removes_nothing_at_once(state: Path, days: int) -> None:
    """To it everything is old; the day after, by the same clock, it counts."""
    tidy(str(state), LIMITS)
    old = session(state, 100)
    aged(state / STAMP, days)

    assert tidy(str(state), LIMITS) == 0
    assert old.exists()

    aged(state / STAMP, 1.5)
    assert tidy(str(state), LIMITS) == 1


def test_without_time_the_rest_is_left_to_the_next_run(state: Path) -> None:
    """The same day."""
    for _ in range(3):
        session(state, 100)

    assert tidy(str(state), LIMITS, seconds=0) == 0
    assert not (state / STAMP).exists()
    assert tidy(str(state), LIMITS) == 3


def test_what_a_killed_run_had_begun_to_remove_goes_at_the_next(state: Path) -> None:
    """Nobody takes it for a session."""
    left = session(state, 100).rename(state / "sessions" / ".gone-abc-def")

    tidy(str(state), LIMITS)

    assert not left.exists()


def test_offers_of_cleared_sessions_go_after_a_day(state: Path, tmp_path: Path) -> None:
    """Pins of a project stay."""
    cleared.leave(str(state), str(tmp_path), SESSION, time.time())
    pins.add(str(state), "for good", project=str(tmp_path))
    for folder in ("cleared", "pins"):
        for path in (state / folder).iterdir():
            aged(path, 400)

    tidy(str(state), LIMITS)

    assert names(state / "cleared") == set()
    assert pins.load(str(state), str(tmp_path), "").project == ["for good"]


@pytest.mark.parametrize("make", ["file", "nothing", "link", "unreadable"])
def test_odd_state_folders_are_left_alone(state: Path, tmp_path: Path, make: str) -> None:
    """And never fail a run."""
    outside = session(tmp_path / "outside", 100)
    sessions = state / "sessions"
    if make == "file":
        sessions.write_text("")
    elif make == "link":
        sessions.mkdir()
        (sessions / outside.name).symlink_to(outside)
    elif make == "unreadable":
        sessions.mkdir(mode=0o000)

    assert tidy(str(state), LIMITS) == 0

    assert names(outside) >= KEPT


def test_a_folder_inside_a_session_is_not_entered(state: Path) -> None:
    """Nothing of ours lies in one: what does is somebody else's."""
    old = session(state, 100)
    (old / "mine").mkdir()
    (old / "mine" / "notes").write_text("keep")
    aged(old, 100)

    tidy(str(state), LIMITS)

    assert [path.read_text() for path in (state / "sessions").rglob("notes")] == ["keep"]


def test_a_compaction_does_it_when_no_worker_will(tmp_path: Path, home: Path) -> None:
    """By the variables of the user's own file alone."""
    world = World(tmp_path, home)
    world.variables(KEEP_DAYS="30")
    old, young = session(world.state, 31), session(world.state, 29)
    world.session()

    world.run("pre_compact", KEEPTHREAD_KEEP_DAYS="1", KEEPTHREAD_KEEP_SESSIONS="1")

    assert not old.exists()
    assert names(young) >= EXTRAS
    assert (world.folder_of() / "handoff.json").exists()
