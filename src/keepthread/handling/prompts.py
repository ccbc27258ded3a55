"""A typed prompt: the words of a command are kept for it, and a late answer is delivered."""

from __future__ import annotations

import time

from keepthread.handling.starts import NOTHING, is_rewound
from keepthread.host.events import Event
from keepthread.host.locations import state_dir
from keepthread.running import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


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
    from keepthread.handoff.user_secrets import user_secrets
    from keepthread.host.locations import project_root

    state = state_dir(run.env)
    if inject.is_off(inject.settings(state, run.env), run.env, event.cwd):
        return False
    secrets = user_secrets(run.env)
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
    if is_rewound(upgrade, event, run):
        return ""
    run.undo = lambda: late.put_back(state, session)
    run.log(session, "shown", "the late answer")
    text = inject.compose(upgrade, NOTHING, int(settings["budget"]), time.time(), run.env)
    return inject.output(text, "", "UserPromptSubmit")
