"""The detached upgrade: a partial handoff becomes a complete one while the host compacts.

The process that runs this has a session of its own, so it outlives the hook and the host that started it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

from keepthread import log
from keepthread.detached import watchdog
from keepthread.engines.choose import engines_for
from keepthread.engines.fitted import fit
from keepthread.engines.ladder import both, climb, said_of
from keepthread.engines.model import Answer, Deadline, Outcome, Request
from keepthread.errors import KeepthreadError
from keepthread.handoff import circuit
from keepthread.handoff.audit import Evidence, audit, faults, retry_note
from keepthread.handoff.checkpoint import note_complete
from keepthread.handoff.kept_words import UPDATE
from keepthread.handoff.material import Material
from keepthread.handoff.merge import carry, complete
from keepthread.handoff.model import Handoff, ModelAnswer
from keepthread.handoff.model import Rung as MetaRung
from keepthread.handoff.publish import publish
from keepthread.handoff.retention import Limits, tidy
from keepthread.handoff.rewound import left_behind
from keepthread.handoff.schema import answer_schema
from keepthread.handoff.secrets import known_secrets
from keepthread.handoff.store import load, read_worker, update_worker
from keepthread.handoff.update import update
from keepthread.host.config import Config
from keepthread.host.config import load as load_config
from keepthread.host.locations import config_dir, session_dir, state_dir
from keepthread.launch import Task, as_process, outlet_of
from keepthread.transcript.model import Transcript
from keepthread.transcript.read import read_transcript

_RETRY_FLOOR = 8.0  # seconds that must be left for a corrective retry to be worth its cost
_CARRIES = 3  # tries; each is needed only when the session moved on during the one before
_GRACE = 15.0  # seconds past the deadline after which the worker ends itself, whatever hangs


def upgrade(handoff: Handoff, task: Task, told: list[str] | None = None) -> Handoff:
    """Ask the ladder and store what comes of it; return the newer handoff, complete or partial with its reason.

    `told` is given what each engine that failed said of it, in one line without words of the transcript.

    Raises:
        KeepthreadError: KEEPTHREAD_ENGINE names an engine that does not exist.
        OSError: the state folder cannot be written.
    """
    started = time.monotonic()
    deadline = Deadline.after(task.config.timeout)
    transcript = _transcript_of(handoff)
    meta = handoff["meta"]
    engines = engines_for(
        task.config,
        task.env,
        config_dir=config_dir(task.env),
        project=meta["project"],
        session=meta["session_id"] if task.outlet.state else "",
        afresh=meta["trigger"] == "command",
    )
    material = Material(
        handoff,
        transcript,
        focus=task.focus,
        note=task.note,
        secrets=known_secrets(transcript, task.outlet.secrets),
    )
    size = {"window": task.config.window, "budget": task.config.prompt_tokens}
    fitted = [
        fit(engine, material.of_last(task.config.turns_of(engine.name)), **size)
        for engine in engines
    ]
    request = Request(material.system(), "", answer_schema(), task.config.model, task.config.effort)
    outcome = climb(fitted, request, deadline)
    result = _settle(handoff, outcome, transcript, time.monotonic() - started, task.focus)
    material.correction = retry_note(result) if outcome.answer else ""
    if material.correction and deadline.left() > _RETRY_FLOOR:
        outcome = both(outcome, climb(fitted, request, deadline))
        seconds = time.monotonic() - started
        result = _better(result, _settle(handoff, outcome, transcript, seconds, task.focus))
    if told is not None:
        told += said_of(outcome.rungs, task.outlet.secrets)
    return _store(result, handoff, task)


def _better(first: Handoff, second: Handoff) -> Handoff:
    """Return the one with fewer faults, the second when both have as many, with what both of them cost."""
    if len(faults(second)) <= len(faults(first)):
        return second
    return cast(Handoff, {**first, "meta": second["meta"]})


def _transcript_of(handoff: Handoff) -> Transcript:
    """Return the transcript as it was when the handoff was taken."""
    reference = handoff["meta"]["transcript"]
    try:
        return read_transcript(reference["path"], end=reference["size"])
    except (KeepthreadError, OSError):
        return Transcript(
            path=reference["path"], size=0
        )  # the facts are still there to be told from


def _settle(
    handoff: Handoff, outcome: Outcome, transcript: Transcript, seconds: float, focus: str
) -> Handoff:
    rungs: list[MetaRung] = [
        {"engine": rung.engine, "result": rung.result, "seconds": round(rung.seconds, 2)}
        for rung in outcome.rungs
    ]
    if outcome.answer is None:
        return _still_partial(handoff, outcome, rungs, seconds)
    answer = cast(ModelAnswer, outcome.answer.document)
    merged = complete(
        handoff,
        answer,
        engine=outcome.answer.engine,
        rungs=rungs,
        usage=_usage(outcome.answer),
        cost_usd=outcome.cost_usd if outcome.cost_usd is not None else outcome.answer.cost_usd,
        seconds=round(seconds, 2),
        generated_at=log.stamp(),
    )
    evidence = Evidence.from_transcript(transcript, handoff, focus=focus)
    return audit(merged, evidence, answer)


def _usage(answer: Answer) -> Any:
    return {"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens}


def _still_partial(
    handoff: Handoff, outcome: Outcome, rungs: list[MetaRung], seconds: float
) -> Handoff:
    meta = {
        **handoff["meta"],
        "reason": outcome.reason,
        "rungs": rungs,
        "cost_usd": outcome.cost_usd,
        "seconds": round(seconds, 2),
    }
    return cast(Handoff, {**handoff, "meta": meta})


def _store(result: Handoff, partial: Handoff, task: Task) -> Handoff:
    """Store the result; when the session has moved on meanwhile, its newest partial gets the answer carried over."""
    state, session = task.outlet.state, result["meta"]["session_id"]
    stored = not _written_anew(partial, state) and publish(result, task.outlet, partial=partial)
    if result["meta"]["status"] != "complete":
        return result
    for _ in range(_CARRIES):
        newest = None if stored else load(state, session)
        if newest is None or newest["meta"]["status"] != "partial":
            break
        still = left_behind(result, _transcript_of(newest))
        carried = update if newest["meta"]["engine"] == UPDATE else carry
        stored = publish(carried(newest, still, now=log.stamp()), task.outlet)
    note_complete(state, result)
    return result


def _written_anew(partial: Handoff, state: str) -> bool:
    """Return whether a handoff of a smaller transcript took the partial's place: its file was written anew."""
    newest = load(state, partial["meta"]["session_id"]) if state else None
    if newest is None:
        return False
    now_at, was_at = newest["meta"]["transcript"], partial["meta"]["transcript"]
    return now_at["size"] < was_at["size"] and now_at["last_uuid"] != was_at["last_uuid"]


