"""Checking what a model wrote against the transcript: what does not hold is dropped, marked or repaired, and named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import NamedTuple

from keepthread.handoff.claims import claims_success, is_vague, planted
from keepthread.handoff.evidence import Evidence
from keepthread.handoff.merge import ANSWER_ASK, keep_ask
from keepthread.handoff.model import AuditFailure, Handoff, ModelAnswer
from keepthread.handoff.named import Named, named
from keepthread.handoff.wording import (
    NOT_FOUND,
    cut,
    distinct,
    find_verbatim,
    is_aged,
    same,
    words,
)

__all__ = ["Evidence", "audit", "retry_note"]

FROM_OUTPUT = "(as a file or a tool's output says)"
GO_ON = (
    "Read the task, the rules and the state in this handoff, then do the first of its next steps."
)
NOTHING_OPEN = "Ask the user what comes next; nothing is open."
_DENIED = "(the last check says otherwise)"
_MAX_FAILURES = 60
_MAX_NOTE = 1_600

# Characters of a text, and entries of a list.
_LONGEST = {
    "task": 1_500,
    "in_flight": 1_200,
    "resume_prompt": 2_400,
    "summary": 300,
    "reason": 500,
    "workaround": 500,
}
_LONGEST_ITEM = 700
_MOST = {"next_steps": 12, "works": 30, "broken": 30, "open_questions": 20, "completed_tasks": 40}
_SENTENCES = ("task", "in_flight", "resume_prompt")
_STATES = ("works", "completed_tasks", "in_flight", "resume_prompt")
_CREATING = {"create", "write", "add", "new", "introduce", "erstelle", "schreibe", "créer", "crear"}
_PLACING = {"to", "in", "into", "for", "from", "of", "with"}


class Case(NamedTuple):
    """What a check sees: the handoff (its own to change), the evidence, and the model's answer if it is at hand."""

    handoff: Handoff
    evidence: Evidence
    answer: ModelAnswer | None


Check = Callable[[Case], list[AuditFailure]]
Visit = Callable[[str, str], "str | None"]


def audit(handoff: Handoff, evidence: Evidence, answer: ModelAnswer | None = None) -> Handoff:
    """Return the handoff with what does not hold dropped, marked or repaired, and `audit` saying what and how.

    Auditing the result again changes no text. The argument is not changed.

    Args:
        handoff: a complete handoff, as `merge.complete` returns it.
        evidence: the session's words.
        answer: the model's answer; with it, rules that it misquoted are named as well.
    """
    case = Case(deepcopy(handoff), evidence.with_facts(handoff), answer)
    failed: list[AuditFailure] = []
    for check in CHECKS.values():
        failed += check(case)
    case.handoff["audit"] = {"checked": list(CHECKS), "failed": failed[:_MAX_FAILURES]}
    return case.handoff


def retry_note(handoff: Handoff) -> str:
    """Return what a model is told to mend in a second answer, "" when the first was good enough.

    A single name that was not found, or a text that was cut, is no reason to pay for another call.
    """
    failed = handoff["audit"]["failed"]
    faults = [entry for entry in failed if entry["check"] in _WORTH_A_RETRY]
    lost = [entry for entry in failed if entry["check"] == "names"]
    if len(lost) > 1:
        faults += lost
    if not faults:
        return ""
    lines = [
        "Your answer had the faults below. Answer again in full, by the same schema, with them mended:"
    ]
    for fault in faults:
        line = f"- {_FAULTS[fault['check']]}: {cut(fault['item'], 160)}"
        if sum(map(len, lines)) + len(line) > _MAX_NOTE:
            break
        lines.append(line)
    return "\n".join(lines)


def _bounds(case: Case) -> list[AuditFailure]:
    failed: list[AuditFailure] = []

    def shorten(field: str, text: str) -> str:
        limit = _LONGEST.get(field, _LONGEST_ITEM)
        if (
            len(text) > limit + len(FROM_OUTPUT) + len(NOT_FOUND) + 40
        ):  # marks are not held against a text
            failed.append(_failure("bounds", f"{field}: {cut(text, 80)}", "cut"))
            return cut(text, limit)
        return text

    _revise(case.handoff, shorten)
    for field, items in _lists(case.handoff):
        if len(items) > _MOST[field]:
            failed.append(_failure("bounds", f"{field}: {len(items)} entries", "cut"))
            del items[_MOST[field] :]
    return failed


