"""Starting the worker, and waiting for it: what PreCompact needs of it, without the engines it will try."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from keepthread import detached, redact
from keepthread.handoff import circuit
from keepthread.handoff.alive import running, stamp
from keepthread.handoff.checkpoint import mark_of
from keepthread.handoff.inject import settle
from keepthread.handoff.model import Handoff, Reason
from keepthread.handoff.publish import Outlet
from keepthread.handoff.store import read_worker, update_worker
from keepthread.host.config import Config
from keepthread.host.locations import happens_in, session_dir, state_dir

_ATTEMPTS = 2  # at one and the same handoff; the second follows a worker that was killed
_FOCUS = 4_000  # characters

# Engines of which it is known without loading them that no prompt of theirs is kept on this machine.
_SENT_OUT = ("", "auto", "claude", "command", "facts")


class Task(NamedTuple):
    """One upgrade: the settings, the process environment, the user's focus and note for the child's prompt."""

    config: Config
    env: Mapping[str, str]
    outlet: Outlet
    focus: str = ""
    note: str = ""


def outlet_of(config: Config, env: Mapping[str, str]) -> Outlet:
    """Return where handoffs go with these settings."""
    secrets = redact.environment_secrets({**env, **config.user})
    return Outlet(state_dir(env), config.budget, config.index, config.document, secrets)


def why_no_call(task: Task, session: str, project: str) -> Reason | None:
    """Return why no model is to be asked for this session now, or None when one is."""
    engine, folders = task.config.engine, task.config.local_only_projects
    if engine == "facts":
        return "engine_facts"
    local = happens_in(folders, task.env, task.env.get("PWD", ""), project)
    if local and not _may_stay_here(engine):
        return "engine_facts"
    worker = read_worker(task.outlet.state, session)
    return "circuit_open" if circuit.state(worker, time.time()) == "open" else None


def _may_stay_here(engine: str) -> bool:
    """Return whether one of the engines named may run on this machine; the worker finds out whether it does."""
    return any(name.strip().lower() not in _SENT_OUT for name in engine.split(","))


def start(handoff: Handoff, task: Task) -> bool:
    """Start the upgrade in a process of its own; return whether it was started.

    Of several who want the same handoff upgraded, also at the same moment, one starts it. A worker that was killed is
    followed by one more.

    Raises:
        OSError: the state folder cannot be written.
    """
    session, state = handoff["meta"]["session_id"], task.outlet.state
    job = _job(handoff, task)
    if update_worker(state, session, lambda worker: _taken(worker, job)).get("run") != job["run"]:
        return False
    try:
        pid = _spawn(session, job["run"], task.env, state)
    except OSError as problem:
        failed = {"state": "failed", "result": f"could not start: {problem.strerror}"}
        update_worker(state, session, lambda worker: {**worker, **failed})
        return False
    update_worker(state, session, lambda worker: as_process(worker, job["run"], pid))
    return True


def as_process(worker: dict[str, Any], run: str, pid: int) -> dict[str, Any]:
    """Return worker.json's content with the process of this run, unless it has ended or another run is on."""
    if worker.get("run") != run or worker.get("state") != "running":
        return worker
    return {**worker, **stamp(pid)}


def _job(handoff: Handoff, task: Task) -> dict[str, Any]:
    reference = handoff["meta"]["transcript"]
    position = reference["last_uuid"] or str(reference["size"])
    return {
        "state": "running",
        "run": os.urandom(8).hex(),
        **stamp(os.getpid()),
        "started": time.time(),
        "key": f"{handoff['meta']['ordinal']}:{position}",
        "mark": mark_of(handoff),
        "focus": redact.text(task.focus[:_FOCUS], task.outlet.secrets),
        "note": redact.text(task.note[:_FOCUS], task.outlet.secrets),
    }


def _taken(worker: dict[str, Any], job: dict[str, Any]) -> dict[str, Any]:
    """Return worker.json's content with the job in it, or as it is when there is nothing to be done."""
    same = worker.get("key") == job["key"]
    attempts = worker.get("attempts") if same else 0
    attempts = attempts if isinstance(attempts, int) else 0
    if same and (worker.get("state") == "done" or running(worker) or attempts >= _ATTEMPTS):
        return worker
    kept: dict[str, Any] = {
        key: worker[key] for key in ("complete", "failures", "failed_at") if key in worker
    }
    return {**kept, **job, "attempts": attempts + 1}


def _spawn(session: str, run: str, env: Mapping[str, str], state: str) -> int:
    # As JSON: a session id may hold what no argument can, a NUL or a lone surrogate.
    return detached.start("worker", [json.dumps(session), run], env=env, cwd=state)


def wait(state: str, session: str, seconds: float) -> None:
    """Wait until the session's worker is done, at most `seconds`."""
    settle(session_dir(state, session), seconds)
