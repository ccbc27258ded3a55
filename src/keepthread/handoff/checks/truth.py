"""Faults of fact: success that was not seen, acts nobody did, files that were not touched that way."""

from __future__ import annotations

import re

from keepthread.handoff.checks.case import STATES, Case, failure, revise
from keepthread.handoff.claims import acts_claimed, claims_success, denies_success, is_goal
from keepthread.handoff.merge import ANSWER_ASK, CHECK_FAILED
from keepthread.handoff.model import AuditFailure, FileTouched
from keepthread.handoff.named import named
from keepthread.handoff.wording import cut, distinct, is_aged, key, same, words

DENIED = "(the last check says otherwise)"
_NOT_RUN = "(no run of it is on record)"
_NOT_DONE = "(the record shows no such act)"
_NOT_SAID = "(the user did not type this)"
_MARKS = (DENIED, _NOT_RUN, _NOT_DONE, _NOT_SAID, "(the record lists it as", "(not touched in this")
_MOST_BROKEN = 30
_LONGEST = 700
_PLAIN = 16  # words of a statement that says nothing else

_CHANGED_WORDS = """
    created wrote added edited updated modified changed fixed refactored rewrote rewritten
    renamed deleted removed implemented ported extended erstellt geändert bearbeitet gelöscht
    angepasst créé modifié supprimé creado modificado borrado"""
_CHANGED = frozenset(_CHANGED_WORDS.split())
_MADE_WORDS = """
    created wrote erstellt angelegt créé creado"""
_MADE = frozenset(_MADE_WORDS.split())
_GONE_WORDS = """
    deleted removed gelöscht entfernt supprimé borrado eliminado"""
_GONE = frozenset(_GONE_WORDS.split())
_BETWEEN_WORDS = """
    the a an new file files module script and die der das datei le la fichier el archivo"""
_BETWEEN = frozenset(_BETWEEN_WORDS.split())
_QUOTED = re.compile(r"[^.;“\"«»”\n]{0,16}[“\"«]([^”\"»\n]{8,300})[”\"»]")
SAYS = re.compile(
    r"\b(?:the )?user(?:'s)? (?:\w+ )?(?:ask\w*|want\w*|said|says|told|tells|requir\w+|request\w*|approv\w+|allow\w+"
    r"|confirm\w+|instruct\w*|order\w*|rule)\b",
    re.IGNORECASE,
)


def claims(case: Case) -> list[AuditFailure]:
    """Nothing may be said to work that the last check has shown not to, or that nobody has checked."""
    check = case.handoff["facts"]["last_check"]
    if check is None:
        return _unchecked(case)
    if check["outcome"] == "ok":
        return _still_failing(case, check["command"])
    if check["outcome"] != "failed":
        return []
    failed = _denied(case, check["command"])
    if failed:
        broken = case.handoff["current_state"]["broken"]
        fact = cut(f"{CHECK_FAILED}`{check['command']}`: {check['result']}", _LONGEST)
        broken[:] = distinct([fact, *broken], _MOST_BROKEN)
    return failed


def _denied(case: Case, command: str) -> list[AuditFailure]:
    failed: list[AuditFailure] = []

    def look(field: str, text: str) -> str | None:
        if field not in STATES or DENIED in text or not claims_success(text, command):
            return text
        plain = field == "works" and len(words(text)) <= _PLAIN
        failed.append(failure("claims", f"{field}: {text}", "dropped" if plain else "marked"))
        return None if plain else f"{text} {DENIED}"

    revise(case.handoff, look)
    return failed


def _unchecked(case: Case) -> list[AuditFailure]:
    """Tests are said to pass, and neither a run nor anybody's word of one is on record."""
    if case.evidence.tells_of_tests():
        return []
    failed: list[AuditFailure] = []

    def look(field: str, text: str) -> str:
        if field not in STATES or _skip(text) or not claims_success(text, "pytest"):
            return text
        failed.append(failure("claims", f"{field}: {text}", "marked"))
        return f"{text} {_NOT_RUN}"

    revise(case.handoff, look)
    return failed


def _still_failing(case: Case, command: str) -> list[AuditFailure]:
    """The very command of the last check is called broken although it has succeeded since."""
    failed: list[AuditFailure] = []

    def look(field: str, text: str) -> str:
        if field != "broken" or _skip(text) or not denies_success(text, command):
            return text
        failed.append(failure("claims", f"{field}: {text}", "marked"))
        return f"{text} {DENIED}"

    revise(case.handoff, look)
    return failed


def acts(case: Case) -> list[AuditFailure]:
    """Committed, pushed, merged, deployed: only what somebody did."""
    failed: list[AuditFailure] = []

    def look(field: str, text: str) -> str:
        if field not in STATES or _skip(text):
            return text
        undone = [act for act in acts_claimed(text) if not case.evidence.has_done(act)]
        dirty = bool(case.handoff["facts"]["git"]["dirty"]) and "all committed" in acts_claimed(
            text
        )
        if not undone and not dirty:
            return text
        failed.append(failure("acts", f"{field}: {text}", "marked"))
        return f"{text} {_NOT_DONE}"

    revise(case.handoff, look)
    return failed


