"""The edge of the hooks: one event in, at most one output out. The only catch-all of the project stands here.

The host reads standard output of a hook and its exit code; both are ours to keep harmless, whatever happens. What an
event is answered with stands in `keepthread.handling`, and is loaded only for that event: SessionStart must not pay for
what PreCompact needs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from keepthread.errors import KeepthreadError
from keepthread.host.events import Event, parse, read_stdin
from keepthread.host.locations import state_dir
from keepthread.platforms import speak_utf8
from keepthread.running import Run, where, write_out

Handler = Callable[[Event, Run], str]


def main(name: str) -> None:
    """Run the hook `name`: its event on stdin, at most one output on stdout, one line in the log."""
    speak_utf8()
    env = dict(os.environ)
    started = time.monotonic()
    data = read_stdin()
    if env.get("KEEPTHREAD_CHILD"):
        return  # this is the model call of a hook: answering its events would start another one
    run = Run(name, env, started)
    event = parse(data) or (Event({}) if name in LINES else None)
    if event is None:
        run.log("", "ignored", "stdin held no JSON object")
    elif not event.session_id and name not in LINES:
        run.log("", "ignored", "the event names no session")
    elif not event.agent_id:  # a subagent's compaction is not the session's
        _answer(event, run)


def _answer(event: Event, run: Run) -> None:
    try:
        text = HANDLERS[run.name](event, run)
    except KeepthreadError as problem:
        run.log(event.session_id, "failed", problem.message)
        text = LINES.get(run.name, "")
    except Exception as problem:
        kind = "" if isinstance(problem, (OSError, MemoryError)) else "bug: "  # else the machine's
        run.log(event.session_id, "failed", f"{kind}{where(problem)}")
        text = LINES.get(run.name, "")
    try:
        write_out(text)
    except OSError as problem:
        run.undo()
        run.log(event.session_id, "failed", f"the host took no output: {problem.strerror}")


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


def _in(module: str, name: str) -> Handler:
    """Return the handler `name` of a module of `keepthread.handling`, which is loaded when an event comes."""

    def handler(event: Event, run: Run) -> str:
        loaded = __import__(f"keepthread.handling.{module}", fromlist=[name])
        text: str = getattr(loaded, name)(event, run)
        return text

    return handler


# One for each script in hooks/.
HANDLERS: Mapping[str, Handler] = {
    "pre_compact": _in("compaction", "pre_compact"),
    "post_compact": _in("compaction", "post_compact"),
    "session_start": _in("starts", "session_start"),
    "session_index": _in("starts", "session_index"),
    "team_memory": _in("memories", "team_memory"),
    "user_prompt_submit": _in("prompts", "user_prompt_submit"),
    "session_end": _in("endings", "session_end"),
    "status_line": _in("status_line", "status_line"),
    "stop": _in("turns", "stop"),
    "post_tool_use": _in("tools", "post_tool_use"),
}

# What is printed when a handler fails whose every run owes a line; it is also asked where no event names a session.
LINES: Mapping[str, str] = {"status_line": "keepthread: see `keepthread logs`"}