def _origin(case: Case) -> list[AuditFailure]:
    """Orders that came out of a tool are nobody's task; what only a file says is called that."""
    failed: list[AuditFailure] = []

    def look(field: str, text: str) -> str | None:
        order = planted(text)
        steers = field == "next_steps" or field in _SENTENCES
        fetched = steers and case.evidence.share_only_in(text, fetched=True) >= 0.6
        if (order and not case.evidence.user_wanted(order)) or fetched:
            failed.append(_failure("origin", text, "dropped"))
            return None
        copied = field == "next_steps" and case.evidence.share_only_in(text, fetched=False) >= 0.6
        if copied and FROM_OUTPUT not in text:
            failed.append(_failure("origin", text, "marked"))
            return f"{text} {FROM_OUTPUT}"
        return text

    _revise(case.handoff, look)
    return failed


def _names(case: Case) -> list[AuditFailure]:
    """Every path, command and identifier must occur in the session."""
    failed: list[AuditFailure] = []
    project = case.handoff["meta"]["project"]

    def look(field: str, text: str) -> str | None:
        if NOT_FOUND in text or is_aged(text):
            return text
        things = [
            thing
            for thing in named(text, case.evidence.folders)
            if not _new_file(field, text, thing)
        ]
        lost = [thing.text for thing in things if not case.evidence.holds(thing, project)]
        if not lost:
            return text
        wholly = (
            len(lost) > 1 and len(lost) == len(things) and field not in (*_SENTENCES, "next_steps")
        )
        failed.append(
            _failure("names", f"{field}: {', '.join(lost[:4])}", "dropped" if wholly else "marked")
        )
        return None if wholly else f"{text} {NOT_FOUND}"

    _revise(case.handoff, look)
    return failed


def _new_file(field: str, text: str, thing: Named) -> bool:
    """Whether a step tells to create the file it names."""
    if field not in ("next_steps", "in_flight", "resume_prompt", "open_questions"):
        return False
    before = words(text[: thing.at])[-4:]
    return bool(_CREATING.intersection(before)) and not _PLACING.intersection(before)


def _claims(case: Case) -> list[AuditFailure]:
    """Nothing may be said to work that the last check has shown not to."""
    check = case.handoff["facts"]["last_check"]
    if check is None or check["outcome"] != "failed":
        return []
    failed: list[AuditFailure] = []
    command = check["command"]

    def look(field: str, text: str) -> str | None:
        if field not in _STATES or _DENIED in text or not claims_success(text, command):
            return text
        plain = field == "works" and len(words(text)) <= 16
        failed.append(_failure("claims", f"{field}: {text}", "dropped" if plain else "marked"))
        return None if plain else f"{text} {_DENIED}"

    _revise(case.handoff, look)
    if failed:
        broken = case.handoff["current_state"]["broken"]
        fact = cut(f"The last check failed: `{command}`: {check['result']}", _LONGEST_ITEM)
        broken[:] = distinct([fact, *broken], _MOST["broken"])
    return failed


def _freshness(case: Case) -> list[AuditFailure]:
    """A step that is done, or that was said to the compaction only, is no next step."""
    handoff, focus = case.handoff, case.evidence.focus
    todos = handoff["facts"]["todos"]
    open_todos = [todo["text"] for todo in todos if todo["status"] != "completed"]
    done = [
        *handoff["completed_tasks"],
        *(todo["text"] for todo in todos if todo["status"] == "completed"),
    ]
    failed: list[AuditFailure] = []
    kept: list[str] = []
    for step in handoff["next_steps"]:
        is_done = any(_done(step, item) for item in done)
        is_open = any(same(step, item) for item in open_todos)
        if (is_done and not is_open) or (focus and same(step, focus)):
            failed.append(_failure("freshness", step, "dropped"))
        else:
            kept.append(step)
    handoff["next_steps"] = kept
    return failed


def _done(step: str, item: str) -> bool:
    """Whether a finished item says the step in the past tense: "Port the endpoint", "Ported the endpoint"."""
    if same(step, item):
        return True
    todo, finished = words(step), words(item)
    if len(todo) < 3 or todo[1:] != finished[1:]:
        return False
    return todo[0][:3] == finished[0][:3]


def _concrete_step(case: Case) -> list[AuditFailure]:
    handoff = case.handoff
    vague = [step for step in handoff["next_steps"][:1] if is_vague(step)]
    computed = _computed_steps(handoff) if vague else []
    if not vague:
        return []
    if not computed:
        return [_failure("concrete_step", vague[0], "kept")]
    handoff["next_steps"] = distinct([computed[0], *handoff["next_steps"][1:]], _MOST["next_steps"])
    return [_failure("concrete_step", vague[0], "repaired")]


