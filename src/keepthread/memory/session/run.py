"""The detached process that brings one session's memory up to date; the Stop hook starts it.

One at a time per session, also across processes, and never while the session's compaction has its own worker: a worker
that begins meanwhile makes this process give way. What is begun and not ended, however that came, is taken up by the
next Stop.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from keepthread import log, redact
from keepthread.detached import watchdog
from keepthread.errors import KeepthreadError
from keepthread.handoff import circuit, pins
from keepthread.handoff.alive import running, stamp
from keepthread.handoff.checkpoint import Job
from keepthread.handoff.facts_index.opened import opened
from keepthread.handoff.facts_index.update import update as update_index
from keepthread.handoff.lock import alone
from keepthread.handoff.store import read_worker
from keepthread.host.config import load as load_config
from keepthread.host.locations import config_dir, happens_in, project_root, state_dir
from keepthread.host.sessions import find_transcript
from keepthread.memory.session import extract
from keepthread.memory.session.due import ATTEMPTS, baseline
from keepthread.memory.session.model import Memory
from keepthread.memory.session.store import (
    LOCK,
    folder_of,
    load_sound,
    read_state,
    save,
    update_state,
)
from keepthread.transcript.model import Transcript
from keepthread.transcript.read import read_transcript
from keepthread.transcript.tail import belongs

_GRACE = 30.0  # seconds past the deadline after which this process ends itself, whatever hangs
_LOOK = 0.3  # seconds between two looks for a worker of the compaction


class Asked(NamedTuple):
    """What the Stop hook asks for: the session, how far its transcript went, the context's tokens, and the form."""

    session: str
    transcript: str
    cwd: str
    size: int
    tokens: int
    form: str


def main(job_json: str) -> None:
    """Do what one Stop hook asked for, in this process, and leave a line in the log."""
    asked = Asked(**json.loads(job_json))
    # PWD is where the event took place: no program of that repository is to be started.
    env = {**os.environ, "PWD": asked.cwd} if os.path.isdir(asked.cwd) else dict(os.environ)
    setting = _setting(env)
    watchdog(setting.config.timeout + _GRACE)
    # SIGTERM unwinds, so that a model's program does not outlive this process.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    project = project_root(env, asked.cwd)
    off = setting.config.session_memory == "off" or setting.config.disable
    if off or happens_in(setting.config.off_projects, env, asked.cwd):
        return
    with alone(folder_of(setting.state, asked.session), LOCK) as free:
        if free and not running(read_worker(setting.state, asked.session)):
            _logged(asked, project, setting)


def _setting(env: Mapping[str, str]) -> extract.Setting:
    config = load_config(env, config_dir(env))
    secrets = redact.environment_secrets({**env, **config.user})
    return extract.Setting(config, env, state_dir(env), secrets)


def _logged(asked: Asked, project: str, setting: extract.Setting) -> None:
    """Do it, the lock being held, and log what came of it; an error leaves everything to the next Stop."""
    started = time.monotonic()
    outcome, reason, told = "failed", "crash", ""
    update_state(setting.state, asked.session, lambda known: _begun(known, asked))
    if asked.form == "model":
        threading.Thread(target=_give_way, args=(setting.state, asked.session), daemon=True).start()
    try:
        outcome, reason, told = _update(asked, project, setting)
    except KeepthreadError as problem:
        reason = problem.message
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
    except SystemExit:
        reason = "stopped"  # a compaction's worker began, or the machine shuts down
        raise
    finally:
        update_state(setting.state, asked.session, lambda known: {**known, "state": "done"})
        log.record(
            setting.state,
            event="memory",
            session=asked.session,
            outcome=outcome,
            reason=reason,
            seconds=time.monotonic() - started,
            detail=told,
        )


