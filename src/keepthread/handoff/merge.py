"""Joining what was computed with what a model wrote, and carrying judgement from one handoff to the next."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import cast

from keepthread.handoff.facts.rules import only_binds
from keepthread.handoff.facts.withdrawn import all_taken_back, is_withdrawn
from keepthread.handoff.kept_words import earlier
from keepthread.handoff.kept_words import said as typed_then
from keepthread.handoff.model import (
    FileSummary,
    FileTouched,
    Handoff,
    IssueFound,
    Meta,
    ModelAnswer,
    RuledOut,
    Rung,
    Sourced,
    Usage,
)
from keepthread.handoff.wording import (
    aged,
    cut,
    distinct,
    find_verbatim,
    is_aged,
    key,
    unmarked,
    words,
)

_MAX_ITEMS = 40
_MAX_RULES = 60
_MAX_RULED_OUT = 30
_MAX_STEPS = 12
_MAX_TASK = 2_000
_MAX_QUOTED_ASK = 600
_LONG_ASK = 200
_SINCE = "\nSince then: "
ANSWER_ASK = "Act on the user's last ask: "
CHECK_FAILED = "The last check failed: "


def complete(
    partial: Handoff,
    answer: ModelAnswer,
    *,
    engine: str,
    rungs: list[Rung],
    usage: Usage | None,
    cost_usd: float | None,
    seconds: float,
    generated_at: str,
) -> Handoff:
    """Return the complete handoff: the answer's judgement on the partial's facts. Neither argument is changed.

    What code computed wins: files and their status, rules, the pending ask. A rule the model quotes counts only when
    the user typed it, word for word. Ruled-out approaches and issues add up over the session; everything else of an
    earlier handoff has been before the model, so its answer stands. The answer must meet its schema; it is not
    audited here.
    """
    handoff = deepcopy(partial)
    meta: Meta = {
        **handoff["meta"],
        "status": "complete",
        "reason": None,
        "engine": engine,
        "rungs": rungs,
        "usage": usage,
        "cost_usd": cost_usd,
        "seconds": seconds,
        "generated_at": generated_at,
    }
    handoff["meta"] = meta
    _judge(handoff, answer)
    return handoff


def _judge(handoff: Handoff, answer: ModelAnswer) -> None:
    """Lay the answer's judgement over a partial."""
    state, constraints = handoff["current_state"], handoff["constraints"]
    handoff["task"] = answer["task"].strip() or handoff["task"]
    handoff["completed_tasks"] = _joined(answer["completed_tasks"], handoff["completed_tasks"])
    state["in_flight"] = answer["in_flight"].strip() or "".join(_computed([state["in_flight"]]))
    state["works"] = distinct(answer["works"], _MAX_ITEMS)
    state["broken"] = _joined(answer["broken"], state["broken"])
    constraints["rules"] = _with_quoted(constraints["rules"], answer["rules"], handoff)
    constraints["ruled_out"] = _joined_ruled_out(constraints["ruled_out"], answer["ruled_out"])
    handoff["files_touched"] = _summarised(
        handoff["files_touched"], answer["file_summaries"], handoff["meta"]["project"]
    )
    handoff["issues_discovered"] = _joined_issues(
        answer["issues_discovered"], handoff["issues_discovered"]
    )
    handoff["open_questions"] = distinct(answer["open_questions"], _MAX_ITEMS)
    steps = distinct(answer["next_steps"], _MAX_STEPS) or _computed(handoff["next_steps"])
    handoff["next_steps"] = keep_ask(steps, handoff)
    handoff["resume_prompt"] = answer["resume_prompt"].strip() or handoff["resume_prompt"]


def carry(partial: Handoff, previous: Handoff, *, now: str) -> Handoff:
    """Return the partial with the judgement of the session's last complete handoff behind what was computed.

    What an earlier partial computed of the state, the questions and the next steps was true then and is no judgement:
    of a partial only what it carries itself goes on. Everything carried bears its age once: "(from the handoff 2 h
    ago)". Carrying the same handoff twice changes nothing, and nothing grows from compaction to compaction. Neither
    argument is changed.

    Args:
        partial: the newer handoff, computed.
        previous: the last handoff of the session, complete or itself a partial that carries an older one.
        now: the present (ISO 8601).
    """
    handoff = deepcopy(partial)
    written = previous["meta"]["generated_at"]

    def old(texts: Sequence[str]) -> list[str]:
        return [aged(text, written, now) for text in texts if text.strip()]

    def judged(texts: Sequence[str]) -> list[str]:
        complete = previous["meta"]["status"] == "complete"
        return old([text for text in texts if complete or is_aged(text)])

    state, before = handoff["current_state"], previous["current_state"]
    handoff["session_started"] = previous["session_started"] or handoff["session_started"]
    handoff["task"] = _carried_task(handoff["task"], previous, now)
    handoff["completed_tasks"] = distinct(
        [*handoff["completed_tasks"], *old(previous["completed_tasks"])], _MAX_ITEMS
    )
    state["in_flight"] = state["in_flight"] or "".join(judged([before["in_flight"]]))
    state["works"] = distinct([*state["works"], *judged(before["works"])], _MAX_ITEMS)
    state["broken"] = distinct([*state["broken"], *judged(before["broken"])], _MAX_ITEMS)
    _carry_lists(handoff, previous, now)
    handoff["files_touched"] = _old_summaries(handoff["files_touched"], previous["files_touched"])
    handoff["open_questions"] = distinct(
        [*handoff["open_questions"], *judged(previous["open_questions"])], _MAX_ITEMS
    )
    handoff["next_steps"] = distinct(
        [*handoff["next_steps"], *judged(previous["next_steps"])], _MAX_STEPS
    )
    handoff["resume_prompt"] = handoff["resume_prompt"] or "".join(
        judged([previous["resume_prompt"]])
    )
    return handoff


