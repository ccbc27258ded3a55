"""What a memory holds beyond a handoff: brought up to date from a model's answer, or made of the facts."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

from keepthread.handoff.audit import Evidence, audit
from keepthread.handoff.checks.case import MOST as MOST_ITEMS
from keepthread.handoff.model import Handoff
from keepthread.handoff.wording import cut, distinct, unmarked
from keepthread.memory.session.bounds import MOST, ROOM, TITLE, fitting, newest
from keepthread.memory.session.model import Extras, MemoryAnswer
from keepthread.transcript.model import Note, Transcript

_ASK = 200  # characters of an ask in the worklog
_OFTEN = 2  # runs of a command that make it a way of working


def by_model(
    answer: MemoryAnswer, before: Extras | None, handoff: Handoff, evidence: Evidence
) -> Extras:
    """Return the answer's texts as far as they hold against the transcript, with what the memory had.

    A list that the answer leaves empty stays as it was. The worklog only grows, until its oldest entries go.

    Args:
        answer: as the model gave it.
        before: what the memory held.
        handoff: the audited handoff of the same answer, whose facts the texts are held against.
        evidence: the session's words.
    """
    log = _held(answer["worklog"], handoff, evidence, log=True)
    extras: Extras = {
        "title": _title(answer["title"], before, handoff),
        "workflow": _held(answer["workflow"], handoff, evidence),
        "codebase_documentation": _held(answer["codebase_documentation"], handoff, evidence),
        "learnings": _held(answer["learnings"], handoff, evidence),
        "worklog": distinct([*(before["worklog"] if before else []), *log], 10_000),
    }
    if before is not None:
        extras["workflow"] = extras["workflow"] or before["workflow"]
        known = before["codebase_documentation"]
        extras["codebase_documentation"] = extras["codebase_documentation"] or known
        extras["learnings"] = extras["learnings"] or before["learnings"]
    return _bounded(extras)


def by_code(handoff: Handoff, transcript: Transcript, before: Extras | None) -> Extras:
    """Return what the facts say under the same headings; what a model once wrote there stays."""
    facts = handoff["facts"]
    often = [
        f"{entry['command']} ({entry['outcome']}, {entry['count']} times)"
        for entry in facts["commands"]
        if entry["count"] >= _OFTEN
    ]
    loaded = [f"Instructions were loaded from {path}" for path in facts["instructions_loaded"]]
    refused = [
        f"The user refused {entry['what']}: {entry['words']}"
        for entry in facts["rejections"]
        if entry["words"]
    ]
    asked = [f"Asked: {cut(entry['text'], _ASK)}" for entry in facts["user_messages"]]
    known = before or _EMPTY
    notes = [item for item in transcript.items if isinstance(item, Note)]
    titles = [note.data.get("text", "") for note in notes if note.kind == "title"]
    return _bounded(
        {
            "title": str(titles[-1]) if titles else _title("", before, handoff),
            "workflow": distinct([*often, *known["workflow"]], MOST["workflow"]),
            "codebase_documentation": distinct([*known["codebase_documentation"], *loaded], 10_000),
            "learnings": distinct([*known["learnings"], *refused], 10_000),
            "worklog": distinct([*known["worklog"], *asked], 10_000),
        }
    )


def told(extras: Extras) -> str:
    """Return the texts as the model reads them: what it brings up to date."""
    lines = [f"title: {extras['title']}"]
    for name, texts in _lists(extras):
        lines += [f"{name}:", *(f"- {' '.join(text.split())}" for text in texts)] if texts else []
    return "\n".join(lines)


_EMPTY: Extras = {
    "title": "",
    "workflow": [],
    "codebase_documentation": [],
    "learnings": [],
    "worklog": [],
}


def _held(
    texts: Sequence[str], handoff: Handoff, evidence: Evidence, *, log: bool = False
) -> list[str]:
    """Return the texts that the checks of a handoff leave standing, as they leave them.

    They stand where these checks look, in a handoff that says nothing else: in the place of issues, or, for what is
    said to be done, of completed tasks.
    """
    if not any(text.strip() for text in texts):
        return []
    trial = deepcopy(handoff)
    state = trial["current_state"]
    state["works"], state["broken"], state["in_flight"] = [], [], ""
    trial["constraints"]["ruled_out"], trial["open_questions"] = [], []
    trial["completed_tasks"], trial["issues_discovered"] = [], []
    if log:
        trial["completed_tasks"] = list(texts)[-MOST_ITEMS["completed_tasks"] :]
        return audit(trial, evidence)["completed_tasks"]
    trial["issues_discovered"] = [{"issue": text, "workaround": ""} for text in texts]
    return [entry["issue"] for entry in audit(trial, evidence)["issues_discovered"]]


def _bounded(extras: Extras) -> Extras:
    return {
        "title": cut(" ".join(extras["title"].split()), TITLE),
        "workflow": fitting(extras["workflow"][: MOST["workflow"]], ROOM["workflow"]),
        "codebase_documentation": newest(
            extras["codebase_documentation"],
            ROOM["codebase_documentation"],
            MOST["codebase_documentation"],
        ),
        "learnings": newest(extras["learnings"], ROOM["learnings"], MOST["learnings"]),
        "worklog": newest(extras["worklog"], ROOM["worklog"], MOST["worklog"]),
    }


def _title(own: str, before: Extras | None, handoff: Handoff) -> str:
    task = unmarked(handoff["task"]).partition("\n")[0]
    return own.strip() or (before["title"] if before else "") or cut(task, TITLE)


def _lists(extras: Extras) -> list[tuple[str, list[str]]]:
    return [
        ("workflow", extras["workflow"]),
        ("codebase_documentation", extras["codebase_documentation"]),
        ("learnings", extras["learnings"]),
        ("worklog", extras["worklog"]),
    ]
