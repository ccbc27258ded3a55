"""What changed between two handoffs: which entries came, which went, and which say something else now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from keepthread.handoff.model import Handoff


class Change(NamedTuple):
    """One part of the handoff: what the older one alone holds and what the newer one alone holds, in their order."""

    part: str
    gone: list[str]
    new: list[str]


def compare(older: Handoff, newer: Handoff) -> list[Change]:
    """Return the parts in which two handoffs differ, in the order of the document."""
    before, after = _parts(older), _parts(newer)
    changes = []
    for part, entries in before.items():
        gone = [entry for entry in entries if entry not in after[part]]
        new = [entry for entry in after[part] if entry not in entries]
        if gone or new:
            changes.append(Change(part, gone, new))
    return changes


def render(changes: Sequence[Change], older: Handoff, newer: Handoff) -> str:
    """Return the changes as text for people: "-" for what went, "+" for what came."""
    lines = [f"--- {_named(older)}", f"+++ {_named(newer)}"]
    for part, gone, new in changes:
        lines += ["", f"## {part}", *(f"- {_line(entry)}" for entry in gone)]
        lines += [f"+ {_line(entry)}" for entry in new]
    if not changes:
        lines += ["", "They say the same."]
    return "\n".join(lines)


def _named(handoff: Handoff) -> str:
    meta = handoff["meta"]
    return f"{meta['session_id']}  {meta['generated_at']}  {meta['status']}, by {meta['engine']}"


def _line(entry: str) -> str:
    return " ".join(entry.split())


def _parts(handoff: Handoff) -> dict[str, list[str]]:
    """Return the document as lists of entries, each under the heading that people know it by."""
    state, limits, facts = handoff["current_state"], handoff["constraints"], handoff["facts"]
    check = facts["last_check"]
    return {
        "Task": _some(handoff["task"]),
        "Pins": list(facts["pins"]),
        "Rules": [rule["text"] for rule in limits["rules"]],
        "Ruled out": [_pair(one, "approach", "reason") for one in limits["ruled_out"]],
        "In flight": _some(state["in_flight"]),
        "Works": list(state["works"]),
        "Broken": list(state["broken"]),
        "Last check": _some(_pair(check, "command", "result") if check else ""),
        "Next steps": list(handoff["next_steps"]),
        "Open questions": list(handoff["open_questions"]),
        "Issues": [_pair(one, "issue", "workaround") for one in handoff["issues_discovered"]],
        "Completed": list(handoff["completed_tasks"]),
        "Todos": [f"[{todo['status']}] {todo['text']}" for todo in facts["todos"]],
        "Files": [f"{file['path']} ({file['status']})" for file in handoff["files_touched"]],
    }


def _some(text: str) -> list[str]:
    return [text] if text else []


def _pair(entry: Mapping[str, Any], first: str, second: str) -> str:
    return f"{entry[first]}: {entry[second]}" if entry[second] else str(entry[first])
