"""The start of a session, or its going on: the stored context and index are put back."""

from __future__ import annotations

import time
from collections.abc import Mapping

from keepthread.host.events import Event
from keepthread.host.locations import state_dir
from keepthread.running import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_JOIN = 8.0  # seconds at most to wait for a worker, whatever a settings file says
_FRESH = ("startup", "clear")  # sources of a start from nothing
NOTHING: Mapping[str, Any] = {"asks": [], "edits": []}  # has happened since
_REWOUND = "keepthread: the handoff was not put back: the talk was rewound past it."
_LINE = 299  # characters of the line for the person


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
        left = min(settings["join"], _JOIN) - (time.monotonic() - run.started)
        running = inject.settle(session_dir(state, session), left)
        stored = inject.find(state, session, event.transcript_path)
        if stored is not None and wanted and is_rewound(stored, event, run):
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


def is_rewound(stored: dict[str, Any], event: Event, run: Run) -> bool:
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
    text = _shown(stored, NOTHING, f"cleared:{inject.position_key(stored)}", event, run, kind)
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
