"""How this project's session and its last handoff stand; `status_text` puts it on one screen."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from keepthread import log
from keepthread.diagnose.checks_memory import entries_in
from keepthread.diagnose.checks_runs import LINES, last_failure
from keepthread.economy.forecast import in_force_for, model_here
from keepthread.economy.gauge import PACE_LIMIT, gauge, told
from keepthread.economy.observed import last_model
from keepthread.economy.pace import pace
from keepthread.engines.caps import spending
from keepthread.errors import KeepthreadError
from keepthread.handoff import circuit
from keepthread.handoff.alive import running
from keepthread.handoff.document import traces, why_left_alone
from keepthread.handoff.inject import read_json
from keepthread.handoff.model import Handoff
from keepthread.handoff.schema import validate
from keepthread.handoff.store import CONTEXT, HANDOFF, INDEX, load, read_worker, sessions
from keepthread.handoff.units import units
from keepthread.host.config import Config
from keepthread.host.config import load as load_config
from keepthread.host.locations import config_dir, project_root, session_dir, state_dir
from keepthread.host.sessions import find_transcript, newest_session
from keepthread.memory import trust, where
from keepthread.memory.session.status import standing
from keepthread.transcript.model import Transcript
from keepthread.transcript.read import read_transcript

_LISTED = 200  # sessions


class Status(NamedTuple):
    """What was found.

    `shape` is what `--json` prints, None where nothing is known:
        session, project
        handoff: {status, reason, engine, age_s, context_units, index_units, files, rules}
        audit: {checked, failed}: how many checks were made of the model's answer, how many claims failed one
        circuit: "closed", "open" or "half-open"; worker: whether one is at work
        context: {tokens, estimated, window, share, and what else `economy.gauge` tells}; compactions
        session_memory: {setting, form, age_s, tokens, circuit}
        team_memory: {entries, standing, private}, numbers of entries
        calls_last_hour, max_calls_per_hour, spent_today_usd, max_usd_per_day
        document: {path, written, left_alone}
        last_failure: {time, event, reason, mended}
    `stored` is the handoff itself, `damaged` that one is there and cannot be read; `about_context` are lines for
    people; `problems` are values that cannot be used.
    """

    shape: dict[str, Any]
    stored: Handoff | None
    damaged: bool
    about_context: list[str]
    problems: list[str]


def read_status(env: Mapping[str, str], cwd: str) -> Status:
    """Return how the session at hand and its last handoff stand; nothing is changed.

    Raises:
        KeepthreadError: there is no configuration folder.
    """
    folder, state, project = config_dir(env), state_dir(env), project_root(env, cwd)
    session, path = session_here(env, folder, cwd)
    handoff, damaged = _stored(state, session)
    worker = read_worker(state, session) if session else None
    transcript = _transcript(path)
    spent, config = spending(state), load_config(env, folder)
    context, about = _context(transcript, env, folder, cwd, config.max_transcript_bytes)
    shape = {
        "session": session or None,
        "project": project or None,
        "handoff": _handoff(handoff, session_dir(state, session) if session else ""),
        "audit": _audit(handoff),
        "circuit": circuit.state(worker, time.time()),
        "worker": running(worker),
        "context": context,
        "compactions": transcript.boundaries if transcript else None,
        "session_memory": _session_memory(env, cwd),
        "team_memory": _team_memory(env, cwd),
        "calls_last_hour": spent.calls_last_hour,
        "max_calls_per_hour": config.max_calls_per_hour,
        "spent_today_usd": round(spent.spent_today_usd, 4),
        "max_usd_per_day": config.max_usd_per_day,
        "document": _document(handoff, config),
        "last_failure": _last_failure(state),
    }
    return Status(shape, handoff, damaged, about, list(config.problems))


def _stored(state: str, session: str) -> tuple[Handoff | None, bool]:
    """Return the session's handoff, and whether there is one that cannot be read."""
    if not session:
        return None, False
    handoff = load(state, session)
    if handoff is not None and not validate(handoff):
        return handoff, False
    return None, os.path.lexists(os.path.join(session_dir(state, session), HANDOFF))


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


def _handoff(handoff: Handoff | None, folder: str) -> dict[str, Any] | None:
    if handoff is None:
        return None
    meta = handoff["meta"]
    context = read_json(os.path.join(folder, CONTEXT)) or {}
    index = read_json(os.path.join(folder, INDEX)) or {}
    return {
        "status": meta["status"],
        "reason": meta["reason"],
        "engine": meta["engine"],
        "age_s": _age(meta["generated_at"]),
        "context_units": units(str(context.get("text", ""))),
        "index_units": units(str(index.get("text", ""))),
        "files": len(handoff["files_touched"]),
        "rules": len(handoff["constraints"]["rules"]),
    }


