"""Checking what a model wrote against the transcript: what does not hold is dropped, marked or repaired, and named."""

from __future__ import annotations

import re
from copy import deepcopy

from keepthread.handoff.checks.case import Case, Check, failure, revise
from keepthread.handoff.checks.exact import identifiers, names, spelling
from keepthread.handoff.checks.form import FROM_OUTPUT, bounds, in_language, markup, secrets
from keepthread.handoff.checks.steps import (
    computed_steps,
    concrete_step,
    forbidden,
    freshness,
    pending_ask,
    plan,
)
from keepthread.handoff.checks.truth import SAYS, acts, attribution, claims, contradictions, files
from keepthread.handoff.claims import planted
from keepthread.handoff.evidence import Evidence
from keepthread.handoff.facts.rule_words import is_english, strength
from keepthread.handoff.model import AuditFailure, Handoff, ModelAnswer
from keepthread.handoff.wording import cut, find_verbatim

__all__ = ["Evidence", "audit", "faults", "retry_note"]

GO_ON = (
    "Read the task, the rules and the state in this handoff, then do the first of its next steps."
)
NOTHING_OPEN = "Ask the user what comes next; nothing is open."
_MAX_FAILURES = 60
_MAX_NOTE = 1_600
_TASK = 1_500  # characters
_WISHES = ("task", "next_steps", "resume_prompt")
_COPIED = 0.6  # of a text: so much of it makes it a copy
_STRONG = 3  # strength of a rule that no answer may leave out
# A user who hands over to a file makes what stands there the task.
_DELEGATES = re.compile(
    r"\b(?:plan|spec\w*|issues?|tickets?|todos?|readme|roadmap|milestones?|phases?|backlog"
    r"|instructions?|notes?|brief|task|see|follow|according|as in"
    r"|anforderung\w*|aufgabe|siehe)\b|[\w-]+\.(?:md|txt|rst|ya?ml|json|org)\b|#\d+|https?://",
    re.IGNORECASE,
)


def audit(handoff: Handoff, evidence: Evidence, answer: ModelAnswer | None = None) -> Handoff:
    """Return the handoff with what does not hold dropped, marked or repaired, and `audit` saying what and how.

    Auditing the result again changes no text. The argument is not changed.

    Args:
        handoff: a complete handoff, as `merge.complete` returns it.
        evidence: the session's words.
        answer: the model's answer; with it, what the merge left out or put right is named as well.
    """
    case = Case(deepcopy(handoff), evidence.with_facts(handoff), answer)
    failed: list[AuditFailure] = []
    for check in CHECKS.values():
        failed += check(case)
    case.handoff["audit"] = {"checked": list(CHECKS), "failed": failed[:_MAX_FAILURES]}
    return case.handoff


def faults(handoff: Handoff) -> list[AuditFailure]:
    """Return what is worth asking the model again for.

    A single name that was not found, or a text that code could put right, is no reason to pay for another call.
    """
    failed = handoff["audit"]["failed"]
    found = [
        entry
        for entry in failed
        if entry["check"] in _WORTH_A_RETRY and (entry["check"], entry["action"]) not in _PUT_RIGHT
    ]
    lost = [entry for entry in failed if entry["check"] == "names"]
    return found + (lost if len(lost) > 1 else [])


def retry_note(handoff: Handoff) -> str:
    """Return what a model is told to mend in a second answer, "" when the first was good enough."""
    found = faults(handoff)
    if not found:
        return ""
    lines = [
        "Your answer had the faults below. Answer again in full, by the same schema, with them mended:"
    ]
    for fault in found:
        line = f"- {_FAULTS[fault['check']]}: {cut(fault['item'], 160)}"
        if sum(map(len, lines)) + len(line) > _MAX_NOTE:
            break
        lines.append(line)
    return "\n".join(lines)


def _origin(case: Case) -> list[AuditFailure]:
    """Orders that came out of a tool are nobody's task; what only a file says is called that."""
    failed: list[AuditFailure] = []
    delegated = any(_DELEGATES.search(text) for text in case.evidence.typed)

    def look(field: str, text: str) -> str | None:
        order = planted(text)
        unwanted = bool(order) and not case.evidence.user_wanted(order)
        known = field in _WISHES and case.evidence.told_before(text)
        if unwanted or (not known and _foreign(case, field, text, delegated)):
            failed.append(failure("origin", text, "dropped"))
            return None
        if delegated and field in _WISHES and FROM_OUTPUT not in text and _copied(case, text):
            failed.append(failure("origin", text, "marked"))
            return f"{text} {FROM_OUTPUT}"
        return text

    revise(case.handoff, look)
    return failed + _ruled_out_by_nobody(case)


