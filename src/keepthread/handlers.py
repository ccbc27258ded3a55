"""One function per event: event in, output out. The only catch-all of the project stands here.

The host reads standard output of a hook and its exit code; both are ours to keep harmless, whatever happens. Imports
stand in the functions: SessionStart must not pay for what PreCompact needs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from keepthread.errors import KeepthreadError
from keepthread.host.events import Event, parse, read_stdin
from keepthread.host.locations import config_dir, state_dir
from keepthread.running import Run, where, write_out

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from keepthread.handoff.checkpoint import Job
    from keepthread.handoff.model import Handoff, Trigger
    from keepthread.launch import Task

_JOIN = 8.0  # seconds at most to wait for a worker, whatever a settings file says
_TIDY = 0.1  # seconds a compaction gives to what is past its time, once a day
_FRESH = ("startup", "clear")  # sources of a start from nothing
_NOTHING: Mapping[str, Any] = {"asks": [], "edits": []}  # has happened since
_REWOUND = "keepthread: the handoff was not put back: the talk was rewound past it."
_LINE = 299  # characters of the line for the person


def main(name: str) -> None:
    """Run the hook `name`: its event on stdin, at most one output on stdout, one line in the log."""
    env = dict(os.environ)
    started = time.monotonic()
    data = read_stdin()
    if env.get("KEEPTHREAD_CHILD"):
        return  # this is the model call of a hook: answering its events would start another one
    run = Run(name, env, started)
    event = parse(data)
    if event is None:
        run.log("", "ignored", "stdin held no JSON object")
    elif not event.session_id:
        run.log("", "ignored", "the event names no session")
    elif not event.agent_id:  # a subagent's compaction is not the session's
        _answer(event, run)


def _answer(event: Event, run: Run) -> None:
    try:
        text = HANDLERS[run.name](event, run)
    except KeepthreadError as problem:
        run.log(event.session_id, "failed", problem.message)
        return
    except Exception as problem:
        run.log(event.session_id, "failed", f"bug: {where(problem)}")
        return
    try:
        write_out(text)
    except OSError as problem:
        run.undo()
        run.log(event.session_id, "failed", f"the host took no output: {problem.strerror}")


def pre_compact(event: Event, run: Run) -> str:
    """Store a handoff computed by code, start its upgrade, return a hint for the host's own summariser."""
    from keepthread.handoff import pins
    from keepthread.handoff.checkpoint import Job
    from keepthread.handoff.hint import render_hint
    from keepthread.host.config import load, store_resolved
    from keepthread.host.locations import inside_any, project_root
    from keepthread.host.sessions import find_transcript
    from keepthread.launch import Task, outlet_of
    from keepthread.transcript.tail import belongs

    _end_cleanly()
    folder = config_dir(run.env)
    config = load(run.env, folder)
    with suppress(OSError):  # whether anything can be stored shows below, where it matters
        store_resolved(state_dir(run.env), config)
    project = project_root(run.env, event.cwd)
    if config.disable or inside_any(project, config.off_projects):
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
    reason = why_no_call(task.config, outlet, session, job.project)
    try:
        taken = take(job, outlet, reason=reason)
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


def _tidy(task: Task, session: str) -> None:
    from keepthread.handoff.retention import Limits, tidy
    from keepthread.host.locations import session_dir

    limits = Limits(task.config.keep_sessions, task.config.keep_days)
    tidy(task.outlet.state, limits, spare=session_dir(task.outlet.state, session), seconds=_TIDY)


def _end_cleanly() -> None:
    """Let SIGTERM unwind: no temporary file is left, and the hook ends with 0."""
    import signal
    import sys

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


def session_start(event: Event, run: Run) -> str:
    """Return the stored context of this session as additional context, once per compaction."""
    return _inject(event, run, "context")


def session_index(event: Event, run: Run) -> str:
    """Return the stored index of exact names: an output of its own, with a cap of its own."""
    return _inject(event, run, "index")


