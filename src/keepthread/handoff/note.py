"""The note of "/handoff NOTE". Standard library only: UserPromptSubmit imports this module.

A command's text must not become part of a shell command, so the note takes another way: the UserPromptSubmit hook,
which gets the prompt as data, leaves it here, and the `keepthread handoff` that the command runs takes it up.
"""

from __future__ import annotations

import os

from keepthread.files import make_private, read_regular, write_private
from keepthread.host.locations import session_dir

_COMMANDS = ("handoff", "keepthread-handoff", "keepthread:handoff")
LIMIT = 2_000  # characters


def note_in(prompt: str) -> str | None:
    """Return the note in a typed "/handoff NOTE" ("" without one), or None when the prompt is something else."""
    command, *rest = prompt.split(maxsplit=1) or [""]
    if not command.startswith("/") or command[1:] not in _COMMANDS:
        return None
    return "".join(rest).strip()[:LIMIT]


def leave_note(state: str, session_id: str, note: str) -> None:
    """Leave a note for the session's next handoff."""
    folder = session_dir(state, session_id)
    make_private(folder)
    write_private(os.path.join(folder, "note"), note.encode("utf-8", "replace"))


def take_note(state: str, session_id: str) -> str:
    """Return the note that was left, "" when there is none, and remove it."""
    path = os.path.join(session_dir(state, session_id), "note")
    try:
        note = read_regular(path, 4 * LIMIT).decode("utf-8", "replace")
        os.unlink(path)
    except OSError:
        return ""
    return note
