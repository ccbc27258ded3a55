"""The status on one screen: at most 24 lines of 100 columns."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from keepthread.diagnose.status import Status
from keepthread.economy.gauge import shown
from keepthread.economy.line import span
from keepthread.handoff.kept_words import UPDATE
from keepthread.handoff.render.words import plural, why_partial

ROWS, COLUMNS = 24, 100
_RUNGS = 3  # engines that were tried, the last ones
_STANDING = {
    "trusted": "trusted",
    "refused": "not trusted, as you decided",
    "unknown": "not trusted yet: keepthread memory trust",
    "changed": "changed since you decided: keepthread memory trust",
}


def render_status(found: Status) -> str:
    """Return the status as text for people."""
    if found.shape["session"]:
        lines = [*_about_session(found), *_about_rest(found.shape)]
    else:
        lines = ["No session of this project was found.", *_about_others(found.shape)]
    problems = [f"Setting      {problem}" for problem in found.problems]
    room = max(1, ROWS - len(lines))
    if len(problems) > room:
        more = len(problems) - room + 1
        problems = [*problems[: room - 1], f"             and {more} more; see keepthread doctor"]
    return "\n".join(_fitted(line) for line in [*lines, *problems])


def _fitted(line: str) -> str:
    line = shown(line) if not line.isprintable() else line
    return line if len(line) <= COLUMNS else line[: COLUMNS - 1] + "…"


def _about_session(found: Status) -> Iterator[str]:
    shape = found.shape
    yield f"Session      {shape['session']}"
    yield from _about_handoff(found)
    if shape["audit"]:
        audit = shape["audit"]
        failed = (
            plural(audit["failed"], "claim") + " failed, now mended"
            if audit["failed"]
            else "all hold"
        )
        yield f"Audit        {audit['checked']} checks of the model's answer, {failed}"
    if found.about_context:
        yield from found.about_context
        yield f"Compactions  {shape['compactions']}"
    yield f"Memory       {_session_memory(shape['session_memory'])}"


def _about_handoff(found: Status) -> Iterator[str]:
    if found.damaged:
        yield "Handoff      damaged, or of another version; the next one takes its place"
        return
    if found.stored is None:
        yield "Handoff      none yet; the next compaction or `keepthread handoff` writes one"
        return
    meta, told = found.stored["meta"], found.shape["handoff"]
    update = meta["engine"] == UPDATE and meta["reason"] == "engine_facts"
    reason = why_partial(found.stored) if update else meta["reason"]
    why = f" ({reason})" if reason else ""
    yield f"Handoff      {meta['status']}{why}, by {meta['engine']}, {_span(told['age_s'])} old"
    size = f"context {told['context_units']:,} units, index {told['index_units']:,}"
    yield f"             {plural(told['files'], 'file')}, {plural(told['rules'], 'rule')}; {size}"
    for rung in meta["rungs"][-_RUNGS:]:
        yield f"Tried        {rung['engine']}: {rung['result']} in {rung['seconds']} s"


def _session_memory(told: Mapping[str, Any]) -> str:
    if told["setting"] == "off":
        return "off"
    kept = "by a model" if told["setting"] == "model" else "without a model"
    if not told["form"]:
        return f"none of this session yet; it is kept {kept}"
    by = "by a model" if told["form"] == "model" else "without a model"
    tokens = f", at {told['tokens']:,} tokens" if isinstance(told["tokens"], int) else ""
    paused = "; paused after three failures" if told["circuit"] == "open" else ""
    return f"{by}, {_span(told['age_s'])} old{tokens}{paused}"


def _about_rest(shape: Mapping[str, Any]) -> Iterator[str]:
    yield from _team_memory(shape["team_memory"])
    yield _spent(shape)
    yield f"Circuit      {shape['circuit']}"
    if shape["worker"]:
        yield "Worker       running"
    document = shape["document"]
    if document and document["left_alone"]:
        yield f"Document     left alone: {document['left_alone']}"
    elif document:
        yield f"Document     {_within(document['path'], shape['project'], written=document['written'])}"
    yield from _failure(shape["last_failure"])


def _within(path: str, project: str | None, *, written: bool) -> str:
    """Return the document's path, as short as the project at hand allows."""
    if not written:
        return "not written yet"
    start = f"{project}{os.sep}"
    return path[len(start) :] if project and path.startswith(start) else path


def _about_others(shape: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is known without a session."""
    yield from _team_memory(shape["team_memory"])
    if shape["calls_last_hour"] or shape["spent_today_usd"]:
        yield _spent(shape)
    yield from _failure(shape["last_failure"])


def _team_memory(told: Mapping[str, Any] | None) -> Iterator[str]:
    if told:
        team = (
            f"{_entries(told['entries'])}, {_STANDING[told['standing']]}"
            if told["entries"]
            else "none"
        )
        yield f"Team memory  {team}; {_entries(told['private'])} of your own"


def _entries(number: int) -> str:
    return "1 entry" if number == 1 else f"{number:,} entries"


def _spent(shape: Mapping[str, Any]) -> str:
    calls = f"{shape['calls_last_hour']} of {shape['max_calls_per_hour']} calls in the last hour"
    return f"Spent        {calls}, {shape['spent_today_usd']:.2f} of {shape['max_usd_per_day']:.2f} USD today"


def _failure(told: Mapping[str, Any] | None) -> Iterator[str]:
    if told:
        after = " (later runs went well)" if told["mended"] else ""
        yield f"Last failure {told['time']} {told['event']}: {told['reason']}{after}"


def _span(seconds: int | None) -> str:
    return "unknown time" if seconds is None else span(seconds)
