"""What SessionStart puts back: it checks and copies bytes, no more. Standard library only.

A handoff is shown once per session, position and compaction: the markers `shown-*` beside it say what was. A second
compaction wipes what the first one's SessionStart put in, so the boundaries past the handoff are part of the marker.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress

from keepthread.files import make_private, read_regular
from keepthread.handoff.alive import running
from keepthread.host import locations
from keepthread.host.locations import session_dir

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from typing import Any

_LIMIT = 8 * 1024 * 1024
_POLL = 0.02  # seconds
_BETWEEN = 0.3  # seconds; the files of one handoff are written within milliseconds
_DAY = 86_400
_NEWS = 1_800  # units of what happened since the handoff
_NEWEST = 300  # units kept for the user's newest words, however much is required
_LEFT_OUT = "\n… the rest was left out for room."
_SECTION = "\n\n## "
_FLOORS = {"budget": 1_000.0}  # units; PreCompact takes no smaller one either
DEFAULTS: Mapping[str, Any] = {
    "disable": False,
    "join": 3.0,
    "budget": 9_900,
    "index": 4_000,
    "memory_budget": 6_000,
    "sources": ["compact", "resume", "fork"],
    "off_projects": [],
    "session_memory": "facts",
}


def read_json(path: str) -> dict[str, Any] | None:
    """Return the object in a state file, or None when it is missing or damaged."""
    try:
        value = json.loads(read_regular(path, _LIMIT))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def settings(state: str, env: Mapping[str, str]) -> dict[str, Any]:
    """Return the resolved settings SessionStart needs; the process environment may only narrow them.

    They are resolved again when the user's file has changed since: what it switches off is off from then on.
    """
    found = {**DEFAULTS, **(read_json(os.path.join(state, "settings.json")) or {})}
    folder = os.path.dirname(state)
    if found.get("user_file") != locations.user_file(folder):
        from keepthread.host.config import load, resolved, store_resolved

        config = load(env, folder)
        found |= resolved(config)
        with suppress(OSError):  # what cannot be stored holds for this run
            if os.path.isdir(state):  # a status line makes no folder
                store_resolved(state, config)
    for key in ("join", "budget", "index", "memory_budget"):
        value, floor = _number(found[key], DEFAULTS[key]), _FLOORS.get(key, 0.0)
        found[key] = max(floor, _smaller(env.get(f"KEEPTHREAD_{key.upper()}", ""), value))
    if env.get("KEEPTHREAD_DISABLE", "").lower() in ("1", "true", "yes", "on"):
        found["disable"] = True
    for key in ("sources", "off_projects"):
        if not isinstance(found[key], list):
            found[key] = DEFAULTS[key]
    return found


def is_off(settings: Mapping[str, Any], env: Mapping[str, str], cwd: str) -> bool:
    """Return whether the user has switched keepthread off, everywhere or in this project."""
    folders = [folder for folder in settings["off_projects"] if isinstance(folder, str)]
    return bool(settings["disable"]) or (bool(folders) and locations.happens_in(folders, env, cwd))


def _number(value: object, default: float) -> float:
    finite = isinstance(value, (int, float)) and 0 <= value < float("inf")
    return float(value) if finite else default  # type: ignore[arg-type]


def _smaller(text: str, value: float) -> float:
    try:
        told = float(text)
    except ValueError:
        return value
    return min(value, told) if told == told else value  # "nan" is no number


def settle(folder: str, join: float) -> bool:
    """Wait until this session's worker is done, at most `join` seconds; return whether it still runs."""
    until = time.monotonic() + join
    while running(read_json(os.path.join(folder, "worker.json"))):
        left = until - time.monotonic()
        if left <= 0:
            return True
        time.sleep(min(_POLL, left))
    return False


def find(state: str, session_id: str, transcript_path: str) -> dict[str, Any] | None:
    """Return the stored context of this session, or of the one it was forked from."""
    own = read_json(os.path.join(session_dir(state, session_id), "context.json"))
    if own is not None:
        return own if own.get("session_id") == session_id else None
    parent = _parent(state, transcript_path)
    return read_json(os.path.join(session_dir(state, parent), "context.json")) if parent else None


def find_index(state: str, context: Mapping[str, Any]) -> str:
    """Return the index of exact names that belongs to a stored context, "" when there is none.

    The two are files of their own: between the writing of one and of the other they differ for a moment.
    """
    path = os.path.join(session_dir(state, str(context.get("session_id"))), "index.json")
    until = time.monotonic() + _BETWEEN
    found = read_json(path) or {}
    while found.get("key") != context.get("key") and time.monotonic() < until:
        time.sleep(_POLL)
        found = read_json(path) or {}
    return str(found.get("text", ""))


