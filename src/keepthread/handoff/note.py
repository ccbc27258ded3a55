"""The words behind /handoff and /pin. Standard library only: UserPromptSubmit imports this module.

A command's text must not become part of a shell command, so it takes another way: the UserPromptSubmit hook, which
gets the prompt as data, leaves it here, and the `keepthread handoff` or `keepthread pin` that the command runs takes
it up.
"""

from __future__ import annotations

import json
import os

from keepthread.files import make_private, read_regular, write_private
from keepthread.host.locations import session_dir

LIMIT = 2_000  # characters
PINS = "pins.json"  # of one session
_NOTE, _PIN = "note", "pin"  # files


def note_in(prompt: str, command: str = "handoff") -> str | None:
    """Return the note in a typed "/handoff NOTE" ("" without one), or None when the prompt is something else."""
    typed, *rest = prompt.split(maxsplit=1) or [""]
    if typed not in (f"/{command}", f"/keepthread-{command}", f"/keepthread:{command}"):
        return None
    return "".join(rest).strip()[:LIMIT]


def leave_note(state: str, session_id: str, note: str) -> None:
    """Leave a note for the session's next handoff."""
    _leave(state, session_id, _NOTE, note)


def take_note(state: str, session_id: str) -> str:
    """Return the note that was left, "" when there is none, and remove it."""
    return _take(state, session_id, _NOTE) or ""


def leave_pin(state: str, session_id: str, text: str, project: str) -> None:
    """Leave the text of a typed /pin, redacted already, and the project in which it was typed."""
    _leave(state, session_id, _PIN, json.dumps({"text": text, "project": project}))


def take_pin(state: str, session_id: str) -> tuple[str, str] | None:
    """Return the text and the project of the /pin that was left, None when there is none, and remove it."""
    try:
        left = json.loads(_take(state, session_id, _PIN) or "null")
        return str(left["text"]), str(left["project"])
    except (ValueError, KeyError, TypeError):
        return None


def _leave(state: str, session_id: str, name: str, text: str) -> None:
    folder = session_dir(state, session_id)
    make_private(folder)
    write_private(os.path.join(folder, name), text.encode("utf-8", "replace"))


def _take(state: str, session_id: str, name: str) -> str | None:
    path = os.path.join(session_dir(state, session_id), name)
    try:
        text = read_regular(path, 16 * LIMIT).decode("utf-8", "replace")
        os.unlink(path)
    except OSError:
        return None
    return text
