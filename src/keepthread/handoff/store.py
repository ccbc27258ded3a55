"""One session's handoff on disk: each file private and whole, an older or lesser handoff never over a better one.

    <state>/sessions/<key>/   handoff.md, index.json, handoff.json, upgrade.json, context.json, host-summary.md,
                              worker.json, earlier/ (the handoffs before it)
    <state>/positions/<uuid>  the session whose handoff ends at that record: a fork finds what it continues

context.json is written last: it is what SessionStart reads, so a handoff counts once it is there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from time import time
from typing import Any, cast

from keepthread import files, log
from keepthread.handoff import history
from keepthread.handoff.late import UPGRADE
from keepthread.handoff.lock import locked
from keepthread.handoff.model import Handoff
from keepthread.host.locations import session_dir, session_key

SCHEMA_VERSION = 1
HANDOFF = "handoff.json"
MARKDOWN = "handoff.md"
CONTEXT = "context.json"
INDEX = "index.json"
WORKER = "worker.json"
HOST_SUMMARY = "host-summary.md"

_LIMIT = 8 * 1024 * 1024  # bytes; a handoff has tens of kilobytes
_POSITIONS_KEPT = 500
_UUID = re.compile(r"[0-9a-f-]{36}")


def load(state: str, session_id: str) -> Handoff | None:
    """Return the session's handoff; None when there is none, or none that this version can read. Never raises."""
    value = _read_json(os.path.join(session_dir(state, session_id), HANDOFF))
    if value is None or not _is_handoff(value):
        return None
    return cast(Handoff, value)


def save(
    state: str,
    handoff: Handoff,
    *,
    context_text: str,
    cuts: Sequence[int],
    closing: str,
    index_text: str,
    markdown: str,
    notice: str,
    document: str = "",
    upgrade: dict[str, Any] | None = None,
    replaced: Handoff | None = None,
) -> bool:
    """Store a handoff with everything that is shown of it; return whether it was stored.

    It is not when the stored one is newer (by ordinal, then by the transcript's size), or is complete for the same
    position while this one is partial.

    Args:
        state: the state folder.
        handoff: the document, redacted already.
        context_text: what SessionStart injects, without `closing`.
        cuts: offsets in `context_text` at which it may end; only optional text comes after the first.
        closing: what stands behind the text, wherever it ends.
        index_text: what the second SessionStart hook injects.
        markdown: the document for people.
        notice: one line for the person at the next session start.
        document: path of the person-facing file, or "".
        upgrade: text, cuts and closing of what a session lacks that was shown the partial of this handoff.
        replaced: the stored handoff that this one follows even if that is newer: its transcript was written anew.

    Raises:
        OSError: a file could not be written; on a full disk all the old ones stay.
    """
    folder = _folder(state, handoff["meta"]["session_id"])
    context = _context(handoff, context_text, cuts, closing, notice, document)
    index = _index(context, index_text)
    contents = {MARKDOWN: markdown, INDEX: _dumped(index), HANDOFF: _dumped(handoff)}
    if upgrade is not None:
        contents[UPGRADE] = _dumped(_upgrade(context, upgrade))
    contents[CONTEXT] = _dumped(context)
    if not _stored(state, folder, handoff, contents, replaced):
        return False
    meta = handoff["meta"]
    _remember_position(state, meta["transcript"]["last_uuid"], meta["session_id"])
    return True


def _stored(
    state: str,
    folder: str,
    handoff: Handoff,
    contents: Mapping[str, str],
    replaced: Handoff | None,
) -> bool:
    """Write the files if the handoff may take the stored one's place, which then goes into the history."""
    with locked(folder):
        before = load(state, handoff["meta"]["session_id"])
        if before is not None:
            if not _may_replace(state, before, handoff, replaced):
                return False
            history.keep(folder, os.path.join(folder, HANDOFF), before, handoff)
        _write_together(folder, contents)
    return True


def _index(context: Mapping[str, Any], text: str) -> dict[str, Any]:
    named = ("version", "session_id", "transcript", "key")
    return {**{name: context[name] for name in named}, "text": text}


def _write_together(folder: str, contents: Mapping[str, str]) -> None:
    files.remove_stale_temps(folder)
    files.write_private_together(
        folder, [(name, _encoded(text)) for name, text in contents.items()]
    )
    if UPGRADE not in contents:  # an older one belonged to the handoff before
        with suppress(OSError):
            os.unlink(os.path.join(folder, UPGRADE))


def _upgrade(context: dict[str, Any], upgrade: dict[str, Any]) -> dict[str, Any]:
    named = ("session_id", "ordinal", "transcript", "generated_epoch")
    return {**{name: context[name] for name in named}, **upgrade}


def key(handoff: Handoff) -> str:
    """Return what tells this state of the session from every other: "<ordinal>:<last_uuid>:<status>"."""
    meta = handoff["meta"]
    return f"{meta['ordinal']}:{meta['transcript']['last_uuid']}:{meta['status']}"


def is_shown(state: str, handoff: Handoff) -> bool:
    """Return whether SessionStart shows this stored handoff; a save that stopped halfway shows nobody its own."""
    folder = session_dir(state, handoff["meta"]["session_id"])
    return (_read_json(os.path.join(folder, CONTEXT)) or {}).get("key") == key(handoff)


def session_at(state: str, last_uuid: str) -> str:
    """Return the id of the session whose handoff ends at this record, or ""."""
    if not _UUID.fullmatch(last_uuid):
        return ""
    return _read_text(os.path.join(state, "positions", last_uuid))


def write_worker(state: str, session_id: str, data: dict[str, Any]) -> None:
    """Store what is known of the session's worker.

    Raises:
        OSError: the file could not be written; the old one stays.
    """
    _write(_folder(state, session_id), WORKER, _dumped(data))


