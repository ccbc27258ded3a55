"""How this project's session and its last handoff stand, on one screen."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from keepthread import log
from keepthread.economy.forecast import in_force_for, model_here
from keepthread.economy.gauge import PACE_LIMIT, gauge, told
from keepthread.economy.pace import pace
from keepthread.engines.caps import spending
from keepthread.errors import KeepthreadError
from keepthread.handoff import circuit
from keepthread.handoff.kept_words import UPDATE
from keepthread.handoff.model import Handoff
from keepthread.handoff.render.words import why_partial
from keepthread.handoff.store import load, read_worker, sessions
from keepthread.host.config import Config
from keepthread.host.config import load as load_config
from keepthread.host.locations import config_dir, project_root, state_dir
from keepthread.host.sessions import find_transcript, newest_session
from keepthread.transcript.model import Transcript
from keepthread.transcript.read import read_transcript

_LISTED = 200  # sessions


class Status(NamedTuple):
    """What was found.

    `shape` is what `--json` prints: {session, handoff: {status, reason, engine, age_s}, circuit, context: {tokens,
    estimated, window, share, and what else `economy.gauge` tells}, compactions, calls_last_hour, spent_today_usd}, None
    where nothing is known. `stored` is the handoff itself; `about_context` and `notes` are lines for people: the
    context; a worker that runs, a document left alone, the last failure, settings that cannot be used.
    """

    shape: dict[str, Any]
    stored: Handoff | None
    about_context: list[str]
    notes: list[str]


def read_status(env: Mapping[str, str], cwd: str) -> Status:
    """Return how the session at hand and its last handoff stand; nothing is changed.

    Raises:
        KeepthreadError: there is no configuration folder.
    """
    folder, state = config_dir(env), state_dir(env)
    session, path = session_here(env, folder, cwd)
    handoff = load(state, session) if session else None
    worker = read_worker(state, session) if session else None
    transcript = _transcript(path)
    spent, config = spending(state), load_config(env, folder)
    context, about = _context(transcript, env, folder, cwd, config.max_transcript_bytes)
    shape = {
        "session": session or None,
        "handoff": _handoff(handoff),
        "circuit": circuit.state(worker, time.time()),
        "context": context,
        "compactions": transcript.boundaries if transcript else None,
        "calls_last_hour": spent.calls_last_hour,
        "spent_today_usd": round(spent.spent_today_usd, 4),
    }
    return Status(shape, handoff, about, _notes(handoff, worker, config, state))


def session_here(env: Mapping[str, str], folder: str, cwd: str) -> tuple[str, str]:
    """Return the session's id and its transcript's path, "" when there is none."""
    session = env.get("CLAUDE_CODE_SESSION_ID", "")
    if session:
        return session, find_transcript("", session, folder)
    path = newest_session(folder, cwd) or newest_session(folder, project_root(env, cwd))
    return os.path.splitext(os.path.basename(path))[0], path


def _transcript(path: str) -> Transcript | None:
    try:
        return read_transcript(path) if path else None
    except (KeepthreadError, OSError):
        return None


def _handoff(handoff: Handoff | None) -> dict[str, Any] | None:
    if handoff is None:
        return None
    meta = handoff["meta"]
    shown = {key: meta[key] for key in ("status", "reason", "engine")}
    return {**shown, "age_s": _age(meta["generated_at"])}


def _age(stamp: str) -> int | None:
    try:
        made = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    except ValueError:
        return None
    return max(0, int((datetime.now(timezone.utc) - made).total_seconds()))


def _context(
    transcript: Transcript | None, env: Mapping[str, str], folder: str, cwd: str, most: int
) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the context for `--json` and as lines; `most` bytes of transcript need no warning, 0: any number."""
    if transcript is None:
        return None, []
    last, project = pace(transcript.path, limit=PACE_LIMIT), project_root(env, cwd)
    last.model, last.tokens = transcript.model, transcript.tokens.reported
    point, _ = in_force_for(model_here(env, folder, project, last), env, folder, project)
    context = gauge(transcript, point, last)
    lines = told(context, point)
    if 0 < most < transcript.size:
        told_size = f"{transcript.size:,} bytes, over KEEPTHREAD_MAX_TRANSCRIPT_BYTES ({most:,})"
        lines.append(f"Transcript   {told_size}: `/handoff`, then a new session, makes a small one")
    return {**context, "transcript_bytes": transcript.size}, lines


