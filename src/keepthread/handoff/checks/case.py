"""What every check sees, and the ways all of them walk over the texts that a model may have written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from keepthread.handoff.evidence import Evidence
from keepthread.handoff.model import AuditFailure, Handoff, ModelAnswer
from keepthread.handoff.wording import cut, is_aged

SENTENCES = ("task", "in_flight", "resume_prompt")
STATES = ("works", "completed_tasks", "in_flight", "resume_prompt")
MOST = {"next_steps": 12, "works": 30, "broken": 30, "open_questions": 20, "completed_tasks": 40}


class Case(NamedTuple):
    """What a check sees: the handoff (its own to change), the evidence, and the model's answer if it is at hand."""

    handoff: Handoff
    evidence: Evidence
    answer: ModelAnswer | None


Check = Callable[[Case], list[AuditFailure]]
Visit = Callable[[str, str], "str | None"]


def failure(check: str, item: str, action: str) -> AuditFailure:
    """Return the entry for one item that did not hold, the item cut to a line."""
    return {"check": check, "item": cut(item, 240), "action": action}


def lists(handoff: Handoff) -> Iterator[tuple[str, list[str]]]:
    """Yield the plain lists with the names of their fields."""
    yield "next_steps", handoff["next_steps"]
    yield "completed_tasks", handoff["completed_tasks"]
    yield "works", handoff["current_state"]["works"]
    yield "broken", handoff["current_state"]["broken"]
    yield "open_questions", handoff["open_questions"]


def revise(handoff: Handoff, visit: Visit) -> None:
    """Give every text a model may have written to `visit` with its field's name; None drops it."""
    state = handoff["current_state"]
    handoff["task"] = visit("task", handoff["task"]) or ""
    handoff["resume_prompt"] = visit("resume_prompt", handoff["resume_prompt"]) or ""
    state["in_flight"] = visit("in_flight", state["in_flight"]) or ""
    for field, items in lists(handoff):
        items[:] = [kept for item in items if (kept := visit(field, item))]
    for approach in list(handoff["constraints"]["ruled_out"]):
        approach["approach"] = visit("ruled_out", approach["approach"]) or ""
        approach["reason"] = visit("reason", approach["reason"]) or ""
        if not approach["approach"]:
            handoff["constraints"]["ruled_out"].remove(approach)
    for issue in list(handoff["issues_discovered"]):
        issue["issue"] = visit("issues_discovered", issue["issue"]) or ""
        issue["workaround"] = visit("workaround", issue["workaround"]) or ""
        if not issue["issue"]:
            handoff["issues_discovered"].remove(issue)
    for entry in handoff["files_touched"]:
        entry["summary"] = visit("summary", entry["summary"]) or ""


def texts(handoff: Handoff) -> list[tuple[str, str]]:
    """Return every text a model wrote now, with its field's name; what is carried from an earlier handoff is not."""
    found: list[tuple[str, str]] = []

    def note(field: str, text: str) -> str:
        if text.strip() and not is_aged(text):
            found.append((field, text))
        return text

    revise(handoff, note)
    return found
