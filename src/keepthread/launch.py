"""Starting the worker, and waiting for it: what PreCompact needs of it, without the engines it will try."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from keepthread import redact
from keepthread.handoff import circuit
from keepthread.handoff.checkpoint import now
from keepthread.handoff.inject import settle
from keepthread.handoff.model import Handoff, Reason
from keepthread.handoff.publish import Outlet
from keepthread.handoff.store import read_worker, write_worker
from keepthread.host.config import Config
from keepthread.host.locations import session_dir, state_dir


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


def why_no_call(config: Config, outlet: Outlet, session: str) -> Reason | None:
    """Return why no model is to be asked for this session now, or None when one is."""
    if config.engine == "facts":
        return "engine_facts"
    return (
        "circuit_open"
        if circuit.state(read_worker(outlet.state, session), time.time()) == "open"
        else None
    )


def start(handoff: Handoff, task: Task) -> int:
    """Start the upgrade in a process of its own and return its id; 0 when it could not be started."""
    session = handoff["meta"]["session_id"]
    state = task.outlet.state
    worker = read_worker(state, session) or {}
    job: dict[str, Any] = {
        "state": "running",
        "pid": os.getpid(),
        "focus": redact.text(task.focus, task.outlet.secrets),
        "note": redact.text(task.note, task.outlet.secrets),
        "started_at": now(),
        "position": handoff["meta"]["transcript"]["last_uuid"],
        "size": handoff["meta"]["transcript"]["size"],
    }
    job.update({key: worker[key] for key in ("complete", "failures", "failed_at") if key in worker})
    write_worker(state, session, job)
    try:
        pid = _spawn(session, task.env, state)
    except OSError as problem:
        write_worker(
            state,
            session,
            {**job, "state": "failed", "result": f"could not start: {problem.strerror}"},
        )
        return 0
    write_worker(state, session, {**job, "pid": pid})
    return pid


def _spawn(session: str, env: Mapping[str, str], state: str) -> int:
    parent = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = "import sys; sys.path.insert(0, sys.argv[1]); from keepthread.worker import main; main(sys.argv[2])"
    detached: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        detached = {"creationflags": flags | subprocess.CREATE_BREAKAWAY_FROM_JOB}
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", code, parent, session],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=state,
        env=dict(env),
        close_fds=True,
        **detached,
    )
    process.returncode = 0  # it is nobody's child from here on: no warning when this object goes
    return process.pid


def wait(state: str, session: str, seconds: float) -> None:
    """Wait until the session's worker is done, at most `seconds`."""
    settle(session_dir(state, session), seconds)
