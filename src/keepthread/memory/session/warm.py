"""A warm memory makes a compaction's handoff complete without a call: the model has said it all a moment ago."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import cast

from keepthread import log
from keepthread.errors import KeepthreadError
from keepthread.handoff.audit import Evidence, audit
from keepthread.handoff.checkpoint import ENOUGH_NEW, new_since, note_complete, tokens_of
from keepthread.handoff.facts.confirmations import goes_on, is_bare
from keepthread.handoff.facts.files import touched
from keepthread.handoff.facts.paths import Paths
from keepthread.handoff.kept_words import UPDATE, said
from keepthread.handoff.merge import complete, with_newer
from keepthread.handoff.model import FileSummary, Handoff, ModelAnswer
from keepthread.handoff.publish import Outlet, publish
from keepthread.handoff.schema import validate
from keepthread.handoff.store import read_worker
from keepthread.handoff.update import ask_first, asked_since, by_last_check, fresh_steps
from keepthread.handoff.wording import distinct, is_aged
from keepthread.memory.session.model import Memory
from keepthread.memory.session.store import load, load_sound
from keepthread.transcript.model import Item, Message, Transcript
from keepthread.transcript.read import read_transcript

ENGINE = "session-memory"  # meta.engine of a handoff that was made this way


def warm(partial: Handoff, outlet: Outlet, *, focus: str = "") -> Handoff | None:
    """Store the complete handoff that the session's memory makes of a partial, and return it; None when it makes none.

    It does when a model wrote the memory of this transcript, its position is on the live branch and behind the last
    compaction, fewer than 5,000 tokens came after it (with as few a complete handoff gets an update by code, too), and
    what comes of it passes the schema and the audit as a worker's answer would. Where a partial updates a complete
    handoff, the memory has to be newer than that.

    Args:
        partial: what code has computed for the compaction at hand.
        outlet: where to.
        focus: the instructions given to the compaction, which are no task.

    Raises:
        OSError: the state folder cannot be written.
    """
    started = time.monotonic()
    session = partial["meta"]["session_id"]
    known = load(outlet.state, session) if outlet.state else None
    if known is None or known["form"] != "model" or not _of_this(known, partial):
        return None
    if partial["meta"]["engine"] == UPDATE and not _is_newer(known, outlet.state):
        return None
    reference = partial["meta"]["transcript"]
    try:
        transcript = read_transcript(reference["path"], end=reference["size"])
    except (KeepthreadError, OSError):
        return None  # gone this instant; the worker says what becomes of it
    news = _news(known, transcript)
    memory = load_sound(outlet.state, session) if news is not None else None
    if news is None or memory is None:
        return None
    handoff = _joined(partial, memory, transcript, news, focus)
    handoff["meta"]["seconds"] = round(partial["meta"]["seconds"] + time.monotonic() - started, 3)
    if validate(handoff) or not publish(handoff, outlet):
        return None
    note_complete(outlet.state, handoff)
    return handoff


def _of_this(memory: Memory, partial: Handoff) -> bool:
    was, now_at = memory["handoff"]["meta"]["transcript"], partial["meta"]["transcript"]
    return (
        was.get("path") == now_at["path"]
        and isinstance(was.get("size"), int)
        and was["size"] <= now_at["size"]
        and bool(was.get("last_uuid"))
    )


def _is_newer(memory: Memory, state: str) -> bool:
    """Return whether a memory says more than the session's last complete handoff."""
    meta = memory["handoff"]["meta"]
    last = (read_worker(state, meta["session_id"]) or {}).get("complete")
    size = last.get("size") if isinstance(last, dict) else None
    return isinstance(size, int) and size < meta["transcript"]["size"]


def _news(memory: Memory, transcript: Transcript) -> Sequence[Item] | None:
    """Return what came after the memory, None when it is not warm."""
    reference = memory["handoff"]["meta"]["transcript"]
    if reference["size"] < transcript.start or not transcript.holds(reference["last_uuid"]):
        return None  # a compaction came between, or its user has rewound past it
    news = new_since(transcript, reference["size"])
    return news if tokens_of(news) < ENOUGH_NEW else None


def _joined(
    partial: Handoff, memory: Memory, transcript: Transcript, news: Sequence[Item], focus: str
) -> Handoff:
    project = partial["meta"]["project"]
    changed = {
        entry.path for entry in touched(news, Paths(project, transcript.cwd)) if entry.edited
    }
    answer = _answer(memory["handoff"], changed)
    _overtaken(answer, partial, news)
    merged = complete(
        partial,
        answer,
        engine=ENGINE,
        rungs=[{"engine": ENGINE, "result": "ok", "seconds": 0.0}],
        usage=None,
        cost_usd=None,
        seconds=0.0,
        generated_at=log.stamp(),
    )
    by_last_check(merged)
    return audit(merged, Evidence.from_transcript(transcript, partial, focus=focus), answer)


def _answer(handoff: Handoff, changed: set[str]) -> ModelAnswer:
    """Return the judgement of a memory as the answer it once was; files touched since are described by the facts."""
    state, constraints = handoff["current_state"], handoff["constraints"]
    summaries: list[FileSummary] = [
        {"path": entry["path"], "summary": entry["summary"]}
        for entry in handoff["files_touched"]
        if entry["summary"] and entry["path"] not in changed
    ]
    fields = {
        "task": handoff["task"],
        "completed_tasks": _own(handoff["completed_tasks"]),
        "in_flight": state["in_flight"],
        "works": _own(state["works"]),
        "broken": _own(state["broken"]),
        "rules": [rule["text"] for rule in constraints["rules"]],
        "ruled_out": constraints["ruled_out"],
        "file_summaries": summaries,
        "issues_discovered": handoff["issues_discovered"],
        "open_questions": _own(handoff["open_questions"]),
        "next_steps": _own(handoff["next_steps"]),
        "resume_prompt": handoff["resume_prompt"],
    }
    return cast(ModelAnswer, fields)


def _overtaken(answer: ModelAnswer, partial: Handoff, news: Sequence[Item]) -> None:
    """Put what was asked and said since in front, and take out what a command has shown since not to work."""
    last = "".join(_own([partial["current_state"]["in_flight"]]))
    if any(isinstance(item, Message) and item.via == "reply" for item in news) and last:
        answer["in_flight"] = f"{answer['in_flight']} Since then: {last}".strip()
        steps = [*fresh_steps(partial), *answer["next_steps"]]
        answer["next_steps"] = distinct(steps, len(steps))
    places = {item.place.uuid or f"@{item.place.offset}" for item in news}
    typed = [
        entry for entry in said(partial["facts"]["user_messages"]) if entry["source"] in places
    ]
    asked = [" ".join(entry["text"].split()) for entry in typed]
    newest = next((text for text in reversed(asked) if not is_bare(text) and not goes_on(text)), "")
    if newest:
        answer["task"] = with_newer(answer["task"], newest)
        answer["next_steps"] = ask_first(newest, answer["next_steps"])
        answer["resume_prompt"] = asked_since(answer["resume_prompt"], newest)
    failed = [
        re.compile(rf"(?<!\w){re.escape(command['command'])}(?!\w)")
        for command in partial["facts"]["commands"]
        if command["outcome"] == "failed"
    ]
    answer["works"] = [t for t in answer["works"] if not any(one.search(t) for one in failed)]


def _own(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if not is_aged(text)]
