"""The live branch: what the conversation still holds after rewinds, broken links and replayed copies."""

from __future__ import annotations

from collections.abc import Sequence

from keepthread.transcript.model import Message
from keepthread.transcript.record import Record

_CONVERSATION = ("user", "assistant")


def split(records: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Divide the main chain's records, in file order, into those of the live branch and the abandoned ones.

    Many children of one parent are normal (parallel calls, attachments). Only typed prompts that are
    siblings tell of a rewind; then all but the one that leads to the end are abandoned, with
    what follows from them. Everything else is live, also where a link is broken.
    """
    main = [record for record in records if not record.side]
    parents = _parents(main)
    by_uuid = {record.uuid: record for record in main if record.uuid}
    path = _ancestors(_last(main), parents)
    siblings: dict[str, list[Record]] = {}
    for record in main:
        if record.prompt and record.uuid:
            siblings.setdefault(_anchor(record.uuid, parents, by_uuid), []).append(record)
    dead = {record.uuid for group in siblings.values() for record in _left_behind(group, path)}
    dead = _descendants(dead, parents, path)
    live = [record for record in main if record.uuid not in dead]
    return live, [record for record in main if record.uuid in dead]


def _parents(main: Sequence[Record]) -> dict[str, str]:
    """Map each uuid to its parent's; a link that leads nowhere leads to the record before it.

    A root in the middle goes on from what stands before it: an accepted plan starts one.
    """
    known = {record.uuid for record in main if record.uuid}
    parents: dict[str, str] = {}
    before = ""
    for record in main:
        if not record.uuid:
            continue
        found = record.parent in known and record.parent != record.uuid
        parents[record.uuid] = record.parent if found else before
        before = record.uuid
    return parents


def _last(main: Sequence[Record]) -> str:
    """Return the uuid of the last record of the conversation."""
    for record in reversed(main):
        if record.uuid and record.kind.startswith(_CONVERSATION):
            return record.uuid
    return ""


def _ancestors(uuid: str, parents: dict[str, str]) -> set[str]:
    """Return a record and all it follows from; a cycle ends the walk."""
    path: set[str] = set()
    while uuid and uuid not in path:
        path.add(uuid)
        uuid = parents.get(uuid, "")
    return path


def _anchor(uuid: str, parents: dict[str, str], by_uuid: dict[str, Record]) -> str:
    """Return what a prompt answers: the nearest talk above it, or the root it hangs under."""
    seen = {uuid}
    above = parents.get(uuid, "")
    while above and above not in seen and not _is_talk(by_uuid[above]):
        seen.add(above)
        uuid, above = above, parents.get(above, "")
    return above or f"root {uuid}"


def _is_talk(record: Record) -> bool:
    """Return whether a record carries the talk on, and is not only the host's wrapping around a prompt."""
    if record.prompt or record.kind == "assistant":
        return True
    if record.kind != "user":
        return False
    return any(
        not isinstance(part, Message) or part.via not in ("injected", "command")
        for part in record.parts
    )


def _left_behind(group: list[Record], path: set[str]) -> list[Record]:
    if len(group) < 2:
        return []
    leading = {record.uuid for record in group} & path or {group[-1].uuid}
    return [record for record in group if record.uuid not in leading]


def _descendants(roots: set[str], parents: dict[str, str], path: set[str]) -> set[str]:
    """Return the roots and all that follows from them, but nothing of the path to the end."""
    children: dict[str, list[str]] = {}
    for uuid, parent in parents.items():
        children.setdefault(parent, []).append(uuid)
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        uuid = waiting.pop()
        if uuid not in found and uuid not in path:
            found.add(uuid)
            waiting += children.get(uuid, [])
    return found
