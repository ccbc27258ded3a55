"""Starting the worker: once per handoff, whoever asks and however many at once; and what its process leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from keepthread import launch, log, worker
from keepthread.handoff.store import read_worker, update_worker
from keepthread.host.config import Config
from tests.support.handoffs import make_partial
from tests.support.session import SESSION

GONE = 2**22 + 1  # above the highest process number of Linux


@pytest.fixture
def task(home: Path) -> launch.Task:
    """A task whose state lies in the test's home."""
    env = {"HOME": str(home), "PATH": os.defpath}
    config = Config(engine="auto", document="off")
    return launch.Task(config, env, launch.outlet_of(config, env))


@pytest.fixture
def spawned(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The runs for which a process would have been started; each seems to be this very process."""
    runs: list[str] = []

    def spawn(session: str, run: str, env: object, state: str) -> int:
        runs.append(run)
        return os.getpid()

    monkeypatch.setattr(launch, "_spawn", spawn)
    return runs


def known(task: launch.Task) -> dict[str, Any]:
    return read_worker(task.outlet.state, SESSION) or {}


def change(task: launch.Task, **fields: Any) -> None:
    update_worker(task.outlet.state, SESSION, lambda worker: {**worker, **fields})


def test_a_job_says_what_it_is_for_and_keeps_what_was_known(task, spawned):
    update_worker(
        task.outlet.state,
        SESSION,
        lambda _: {"failures": 2, "complete": {"size": 1}, "result": "old"},
    )
    assert launch.start(make_partial(), task._replace(focus="keep the names"))
    job = known(task)
    assert (job["state"], job["pid"], job["attempts"], job["run"]) == (
        "running",
        os.getpid(),
        1,
        spawned[0],
    )
    assert (job["failures"], job["complete"], job["focus"]) == (2, {"size": 1}, "keep the names")
    assert "result" not in job


def test_of_many_at_once_one_starts_it(task, spawned):
    started: list[bool] = []
    threads = [
        threading.Thread(target=lambda: started.append(launch.start(make_partial(), task)))
        for _ in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (started.count(True), len(spawned)) == (1, 1)


def test_a_killed_one_is_followed_by_one_more_and_no_third(task, spawned):
    outcomes = []
    for _ in range(4):
        outcomes.append(launch.start(make_partial(), task))
        change(task, pid=GONE)
    assert outcomes == [True, True, False, False]


def test_one_that_came_to_its_end_is_not_repeated_for_the_same_handoff(task, spawned):
    launch.start(make_partial(), task)
    change(task, state="done")
    assert not launch.start(make_partial(), task)
    assert launch.start(make_partial(meta={"ordinal": 9}), task)


def test_a_program_that_cannot_be_started_is_entered_and_tried_once_more(task, monkeypatch):
    def spawn(*arguments: object) -> int:
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(launch, "_spawn", spawn)
    assert [launch.start(make_partial(), task) for _ in range(3)] == [False] * 3
    job = known(task)
    assert (job["state"], job["attempts"]) == ("failed", 2)
    assert job["result"] == "could not start: Resource temporarily unavailable"


def test_secrets_of_the_focus_stay_out_of_the_job_and_it_is_bounded(task, spawned):
    token = "ghp" + "_" + "a1B2" * 9
    launch.start(make_partial(), task._replace(focus=f"use {token} " + "x" * 50_000))
    text = json.dumps(known(task))
    assert token not in text
    assert len(text) < 10_000


def test_the_number_of_a_process_is_entered_only_for_the_run_it_belongs_to():
    job = {"run": "a", "state": "running", "pid": 1}
    assert launch.as_process(job, "a", 7)["pid"] == 7
    assert launch.as_process(job, "b", 7) == job
    assert launch.as_process({**job, "state": "done"}, "a", 7)["pid"] == 1


@pytest.mark.parametrize(
    ("changes", "failures", "reason"),
    [
        ({}, 0, None),
        ({"engine": "facts"}, 0, "engine_facts"),
        ({}, 3, "circuit_open"),
        ({"local_only_projects": ("/home/dev",)}, 0, "engine_facts"),
        ({"local_only_projects": ("/home/other",)}, 0, None),
    ],
)
def test_why_no_model_is_asked(task, changes, failures, reason):

    update_worker(
        task.outlet.state, SESSION, lambda _: {"failures": failures, "failed_at": time.time()}
    )
    asked = task._replace(config=replace(task.config, **changes))
    assert launch.why_no_call(asked, SESSION, "/home/dev/proj") == reason


def test_a_worker_whose_job_was_taken_over_leaves_it_alone_but_counts_its_failure(task, spawned):
    launch.start(make_partial(), task)
    worker._ended(task.outlet.state, SESSION, "an older run", "partial", "timeout")
    job = known(task)
    assert (job["state"], job["run"], job["failures"]) == ("running", spawned[0], 1)
    worker._ended(task.outlet.state, SESSION, spawned[0], "complete", "")
    job = known(task)
    assert (job["state"], job["result"], job["failures"]) == ("done", "complete", 0)


def test_the_process_is_detached_and_enters_its_own_end(task, home):
    """Nothing is stored for this session, so the worker finds nothing to do, says so, and is gone."""
    session = "a'b\0c"
    update_worker(
        task.outlet.state, session, lambda _: {"run": "r", "state": "running", "pid": GONE}
    )
    pid = launch._spawn(session, "r", task.env, task.outlet.state)
    assert os.getsid(pid) == pid
    os.waitpid(pid, 0)
    job = read_worker(task.outlet.state, session)
    assert job is not None
    assert (job["state"], job["pid"]) == ("done", pid)
    [line] = log.read(task.outlet.state, limit=9)
    assert (line["event"], line["outcome"]) == ("worker", "failed")


def test_waiting_ends_when_the_worker_does_or_the_time_is_over(task):
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        update_worker(
            task.outlet.state, SESSION, lambda _: {"state": "running", "pid": sleeper.pid}
        )
        launch.wait(task.outlet.state, SESSION, 0.05)
    finally:
        sleeper.kill()
        sleeper.wait(60)
    launch.wait(task.outlet.state, SESSION, 60)
