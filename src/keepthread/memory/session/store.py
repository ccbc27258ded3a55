"""A session's memory on disk, beside its handoff; every file is private and whole.

session-memory.json   the document; session-memory.md is its rendering
memory-state.json     what the Stop hook goes by (see `due`)
.memory-lock          held by the one process that brings the memory up to date
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from keepthread import files
from keepthread.handoff.inject import read_json
from keepthread.handoff.schema import validate
from keepthread.host.locations import session_dir
from keepthread.memory.session.bounds import MOST
from keepthread.memory.session.due import STATE
from keepthread.memory.session.model import VERSION, Memory
from keepthread.memory.session.render import render

DOCUMENT = "session-memory.json"
MARKDOWN = "session-memory.md"
LOCK = ".memory-lock"


def load(state: str, session: str) -> Memory | None:
    """Return the session's memory; None when there is none that this version can read. Never raises."""
    value = read_json(os.path.join(session_dir(state, session), DOCUMENT))
    if (
        value is None
        or value.get("version") != VERSION
        or value.get("form") not in ("model", "facts")
    ):
        return None
    whole = _has(value, ("extras", "handoff")) and _has(value["handoff"], ("meta", "facts"))
    if not whole or not _has(value["handoff"]["meta"], ("transcript",)):
        return None
    return cast(Memory, value)


def load_sound(state: str, session: str) -> Memory | None:
    """Return the session's memory as `load` does, but only one whose handoff meets the schema, field by field."""
    memory = load(state, session)
    if memory is None or validate(memory["handoff"]) or not _are_extras(memory["extras"]):
        return None
    return memory


def save(state: str, session: str, memory: Memory) -> None:
    """Store the memory and its rendering, redacted already; a crash between the two leaves each of them whole.

    Raises:
        OSError: a file could not be written; on a full disk the old ones stay.
    """
    folder = folder_of(state, session)
    files.remove_stale_temps(folder)
    document = json.dumps(memory, ensure_ascii=False) + "\n"
    contents = {MARKDOWN: render(memory), DOCUMENT: document}
    files.write_private_together(
        folder, [(name, text.encode("utf-8", "replace")) for name, text in contents.items()]
    )


def read_state(state: str, session: str) -> dict[str, Any]:
    """Return memory-state.json, {} when there is none."""
    return read_json(os.path.join(session_dir(state, session), STATE)) or {}


def update_state(
    state: str, session: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """Let `change` make the new memory-state.json; the caller holds the lock. A full disk leaves the old one."""
    with suppress(OSError):
        after = change(read_state(state, session))
        path = os.path.join(folder_of(state, session), STATE)
        files.write_private(path, (json.dumps(after) + "\n").encode())


def folder_of(state: str, session: str) -> str:
    """Return the session's folder, which is there now and private.

    Raises:
        OSError: it cannot be made.
    """
    folder = session_dir(state, session)
    files.make_private_within(state, folder)
    return folder


def _are_extras(value: Any) -> bool:
    lists = [value.get(name) for name in MOST]
    texts = [value.get("title"), *(text for one in lists if isinstance(one, list) for text in one)]
    return all(isinstance(one, list) for one in lists) and all(isinstance(t, str) for t in texts)


def _has(value: Any, names: tuple[str, ...]) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), dict) for name in names)