def _inject(event: Event, run: Run, kind: str) -> str:
    from keepthread.handoff import inject
    from keepthread.host.locations import session_dir

    state, session = state_dir(run.env), event.session_id
    settings = inject.settings(state, run.env)
    if inject.is_off(settings, run.env, event.cwd):
        return ""
    wanted = event.source in settings["sources"]
    offered = event.source in _FRESH and "clear" in settings["sources"]
    text, notice, told = "", "", ""
    if wanted or offered:
        running = inject.settle(session_dir(state, session), min(settings["join"], _JOIN))
        stored = inject.find(state, session, event.transcript_path)
        if stored is not None and wanted and _is_rewound(stored, event, run):
            notice, told = _REWOUND, "worker"
        elif stored is not None:
            text = _restored(stored, event, run, kind) if wanted else ""
            notice = inject.notice(stored, running) if text else ""
            told = "worker"
        elif offered:
            text, notice = _offered(event, run, kind)
        else:
            run.log(session, "nothing", "no handoff is stored for this session")
            if event.source == "compact" and kind == "context":
                notice, told = inject.why_nothing(state, session), "pre_compact"
    return inject.output(text, _with_failure(notice, event, run, told) if kind == "context" else "")


def _is_rewound(stored: dict[str, Any], event: Event, run: Run) -> bool:
    """Return whether the words that the handoff ends with were taken back; the log says so."""
    from keepthread.handoff import inject

    own = stored.get("session_id") == event.session_id
    if not inject.rewound(stored, event.transcript_path, own):
        return False
    run.log(event.session_id, "not shown", "the talk was rewound past the handoff")
    return True


def _restored(stored: dict[str, Any], event: Event, run: Run, kind: str) -> str:
    """Return the session's own text, once per compaction."""
    from keepthread.handoff import inject

    session = event.session_id
    newer = inject.news(stored, event.transcript_path, stored.get("session_id") == session)
    position = inject.position_key(stored)
    far = newer["boundaries"] < 0  # too far to count them: shown once is shown then
    if far and inject.was_shown(state_dir(run.env), session, kind, position):
        run.log(session, "shown before")
        return ""
    # The compaction that fires this event writes its boundary only later; a resume after it finds it in the file.
    compactions = newer["boundaries"] + (event.source == "compact")
    key = f"{position}:{'far' if far else compactions}"
    return _shown(stored, newer, key, event, run, kind)


def _offered(event: Event, run: Run, kind: str) -> tuple[str, str]:
    """Return the text that a session cleared before leaves to this one, and the line for the person."""
    from keepthread.handoff import cleared, inject
    from keepthread.host.locations import project_root

    state, project = state_dir(run.env), project_root(run.env, event.cwd)
    stored = cleared.offer(state, project, event.session_id, time.time())
    if stored is None:
        return "", ""
    text = _shown(stored, _NOTHING, f"cleared:{inject.position_key(stored)}", event, run, kind)
    release = run.undo

    def undo() -> None:
        release()
        cleared.withdraw(state, project)

    run.undo = undo
    return text, str(stored["notice"]) if text else ""


def _shown(
    stored: dict[str, Any], newer: Mapping[str, Any], key: str, event: Event, run: Run, kind: str
) -> str:
    """Return the text of one kind and remember that it was shown; "" when it was."""
    from keepthread.handoff import inject

    state, session = state_dir(run.env), event.session_id
    if not inject.claim(state, session, kind, key, str(stored.get("status"))):
        run.log(session, "shown before")
        return ""
    run.undo = lambda: inject.release(state, session, kind, key)
    run.log(session, "shown", str(stored.get("reason") or ""))
    if kind == "index":
        return inject.find_index(state, stored)
    budget = int(inject.settings(state, run.env)["budget"])
    return inject.compose(stored, newer, budget, time.time(), run.env)


def _with_failure(notice: str, event: Event, run: Run, told: str) -> str:
    """Return the line for the person; a failure that nobody was told of stands in it, once."""
    from keepthread.handoff.failures import untold

    failure = untold(state_dir(run.env), event.session_id, told, time.time())
    if not failure or not notice:
        return failure or notice
    return f"{failure}; {notice.removeprefix('keepthread: ')}"[:_LINE]


def session_end(event: Event, run: Run) -> str:
    """Leave what a session came to, when its user clears it, to the next one of the project; print nothing."""
    if event.reason != "clear":
        return ""
    from keepthread.handoff import cleared, pins
    from keepthread.handoff.checkpoint import Job, take
    from keepthread.host.config import load, store_resolved
    from keepthread.host.locations import inside_any, project_root
    from keepthread.host.sessions import find_transcript
    from keepthread.launch import outlet_of
    from keepthread.transcript.tail import belongs

    _end_cleanly()
    folder = config_dir(run.env)
    config = load(run.env, folder)
    state, session = state_dir(run.env), event.session_id
    project = project_root(run.env, event.cwd)
    store_resolved(state, config)
    if "clear" not in config.sources or config.disable or inside_any(project, config.off_projects):
        return ""
    path = find_transcript(event.transcript_path, session, folder, belongs)
    job = Job(session, path, project, "command", pins.load(state, project, session).all())
    taken = take(job, outlet_of(config, run.env), reason="engine_facts")
    handoff, status = taken.handoff, taken.handoff["meta"]["status"]
    said = bool(handoff["facts"]["user_messages"] or handoff["files_touched"])
    if said and project:
        cleared.leave(state, project, session, time.time())
    run.log(session, ("unchanged" if taken.refused else status) if said else "nothing")
    return ""