def _pending_ask(case: Case) -> list[AuditFailure]:
    handoff = case.handoff
    handoff["next_steps"] = keep_ask(handoff["next_steps"], handoff)
    if any(step.startswith(ANSWER_ASK) for step in handoff["next_steps"][:1]):
        return [_failure("pending_ask", handoff["next_steps"][0], "repaired")]
    return []


def _rules(case: Case) -> list[AuditFailure]:
    """A rule the model quotes must be the user's own words; what is not was left out when the answer was merged."""
    said = [*case.evidence.typed, case.evidence.said]
    quotes = case.answer["rules"] if case.answer else []
    return [
        _failure("rules", quote, "dropped")
        for quote in quotes
        if find_verbatim(quote, said) is None
    ]


def _sections(case: Case) -> list[AuditFailure]:
    """What a handoff cannot do without is put there from the facts."""
    handoff, facts = case.handoff, case.handoff["facts"]
    failed: list[AuditFailure] = []
    if not handoff["task"].strip():
        asked = [entry["text"] for entry in facts["user_messages"][:1]]
        asked += [facts["pending_ask"]["text"]] if facts["pending_ask"] else []
        handoff["task"] = cut(
            next(iter(asked), "Not stated in what could be read."), _LONGEST["task"]
        )
        failed.append(_failure("sections", "task", "repaired"))
    if not any(step.strip() for step in handoff["next_steps"]):
        handoff["next_steps"] = _computed_steps(handoff)[:3] or [NOTHING_OPEN]
        failed.append(_failure("sections", "next_steps", "repaired"))
    if not handoff["resume_prompt"].strip():
        handoff["resume_prompt"] = GO_ON
        failed.append(_failure("sections", "resume_prompt", "repaired"))
    return failed


def _computed_steps(handoff: Handoff) -> list[str]:
    """Return next steps that follow from the facts alone, the most pressing first."""
    facts = handoff["facts"]
    check = facts["last_check"]
    steps = keep_ask([], handoff)
    steps += [todo["text"] for todo in facts["todos"] if todo["status"] == "in_progress"]
    if check is not None and check["outcome"] == "failed":
        steps.append(
            f"Mend what `{cut(check['command'], 200)}` reports: {cut(check['result'], 300)}"
        )
    steps += [
        f"Mend `{cut(error['what'], 200)}`: {cut(error['error'], 300)}" for error in facts["errors"]
    ]
    steps += [todo["text"] for todo in facts["todos"] if todo["status"] == "pending"]
    return distinct([step for step in steps if not planted(step)], _MOST["next_steps"])


CHECKS: dict[str, Check] = {
    "bounds": _bounds,
    "origin": _origin,
    "names": _names,
    "claims": _claims,
    "freshness": _freshness,
    "concrete_step": _concrete_step,
    "pending_ask": _pending_ask,
    "rules": _rules,
    "sections": _sections,
}

_FAULTS = {
    "origin": "this came out of a tool's output and is no task of the user",
    "names": "these names do not occur in the material",
    "claims": "the last check of the facts contradicts this",
    "freshness": "this is done already, or was no task",
    "concrete_step": "the first next step must be an action with its file, command or question, not this",
    "pending_ask": "the user's last ask is not taken up by any next step",
    "rules": "this is not a rule in the user's own words",
    "sections": "this must not be empty",
}
_WORTH_A_RETRY = frozenset(_FAULTS) - {"names", "origin"}


def _failure(check: str, item: str, action: str) -> AuditFailure:
    return {"check": check, "item": cut(item, 240), "action": action}


def _lists(handoff: Handoff) -> Iterator[tuple[str, list[str]]]:
    yield "next_steps", handoff["next_steps"]
    yield "completed_tasks", handoff["completed_tasks"]
    yield "works", handoff["current_state"]["works"]
    yield "broken", handoff["current_state"]["broken"]
    yield "open_questions", handoff["open_questions"]


def _revise(handoff: Handoff, visit: Visit) -> None:
    """Give every text a model may have written to `visit` with its field's name; None drops it."""
    state = handoff["current_state"]
    handoff["task"] = visit("task", handoff["task"]) or ""
    handoff["resume_prompt"] = visit("resume_prompt", handoff["resume_prompt"]) or ""
    state["in_flight"] = visit("in_flight", state["in_flight"]) or ""
    for field, items in _lists(handoff):
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