def main(session_json: str, run: str) -> None:
    """Run one upgrade in this process and leave a line in the log; the job stands in the session's worker.json.

    Args:
        session_json: the session's id as JSON.
        run: which entry of worker.json this process is.
    """
    session = str(json.loads(session_json))
    env = dict(os.environ)
    state = state_dir(env)
    started = time.monotonic()
    config = load_config(env, config_dir(env))
    watchdog(config.timeout + _GRACE)
    # SIGTERM unwinds, so that the child does not outlive its worker.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    outcome, reason, engine = "failed", "crash", ""
    told: list[str] = []
    try:
        update_worker(state, session, lambda worker: as_process(worker, run, os.getpid()))
        result = _run(session, config, env, told)
        if result is not None:
            outcome = result["meta"]["status"]
            reason, engine = result["meta"]["reason"] or "", result["meta"]["engine"]
    except KeepthreadError as problem:
        reason = problem.message
    except OSError as problem:
        reason = problem.strerror or type(problem).__name__
    finally:
        log.record(
            state,
            event="worker",
            session=session,
            outcome=outcome,
            reason=reason,
            engine=engine,
            seconds=time.monotonic() - started,
            detail="; ".join(told),
        )
        _ended(state, session, run, outcome, reason)
    limits = Limits(config.keep_sessions, config.keep_days)
    tidy(state, limits, spare=session_dir(state, session))


def _ended(state: str, session: str, run: str, outcome: str, reason: str) -> None:
    """Enter the outcome in worker.json; another run that stands there by now stays, but the failure counts."""

    def change(worker: dict[str, Any]) -> dict[str, Any]:
        job = circuit.after(worker, reason or None, outcome == "complete", time.time())
        ours = worker.get("run") == run
        return {**job, "state": "done", "result": outcome} if ours else job

    with suppress(OSError):  # a full disk: the line in the log is all there is
        update_worker(state, session, change)


def _run(session: str, config: Config, env: Mapping[str, str], told: list[str]) -> Handoff | None:
    outlet = outlet_of(config, env)
    handoff = load(outlet.state, session)
    if handoff is None:
        return None
    job = read_worker(outlet.state, session) or {}
    focus, note = str(job.get("focus", "")), str(job.get("note", ""))
    return upgrade(handoff, Task(config, env, outlet, focus, note), told)
