"""The end of a session: what its user clears is left to the next one."""

from __future__ import annotations

import time

from keepthread.host.events import Event
from keepthread.host.locations import config_dir, state_dir
from keepthread.running import Run, end_cleanly


def session_end(event: Event, run: Run) -> str:
    """Leave what a session came to, when its user clears it, to the next one of the project; print nothing."""
    if event.reason != "clear":
        return ""
    from keepthread.handoff import cleared, pins
    from keepthread.handoff.checkpoint import Job, take
    from keepthread.host.config import load, store_resolved
    from keepthread.host.locations import happens_in, project_root
    from keepthread.host.sessions import find_transcript
    from keepthread.launch import outlet_of
    from keepthread.transcript.tail import belongs

    end_cleanly()
    folder = config_dir(run.env)
    config = load(run.env, folder)
    state, session = state_dir(run.env), event.session_id
    project = project_root(run.env, event.cwd)
    store_resolved(state, config)
    if (
        "clear" not in config.sources
        or config.disable
        or happens_in(config.off_projects, run.env, event.cwd)
    ):
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