def _notes(
    handoff: Handoff | None, worker: Mapping[str, Any] | None, config: Config, state: str
) -> list[str]:
    notes = []
    if (worker or {}).get("state") == "running":
        notes.append("Worker       running")
    if why := _left_alone(handoff, config.document):
        notes.append(f"Document     left alone: {why}")
    failures = [one for one in log.read(state, limit=1_000) if one.get("outcome") == "failed"]
    if failures:
        last = failures[-1]
        notes.append(f"Last failure {last.get('time')} {last.get('event')}: {last.get('reason')}")
    return notes + [f"Setting      {problem}" for problem in config.problems]


def _left_alone(handoff: Handoff | None, relative: str) -> str:
    """Return why the person-facing document would be left alone, "" when it is ours or not wanted."""
    if handoff is None or relative == "off" or not handoff["meta"]["project"]:
        return ""
    from keepthread.handoff.document import why_left_alone

    return why_left_alone(handoff["meta"]["project"], relative)


def render_status(found: Status) -> str:
    """Return the status as text for people."""
    shape = found.shape
    if not shape["session"]:
        return "\n".join(["No session of this project was found.", *found.notes])
    lines = [f"Session      {shape['session']}", *_about_handoff(found)]
    if found.about_context:
        lines += [*found.about_context, f"Compactions  {shape['compactions']}"]
    if shape["calls_last_hour"] or shape["spent_today_usd"]:
        calls, spent = shape["calls_last_hour"], shape["spent_today_usd"]
        lines.append(f"Spent        {calls} calls in the last hour, {spent:.2f} USD today")
    return "\n".join([*lines, f"Circuit      {shape['circuit']}", *found.notes])


def _about_handoff(found: Status) -> list[str]:
    if found.stored is None:
        return ["Handoff      none yet; the next compaction or `keepthread handoff` writes one"]
    meta, age = found.stored["meta"], _span(found.shape["handoff"]["age_s"])
    files, rules = found.stored["files_touched"], found.stored["constraints"]["rules"]
    update = meta["engine"] == UPDATE and meta["reason"] == "engine_facts"
    reason = why_partial(found.stored) if update else meta["reason"]
    why = f" ({reason})" if reason else ""
    return [
        f"Handoff      {meta['status']}{why}, by {meta['engine']}, {age} old",
        f"             {len(files)} files, {len(rules)} rules",
        *(
            f"Tried        {rung['engine']}: {rung['result']} in {rung['seconds']} s"
            for rung in meta["rungs"]
        ),
    ]


def _span(seconds: int | None) -> str:
    if seconds is None:
        return "unknown time"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def list_handoffs(env: Mapping[str, str]) -> str:
    """Return one line for each of the newest sessions that have a handoff, and how many more there are."""
    state = state_dir(env)
    lines: list[str] = []
    known = sessions(state)
    for session in known[:_LISTED]:
        handoff = load(state, session)
        if handoff is not None:
            meta = handoff["meta"]
            task = handoff["task"].splitlines()[0][:70] if handoff["task"] else ""
            lines.append(
                f"{session}  {meta['generated_at']}  {meta['status']:8}  {meta['project']}  {task}"
            )
    if len(known) > _LISTED:
        lines.append(
            f"… and {len(known) - _LISTED:,} older ones; see `keepthread show --session ID`"
        )
    return "\n".join(lines) or "No handoff is stored yet."