def _audit(handoff: Handoff | None) -> dict[str, int] | None:
    """Return the numbers of checks and of claims that failed; None where no model has answered."""
    audit = handoff["audit"] if handoff else None
    if not audit or not audit["checked"]:
        return None
    return {"checked": len(audit["checked"]), "failed": len(audit["failed"])}


def _session_memory(env: Mapping[str, str], cwd: str) -> dict[str, Any]:
    found = standing(env, cwd)
    age = _age(str(found["generated_at"])) if found["generated_at"] else None
    kept = {name: found[name] for name in ("setting", "form", "tokens", "circuit")}
    return {**kept, "age_s": age}


def _team_memory(env: Mapping[str, str], cwd: str) -> dict[str, Any] | None:
    """Return how many entries the project's memories have, and whether the team's are shown; None without any."""
    at = where.where(env, cwd)
    if at is None:
        return None
    root = at.team_root()
    team = entries_in(root) if root else 0
    private = entries_in(at.private_path)
    if not team and not private:
        return None
    decided = trust.standing_now(trust.read(at.private_path), root) if team else None
    return {"entries": team, "standing": decided, "private": private}


def _document(handoff: Handoff | None, config: Config) -> dict[str, Any] | None:
    """Return where the document for people is, or why it would be left alone; None where none is wanted."""
    project = handoff["meta"]["project"] if handoff else ""
    if not project or config.document == "off":
        return None
    written, _ = traces(project, config.document)
    why = why_left_alone(project, config.document)
    path = os.path.join(project, config.document)
    return {"path": path, "written": written, "left_alone": why or None}


def _last_failure(state: str) -> dict[str, Any] | None:
    found = last_failure(log.read(state, limit=LINES))
    if found is None:
        return None
    entry, mended = found
    names = ("time", "event", "reason")
    return {**{name: str(entry.get(name) or "") for name in names}, "mended": mended}


def _age(stamp: str) -> int | None:
    made = log.epoch(stamp)
    return None if made is None else max(0, int(time.time() - made))


def _context(
    transcript: Transcript | None, env: Mapping[str, str], folder: str, cwd: str, most: int
) -> tuple[dict[str, Any] | None, list[str]]:
    """Return the context for `--json` and as lines; `most` bytes of transcript need no warning, 0: any number."""
    if transcript is None:
        return None, []
    last, project = pace(transcript.path, limit=PACE_LIMIT), project_root(env, cwd)
    last.model = transcript.model or last_model(transcript.path)
    last.tokens = transcript.tokens.reported
    point, _ = in_force_for(model_here(env, folder, project, last), env, folder, project)
    context = gauge(transcript, point, last)
    lines = told(context, point)
    if 0 < most < transcript.size:
        told_size = f"{transcript.size:,} bytes, over KEEPTHREAD_MAX_TRANSCRIPT_BYTES ({most:,})"
        lines.append(f"Transcript   {told_size}: `/handoff`, then a new session, makes a small one")
    return {**context, "transcript_bytes": transcript.size}, lines


def handoffs(env: Mapping[str, str]) -> list[dict[str, str]]:
    """Return {session, generated_at, status, project, task} of each session that has a handoff, the newest first."""
    state = state_dir(env)
    rows = []
    for session in sessions(state):
        handoff = load(state, session)
        if handoff is not None:
            meta = handoff["meta"]
            told = {name: meta[name] for name in ("generated_at", "status", "project")}
            rows.append({"session": session, **told, "task": handoff["task"]})
    return rows


def list_handoffs(env: Mapping[str, str]) -> str:
    """Return one line for each of the newest sessions that have a handoff, and how many more there are."""
    known = handoffs(env)
    lines = []
    for row in known[:_LISTED]:
        task = row["task"].splitlines()[0][:70] if row["task"] else ""
        lines.append(
            f"{row['session']}  {row['generated_at']}  {row['status']:8}  {row['project']}  {task}"
        )
    if len(known) > _LISTED:
        lines.append(
            f"… and {len(known) - _LISTED:,} older ones; see `keepthread show --session ID`"
        )
    return "\n".join(lines) or "No handoff is stored yet."
