"""A session's memory as Markdown with ten headings, for people; each part within its bound."""

from __future__ import annotations

from collections.abc import Sequence

from keepthread.handoff.frame import one_line
from keepthread.handoff.model import Handoff
from keepthread.memory.session.bounds import LINE, ROOM, TITLE, fitting, newest
from keepthread.memory.session.model import Extras, Memory

HEADINGS = (
    "Session title",
    "Current state",
    "Task specification",
    "Files and functions",
    "Workflow",
    "Errors and corrections",
    "Codebase documentation",
    "Learnings",
    "Key results",
    "Worklog",
)
_FORMS = {"model": "written by a model", "facts": "computed by code, no model was asked"}


def render(memory: Memory) -> str:
    """Return the document. What the session's texts hold cannot pose as a heading of it."""
    handoff, extras = memory["handoff"], memory["extras"]
    parts = [
        [_line(extras["title"])[:TITLE] or "Untitled"],
        _listed(_state(handoff), ROOM["current_state"]),
        _listed(_task(handoff), ROOM["task"]),
        _listed(_files(handoff), ROOM["files"]),
        _listed(extras["workflow"], ROOM["workflow"]),
        _listed(_errors(handoff), ROOM["errors"]),
        _listed(extras["codebase_documentation"], ROOM["codebase_documentation"]),
        _listed(extras["learnings"], ROOM["learnings"]),
        _listed([*handoff["completed_tasks"], *handoff["current_state"]["works"]], ROOM["results"]),
        _worklog(extras),
    ]
    meta = handoff["meta"]
    lines = [
        f"<!-- keepthread: session memory, {_FORMS[memory['form']]}, {meta['generated_at']} -->"
    ]
    for heading, part in zip(HEADINGS, parts, strict=True):
        lines += ["", f"# {heading}", *(part or ["(nothing yet)"])]
    return "\n".join(lines) + "\n"


def _state(handoff: Handoff) -> list[str]:
    facts, state = handoff["facts"], handoff["current_state"]
    ask, check = facts["pending_ask"], facts["last_check"]
    found = [f"The user's last ask, not answered yet: {ask['text']}"] if ask else []
    found += [f"In flight: {state['in_flight']}"] if state["in_flight"] else []
    found += [f"Next: {step}" for step in handoff["next_steps"]]
    found += (
        [f"Last check: {check['command']}: {check['outcome']}, {check['result']}"] if check else []
    )
    found += [f"Open question: {question}" for question in handoff["open_questions"]]
    found += [f"Todo ({todo['status']}): {todo['text']}" for todo in facts["todos"]]
    return [*found, handoff["resume_prompt"]]


def _task(handoff: Handoff) -> list[str]:
    pins = [f"Pinned: {pin}" for pin in handoff["facts"]["pins"]]
    rules = [f"Rule: {rule['text']}" for rule in handoff["constraints"]["rules"]]
    return [handoff["task"], *pins, *rules]


def _files(handoff: Handoff) -> list[str]:
    changed = sorted(handoff["files_touched"], key=lambda entry: entry["status"] == "read")
    return [
        f"{entry['path']} ({entry['status']})"
        + (f": {entry['summary']}" if entry["summary"] else "")
        for entry in changed
    ]


def _errors(handoff: Handoff) -> list[str]:
    facts = handoff["facts"]
    found = [f"Broken: {text}" for text in handoff["current_state"]["broken"]]
    found += [f"Standing error: {entry['what']}: {entry['error']}" for entry in facts["errors"]]
    found += [
        f"Ruled out: {entry['approach']}: {entry['reason']}"
        for entry in reversed(handoff["constraints"]["ruled_out"])
    ]
    found += [
        entry["issue"] + (f": {entry['workaround']}" if entry["workaround"] else "")
        for entry in handoff["issues_discovered"]
    ]
    return found + [
        f"Refused by the user: {entry['what']}" + (f": {entry['words']}" if entry["words"] else "")
        for entry in facts["rejections"]
    ]


def _worklog(extras: Extras) -> list[str]:
    lines = [_line(text) for text in extras["worklog"]]
    return [f"- {line}" for line in newest(lines, ROOM["worklog"], len(lines))]


def _listed(texts: Sequence[str], room: int) -> list[str]:
    lines = [_line(text) for text in texts if text.strip()]
    return [f"- {line}" for line in fitting(lines, room)]


def _line(text: str) -> str:
    return one_line(text[: LINE * 4])
