"""A handoff on demand: what `keepthread handoff` and the /handoff command do."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, NamedTuple

from keepthread import log
from keepthread.errors import KeepthreadError
from keepthread.handoff.checkpoint import Job, take
from keepthread.handoff.model import Handoff
from keepthread.handoff.note import take_note
from keepthread.handoff.render.context import CLOSING, render_context
from keepthread.handoff.render.index import render_index
from keepthread.handoff.render.markdown import render_markdown
from keepthread.handoff.store import load
from keepthread.host.config import load as load_config
from keepthread.host.locations import config_dir, project_root, session_dir, state_dir
from keepthread.host.sessions import find_transcript, newest_session
from keepthread.launch import Task, outlet_of
from keepthread.worker import upgrade

Format = Literal["md", "json", "context", "index"]


class Wish(NamedTuple):
    """What a person asked for. `transcript` prints a file's handoff and stores nothing; "" fields mean "as usual"."""

    transcript: str = ""
    session: str = ""
    engine: str = ""
    note: str = ""


def make(wish: Wish, env: Mapping[str, str], cwd: str) -> Handoff:
    """Take a handoff now, ask the engines, and return it: complete, or partial with its reason.

    Raises:
        KeepthreadError: there is no such session or transcript, or the engine is unknown.
    """
    folder = config_dir(env)
    config = load_config(env, folder)
    if wish.engine:
        config = replace(config, engine=wish.engine)
    outlet = outlet_of(config, env)
    if wish.transcript:
        outlet = outlet._replace(state="")
    path, session = _target(wish, env, folder, cwd)
    note = wish.note or (take_note(outlet.state, session) if outlet.state else "")
    project = project_root(env, cwd)
    alone = config.engine == "facts"
    job = Job(session, path, project, "command")
    taken = take(job, outlet, reason="engine_facts" if alone else None, again=True)
    handoff = taken.handoff
    if not alone and handoff["meta"]["reason"] != "no_transcript":
        handoff = upgrade(handoff, Task(config, env, outlet, note=note))
    if outlet.state:
        meta = handoff["meta"]
        log.record(
            outlet.state,
            event="handoff",
            session=session,
            outcome=meta["status"],
            reason=meta["reason"] or "",
            engine=meta["engine"],
            seconds=meta["seconds"],
        )
    return handoff


def _target(wish: Wish, env: Mapping[str, str], folder: str, cwd: str) -> tuple[str, str]:
    """Return the transcript's path and the session's id."""
    if wish.transcript:
        path = os.path.abspath(wish.transcript)
        if not os.path.isfile(path):
            raise KeepthreadError(
                f"There is no transcript {wish.transcript!r}", "Name a .jsonl file of the host."
            )
        return path, wish.session or os.path.splitext(os.path.basename(path))[0]
    session = wish.session or env.get("CLAUDE_CODE_SESSION_ID", "")
    path = find_transcript("", session, folder) if session else newest_session(folder, cwd)
    if not path and not session:
        path = newest_session(folder, project_root(env, cwd))
    if not path:
        thing = f"session {session!r}" if session else f"the project {cwd!r}"
        raise KeepthreadError(
            f"There is no transcript of {thing}", "Name one with --session or --transcript."
        )
    return path, session or os.path.splitext(os.path.basename(path))[0]


def stored(session: str, env: Mapping[str, str], cwd: str) -> Handoff:
    """Return the stored handoff of a session ("": the one `make` would choose).

    Raises:
        KeepthreadError: nothing is stored for it.
    """
    _, session = (("", session)) if session else _target(Wish(), env, config_dir(env), cwd)
    handoff = load(state_dir(env), session)
    if handoff is None:
        raise KeepthreadError(
            f"No handoff is stored for session {session}", "Take one with: keepthread handoff"
        )
    return handoff


def shown(handoff: Handoff, form: Format, env: Mapping[str, str]) -> str:
    """Return a handoff as text: the Markdown, the JSON, or what SessionStart prints (context, index)."""
    config = load_config(env, config_dir(env))
    if form == "json":
        return json.dumps(handoff, indent=2, ensure_ascii=False)
    if form == "md":
        return render_markdown(handoff)
    context = render_context(handoff, budget=config.budget, document=_document(handoff, env)).text
    if form == "context":
        return context + CLOSING
    return render_index(handoff, budget=config.index, shown=context)


def _document(handoff: Handoff, env: Mapping[str, str]) -> str:
    return os.path.join(session_dir(state_dir(env), handoff["meta"]["session_id"]), "handoff.md")