def post_compact(event: Event, run: Run) -> str:
    """Keep the host's own summary beside the handoff; print nothing."""
    from keepthread import redact
    from keepthread.handoff import inject
    from keepthread.handoff.host_summary import clean_summary
    from keepthread.handoff.store import write_host_summary

    if inject.is_off(inject.settings(state_dir(run.env), run.env), run.env, event.cwd):
        return ""
    summary = clean_summary(event.compact_summary)
    if not summary:
        run.log(event.session_id, "nothing", "the host sent no summary")
        return ""
    secrets = redact.environment_secrets(run.env)
    write_host_summary(state_dir(run.env), event.session_id, redact.text(summary, secrets))
    run.log(event.session_id, "stored")
    return ""


def user_prompt_submit(event: Event, run: Run) -> str:
    """Keep the words of a typed /handoff or /pin for the command that follows; deliver a late answer, once."""
    from keepthread.handoff import late
    from keepthread.handoff.note import note_in

    note, pin = note_in(event.prompt), note_in(event.prompt, "pin")
    if (note or pin is not None) and not _leave_words(note or "", pin, event, run):
        return ""
    upgrade = late.due(state_dir(run.env), event.session_id)
    return _deliver(upgrade, event, run) if upgrade else ""


def _leave_words(note: str, pin: str | None, event: Event, run: Run) -> bool:
    """Leave what was typed behind the command; return False where keepthread is off."""
    from keepthread import redact
    from keepthread.handoff import inject
    from keepthread.handoff.note import leave_note, leave_pin
    from keepthread.host.locations import project_root

    state = state_dir(run.env)
    if inject.is_off(inject.settings(state, run.env), run.env, event.cwd):
        return False
    secrets = redact.environment_secrets(run.env)
    if pin is not None:
        project = project_root(run.env, event.cwd)
        leave_pin(state, event.session_id, redact.text(pin, secrets), project)
    else:
        leave_note(state, event.session_id, redact.text(note, secrets))
    return True


def _deliver(upgrade: dict[str, Any], event: Event, run: Run) -> str:
    from keepthread.handoff import inject, late

    state, session = state_dir(run.env), event.session_id
    settings = inject.settings(state, run.env)
    if inject.is_off(settings, run.env, event.cwd) or not late.take(state, session):
        return ""
    if _is_rewound(upgrade, event, run):
        return ""
    run.undo = lambda: late.put_back(state, session)
    run.log(session, "shown", "the late answer")
    text = inject.compose(upgrade, _NOTHING, int(settings["budget"]), time.time(), run.env)
    return inject.output(text, "", "UserPromptSubmit")


def log_bug(env: Mapping[str, str], problem: Exception) -> str:
    """Log an exception nobody foresaw, with the places it went through but no words of its text; return the file."""
    import traceback

    from keepthread import log

    try:
        state = state_dir(env)
    except KeepthreadError:
        return "no state folder"
    trail = [
        f"{os.path.basename(frame.filename)}:{frame.lineno}"
        for frame in traceback.extract_tb(problem.__traceback__)
    ]
    detail = " < ".join(reversed(trail))
    log.record(
        state,
        event="cli",
        session="",
        outcome="failed",
        reason=f"bug: {where(problem)}",
        detail=detail,
    )
    return os.path.join(state, "log.jsonl")


def guard(action: Callable[[], int], on_bug: Callable[[Exception], int]) -> int:
    """Run an action of the command line; what it did not foresee goes to `on_bug`. Return the exit code."""
    try:
        return action()
    except Exception as problem:
        return on_bug(problem)


HANDLERS: Mapping[str, Callable[[Event, Run], str]] = {
    "pre_compact": pre_compact,
    "session_start": session_start,
    "session_index": session_index,
    "post_compact": post_compact,
    "user_prompt_submit": user_prompt_submit,
    "session_end": session_end,
}