def _update(asked: Asked, project: str, setting: extract.Setting) -> tuple[str, str, str]:
    """Return outcome, reason and detail for the log."""
    state, session = setting.state, asked.session
    path = find_transcript(asked.transcript, session, config_dir(setting.env), belongs)
    index = opened(state, session, path)
    end = asked.size if path == asked.transcript else None
    transcript = read_transcript(path, end=end, known=index.known if index else None)
    source = extract.Source(transcript, index)
    kept = pins.load(state, project, session).all()
    job = Job(session, path, project, "command", kept)
    before = load_sound(state, session)
    if asked.form == "model":
        result = _by_model(job, source, before, setting, asked)
    else:
        result = ("complete", "", "")
        # What a model wrote goes when its user wants none; a project's environment only keeps it from being asked.
        chosen = (setting.config.unnarrowed or setting.config).session_memory
        if before is None or before["form"] == "facts" or chosen == "facts":
            save(state, session, extract.by_facts(job, source, before, setting))
            result = ("partial", "engine_facts", "")
    # Before the index: where that fails each time, or takes longer than there is, it is not tried after every turn.
    read = {"path": asked.transcript, "size": asked.size}
    update_state(state, session, lambda known: {**known, "read": read})
    update_index(path, session, state, setting.secrets)
    return result


def _by_model(
    job: Job,
    source: extract.Source,
    before: Memory | None,
    setting: extract.Setting,
    asked: Asked,
) -> tuple[str, str, str]:
    state, session = setting.state, job.session_id
    mark = {"size": asked.size, "tokens": asked.tokens}
    # The process that wrote it was killed before it could say so.
    if _holds(before, source.transcript):
        _end(state, session, mark, "")
        return "unchanged", "", ""
    if _circuit_open(state, session):
        return "partial", "circuit_open", ""
    update = extract.ask(job, source, before, setting, asked.tokens)
    memory = update.memory
    if memory is None and (before is None or before["form"] == "facts"):
        memory = extract.by_facts(job, source, before, setting)
    if memory is not None:
        save(state, session, memory)
    _end(state, session, mark, update.reason)
    return "partial" if update.reason else "complete", update.reason, "; ".join(update.told)


def _holds(memory: Memory | None, transcript: Transcript) -> bool:
    """Return whether a model has written this memory of this very transcript, or of more of it."""
    if memory is None or memory["form"] != "model":
        return False
    reference = memory["handoff"]["meta"]["transcript"]
    return (
        reference["path"] == transcript.path
        and reference["size"] >= transcript.size
        and transcript.holds(reference["last_uuid"])
    )


def _circuit_open(state: str, session: str) -> bool:
    now = time.time()
    known = (read_worker(state, session), read_state(state, session))
    return any(circuit.state(one, now) == "open" for one in known)


def _begun(known: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """Return memory-state.json with this process at work, and how often this point has been begun already."""
    after = {**known, "state": "running", **stamp(os.getpid()), "started": time.time()}
    if asked.form != "model":
        return after
    begun = known.get("begun")
    count = begun.get("count") if isinstance(begun, dict) else 0
    since = baseline(known, asked.size)
    given_up = isinstance(begun, dict) and since is not None and since["size"] == begun.get("size")
    count = count if isinstance(count, int) and count < ATTEMPTS and not given_up else 0
    return {**after, "begun": {"size": asked.size, "tokens": asked.tokens, "count": count + 1}}


def _end(state: str, session: str, mark: dict[str, int], reason: str) -> None:
    """Enter that this point is done, by a model or without one, and count the failure for the circuit breaker."""

    def change(known: dict[str, Any]) -> dict[str, Any]:
        after = circuit.after(known, reason or None, not reason, time.time())
        after.pop("begun", None)
        return {**after, "tried" if reason else "model": mark}

    update_state(state, session, change)


def _give_way(state: str, session: str) -> None:
    """End this process as soon as the session's compaction has a worker of its own."""
    while not running(read_worker(state, session)):
        time.sleep(_LOOK)
    os.kill(os.getpid(), signal.SIGTERM)
