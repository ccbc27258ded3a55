"""A facts update: so little is new since the last complete handoff that its judgement stands as it was."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import cast

from keepthread.handoff.claims import claims_success, denies_success
from keepthread.handoff.facts.confirmations import goes_on, is_bare
from keepthread.handoff.kept_words import said
from keepthread.handoff.merge import ANSWER_ASK, carry, speaks_of
from keepthread.handoff.model import FileTouched, Handoff
from keepthread.handoff.wording import aged, cut, distinct, is_aged, same

_EARLIER = "edited earlier in the session"
_WAITING = "wait for the user: "
_SINCE = " Since then the user asked: "
_MOST = 40
_MOST_STEPS = 12
_MOST_FILES = 60
_ASK = 400  # characters


def update(
    partial: Handoff, previous: Handoff, *, now: str, touched: Collection[str] | None = None
) -> Handoff:
    """Return the previous handoff's judgement as it was, marked with its age, and the new facts laid over it.

    Neither argument is changed. A previous handoff without judgement is carried as `merge.carry` does.

    Args:
        partial: the newer handoff, computed.
        previous: the last complete handoff, or a partial that carries its judgement.
        now: the present (ISO 8601).
        touched: the files touched since then, None when that is not known.
    """
    handoff = carry(partial, previous, now=now)
    written, is_complete = (
        previous["meta"]["generated_at"],
        previous["meta"]["status"] == "complete",
    )

    def judged(texts: Sequence[str]) -> list[str]:
        held = [text for text in texts if text.strip() and (is_complete or is_aged(text))]
        return [aged(text, written, now) for text in held]

    state, before = handoff["current_state"], previous["current_state"]
    state["in_flight"] = "".join(judged([before["in_flight"]])) or state["in_flight"]
    state["works"] = distinct([*judged(before["works"]), *state["works"]], _MOST)
    state["broken"] = distinct([*judged(before["broken"]), *state["broken"]], _MOST)
    by_last_check(handoff)
    handoff["open_questions"] = distinct(
        [*judged(previous["open_questions"]), *handoff["open_questions"]], _MOST
    )
    handoff["next_steps"] = _steps(handoff, partial, judged(previous["next_steps"]))
    handoff["resume_prompt"] = _resume(handoff, judged([previous["resume_prompt"]]))
    handoff["files_touched"] = _files(handoff["files_touched"], previous["files_touched"], touched)
    return handoff


def by_last_check(handoff: Handoff) -> None:
    """Drop what the newest check has shown to be otherwise; the handoff is changed in place."""
    check, state = handoff["facts"]["last_check"], handoff["current_state"]
    if check is None:
        return
    command = check["command"]
    if check["outcome"] == "failed":
        state["works"] = [text for text in state["works"] if not claims_success(text, command)]
    elif check["outcome"] == "ok":
        state["broken"] = [text for text in state["broken"] if not denies_success(text, command)]


def _steps(handoff: Handoff, partial: Handoff, judged: list[str]) -> list[str]:
    """Return the judged steps that the facts do not show done, a new ask in front of them, new steps behind."""
    todos = handoff["facts"]["todos"]
    done = [todo["text"] for todo in todos if todo["status"] == "completed"]
    done += partial["completed_tasks"]
    left = [step for step in judged if not any(same(step, text) for text in done)]
    if not left:
        return handoff["next_steps"]
    newest = newest_ask(handoff)
    first = [f"{ANSWER_ASK}“{cut(newest, _ASK)}”"] if newest else []
    spoken = speaks_of(newest, [*left[:3], *handoff["open_questions"]])
    return distinct([*([] if spoken else first), *left, *fresh_steps(partial)], _MOST_STEPS)


def fresh_steps(partial: Handoff) -> list[str]:
    """Return the next steps that code has found, without the pending ask and what is carried from before."""
    ask = partial["facts"]["pending_ask"]
    quoted = " ".join(ask["text"].split()) if ask else ""
    return [
        step
        for step in partial["next_steps"]
        if not step.startswith(_WAITING)
        and not is_aged(step)
        and step.rstrip("…")[:200] not in quoted
    ]


def newest_ask(handoff: Handoff) -> str:
    """Return what was typed last on one line, "" when that says nothing of its own."""
    typed = said(handoff["facts"]["user_messages"])
    text = " ".join(typed[-1]["text"].split()) if typed else ""
    return "" if is_bare(text) or goes_on(text) else text


def _resume(handoff: Handoff, judged: list[str]) -> str:
    if not judged:
        return handoff["resume_prompt"]
    told = judged[0].partition(_SINCE)[0]
    newest = newest_ask(handoff)
    if not newest or speaks_of(newest, [told, *handoff["next_steps"][1:]]):
        return told
    return asked_since(told, newest)


def asked_since(told: str, newest: str) -> str:
    """Return a text of before with what the user has asked since behind it."""
    return f"{told}{_SINCE}“{cut(newest, _ASK)}”"


def ask_first(newest: str, steps: Sequence[str]) -> list[str]:
    """Return the steps with the newest ask in front of them, instead of an earlier one that stood there."""
    first = f"{ANSWER_ASK}“{cut(newest, _ASK)}”"
    return [first, *(step for step in steps if not step.startswith(ANSWER_ASK))][:_MOST_STEPS]


def _files(
    files: Sequence[FileTouched], before: Sequence[FileTouched], touched: Collection[str] | None
) -> list[FileTouched]:
    """Return the files, those not touched since as they were described before."""
    known = {entry["path"]: entry for entry in before}
    kept: list[FileTouched] = []
    for entry in files:
        old = known.pop(entry["path"], None)
        untouched = entry["status"] == "read" or entry["summary"].startswith(_EARLIER)
        if touched is not None:
            untouched = entry["path"] not in touched
        same_file = old is not None and untouched and bool(old["summary"])
        kept.append(cast(FileTouched, {**entry, **old} if same_file and old else entry))
    rest = [entry for entry in known.values() if entry["status"] == "read"]
    return [*kept, *rest[: max(_MOST_FILES - len(kept), 0)]]
