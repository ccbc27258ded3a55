"""A handoff on demand: what `keepthread handoff` and the /handoff command do."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Literal, NamedTuple, cast

from keepthread import log, redact
from keepthread.engines.choose import engines_for
from keepthread.errors import KeepthreadError
from keepthread.files import write_private
from keepthread.handoff import circuit, pins
from keepthread.handoff.checkpoint import Job, take
from keepthread.handoff.model import Handoff
from keepthread.handoff.note import take_note, take_pin
from keepthread.handoff.render.context import CLOSING, render_context
from keepthread.handoff.render.index import render_index
from keepthread.handoff.render.markdown import render_markdown
from keepthread.handoff.store import load, read_worker, write_worker
from keepthread.handoff.user_secrets import user_secrets
from keepthread.host.config import Config
from keepthread.host.config import load as load_config
from keepthread.host.locations import config_dir, project_root, state_dir
from keepthread.host.named_file import behind_links
from keepthread.host.sessions import find_transcript, newest_session
from keepthread.launch import Task, outlet_of
from keepthread.transcript.read import read_transcript
from keepthread.worker import upgrade

Format = Literal["md", "json", "context", "index"]


class Wish(NamedTuple):
    """What a person asked for. `transcript` prints a file's handoff and stores nothing; "" fields mean "as usual"."""

    transcript: str = ""
    session: str = ""
    engine: str = ""
    note: str = ""


class _Target(NamedTuple):
    path: str
    session: str
    project: str
    cwd: str  # where the session is at work; it may be gone


def make(wish: Wish, env: Mapping[str, str], cwd: str) -> Handoff:
    """Take a handoff now, ask the engines, and return it: complete, or partial with its reason.

    Raises:
        KeepthreadError: there is no such session or transcript, or the engine is unknown; nothing is stored.
        OSError: the state folder cannot be written.
    """
    folder = config_dir(env)
    config = load_config(env, folder)
    if wish.engine:
        config = replace(config, engine=wish.engine)
    # An unknown name is refused before anything is stored.
    engines_for(config, env, config_dir=folder, project="")
    outlet = outlet_of(config, env)
    if wish.transcript:
        outlet = outlet._replace(state="")
    target = _target(wish, env, folder, cwd)
    env = {**env, "PWD": target.cwd}  # what is local there stays so, wherever its user stands
    note = wish.note or (take_note(outlet.state, target.session) if outlet.state else "")
    alone = config.engine == "facts"
    kept = pins.load(outlet.state, target.project, target.session).all() if outlet.state else []
    job = Job(target.session, target.path, target.project, "command", kept, note)
    taken = take(job, outlet, reason="engine_facts" if alone else None, again=True)
    handoff = taken.handoff
    if not alone and handoff["meta"]["reason"] != "no_transcript":
        handoff = upgrade(handoff, Task(config, env, outlet, note=note))
    if outlet.state:
        _leave_traces(outlet.state, target.session, handoff)
    return cast(Handoff, redact.document(handoff, outlet.secrets))  # what is printed may be sent on


def _leave_traces(state: str, session: str, handoff: Handoff) -> None:
    meta = handoff["meta"]
    worker = read_worker(state, session)
    if worker and worker.get("failures") and meta["status"] == "complete":
        write_worker(state, session, circuit.after(worker, None, True, time.time()))
    log.record(
        state,
        event="handoff",
        session=session,
        outcome=meta["status"],
        reason=meta["reason"] or "",
        engine=meta["engine"],
        seconds=meta["seconds"],
    )


def _target(wish: Wish, env: Mapping[str, str], folder: str, cwd: str) -> _Target:
    """Return which transcript, whose session and which project are meant.

    A transcript that is named need not belong to the folder its user stands in: its own last folder says whose it is.
    """
    if wish.transcript:
        path = os.path.abspath(wish.transcript)
        if not os.path.isfile(path):
            raise KeepthreadError(
                f"There is no transcript {wish.transcript!r}", "Name a .jsonl file of the host."
            )
        return _elsewhere(path, wish.session)
    own = env.get("CLAUDE_CODE_SESSION_ID", "")
    session = wish.session or own
    if session:
        path = find_transcript("", session, folder)
        elsewhere = session != own
    else:
        path = newest_session(folder, cwd) or newest_session(folder, project_root(env, cwd))
        elsewhere = False
    if not path:
        if session:
            raise KeepthreadError(
                f"There is no transcript of session {session!r}",
                "Give --session a whole id; `keepthread show --list` has those with a handoff.",
            )
        raise KeepthreadError(
            f"There is no transcript of the project {cwd!r}",
            "Run it in the folder in which the session was started, or name one with --session ID.",
        )
    if elsewhere:
        return _elsewhere(path, session)
    return _Target(path, session or _session_of(path), project_root(env, cwd), cwd)


