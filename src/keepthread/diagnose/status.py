"""How this project's session and its last handoff stand, on one screen."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from keepthread import log
from keepthread.errors import KeepthreadError
from keepthread.handoff import circuit
from keepthread.handoff.model import Handoff
from keepthread.handoff.store import load, read_worker, sessions
from keepthread.host.config import load as load_config
from keepthread.host.locations import config_dir, project_root, state_dir
from keepthread.host.sessions import find_transcript, newest_session
from keepthread.host.windows import window_of
from keepthread.transcript.model import Transcript
from keepthread.transcript.read import read_transcript


def read_status(env: Mapping[str, str], cwd: str) -> dict[str, Any]:
    """Return {session, handoff, circuit, context, compactions} of the session at hand; parts are None when unknown."""
    folder, state = config_dir(env), state_dir(env)
    session, path = _session(env, folder, cwd)
    handoff = load(state, session) if session else None
    transcript = _transcript(path)
    worker = read_worker(state, session) if session else None
    return {
        "session": session or None,
        "handoff": _handoff(handoff),
        "worker": (worker or {}).get("state"),
        "circuit": circuit.state(worker, time.time()),
        "context": _context(transcript),
        "compactions": transcript.boundaries if transcript else None,
        "document": _document(handoff, load_config(env, folder).document),
        "last_failure": _last_failure(state),
        "problems": list(load_config(env, folder).problems),
    }


def _session(env: Mapping[str, str], folder: str, cwd: str) -> tuple[str, str]:
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
    failed = [failure["check"] for failure in handoff["audit"]["failed"]]
    return {
        "status": meta["status"],
        "reason": meta["reason"],
        "engine": meta["engine"],
        "age_s": _age(meta["generated_at"]),
        "rungs": meta["rungs"],
        "cost_usd": meta["cost_usd"],
        "files": len(handoff["files_touched"]),
        "rules": len(handoff["constraints"]["rules"]),
        "audit_failed": failed,
    }


def _age(stamp: str) -> int | None:
    try:
        made = datetime.fromisoformat(stamp.replace("Z", "+00:00"))
    except ValueError:
        return None
    return max(0, int((datetime.now(timezone.utc) - made).total_seconds()))


def _context(transcript: Transcript | None) -> dict[str, Any] | None:
    if transcript is None:
        return None
    tokens, window = transcript.tokens, window_of(transcript.model)
    return {
        "tokens": tokens.total,
        "estimated": tokens.reported == 0,
        "window": window,
        "share": round(tokens.total / window, 3) if window else None,
    }


def _document(handoff: Handoff | None, relative: str) -> str | None:
    """Return why the person-facing document was left alone, None when it is ours or not wanted."""
    if handoff is None or relative == "off" or not handoff["meta"]["project"]:
        return None
    from keepthread.handoff.document import why_left_alone

    return why_left_alone(handoff["meta"]["project"], relative) or None


def _last_failure(state: str) -> str | None:
    failures = [entry for entry in log.read(state, limit=1_000) if entry.get("outcome") == "failed"]
    if not failures:
        return None
    return f"{failures[-1].get('time')} {failures[-1].get('event')}: {failures[-1].get('reason')}"


def render_status(found: Mapping[str, Any]) -> str:
    """Return the status as text for people."""
    if not found["session"]:
        return "No session of this project was found."
    lines = [f"Session      {found['session']}"]
    handoff, context = found["handoff"], found["context"]
    if handoff is None:
        lines.append(
            "Handoff      none yet; the next compaction or `keepthread handoff` writes one"
        )
    else:
        why = f" ({handoff['reason']})" if handoff["reason"] else ""
        lines.append(
            f"Handoff      {handoff['status']}{why}, by {handoff['engine']}, {_span(handoff['age_s'])} old"
        )
        lines.append(f"             {handoff['files']} files, {handoff['rules']} rules")
        lines += [
            f"Tried        {r['engine']}: {r['result']} in {r['seconds']} s"
            for r in handoff["rungs"]
        ]
    if context is not None:
        about = "~ est " if context["estimated"] else ""
        share = (
            f", {context['share']:.0%} of {context['window']:,}"
            if context["share"] is not None
            else ""
        )
        lines.append(f"Context      {about}{context['tokens']:,} tokens{share}")
        lines.append(f"Compactions  {found['compactions']}")
    lines.append(f"Circuit      {found['circuit']}")
    lines += [f"Document     left alone: {found['document']}"] if found["document"] else []
    lines += [f"Last failure {found['last_failure']}"] if found["last_failure"] else []
    lines += [f"Setting      {problem}" for problem in found["problems"]]
    return "\n".join(lines)


def _span(seconds: int | None) -> str:
    if seconds is None:
        return "unknown time"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def list_handoffs(env: Mapping[str, str]) -> str:
    """Return one line per session that has a handoff, newest first."""
    state = state_dir(env)
    lines = []
    for session in sessions(state):
        handoff = load(state, session)
        if handoff is not None:
            meta = handoff["meta"]
            task = handoff["task"].splitlines()[0][:70] if handoff["task"] else ""
            lines.append(
                f"{session}  {meta['generated_at']}  {meta['status']:8}  {meta['project']}  {task}"
            )
    return "\n".join(lines) or "No handoff is stored yet."
