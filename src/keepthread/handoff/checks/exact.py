"""Faults of naming: what never occurred, what is misspelt by a letter, what the facts rank highest and nobody names."""

from __future__ import annotations

import re

from keepthread.handoff.checks.case import SENTENCES, Case, failure, revise
from keepthread.handoff.model import AuditFailure, Handoff, ModelAnswer
from keepthread.handoff.named import Named, named, without_place
from keepthread.handoff.wording import NOT_FOUND, cut, is_aged, words

_CREATING_WORDS = """
    create creates creating write writing add adding new introduce erstelle erstellen schreibe
    anlegen lege créer crée ajouter crear crea añadir criar"""
_CREATING = frozenset(_CREATING_WORDS.split())
_PLACING_WORDS = """
    to in into for from of with"""
_PLACING = frozenset(_PLACING_WORDS.split())
_TELLING_KINDS = frozenset(("name", "path", "hash", "uuid", "issue", "url"))
_TOP = 8  # identifiers of which at least one is to be named
_FEW = 4  # fewer identifiers say little about an answer
_LEAST = 6  # characters; shorter names have too many neighbours
_HEX = re.compile(r"[0-9a-f-]{7,40}")
_NAMES = "Exact names:"


def spelling(case: Case) -> list[AuditFailure]:
    """A name that never occurred and is one letter off a known one is that one."""
    known = _known(case.handoff)
    project = case.handoff["meta"]["project"]
    failed: list[AuditFailure] = []

    def look(field: str, text: str) -> str:
        if is_aged(text):
            return text
        for thing in _lost(case, field, text, project):
            right = _neighbour(thing.text, known)
            if right:
                text = text.replace(thing.text, right)
                failed.append(failure("spelling", f"{field}: {thing.text} is {right}", "repaired"))
        return text

    revise(case.handoff, look)
    return failed


def names(case: Case) -> list[AuditFailure]:
    """Every path, command and identifier must occur in the session."""
    failed: list[AuditFailure] = []
    project = case.handoff["meta"]["project"]

    def look(field: str, text: str) -> str | None:
        if NOT_FOUND in text or is_aged(text):
            return text
        lost = [thing.text for thing in _lost(case, field, text, project)]
        if not lost and field == "ruled_out" and not case.evidence.mentions(text):
            lost = [text]  # of an approach that nobody spoke of, not even a word is there
        if not lost:
            return text
        alone = len(lost) > 1 and field not in (*SENTENCES, "next_steps")
        wholly = alone and len(lost) == len(_things(case, field, text))
        failed.append(
            failure("names", f"{field}: {', '.join(lost[:4])}", "dropped" if wholly else "marked")
        )
        return None if wholly else f"{text} {NOT_FOUND}"

    revise(case.handoff, look)
    return failed


def identifiers(case: Case) -> list[AuditFailure]:
    """An answer that names none of what the facts rank highest gets those names at its end."""
    top = [
        entry["text"]
        for entry in case.handoff["facts"]["identifiers"]
        if entry["kind"] in _TELLING_KINDS
    ][:_TOP]
    if len(top) < _FEW or case.answer is None:
        return []
    told = "\n".join(_own_words(case.answer))
    changed = [path.replace("\\", "/") for path in case.handoff["current_state"]["files_modified"]]
    known = [*top, *(path.rsplit("/", 1)[-1] for path in changed)]
    if any(_says(told, name) for name in known):
        return []
    handoff = case.handoff
    listed = ", ".join(f"`{name}`" for name in top[:4])
    handoff["resume_prompt"] = f"{handoff['resume_prompt']} {_NAMES} {listed}.".strip()
    return [failure("identifiers", ", ".join(top[:4]), "added")]


def _own_words(answer: ModelAnswer) -> list[str]:
    told = [answer["task"], answer["in_flight"], answer["resume_prompt"], *answer["next_steps"]]
    told += [*answer["completed_tasks"], *answer["works"], *answer["broken"]]
    told += answer["open_questions"]
    told += [text for entry in answer["ruled_out"] for text in (entry["approach"], entry["reason"])]
    return told + [
        f"{entry['issue']} {entry['workaround']}" for entry in answer["issues_discovered"]
    ]


def _says(told: str, name: str) -> bool:
    end = re.split(r"[./:#\\]", name.rstrip("()"))[-1]
    return name in told or (len(end) >= _LEAST and end in told)


def _things(case: Case, field: str, text: str) -> list[Named]:
    found = named(text, case.evidence.folders)
    return [thing for thing in found if not creates(field, text, thing)]


def _lost(case: Case, field: str, text: str, project: str) -> list[Named]:
    return [
        thing for thing in _things(case, field, text) if not case.evidence.holds(thing, project)
    ]


def creates(field: str, text: str, thing: Named) -> bool:
    """Return whether a step tells to create the file it names."""
    if field not in ("next_steps", "in_flight", "resume_prompt", "open_questions"):
        return False
    before = words(text[: thing.at])[-4:]
    return bool(_CREATING.intersection(before)) and not _PLACING.intersection(before)


def _known(handoff: Handoff) -> list[str]:
    facts = handoff["facts"]
    found = [entry["text"] for entry in facts["identifiers"]]
    found += [entry["path"] for entry in handoff["files_touched"]]
    found += [path.rsplit("/", 1)[-1] for path in found if "/" in path]
    return [name for name in dict.fromkeys(found) if len(name) >= _LEAST]


def _neighbour(name: str, known: list[str]) -> str:
    """Return the one known name that differs from `name` in a single letter, "" when there is none or several."""
    bare = without_place(name)
    if len(bare) < _LEAST:
        return ""
    near = [other for other in known if _one_letter_off(bare, other)]
    return near[0] + name[len(bare) :] if len(near) == 1 else ""


def _one_letter_off(one: str, other: str) -> bool:
    """Whether one letter is wrong, missing, too many, or two are swapped. v1 and v2 are two names, not one."""
    if one == other or abs(len(one) - len(other)) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    start = min(len(one), len(other)) if start is None else start
    tail_one, tail_other = one[start:], other[start:]
    if len(one) == len(other):
        swapped = tail_one[:2] == tail_other[:2][::-1] and tail_one[2:] == tail_other[2:]
        if not swapped and tail_one[1:] != tail_other[1:]:
            return False
    elif tail_one[1:] != tail_other and tail_one != tail_other[1:]:
        return False
    changed = tail_one[:1] + tail_other[:1]
    digits = any(character.isdigit() for character in changed)
    return not digits or (bool(_HEX.fullmatch(one)) and cut(one, 40) == one)
