"""What a session's earlier handoff may no longer say, after its user took words back or its file was written anew."""

from __future__ import annotations

import os
from collections.abc import Sequence
from copy import deepcopy

from keepthread.handoff.kept_words import EARLIER
from keepthread.handoff.model import Handoff, Sourced
from keepthread.transcript.model import Transcript

_SINCE = "\nSince then: "


def left_behind(previous: Handoff, transcript: Transcript) -> Handoff:
    """Return the earlier handoff without what was typed on a branch that the user has rewound since.

    When its last words were among it, what it says of the moment goes too: next steps, questions, what is in flight.
    """
    gone = {word.place.uuid or f"@{word.place.offset}" for word in transcript.abandoned}
    if not gone & {entry["source"] for entry in _sourced(previous)}:
        return previous
    handoff = deepcopy(previous)
    constraints, facts = handoff["constraints"], handoff["facts"]
    said = facts["user_messages"]
    ask = facts["pending_ask"]
    last = ask or (said[-1] if said else None)
    constraints["rules"] = _kept(constraints["rules"], gone)
    facts["user_messages"] = _kept(said, gone | {f"{EARLIER}{source}" for source in gone})
    facts["answers"] = [entry for entry in facts["answers"] if entry["source"] not in gone]
    facts["rejections"] = [entry for entry in facts["rejections"] if entry["source"] not in gone]
    facts["pending_ask"] = None if ask is None or ask["source"] in gone else ask
    if last is not None and last["source"] in gone:
        _forget_the_moment(handoff, [entry["text"] for entry in said if entry["source"] in gone])
    return handoff


def rewritten(previous: Handoff, transcript: Transcript) -> bool:
    """Return whether the file holds less than when the earlier handoff was taken, and ends elsewhere.

    A reader that was slower than the file grew is another case: then the file itself is no smaller.
    """
    before = previous["meta"]["transcript"]
    if before["path"] != transcript.path or transcript.size >= before["size"]:
        return False
    try:
        shrunk = os.stat(transcript.path).st_size < before["size"]
    except OSError:
        return False  # gone this instant
    return shrunk and not (transcript.position and transcript.position == before["last_uuid"])


def _forget_the_moment(handoff: Handoff, gone: Sequence[str]) -> None:
    first = handoff["task"].partition(_SINCE)[0]
    handoff["task"] = "" if any(_tells(first, text) for text in gone) else first
    handoff["current_state"]["in_flight"] = ""
    handoff["next_steps"] = []
    handoff["open_questions"] = []
    handoff["resume_prompt"] = ""


def _tells(told: str, text: str) -> bool:
    flat = " ".join(text.split())[:200]
    return bool(flat) and flat in " ".join(told.split())


def _kept(entries: Sequence[Sourced], gone: set[str]) -> list[Sourced]:
    return [entry for entry in entries if entry["source"] not in gone]


def _sourced(handoff: Handoff) -> list[Sourced]:
    facts = handoff["facts"]
    found = [*handoff["constraints"]["rules"], *facts["user_messages"]]
    found += [facts["pending_ask"]] if facts["pending_ask"] else []
    answers = [Sourced(text=entry["answer"], source=entry["source"]) for entry in facts["answers"]]
    refused = [
        Sourced(text=entry["words"], source=entry["source"]) for entry in facts["rejections"]
    ]
    return [*found, *answers, *refused]
