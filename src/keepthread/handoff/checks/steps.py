"""Faults of the next steps: done already, forbidden, vague, off the plan, or past what the user asked last."""

from __future__ import annotations

import re

from keepthread.handoff.checks.case import MOST, Case, failure
from keepthread.handoff.claims import is_vague, planted
from keepthread.handoff.merge import ANSWER_ASK, keep_ask, speaks_of
from keepthread.handoff.model import AuditFailure, Handoff
from keepthread.handoff.named import named
from keepthread.handoff.wording import cut, distinct, same, words

_FORBIDDEN = "(a rule of the user forbids this)"
_PLAN = "Go on with the accepted plan: "
_ONCE = re.compile(
    r"\bgit (?:commit|push|tag|merge|init)\b|\bgh (?:pr|release) create\b|\b(?:npm|cargo|poetry|uv) publish\b"
    r"|\btwine upload\b"
)
_COMMIT = re.compile(r"\W*(?:git )?commit\b(?! message)", re.IGNORECASE)
_PROHIBITS = re.compile(
    r"\b(?:never|don['’]?t|do not|must not|must never|nie(?:mals)?|nicht|kein\w*|jamais|nunca"
    r"|no (?:toques|uses|cambies))\b",
    re.IGNORECASE,
)
_EXCEPT = re.compile(
    r"\b(?:without|unless|until|before|except|instead|first|if|when|ohne|außer|bis|bevor|wenn|sans|sauf|avant|sin|salvo|antes)\b",
    re.IGNORECASE,
)
_EDITING_WORDS = """
    edit change update modify rewrite delete rename refactor fix move add remove port clean
    touch patch extend ändere bearbeite lösche modifier supprimer editar modificar borrar"""
_EDITING = frozenset(_EDITING_WORDS.split())
_VERBS_WORDS = """
    use run call install import add touch edit change commit to with"""
_VERBS = frozenset(_VERBS_WORDS.split())
_QUOTED = re.compile(r"`([^`\n]+)`")
_TOOL = re.compile(r"`(?:sudo )?([\w.-]+)")


def freshness(case: Case) -> list[AuditFailure]:
    """Drop steps that are done or ruled out, or that were said to the compaction only."""
    handoff, focus = case.handoff, case.evidence.focus
    todos = handoff["facts"]["todos"]
    open_todos = [todo["text"] for todo in todos if todo["status"] != "completed"]
    finished = [todo["text"] for todo in todos if todo["status"] == "completed"]
    done = [*handoff["completed_tasks"], *finished]
    failed: list[AuditFailure] = []
    kept: list[str] = []
    for step in handoff["next_steps"]:
        is_done = any(_done(step, item) for item in done) or _happened(step, handoff)
        is_open = any(same(step, item) for item in open_todos)
        if (is_done and not is_open) or (focus and same(step, focus)) or _ruled_out(step, handoff):
            failed.append(failure("freshness", step, "dropped"))
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


def _happened(step: str, handoff: Handoff) -> bool:
    """Whether the facts show that the step has been done: the file exists, the command that is run once has run."""
    facts = handoff["facts"]
    first = words(step)[:1]
    if first and first[0] in ("create", "write", "erstelle", "créer", "crear"):
        files = [entry for entry in handoff["files_touched"] if entry["status"] == "created"]
        things = named(step)
        if len(things) == 1 and len(words(step[: things[0].at])) <= 3 and len(words(step)) <= 8:
            return any(entry["path"].endswith(things[0].text) for entry in files)
    quoted = _QUOTED.findall(step)
    ran = {entry["command"] for entry in facts["commands"] if entry["outcome"] == "ok"}
    if len(quoted) == 1 and _ONCE.search(quoted[0]) and quoted[0] in ran:
        return True
    git = facts["git"]
    clean = bool(git["head"]) and not git["dirty"]
    committed = any(re.search(r"\bgit commit\b", command) for command in ran)
    return bool(_COMMIT.match(step)) and len(words(step)) <= 6 and clean and committed


def _ruled_out(step: str, handoff: Handoff) -> bool:
    return any(
        len(words(entry["approach"])) > 2 and same(step, entry["approach"])
        for entry in handoff["constraints"]["ruled_out"]
    )