def _ruled_out_by_nobody(case: Case) -> list[AuditFailure]:
    """Drop what only a tool's output speaks of and the user is said to have ruled out."""
    entries = case.handoff["constraints"]["ruled_out"]
    foreign = [
        entry
        for entry in entries
        if SAYS.search(entry["reason"]) and _copied(case, entry["approach"])
    ]
    entries[:] = [entry for entry in entries if entry not in foreign]
    return [failure("origin", entry["approach"], "dropped") for entry in foreign]


def _foreign(case: Case, field: str, text: str, delegated: bool) -> bool:
    """Whether a text wants something that stands in a tool's output only, and nobody in the session took it up."""
    wishes = field in _WISHES
    if (wishes or field == "in_flight") and case.evidence.share_only_in(
        text, fetched=True
    ) >= _COPIED:
        return True
    return (SAYS.search(text) is not None or (wishes and not delegated)) and _copied(case, text)


def _copied(case: Case, text: str) -> bool:
    return case.evidence.share_only_in(text, fetched=False) >= _COPIED


def _rules(case: Case) -> list[AuditFailure]:
    """A rule the model quotes must be the user's own words; what is not was left out when the answer was merged."""
    said = [*case.evidence.typed, case.evidence.said]
    quotes = case.answer["rules"] if case.answer else []
    return [
        failure("rules", quote, "dropped") for quote in quotes if find_verbatim(quote, said) is None
    ]


def _rules_kept(case: Case) -> list[AuditFailure]:
    """A strong rule that the answer left out stands in the handoff all the same, from the facts."""
    if case.answer is None:
        return []
    told = [" ".join(quote.split()) for quote in case.answer["rules"]]
    left = [
        rule["text"]
        for rule in case.handoff["constraints"]["rules"]
        if strength(rule["text"], english=is_english(rule["text"])) >= _STRONG
        and not any(_overlap(" ".join(rule["text"].split()), quote) for quote in told)
    ]
    return [failure("rules_kept", text, "repaired") for text in left]


def _overlap(rule: str, quote: str) -> bool:
    return bool(quote) and (rule in quote or quote.strip("\"'“”.") in rule)


def _sections(case: Case) -> list[AuditFailure]:
    """What a handoff cannot do without is put there from the facts."""
    handoff, answer = case.handoff, case.answer
    empty = []
    if answer is not None:
        empty += [name for name in ("task", "resume_prompt") if not str(answer[name]).strip()]
        empty += [] if any(step.strip() for step in answer["next_steps"]) else ["next_steps"]
    if not handoff["task"].strip():
        handoff["task"] = _asked(handoff)
        empty.append("task")
    if not any(step.strip() for step in handoff["next_steps"]):
        handoff["next_steps"] = computed_steps(handoff)[:3] or [NOTHING_OPEN]
        empty.append("next_steps")
    if not handoff["resume_prompt"].strip():
        handoff["resume_prompt"] = GO_ON
        empty.append("resume_prompt")
    return [failure("sections", name, "repaired") for name in dict.fromkeys(empty)]


def _asked(handoff: Handoff) -> str:
    facts = handoff["facts"]
    asked = [entry["text"] for entry in facts["user_messages"][:1]]
    asked += [facts["pending_ask"]["text"]] if facts["pending_ask"] else []
    return cut(next(iter(asked), "Not stated in what could be read."), _TASK)


CHECKS: dict[str, Check] = {
    "secrets": secrets,
    "markup": markup,
    "bounds": bounds,
    "origin": _origin,
    "attribution": attribution,
    "spelling": spelling,
    "names": names,
    "claims": claims,
    "acts": acts,
    "files": files,
    "contradictions": contradictions,
    "freshness": freshness,
    "forbidden": forbidden,
    "concrete_step": concrete_step,
    "plan": plan,
    "pending_ask": pending_ask,
    "rules": _rules,
    "rules_kept": _rules_kept,
    "language": in_language,
    "sections": _sections,
    "identifiers": identifiers,
}

_FAULTS = {
    "acts": "the record does not show that this was done",
    "attribution": "the user did not type these words",
    "claims": "the last check of the facts contradicts this, or there was none",
    "concrete_step": "the first next step must be an action with its file, command or question, not this",
    "contradictions": "this is said to work and to be broken",
    "files": "the facts say otherwise about what was done to this file",
    "forbidden": "a rule of the user forbids this step",
    "freshness": "this is done already, was ruled out, or was no task",
    "identifiers": "the answer names none of the exact names that matter most",
    "language": "write in the language the user writes in",
    "markup": "this is no content: a pasted prompt or transcript, or an empty phrase",
    "names": "these names do not occur in the material",
    "origin": "this came out of a tool's output and is no task of the user",
    "pending_ask": "the user's last ask is not taken up by any next step",
    "plan": "no next step goes on with what is in progress or planned",
    "rules": "this is not a rule in the user's own words",
    "sections": "this must not be empty",
}
_WORTH_A_RETRY = frozenset(_FAULTS) - {"names", "origin"}
_PUT_RIGHT = frozenset(
    (("markup", "repaired"), ("files", "dropped"), ("contradictions", "dropped"))
)
