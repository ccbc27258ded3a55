"""The end of a turn: when enough is new, the session's memory is brought up to date by a process of its own."""

from __future__ import annotations

import os
import time

from keepthread.host.events import Event
from keepthread.host.locations import session_dir, state_dir
from keepthread.running import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from keepthread.transcript.growth import Growth

# Seconds for the turn's last record: the host writes its transcript behind the event.
_LAG = 0.15


def stop(event: Event, run: Run) -> str:
    """Start what is due, detached, and return at once; print nothing."""
    from keepthread.handoff import inject
    from keepthread.handoff.alive import running
    from keepthread.memory.session.due import STATE, reads_on

    if event.raw.get("stop_hook_active") is True:
        return ""  # another hook has sent the model on: the turn is not over
    state = state_dir(run.env)
    settings = inject.settings(state, run.env)
    form = _form(settings, run.env)
    size = _size(event.transcript_path)
    if form == "off" or not size or inject.is_off(settings, run.env, event.cwd):
        return ""
    folder = session_dir(state, event.session_id)
    known = inject.read_json(os.path.join(folder, STATE)) or {}
    if running(known):
        return ""
    found = _due(event.transcript_path, known) if form == "model" else None
    if found is not None and running(inject.read_json(os.path.join(folder, "worker.json"))):
        return ""  # a compaction's own call comes first; the next turn asks again
    if found is not None:
        _start(event, run, "model", found.size, found.tokens)
    elif reads_on(known, event.transcript_path, size):
        _start(event, run, "facts", size, 0)
    return ""


def _form(settings: Mapping[str, Any], env: Mapping[str, str]) -> str:
    """Return "model", "facts" or "off"; the process environment may only narrow what the user chose."""
    form = settings.get("session_memory")
    told, engine = (
        env.get(f"KEEPTHREAD_{name}", "").strip().lower() for name in ("SESSION_MEMORY", "ENGINE")
    )
    if "off" in (form, told):
        return "off"
    alone = "facts" in (told, engine, settings.get("engine"))
    return "model" if form == "model" and not alone else "facts"


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size if path else 0
    except (OSError, ValueError):
        return 0


def _due(path: str, known: Mapping[str, Any]) -> Growth | None:
    """Return what the transcript says when an extraction is due."""
    from keepthread.memory.session.due import is_due

    found, since = _whole(path, known)
    return found if is_due(since, found) else None


def _whole(path: str, known: Mapping[str, Any]) -> tuple[Growth, dict[str, int] | None]:
    """Return what the transcript says as soon as the turn's last record is in it, and from where growth counts."""
    from keepthread.memory.session.due import baseline
    from keepthread.transcript.growth import growth

    until = time.monotonic() + _LAG
    while True:
        since = baseline(known, _size(path))
        found = growth(path, since["size"] if since else None)
        if found.answered or time.monotonic() > until:
            return found, since
        time.sleep(0.02)


def _start(event: Event, run: Run, form: str, size: int, tokens: int) -> None:
    """Start the extraction; what it is told of the transcript is what the rule has seen."""
    import json

    from keepthread import detached, files

    state = state_dir(run.env)
    folder = session_dir(state, event.session_id)
    files.make_private_within(state, folder)
    job = {
        "session": event.session_id,
        "transcript": event.transcript_path,
        "cwd": event.cwd,
        "size": size,
        "tokens": tokens,
        "form": form,
    }
    # As ASCII: the folder of a session may have a name that no argument can hold.
    detached.start("memory.session.run", [json.dumps(job)], env=run.env, cwd=state, yields=True)
    run.log(event.session_id, "started", form)
