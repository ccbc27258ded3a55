"""After a tool call: a long result is put aside and the model gets a short form of it, where its user wants that."""

from __future__ import annotations

import json

from keepthread.host.events import Event
from keepthread.host.locations import state_dir
from keepthread.running import Run


def post_tool_use(event: Event, run: Run) -> str:
    """Return the short form of a long result; nothing for any other, and the host's own result stands."""
    from keepthread.economy import spill

    found = spill.candidate(event.raw)
    if found is None:
        return ""
    from keepthread.handoff import inject

    state, session = state_dir(run.env), event.session_id
    settings = inject.settings(state, run.env)
    limits = spill.limits(settings, run.env)
    if limits is None or inject.is_off(settings, run.env, event.cwd):
        return ""
    try:
        spilled = spill.shorten(found, event.raw, limits, state, session, run.env)
    except OSError as problem:
        run.log(session, "failed", f"a long result was not put aside: {problem.strerror}")
        return ""
    if spilled is None:
        return ""
    run.log(session, "shortened", "", f"{spilled.before} characters to {spilled.after}")
    output = {"hookEventName": "PostToolUse", "updatedToolOutput": spilled.output}
    return json.dumps({"hookSpecificOutput": output})