def _parent(state: str, transcript_path: str) -> str:
    """Return the session whose handoff's position lies in this file: the same work under a new session id."""
    from keepthread.transcript.tail import uuids_from_end

    positions = os.path.join(state, "positions")
    if not os.path.isdir(positions):
        return ""
    for uuid in uuids_from_end(transcript_path):
        if _PLAIN.issuperset(uuid):
            try:
                return read_regular(os.path.join(positions, uuid), 1024).decode("utf-8", "replace")
            except OSError:
                continue
    return ""


_PLAIN = frozenset("0123456789abcdef-")


def position_key(stored: Mapping[str, Any]) -> str:
    """Return what a partial and its complete form have in common: of the two, one is shown, and once."""
    place = _place(stored)
    return f"{stored.get('ordinal')}:{place.get('last_uuid') or place.get('size')}"


def claim(state: str, session_id: str, kind: str, key: str, status: str = "") -> bool:
    """Return whether `key` is shown here for the first time, and remember that it was; the first of several wins.

    The marker holds `status`, in which the handoff is shown: a partial may still be completed by a late answer.
    """
    folder = session_dir(state, session_id)
    name = _marker(kind, key)
    try:
        make_private(folder)
        file = os.open(os.path.join(folder, name), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        os.write(file, status.encode())
        os.close(file)
    except FileExistsError:
        return False
    except OSError:
        return True  # a folder that cannot be written must not cost the session its handoff
    with suppress(OSError):  # a folder may be writable and not readable
        for other in os.listdir(folder):
            if other.startswith(f"shown-{kind}-") and other != name:
                _remove(os.path.join(folder, other))
    return True


def release(state: str, session_id: str, kind: str, key: str) -> None:
    """Forget that `key` was shown: the host did not take it."""
    _remove(os.path.join(session_dir(state, session_id), _marker(kind, key)))


def was_shown(state: str, session_id: str, kind: str, position: str) -> bool:
    """Return whether this position was shown, after whatever compaction."""
    beginning = _marker(kind, f"{position}:")
    try:
        names = os.listdir(session_dir(state, session_id))
    except OSError:
        return False
    return any(name.startswith(beginning) for name in names)


def shown_status(folder: str, position: str) -> str:
    """Return in which state this position's context was shown last, "" when it was not."""
    beginning = _marker("context", f"{position}:")
    with suppress(OSError):  # gone this instant: another is being shown
        names = [name for name in os.listdir(folder) if name.startswith(beginning)]
        said = {read_regular(os.path.join(folder, name), 64) for name in names}
        if len(said) == 1:
            return said.pop().decode("utf-8", "replace")
    return ""


def _marker(kind: str, key: str) -> str:
    return f"shown-{kind}-" + "".join(c if c.isalnum() or c == "-" else "_" for c in key)[:120]


def _remove(path: str) -> None:
    with suppress(OSError):  # another process was faster
        os.unlink(path)


def news(stored: Mapping[str, Any], transcript_path: str, own_session: bool) -> dict[str, Any]:
    """Return what the transcript holds past the handoff's position: asks, edits, boundaries.

    The file is the one the handoff was taken of: the host may name none, or a frozen copy.
    """
    from keepthread.transcript.tail import since

    place = _place(stored)
    path, size = place.get("path") or transcript_path, place.get("size")
    if not own_session or not isinstance(path, str) or not isinstance(size, int):
        return {"asks": [], "edits": [], "boundaries": 0}
    return since(path, size)


def rewound(stored: Mapping[str, Any], transcript_path: str, own_session: bool) -> bool:
    """Return whether the user has taken back the words that the handoff ends with, and gone on from earlier ones."""
    from keepthread.transcript.tail import leaves_out

    place = _place(stored)
    path = (place.get("path") if own_session else "") or transcript_path
    uuid = place.get("last_uuid")
    if not isinstance(path, str) or not isinstance(uuid, str) or not uuid:
        return False
    if not leaves_out(path, uuid):
        return False
    # One of several parallel calls is beside the branch too. Rare enough to read the talk as a whole.
    from keepthread.errors import KeepthreadError
    from keepthread.transcript.read import read_transcript

    try:
        talk = read_transcript(path)
    except KeepthreadError:
        return False
    return bool(talk.abandoned) and not talk.holds(uuid)


def _place(stored: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = stored.get("transcript")
    return reference if isinstance(reference, dict) else {}


def compose(
    stored: Mapping[str, Any],
    newer: Mapping[str, Any],
    budget: int,
    now: float,
    env: Mapping[str, str],
) -> str:
    """Return the stored text, with its age when it is old and what happened since, within `budget` UTF-16 units.

    Optional sections give way first: `cuts` says where the text may end. What is new has what the required ones leave,
    and the newest words of the user a place in any case: for it the longest sections are shortened, and none vanishes.
    """
    text, closing = str(stored.get("text", "")), str(stored.get("closing", ""))
    cuts = [c for c in stored.get("cuts", []) if isinstance(c, int) and 0 < c <= len(text)]
    required = text[: min(cuts, default=len(text))]
    age = _age(stored, now)
    left = budget - units(required) - units(age) - units(closing)
    most = min(_NEWS, budget // 4)
    added = age + _since(newer, env, max(min(most, left), min(most, _NEWEST)))
    room = budget - units(added) - units(closing)
    if units(text) > room:
        fitting = [c for c in cuts if units(text[:c]) <= room]
        text = text[: max(fitting)] if fitting else _shortened(required, room)
    return text + added + closing


def _shortened(text: str, room: int) -> str:
    """Return the text in `room` units: its longest sections give up their ends, and each keeps its beginning."""
    parts = text.split(_SECTION)
    left = room - units(_LEFT_OUT) - units(_SECTION) * (len(parts) - 1)
    share = left
    for done, size in enumerate(sorted(map(units, parts))):
        share = left // (len(parts) - done)
        if size > share:
            break
        left -= size
    return _SECTION.join(_beginning(part, share) for part in parts) + _LEFT_OUT


def _beginning(part: str, room: int) -> str:
    """Return a section in `room` units: its heading and whole lines, or the beginning of its first line."""
    if units(part) <= room:
        return part
    cut = _cut(part, max(0, room - 2))
    lines = cut.rpartition("\n")[0]
    return (lines if "\n" in lines else cut).rstrip() + "\n…"[: max(0, room)]


def _age(stored: Mapping[str, Any], now: float) -> str:
    made = stored.get("generated_epoch")
    days = (now - made) / _DAY if isinstance(made, (int, float)) else 0.0
    return (
        f"\n\nThis record is {int(days)} days old; the project may have changed since."
        if days >= 1
        else ""
    )


def _since(newer: Mapping[str, Any], env: Mapping[str, str], room: int) -> str:
    """Return what is new in at most `room` units: the newest words of the user, then the files edited last."""
    asks, edits = newer["asks"][-5:], list(dict.fromkeys(newer["edits"][::-1]))[:20]
    if not asks and not edits:
        return ""
    # Imported here: only a transcript that went on past its handoff needs them.
    from keepthread import redact
    from keepthread.handoff.frame import one_line

    secrets = redact.environment_secrets(env)

    def flat(text: str) -> str:
        # Redacted again on one line: what stood on two may give a secret away there.
        return _cut(redact.text(one_line(redact.text(text, secrets)), secrets), 300)

    title = "\n\nSince this record was made:"
    room -= units(title)
    lines: list[str] = []
    for ask in reversed(asks):
        line = f"\n- the user asked: {flat(ask)}"
        if not lines:  # the newest is said in any case
            line = _cut(line, room)
        if units(line) <= room:
            lines.insert(0, line)
            room -= units(line)
    start = "\n- edited: "
    names = ""
    for edit in map(flat, edits):
        name = f", {edit}" if names else start + edit
        if units(name) <= room:
            names += name
            room -= units(name)
    return title + "".join(lines) + names if lines or names else ""


def units(text: str) -> int:
    """Return the length in UTF-16 units, as `handoff.units` does: loading that would cost SessionStart more."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _cut(text: str, limit: int) -> str:
    while text and units(text) > limit:
        text = text[: max(0, len(text) - max(1, (units(text) - limit) // 2))]
    return text


def notice(stored: dict[str, Any], still_running: bool) -> str:
    """Return the line for the person; a handoff whose model call has not come to an end yet says so."""
    line = str(stored.get("notice", ""))
    if stored.get("status") == "partial" and stored.get("reason") is None:
        state = "had not answered yet" if still_running else "ended without an answer"
        return f"{line} (the model call {state})" if line else ""
    return line


def why_nothing(state: str, session_id: str) -> str:
    """Return the line for the person after a compaction that left no handoff to be shown."""
    from keepthread import log

    line = "keepthread: no handoff was stored for this session"
    for entry in reversed(log.read(state, limit=200)):
        if (entry.get("event"), entry.get("session")) == ("pre_compact", session_id):
            return f"{line}: {_cut(str(entry.get('reason', '')), 100) or entry.get('outcome')}."
    return f"{line}: its PreCompact hook left no line in the log."


def output(text: str, notice: str, event: str = "SessionStart") -> str:
    """Return the one JSON document that the host reads from the hook of an event."""
    document: dict[str, Any] = {}
    if notice:
        document["systemMessage"] = notice
    if text:
        document["hookSpecificOutput"] = {"hookEventName": event, "additionalContext": text}
    return json.dumps(document) if document else ""
