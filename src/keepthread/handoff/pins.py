"""Texts that their user wants kept word for word through every compaction, until they are taken off.

    <state>/pins/<key>.json       of a project; its worktrees and every path to it share one key
    <sessions folder>/pins.json   of one session

They are bounded so that all of them fit into the context whole.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from keepthread import files, redact
from keepthread.errors import KeepthreadError
from keepthread.handoff.frame import defuse
from keepthread.handoff.lock import locked
from keepthread.handoff.note import PINS
from keepthread.handoff.project import project_key
from keepthread.handoff.units import units
from keepthread.host.locations import session_dir

LONGEST = 500  # units of one pin
PROJECT_ROOM = (
    1_200  # units of all pins of a project, and of a session: together they fit their section
)
SESSION_ROOM = 600
_MARGIN = 3  # units of the bullet and the line break
_LIMIT = 1 << 20  # bytes
_MARK = re.compile(r"\[REDACTED:([a-z0-9-]{1,40})\]")


class Pins(NamedTuple):
    """A project's pins and a session's, in the order in which they were typed."""

    project: list[str]
    session: list[str]

    def all(self) -> list[str]:
        """Return all of them, the project's first: as they are numbered and shown."""
        return [*self.project, *self.session]


def load(state: str, project: str, session: str) -> Pins:
    """Return the pins that count in this project and session. Never raises."""
    ours = _read(_of_project(state, project)) if project else []
    return Pins(ours, _read(_of_session(state, session)) if session else [])


def add(state: str, text: str, *, project: str = "", session: str = "") -> bool:
    """Pin a text in a session, or without one in a project; return False when it was pinned already.

    Args:
        state: the state folder.
        text: what is to be kept; a mark of redaction in it says that it held a secret.
        project: the project's folder.
        session: the session's id.

    Raises:
        KeepthreadError: it is empty, too long, one too many, or holds a secret; nothing is stored.
        OSError: the state folder cannot be written.
    """
    text = text.strip()
    _check(text)
    path = _of_session(state, session) if session else _of_project(state, project)
    room = SESSION_ROOM if session else PROJECT_ROOM

    def change(pins: list[str]) -> list[str]:
        if text in pins:
            return pins
        if sum(map(_size, pins)) + _size(text) > room:
            raise KeepthreadError(
                f"There is no room for this pin: {len(pins)} are kept, in at most {room} characters",
                "Shorten it, or take one off: keepthread pins, keepthread unpin N.",
            )
        return [*pins, text]

    return _changed(path, change)


def remove(state: str, number: int, *, project: str, session: str) -> str:
    """Take off the pin of this number, counted from 1 as `load(...).all()` lists them; return its text.

    Raises:
        KeepthreadError: there is no such pin.
        OSError: the state folder cannot be written.
    """
    found = load(state, project, session)
    if not 1 <= number <= len(found.all()):
        raise KeepthreadError(
            f"There is no pin {number}: {len(found.all())} are kept here", "See: keepthread pins"
        )
    text = found.all()[number - 1]
    ours = number <= len(found.project)
    path = _of_project(state, project) if ours else _of_session(state, session)
    _changed(path, lambda pins: [pin for pin in pins if pin != text])
    return text


def inherit(state: str, parent: str, session: str) -> list[str]:
    """Give a forked session the pins of the one it continues, unless it has some; return what it has now."""
    own = _of_session(state, session)
    if os.path.lexists(own):
        return _read(own)
    pins = _read(_of_session(state, parent))
    if pins:
        try:
            _changed(own, lambda _: pins)
        except OSError:
            return pins  # they count for this handoff all the same
    return pins


def secret_in(text: str, secrets: Sequence[str] = ()) -> str:
    """Return the rule that finds a secret in `text`, or the one named by a mark in it, "" when it holds none."""
    mark = _MARK.search(redact.text(text, secrets))
    return mark[1] if mark else ""


def _check(text: str) -> None:
    if not text:
        raise KeepthreadError("There is no text to pin", "Write: keepthread pin TEXT")
    if rule := secret_in(text):
        raise KeepthreadError(
            f"This text is not pinned: it holds a secret (rule {rule})",
            "Pin the place where the secret is kept, not the secret.",
        )
    if (size := units(defuse(text))) > LONGEST:
        raise KeepthreadError(
            f"This pin is too long: {size} characters, and at most {LONGEST} fit",
            "Pin the core of it, or the path of a file that holds the rest.",
        )


def _size(text: str) -> int:
    return units(defuse(text)) + _MARGIN


def _of_project(state: str, project: str) -> str:
    return os.path.join(state, "pins", f"{project_key(project)}.json")


def _of_session(state: str, session: str) -> str:
    return os.path.join(session_dir(state, session), PINS)


def _read(path: str) -> list[str]:
    try:
        found = json.loads(files.read_regular(path, _LIMIT, tighten=True))
    except (OSError, ValueError, RecursionError):
        return []  # none yet, or a file that is not ours
    pins = found.get("pins") if isinstance(found, dict) else None
    return [pin for pin in pins if isinstance(pin, str)] if isinstance(pins, list) else []


def _changed(path: str, change: Callable[[list[str]], list[str]]) -> bool:
    """Change a file of pins, one process at a time; return whether it is another now."""
    folder = os.path.dirname(path)
    files.make_private(folder)
    with locked(folder):
        before = _read(path)
        after = change(before)
        if after == before:
            return False
        files.write_private(path, (json.dumps({"pins": after}, indent=2) + "\n").encode())
    return True
