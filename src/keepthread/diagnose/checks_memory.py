"""The memories: is the team's trusted and sound, and is the session's kept up to date."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack

from keepthread.diagnose.check import FIX, Check, Place, finding, listed, note
from keepthread.errors import KeepthreadError
from keepthread.memory import trust, where
from keepthread.memory.checks import Finding
from keepthread.memory.checks import check as look_through
from keepthread.memory.places import open_all, place_of
from keepthread.memory.session.status import standing

_MOST = 500  # entries that are read through here; `keepthread memory check` reads all
_LOOK = "keepthread memory check"


def check(place: Place) -> Iterator[Check]:
    """Yield what is found about the memories of the project at hand."""
    yield _session(place)
    if place.project:
        yield _team(place)
        yield _entries(place)


def _session(place: Place) -> Check:
    name = "session memory"
    found = standing(place.env, place.cwd)
    if found["setting"] == "off":
        return note(name, "off")
    if found["circuit"] == "open":
        detail = "three calls in a row failed; the next is made half an hour after the last"
        return note(name, detail, "keepthread logs; keepthread doctor --live")
    written = found["generated_at"]
    state = (
        f"that of the newest session is of {written}"
        if written
        else "the newest session has none yet"
    )
    return note(
        name, f"kept {'by a model' if found['setting'] == 'model' else 'without a model'}; {state}"
    )


def _team(place: Place) -> Check:
    name = "team memory"
    at = where.where(place.env, place.cwd)
    root = at.team_root() if at else ""
    if at is None or not root or not where.holds_something(root):
        return note(name, "this project has none")
    state = trust.standing_now(trust.read(at.private_path), root)
    told = {
        trust.TRUSTED: "is trusted and shown to sessions",
        trust.REFUSED: "is kept out of sessions, as you decided",
        trust.UNKNOWN: "is kept out of sessions until you have looked at it",
        trust.CHANGED: "is kept out of sessions: it comes from elsewhere than when you decided about it",
    }[state]
    open_question = state in (trust.UNKNOWN, trust.CHANGED)
    return note(name, f"{root} {told}", "keepthread memory trust" if open_question else "")


def _entries(place: Place) -> Check:
    """Say what is wrong with the entries; a MEMORY.md behind them is a note, and mended by itself."""
    name = "memory entries"
    try:
        found, count = _findings(place)
    except (KeepthreadError, OSError) as problem:
        told = problem.message if isinstance(problem, KeepthreadError) else str(problem.strerror)
        return finding(name, False, told, _LOOK)
    if found is None:
        return note(name, f"{count:,} entries: too many to be read through here", _LOOK)
    errors = [f"{one.key or one.scope}: {one.kind}" for one in found if one.is_error]
    if errors:
        return finding(name, False, listed(errors), f"{_LOOK}; it says what is wrong with each")
    if behind := [one.scope for one in found if one.kind == "behind"]:
        detail = f"MEMORY.md does not list what is there ({', '.join(behind)})"
        return note(name, detail, FIX)
    remarks = f", {len(found)} remarks" if found else ""
    return note(name, f"{count:,} entries{remarks}", _LOOK if found else "")


def _findings(place: Place) -> tuple[list[Finding] | None, int]:
    """Return what is wrong and the number of entries; None for what is wrong when there are too many to look."""
    at = place_of(place.env, place.cwd)
    count = sum(entries_in(folder, _MOST) for folder in (at.team_path, at.private_path))
    if count > _MOST or not count:
        return ([] if not count else None), count
    with ExitStack() as stack:
        memories = [stack.enter_context(memory) for memory in open_all(at)]
        return look_through(memories), count


def entries_in(folder: str, most: int = 10_000) -> int:
    """Return how many entries a folder holds, in all of its folders; counting ends beyond `most`."""
    count = 0
    for _, _, names in os.walk(folder):
        count += sum(name.endswith(".md") and name != where.INDEX_FILE for name in names)
        if count > most:
            break
    return count
