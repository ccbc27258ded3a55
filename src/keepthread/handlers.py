"""One function per event: event in, output out. The only catch-all of the project stands here.

The host reads standard output of a hook and its exit code; both are ours to keep harmless, whatever happens. Imports
stand in the functions: SessionStart must not pay for what PreCompact needs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from keepthread.errors import KeepthreadError
from keepthread.host.events import Event, parse, read_stdin
from keepthread.host.locations import config_dir, state_dir

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from typing import Literal


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
        return
    if event.agent_id:
        return  # a subagent's compaction is not the session's
    try:
        text = HANDLERS[name](event, run)
    except KeepthreadError as problem:
        run.log(event.session_id, "failed", problem.message)
    except Exception as problem:
        run.log(event.session_id, "failed", f"bug: {_where(problem)}")
    else:
        _print(text)


class Run:
    """One run of a hook: its environment, its clock, and the line it leaves in the log."""

    def __init__(self, name: str, env: Mapping[str, str], started: float) -> None:
        self.name = name
        self.env = env
        self.started = started

    def log(self, session: str, outcome: str, reason: str = "", engine: str = "") -> None:
        """Leave this run's line in the log; without a state folder there is nowhere to leave it."""
        from keepthread import log

        try:
            state = state_dir(self.env)
        except KeepthreadError:
            return
        log.record(
            state,
            event=self.name,
            session=session,
            outcome=outcome,
            reason=reason,
            engine=engine,
            seconds=time.monotonic() - self.started,
        )


def _where(problem: BaseException) -> str:
    """Return the kind of the exception and where it arose; its text may hold words of the transcript."""
    frame = problem.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None:
        return type(problem).__name__
    file = os.path.basename(frame.tb_frame.f_code.co_filename)
    return f"{type(problem).__name__} at {file}:{frame.tb_lineno}"


def _print(text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(1, data) :]


def pre_compact(event: Event, run: Run) -> str:
    """Store a handoff computed by code, start its upgrade, return a hint for the host's own summariser."""
    from keepthread.handoff.checkpoint import Job, take
    from keepthread.handoff.hint import render_hint
    from keepthread.host.config import load, store_resolved
    from keepthread.host.locations import inside_any, project_root
    from keepthread.host.sessions import find_transcript
    from keepthread.launch import Task, outlet_of, start, wait, why_no_call

    folder = config_dir(run.env)
    config = load(run.env, folder)
    outlet = outlet_of(config, run.env)
    store_resolved(outlet.state, config)
    project = project_root(run.env, event.cwd)
    if config.disable or inside_any(project, config.off_projects):
        run.log(event.session_id, "disabled")
        return ""
    path = find_transcript(event.transcript_path, event.session_id, folder)
    trigger: Literal["manual", "auto"] = "manual" if event.trigger == "manual" else "auto"
    taken = take(
        Job(event.session_id, path, project, trigger),
        outlet,
        reason=why_no_call(config, outlet, event.session_id),
    )
    handoff = taken.handoff
    if taken.fresh and handoff["meta"]["reason"] is None:
        start(handoff, Task(config, run.env, outlet, focus=event.custom_instructions))
        if config.mode == "wait":
            wait(outlet.state, event.session_id, config.timeout)
    reason = handoff["meta"]["reason"] or ""
    run.log(event.session_id, handoff["meta"]["status"] if taken.fresh else "unchanged", reason)
    return render_hint(handoff) if config.guide else ""


def session_start(event: Event, run: Run) -> str:
    """Return the stored context of this session as additional context, once per compaction."""
    return _inject(event, run, "context")


def session_index(event: Event, run: Run) -> str:
    """Return the stored index of exact names: an output of its own, with a cap of its own."""
    return _inject(event, run, "index")


def _inject(event: Event, run: Run, kind: str) -> str:
    from keepthread.handoff import inject
    from keepthread.host.locations import session_dir

    state = state_dir(run.env)
    settings = inject.settings(state, run.env)
    if event.source not in settings["sources"] or inject.is_off(settings, run.env, event.cwd):
        return ""
    running = inject.settle(session_dir(state, event.session_id), settings["join"])
    stored = inject.find(state, event.session_id, event.transcript_path, kind)
    if stored is None:
        run.log(event.session_id, "nothing", "no handoff is stored for this session")
        missing = event.source == "compact" and kind == "context"
        return (
            inject.output("", "keepthread: no handoff was stored for this session.")
            if missing
            else ""
        )
    own = stored.get("session_id") == event.session_id
    newer = inject.news(stored, event.transcript_path, own)
    # The compaction that fires this event writes its boundary only later; a resume after it finds it in the file.
    compactions = newer["boundaries"] + (event.source == "compact")
    key = f"{stored.get('key')}:{compactions}"
    if not inject.claim(state, event.session_id, kind, key):
        run.log(event.session_id, "shown before")
        return ""
    if kind == "index":
        run.log(event.session_id, "shown")
        return inject.output(str(stored.get("text", "")), "")
    text = inject.compose(stored, newer, int(settings["budget"]), time.time())
    run.log(event.session_id, "shown", str(stored.get("reason") or ""))
    return inject.output(text, inject.notice(stored, running))


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
    """Keep the note of a typed /handoff for the command that follows; print nothing."""
    from keepthread.handoff.note import leave_note, note_in

    note = note_in(event.prompt)
    if note:
        from keepthread import redact

        secrets = redact.environment_secrets(run.env)
        leave_note(state_dir(run.env), event.session_id, redact.text(note, secrets))
    return ""


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
        reason=f"bug: {_where(problem)}",
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
}