def update_worker(
    state: str, session_id: str, change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """Let `change` make the new from what is known of the session's worker, one process at a time; return the new.

    Raises:
        OSError: the file could not be written; the old one stays.
    """
    folder = _folder(state, session_id)
    with locked(folder):
        before = _read_json(os.path.join(folder, WORKER)) or {}
        after = change(dict(before))
        if after != before:
            _write(folder, WORKER, _dumped(after))
    return after


def read_worker(state: str, session_id: str) -> dict[str, Any] | None:
    """Return what is known of the session's worker, or None."""
    return _read_json(os.path.join(session_dir(state, session_id), WORKER))


def write_host_summary(state: str, session_id: str, text: str) -> None:
    """Store the host's own summary of the last compaction, redacted already.

    Raises:
        OSError: the file could not be written; the old one stays.
    """
    _write(_folder(state, session_id), HOST_SUMMARY, text)


def sessions(state: str) -> list[str]:
    """Return the ids of the sessions that have a handoff, the one stored last first."""
    found = []
    for name in _names(os.path.join(state, "sessions")):
        folder = os.path.join(state, "sessions", name)
        when = _mtime(os.path.join(folder, CONTEXT)) or _mtime(os.path.join(folder, HANDOFF))
        identifier = _identifier(folder, name)
        if when and identifier is not None:
            found.append((when, identifier))
    return [identifier for _, identifier in sorted(found, reverse=True)]


def _identifier(folder: str, name: str) -> str | None:
    if session_key(name) == name:
        return name
    # The folder's name is a digest: the id stands in the handoff, and has to lead back here.
    context = _read_json(os.path.join(folder, CONTEXT)) or {}
    identifier = context.get("session_id")
    return identifier if isinstance(identifier, str) and session_key(identifier) == name else None


def _is_handoff(value: dict[str, Any]) -> bool:
    meta = value.get("meta")
    if not isinstance(meta, dict) or meta.get("schema_version") != SCHEMA_VERSION:
        return False
    transcript = meta.get("transcript")
    return (
        isinstance(transcript, dict)
        and isinstance(transcript.get("size"), int)
        and isinstance(transcript.get("last_uuid"), str)
        and isinstance(meta.get("ordinal"), int)
        and isinstance(meta.get("status"), str)
    )


def _may_replace(state: str, stored: Handoff, new: Handoff, replaced: Handoff | None) -> bool:
    if replaced is not None and _position(stored) == _position(replaced):
        return True
    if _age(stored) > _age(new):
        return False
    same = _position(stored) == _position(new)
    lesser = stored["meta"]["status"] == "complete" and new["meta"]["status"] == "partial"
    return not (same and lesser and is_shown(state, stored))


def _age(handoff: Handoff) -> tuple[int, int]:
    meta = handoff["meta"]
    return meta["ordinal"], meta["transcript"]["size"]


def _position(handoff: Handoff) -> tuple[str, int]:
    meta = handoff["meta"]
    return meta["transcript"]["last_uuid"], meta["ordinal"]


def _context(
    handoff: Handoff, text: str, cuts: Sequence[int], closing: str, notice: str, document: str
) -> dict[str, Any]:
    meta = handoff["meta"]
    transcript = meta["transcript"]
    return {
        "version": 1,
        "session_id": meta["session_id"],
        "project": meta["project"],
        "status": meta["status"],
        "reason": meta["reason"],
        "ordinal": meta["ordinal"],
        "generated_at": meta["generated_at"],
        "generated_epoch": log.epoch(meta["generated_at"]) or time(),
        "transcript": {name: transcript[name] for name in ("path", "size", "last_uuid")},
        "key": key(handoff),
        "text": text,
        "cuts": list(cuts),
        "closing": closing,
        "notice": notice,
        "document": document,
        "files": len(handoff["files_touched"]),
        "rules": len(handoff["constraints"]["rules"]),
    }


def _remember_position(state: str, last_uuid: str, session_id: str) -> None:
    if not _UUID.fullmatch(last_uuid):
        return
    folder = os.path.join(state, "positions")
    try:
        files.make_private(folder)
        files.write_private(os.path.join(folder, last_uuid), _encoded(session_id))
        _prune(folder)
    except OSError:
        return  # the handoff itself is stored; only a fork made at this point would not find it


def _prune(folder: str) -> None:
    names = _names(folder)
    if len(names) <= _POSITIONS_KEPT:
        return
    files.remove_stale_temps(folder)
    paths = sorted((os.path.join(folder, name) for name in names), key=_mtime)
    for path in paths[: len(paths) - _POSITIONS_KEPT // 2]:
        os.unlink(path)


def _folder(state: str, session_id: str) -> str:
    folder = session_dir(state, session_id)
    files.make_private_within(state, folder)
    return folder


def _write(folder: str, name: str, text: str) -> None:
    files.write_private(os.path.join(folder, name), _encoded(text))


def _dumped(value: Any) -> str:
    # Without an indent: with one, json leaves its C encoder and takes ten times as long.
    return json.dumps(value, ensure_ascii=False) + "\n"


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # lone surrogates: joined where two make a pair, else U+FFFD
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def _read_json(path: str) -> dict[str, Any] | None:
    try:
        value = json.loads(files.read_regular(path, _LIMIT, tighten=True))
    except (OSError, ValueError, RecursionError):
        return None  # absent, damaged or not ours: the same as none
    return value if isinstance(value, dict) else None


def _read_text(path: str) -> str:
    try:
        return files.read_regular(path, _LIMIT, tighten=True).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""  # absent or not ours: the same as none


def _names(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if not name.startswith(".")]
    except OSError:
        return []  # not made yet


def _mtime(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0  # absent, or removed this instant