def _carry_lists(handoff: Handoff, previous: Handoff, now: str) -> None:
    """Carry rules as they are, ruled-out approaches and issues with their age."""
    written = previous["meta"]["generated_at"]
    constraints, before = handoff["constraints"], previous["constraints"]
    constraints["rules"] = _joined_rules(constraints["rules"], before["rules"])
    constraints["ruled_out"] = _joined_ruled_out(
        [_aged_approach(entry, written, now) for entry in before["ruled_out"]],
        constraints["ruled_out"],
    )
    handoff["issues_discovered"] = _joined_issues(
        handoff["issues_discovered"],
        [_aged_issue(entry, written, now) for entry in previous["issues_discovered"]],
    )


def keep_ask(steps: list[str], handoff: Handoff) -> list[str]:
    """Return the next steps with the pending ask in front, unless the steps or the open questions speak of it."""
    ask = handoff["facts"]["pending_ask"]
    if ask is None:
        return steps
    texts = [*steps[:3], *handoff["open_questions"]]
    # Rules that were given with it, and what was refused, are kept, not done.
    refusals = {entry["words"].strip() for entry in handoff["facts"]["rejections"]}
    parts = ask["text"].split("\n\n")
    parts = [part for part in parts if part not in refusals and not only_binds(part)]
    asked = "\n\n".join(parts)
    first = handoff["facts"]["user_messages"][:1]
    if len(asked) > _LONG_ASK or any(said["text"].strip() == asked for said in first):
        # Then it is the task itself, which the steps serve without repeating it.
        texts += [handoff["task"], handoff["current_state"]["in_flight"]]
    if not parts or speaks_of(asked, texts) or speaks_of(ask["text"], texts):
        return steps
    quoted = cut(" ".join(ask["text"].split()), _MAX_QUOTED_ASK)
    return [f"{ANSWER_ASK}“{quoted}”", *steps][:_MAX_STEPS]


def speaks_of(ask: str, texts: Sequence[str]) -> bool:
    """Return whether the texts take up an ask: they share a good part of its telling words.

    An ask without telling words ("yes", "go on") is taken up by any step.
    """
    telling = {word for word in words(ask) if len(word) > 3 or not word.isascii() or word.isdigit()}
    if len(telling) < 2:
        return bool(texts)
    told = {word for text in texts for word in words(text)}
    stems = {word[:4] for word in told}
    shared = sum(1 for word in telling if word in told or word[:4] in stems)
    return shared >= max(1, round(0.3 * min(len(telling), 12)))


def _computed(texts: Sequence[str]) -> list[str]:
    """Leave out what was only carried: the model saw it, and its answer says what still holds."""
    return [text for text in texts if not is_aged(text)]


def _joined(told: Sequence[str], known: Sequence[str]) -> list[str]:
    return distinct([*told, *_computed(known)], _MAX_ITEMS)


def _with_quoted(
    rules: Sequence[Sourced], quotes: Sequence[str], partial: Handoff
) -> list[Sourced]:
    said = _typed(partial)
    texts = [entry["text"] for entry in said]
    quoted: list[Sourced] = []
    for quote in quotes:
        found = find_verbatim(quote, texts)
        if found is not None:
            quoted.append({"text": found[1], "source": said[found[0]]["source"]})
    return _joined_rules(rules, quoted)


def _typed(partial: Handoff) -> list[Sourced]:
    """Return all words the user typed, with their records, as the facts hold them."""
    facts = partial["facts"]
    said = [*earlier(facts["user_messages"]), *typed_then(facts["user_messages"])]
    said += [facts["pending_ask"]] if facts["pending_ask"] else []
    said += [Sourced(text=entry["answer"], source=entry["source"]) for entry in facts["answers"]]
    said += [Sourced(text=entry["words"], source=entry["source"]) for entry in facts["rejections"]]
    return [entry for entry in said if entry["text"].strip()]