def forbidden(case: Case) -> list[AuditFailure]:
    """Mark steps that do what a rule of the user forbids by name."""
    names = [
        name for rule in case.handoff["constraints"]["rules"] for name in _banned(rule["text"])
    ]
    failed: list[AuditFailure] = []
    steps = case.handoff["next_steps"]
    for at, step in enumerate(steps):
        ordered = any(case.evidence.user_wanted(quoted) for quoted in _QUOTED.findall(step))
        if _FORBIDDEN not in step and not ordered and any(_breaks(step, name) for name in names):
            failed.append(failure("forbidden", step, "marked"))
            steps[at] = f"{step} {_FORBIDDEN}"
    return failed


def _banned(rule: str) -> list[str]:
    """Return the files and programs that a rule forbids without an exception."""
    found: list[str] = []
    for clause in re.split(r"(?<=[.;!])\s|\n|, (?=use|always|please)", rule):
        match = _PROHIBITS.search(clause)
        if match is None or _EXCEPT.search(clause):
            continue
        rest = clause[match.end() :]
        found += [thing.text for thing in named(rest) if thing.kind in ("path", "code")]
        told = [word.rstrip(".-") for word in re.findall(r"[\w.-]+", rest.lower())[:3]]
        found += [word for word in told if word not in _VERBS][:1]
    return found


def _breaks(step: str, name: str) -> bool:
    if _PROHIBITS.search(step):
        return False
    tools = [tool.lower() for tool in _TOOL.findall(step)]
    if "/" in name or "." in name:
        at = step.find(name)
        before = words(step[:at])[-6:] if at >= 0 else []
        return at >= 0 and bool(_EDITING.intersection(before))
    return name in tools


def concrete_step(case: Case) -> list[AuditFailure]:
    """The first next step must say what to do; else what the facts say stands in its place."""
    handoff = case.handoff
    steps = handoff["next_steps"]
    vague = [step for step in steps if is_vague(step)]
    if not vague:
        return []
    rest = [step for step in steps if step not in vague]
    computed = computed_steps(handoff)[:1] if steps[0] in vague else []
    if not rest and not computed:
        return [failure("concrete_step", vague[0], "kept")]
    handoff["next_steps"] = distinct([*computed, *rest], MOST["next_steps"])
    return [failure("concrete_step", step, "repaired") for step in vague]


def plan(case: Case) -> list[AuditFailure]:
    """What is in progress on the host's list, or the plan the user accepted, goes on in some step."""
    handoff, facts = case.handoff, case.handoff["facts"]
    told = [*handoff["next_steps"], handoff["resume_prompt"], *handoff["open_questions"]]
    told = [text for text in told if not text.startswith(ANSWER_ASK)]
    going = [todo["text"] for todo in facts["todos"] if todo["status"] == "in_progress"]
    flight = handoff["current_state"]["in_flight"]
    left = [todo for todo in going if not speaks_of(todo, [*told, flight]) and not planted(todo)]
    if not going and facts["plan"] and not _serves(handoff, told):
        title = next((line.strip("# ") for line in facts["plan"].splitlines() if line.strip()), "")
        left = [f"{_PLAN}{cut(title, 200)}"] if title and not planted(title) else []
    if not left:
        return []
    steps = handoff["next_steps"]
    handoff["next_steps"] = distinct([*steps[:1], left[0], *steps[1:]], MOST["next_steps"])
    return [failure("plan", left[0], "repaired")]


def _serves(handoff: Handoff, told: list[str]) -> bool:
    """Whether the steps take up the plan, or the user's later ask instead of it."""
    facts = handoff["facts"]
    ask = facts["pending_ask"]
    if any(step.startswith(_PLAN) for step in told):
        return True
    if ask is not None and ask["text"] not in facts["plan"] and speaks_of(ask["text"], told[:2]):
        return True
    todos_done = facts["todos"] and all(t["status"] == "completed" for t in facts["todos"])
    return bool(todos_done) or speaks_of(facts["plan"], [*told, handoff["task"]])


def pending_ask(case: Case) -> list[AuditFailure]:
    """The user's last ask is taken up, first of all."""
    handoff = case.handoff
    handoff["next_steps"] = keep_ask(handoff["next_steps"], handoff)
    if any(step.startswith(ANSWER_ASK) for step in handoff["next_steps"][:1]):
        return [failure("pending_ask", handoff["next_steps"][0], "repaired")]
    return []


def computed_steps(handoff: Handoff) -> list[str]:
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
    return distinct([step for step in steps if not planted(step)], MOST["next_steps"])