def _session_of(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _elsewhere(path: str, session: str) -> _Target:
    """Return what a transcript says of its own place; its project is "" when the folder is not on this machine."""
    try:
        cwd = read_transcript(path).cwd
    except (KeepthreadError, OSError):
        cwd = ""  # taking the handoff will say so
    return _Target(path, session or _session_of(path), project_root({}, "", cwd), cwd)


class Pinned(NamedTuple):
    """The pins that count here, and of whom: what `keepthread pins` lists."""

    project: str
    session: str
    kept: pins.Pins


def pin(text: str, session: str | None, env: Mapping[str, str], cwd: str) -> str:
    """Pin a text in the project, or in a session, and return what to tell the user.

    Args:
        text: what is to be kept; "" takes up the text of the /pin that was typed in this session.
        session: None for the project; "" for the session at hand; else its id.
        env: the process environment.
        cwd: the working folder.

    Raises:
        KeepthreadError: there is no text, no project, no such session; or the text cannot be pinned.
        OSError: the state folder cannot be written.
    """
    state, project = state_dir(env), project_root(env, cwd)
    typed = None if text else take_pin(state, env.get("CLAUDE_CODE_SESSION_ID", ""))
    if typed is not None:
        text, project = typed[0], typed[1] or project
        word, _, rest = text.partition(" ")
        text, session = (rest, "") if word == "--session" else (text, session)
        if not text.strip():
            return list_pins(pinned("", env, cwd))
    if session is not None:  # a mistyped id would keep the text where nobody ever looks
        session = _target(Wish(session=session), env, config_dir(env), cwd).session
    elif not project:
        raise KeepthreadError(f"There is no project at {cwd!r}", "Go to the project's folder.")
    secrets = user_secrets(env)
    new = pins.add(state, redact.text(text, secrets), project=project, session=session or "")
    where = f"session {session}" if session else f"the project {project}"
    return f"{'Pinned in' if new else 'Pinned already in'} {where}: {text.strip()}"


def pinned(session: str, env: Mapping[str, str], cwd: str) -> Pinned:
    """Return the pins of the project and of a session ("": the one at hand, if there is one)."""
    project = project_root(env, cwd)
    if not session:
        with suppress(KeepthreadError):  # a project without a session yet has pins of its own
            session = _target(Wish(), env, config_dir(env), cwd).session
    return Pinned(project, session, pins.load(state_dir(env), project, session))


def list_pins(found: Pinned) -> str:
    """Return the pins as text, numbered as `unpin` takes them."""
    of = ["project"] * len(found.kept.project) + ["session"] * len(found.kept.session)
    lines = [
        f"{number}. ({scope}) {text}"
        for number, (scope, text) in enumerate(zip(of, found.kept.all(), strict=True), 1)
    ]
    return "\n".join(lines) or "Nothing is pinned here."


def unpin(number: int, session: str, env: Mapping[str, str], cwd: str) -> str:
    """Take off the pin of this number in `pinned(session, ...)` and return what to tell the user.

    Raises:
        KeepthreadError: there is no such pin.
        OSError: the state folder cannot be written.
    """
    found = pinned(session, env, cwd)
    text = pins.remove(state_dir(env), number, project=found.project, session=found.session)
    return f"Taken off: {text}"


def stored(session: str, env: Mapping[str, str], cwd: str) -> Handoff:
    """Return the stored handoff of a session ("": the one `make` would choose).

    Raises:
        KeepthreadError: nothing is stored for it.
    """
    session = session or _target(Wish(), env, config_dir(env), cwd).session
    handoff = load(state_dir(env), session)
    if handoff is None:
        raise KeepthreadError(
            f"No handoff is stored for session {session}", "Take one with: keepthread handoff"
        )
    return handoff


def shown(handoff: Handoff, form: Format, env: Mapping[str, str]) -> str:
    """Return a handoff as text, ending with a line break: Markdown, JSON, or what SessionStart prints of it."""
    return _text(handoff, form, load_config(env, config_dir(env))).rstrip("\n") + "\n"


def _text(handoff: Handoff, form: Format, config: Config) -> str:
    if form == "json":
        return json.dumps(handoff, indent=2, ensure_ascii=False)
    if form == "md":
        return render_markdown(handoff)
    document = "" if config.document == "off" or not handoff["meta"]["project"] else config.document
    context = render_context(handoff, budget=config.budget, document=document).text
    if form == "context":
        return context + CLOSING
    return render_index(handoff, budget=config.index, shown=context)


def deliver(text: str, path: str, project: str = "") -> None:
    """Write a handoff to a file of its user's choosing, readable for nobody else.

    Raises:
        KeepthreadError: the file cannot be written, or a link in `project`, the project's folder, leads out of it.
    """
    target = behind_links(path, project)
    data = text.encode("utf-8", "replace")
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            with open(path, "wb") as stream:  # a device or a pipe is written to, never replaced
                stream.write(data)
        else:
            write_private(target, data)
    except OSError as problem:
        reason = problem.strerror or "it cannot be opened"
        raise KeepthreadError(
            f"{path!r} cannot be written: {reason}", "Name a file in a folder that exists."
        ) from problem