def _joined_rules(first: Sequence[Sourced], second: Sequence[Sourced]) -> list[Sourced]:
    """Return both lists; a rule that stands word for word within a short one already there adds nothing.

    What the first list takes back is not brought in again by the second.
    """
    kept: list[Sourced] = []
    taken = all_taken_back(entry["text"] for entry in first)
    for rule in [*first, *(entry for entry in second if not is_withdrawn(entry["text"], taken))]:
        held = [entry["text"] for entry in kept if len(entry["text"]) <= 600]
        if rule["text"].strip() and not any(_within(rule["text"], text) for text in held):
            kept.append(rule)
    return kept[:_MAX_RULES]


def _within(part: str, whole: str) -> bool:
    return " ".join(part.split()) in " ".join(whole.split())


def _joined_ruled_out(first: Sequence[RuledOut], second: Sequence[RuledOut]) -> list[RuledOut]:
    """Return both lists; of two entries on one approach the second list's reason is the newer."""
    kept: dict[str, RuledOut] = {}
    for entry in [*first, *second]:
        name = key(entry["approach"])
        older = kept.get(name)
        if name and (older is None or entry["reason"].strip()):
            kept[name] = entry
    return list(kept.values())[-_MAX_RULED_OUT:]


def _aged_approach(entry: RuledOut, written: str, now: str) -> RuledOut:
    if not entry["reason"].strip():
        return {"approach": aged(entry["approach"], written, now), "reason": ""}
    return {"approach": entry["approach"], "reason": aged(entry["reason"], written, now)}


def _joined_issues(first: Sequence[IssueFound], second: Sequence[IssueFound]) -> list[IssueFound]:
    kept: dict[str, IssueFound] = {}
    for entry in [*first, *second]:
        if entry["issue"].strip():
            kept.setdefault(key(entry["issue"]), entry)
    return list(kept.values())[:_MAX_ITEMS]


def _aged_issue(entry: IssueFound, written: str, now: str) -> IssueFound:
    return {"issue": aged(entry["issue"], written, now), "workaround": entry["workaround"]}


def _carried_task(own: str, previous: Handoff, now: str) -> str:
    """Return the earlier task, with its age unless it is in the user's own words, and what was asked for since."""
    first, written = previous["task"].partition(_SINCE)[0], previous["meta"]["generated_at"]
    if not unmarked(first):
        return own
    newer = own.rpartition(_SINCE)[2].strip()
    carried = cut(first, _MAX_TASK)
    typed = [*_typed(previous), *previous["constraints"]["rules"]]
    judged = (
        previous["meta"]["status"] == "complete"
        and find_verbatim(first, [entry["text"] for entry in typed]) is None
    )
    if judged or is_aged(first):
        carried = aged(carried, written, now)
    if not newer or key(newer) == key(first):
        return carried
    return with_newer(carried, newer)


def with_newer(task: str, newer: str) -> str:
    """Return a task with what was asked for since behind it, in the place of what stood there."""
    return f"{task.partition(_SINCE)[0]}{_SINCE}{cut(newer, _MAX_TASK)}"


def _summarised(
    files: Sequence[FileTouched], summaries: Sequence[FileSummary], project: str
) -> list[FileTouched]:
    """Lay the model's summaries over the computed files; a path that was never touched is nobody's business."""
    names = _names({entry["path"] for entry in files}, project)
    told = {
        names[found]: " ".join(entry["summary"].split())
        for entry in summaries
        if (found := _spelling(entry["path"], names)) is not None
    }
    return [
        cast(FileTouched, {**entry, "summary": told.get(entry["path"]) or entry["summary"]})
        for entry in files
    ]


def _names(paths: set[str], project: str) -> dict[str, str]:
    """Return every way a model may spell a touched path, mapped to the path."""
    names: dict[str, str] = {}
    ends: dict[str, set[str]] = {}
    for path in paths:
        plain = path.replace("\\", "/")
        ends.setdefault(plain.rsplit("/", 1)[-1], set()).add(path)
        names[plain] = path
        if project and not plain.startswith("/"):
            names[f"{project.replace(chr(92), '/').rstrip('/')}/{plain}"] = path
    for end, owners in ends.items():
        if len(owners) == 1:
            names.setdefault(end, next(iter(owners)))
    return names


def _spelling(path: str, names: dict[str, str]) -> str | None:
    plain = path.strip().strip("`").replace("\\", "/").removeprefix("./")
    return plain if plain in names else None


def _old_summaries(
    files: Sequence[FileTouched], before: Sequence[FileTouched]
) -> list[FileTouched]:
    told = {entry["path"]: entry["summary"] for entry in before}
    return [
        cast(FileTouched, {**entry, "summary": entry["summary"] or told.get(entry["path"], "")})
        for entry in files
    ]