def files(case: Case) -> list[AuditFailure]:
    """A file is said to be created, changed or deleted only if the facts say so."""
    failed: list[AuditFailure] = []
    touched = {
        entry["path"].replace("\\", "/").casefold(): entry
        for entry in case.handoff["files_touched"]
    }

    def look(field: str, text: str) -> str:
        if field not in STATES or _skip(text):
            return text
        wrong = _wrong_status(case, text, touched)
        if wrong:
            failed.append(failure("files", f"{field}: {text}", "marked"))
        return f"{text} {wrong}" if wrong else text

    revise(case.handoff, look)
    project = case.handoff["meta"]["project"]
    told = [entry["path"] for entry in case.answer["file_summaries"]] if case.answer else []
    unknown = [path for path in told if _entry(path, touched, project) is None]
    return failed + [failure("files", f"summary of {path}", "dropped") for path in unknown]


def _wrong_status(case: Case, text: str, touched: dict[str, FileTouched]) -> str:
    project = case.handoff["meta"]["project"]
    for thing in named(text, case.evidence.folders):
        verb = _verb(text, thing.at)
        if not verb or thing.kind not in ("path", "code") or not re.search(r"\.\w", thing.text):
            continue
        if thing.kind == "code" and " " in thing.text:
            continue
        entry = _entry(thing.text, touched, project)
        if _changed_otherwise(case, thing.text):
            continue
        if entry is None:
            name = thing.text.replace("\\", "/").rsplit("/", 1)[-1]
            if case.evidence.holds(thing, project) and name not in case.evidence.before:
                return "(not touched in this session, as far as the record shows)"
        elif _contradicts(verb, entry["status"]):
            return f"(the record lists it as {entry['status']})"
    return ""


def _verb(text: str, at: int) -> str:
    """Return what is said to have been done to the file named at `at`: a verb just before it, "" for none."""
    before = words(re.split(r"[.;:\n]", text[:at])[-1] if at else "")
    if is_goal(text[:at].rpartition("\n")[2][-60:]):
        return ""
    near = before[-1:] if before else []
    while near and near[-1] in _BETWEEN and len(near) < len(before):
        near = [before[-len(near) - 1]]
        before = before[:-1]
    word = near[-1] if near else ""
    return word if word in _CHANGED else ""


def _contradicts(verb: str, status: str) -> bool:
    if status == "read":
        return True
    if verb in _GONE:
        return status not in ("deleted", "renamed")
    return verb in _MADE and status == "deleted"


def _changed_otherwise(case: Case, path: str) -> bool:
    """Whether the repository or a command knows of a change that the list of files does not."""
    name = path.replace("\\", "/").rsplit("/", 1)[-1]
    dirty = case.handoff["facts"]["git"]["dirty"]
    return any(entry.endswith(name) for entry in dirty) or case.evidence.in_commands(name)


def _entry(path: str, touched: dict[str, FileTouched], project: str) -> FileTouched | None:
    plain = path.strip("`").replace("\\", "/").removeprefix("./").casefold()
    root = project.replace("\\", "/").rstrip("/").casefold() + "/"
    plain = re.sub(r"(?::\d+(?:[:-]\d+)?|#l\d+(?:-l?\d+)?)$", "", plain).removeprefix(root)
    if plain in touched:
        return touched[plain]
    ends = [entry for known, entry in touched.items() if known.endswith("/" + plain)]
    return ends[0] if ends else None


def contradictions(case: Case) -> list[AuditFailure]:
    """What is broken does not work."""
    state = case.handoff["current_state"]
    both = [text for text in state["works"] if any(same(text, other) for other in state["broken"])]
    state["works"] = [text for text in state["works"] if text not in both]
    return [failure("contradictions", f"works: {text}", "dropped") for text in both]


def attribution(case: Case) -> list[AuditFailure]:
    """Words given as the user's must be the user's."""
    said = [*case.evidence.typed, *(entry["text"] for entry in _said(case))]
    typed = "\n".join(map(key, said))
    failed: list[AuditFailure] = []

    def look(field: str, text: str) -> str:
        if _skip(text) or text.startswith(ANSWER_ASK) or not SAYS.search(text):
            return text
        invented = [quote for quote in _quoted_as_said(text) if key(quote) not in typed]
        if not invented:
            return text
        failed.append(failure("attribution", f"{field}: {text}", "marked"))
        return f"{text} {_NOT_SAID}"

    revise(case.handoff, look)
    return failed


def _quoted_as_said(text: str) -> list[str]:
    """Return the quotations that follow at once on "the user said": others are titles and the like."""
    return [
        match[1]
        for says in SAYS.finditer(text)
        if (match := _QUOTED.match(text[says.end() :])) and len(words(match[1])) > 2
    ]


def _said(case: Case) -> list[dict[str, str]]:
    facts = case.handoff["facts"]
    said = [{"text": entry["text"]} for entry in facts["user_messages"]]
    said += [{"text": entry["text"]} for entry in case.handoff["constraints"]["rules"]]
    said += [{"text": entry["answer"]} for entry in facts["answers"]]
    return said + [{"text": entry["words"]} for entry in facts["rejections"]]


def _skip(text: str) -> bool:
    return is_aged(text) or any(mark in text for mark in _MARKS)
