"""Before and after a compaction: the handoff is stored, and the host's own summary beside it."""

from __future__ import annotations

import os
from contextlib import suppress

from keepthread.host.events import Event
from keepthread.host.locations import config_dir, state_dir
from keepthread.running import Run, end_cleanly

TYPE_CHECKING = False
if TYPE_CHECKING:
    from keepthread.handoff.checkpoint import Checkpoint, Job
    from keepthread.handoff.model import Handoff, Trigger
    from keepthread.launch import Task

_TIDY = 0.1  # seconds a compaction gives to what is past its time, once a day


def pre_compact(event: Event, run: Run) -> str:
    """Store a handoff computed by code, start its upgrade, return a hint for the host's own summariser."""
    from keepthread.handoff import pins
    from keepthread.handoff.checkpoint import Job
    from keepthread.handoff.hint import render_hint
    from keepthread.host.config import load, store_resolved
    from keepthread.host.locations import happens_in, project_root
    from keepthread.host.sessions import find_transcript
    from keepthread.launch import Task, outlet_of
    from keepthread.transcript.tail import belongs

    end_cleanly()
    folder = config_dir(run.env)
    config = load(run.env, folder)
    with suppress(OSError):  # whether anything can be stored shows below, where it matters
        store_resolved(state_dir(run.env), config)
    project = project_root(run.env, event.cwd)
    if config.disable or happens_in(config.off_projects, run.env, event.cwd):
        run.log(event.session_id, "disabled")
        return ""
    path = find_transcript(event.transcript_path, event.session_id, folder, belongs)
    kept = pins.load(state_dir(run.env), project, event.session_id).all()
    trigger: Trigger = "manual" if event.trigger == "manual" else "auto"
    job = Job(event.session_id, path, project, trigger, kept)
    # PWD is where the event took place: no program of that repository is to be started.
    env = {**run.env, "PWD": event.cwd} if os.path.isdir(event.cwd) else run.env
    task = Task(config, env, outlet_of(config, run.env), focus=event.custom_instructions)
    handoff = _take(job, task, run, named=event.transcript_path)
    return render_hint(handoff) if config.guide else ""


def _take(job: Job, task: Task, run: Run, named: str) -> Handoff:
    """Store the session's handoff and start its upgrade; one that cannot be stored still serves the summariser."""
    from keepthread.handoff.checkpoint import take
    from keepthread.handoff.kept_words import UPDATE
    from keepthread.launch import start, wait, why_no_call

    outlet, session = task.outlet, job.session_id
    reason = why_no_call(task, session, job.project)
    try:
        taken = take(job, outlet, reason=reason)
        taken = _warmed(taken, task)
        meta = taken.handoff["meta"]
        asks = reason is None and (meta["status"], meta["reason"]) == ("partial", None)
        if asks and not taken.refused:
            start(taken.handoff, task)
            if task.config.mode == "wait":
                wait(outlet.state, session, task.config.timeout)
        else:
            _tidy(task, session)  # no worker does it
    except OSError as problem:
        run.log(session, "failed", f"the handoff could not be stored: {problem.strerror}")
        return take(job, outlet._replace(state=""), reason=reason).handoff
    why = meta["reason"] or "" if job.transcript_path else "no_transcript"
    other = f"the transcript used is {job.transcript_path}" if job.transcript_path != named else ""
    if taken.fresh and meta["engine"] == UPDATE:
        other = other or "an update: too little is new for another model call"
    if taken.refused:
        run.log(session, "unchanged", "a newer handoff is stored", other)
    else:
        run.log(session, meta["status"] if taken.fresh else "unchanged", why, other)
    return taken.handoff


def _warmed(taken: Checkpoint, task: Task) -> Checkpoint:
    """Return what was taken, completed from the session's memory where that is warm: then no model is asked."""
    from keepthread.handoff.kept_words import UPDATE

    meta = taken.handoff["meta"]
    stands = meta["reason"] in (None, "circuit_open") or meta["engine"] == UPDATE
    waits = meta["status"] == "partial" and stands
    if taken.refused or not waits or task.config.session_memory != "model":
        return taken
    from keepthread.memory.session.warm import warm

    handoff = warm(taken.handoff, task.outlet, focus=task.focus)
    return taken if handoff is None else taken._replace(handoff=handoff)


def _tidy(task: Task, session: str) -> None:
    from keepthread.handoff.retention import Limits, tidy
    from keepthread.host.locations import session_dir

    limits = Limits(task.config.keep_sessions, task.config.keep_days)
    tidy(task.outlet.state, limits, spare=session_dir(task.outlet.state, session), seconds=_TIDY)


def post_compact(event: Event, run: Run) -> str:
    """Keep the host's own summary beside the handoff; print nothing."""
    from keepthread import redact
    from keepthread.handoff import inject
    from keepthread.handoff.host_summary import clean_summary
    from keepthread.handoff.store import write_host_summary
    from keepthread.handoff.user_secrets import user_secrets

    if inject.is_off(inject.settings(state_dir(run.env), run.env), run.env, event.cwd):
        return ""
    summary = clean_summary(event.compact_summary)
    if not summary:
        run.log(event.session_id, "nothing", "the host sent no summary")
        return ""
    clean = redact.text(summary, user_secrets(run.env))
    write_host_summary(state_dir(run.env), event.session_id, clean)
    run.log(event.session_id, "stored")
    return ""
