"""Work carried elsewhere, and handoffs over time: what `handoff --from`, `show --list` and `diff` do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from keepthread import redact
from keepthread.errors import KeepthreadError
from keepthread.handoff.compare import compare, render
from keepthread.handoff.history import earlier
from keepthread.handoff.model import Handoff
from keepthread.handoff.store import load, sessions
from keepthread.host.config import load as load_config
from keepthread.host.locations import config_dir, project_root, session_dir, state_dir
from keepthread.host.sessions import find_transcript
from keepthread.launch import outlet_of
from keepthread.ondemand import Format, Wish, make, shown, stored

_LEAST = 6  # characters of an id that tell a session


class Numbered(NamedTuple):
    """A handoff of a session with its number: 1 is the oldest that is kept."""

    number: int
    handoff: Handoff


def session_named(name: str, env: Mapping[str, str]) -> str:
    """Return the session that a name means: its id, or the beginning of the id of one that has a handoff.

    A name that means none is returned as it is: what looks for its handoff says what is missing.

    Raises:
        KeepthreadError: more than one is meant.
    """
    state, folder = state_dir(env), config_dir(env)
    if load(state, name) is not None or find_transcript("", name, folder):
        return name
    meant = [one for one in sessions(state) if one.startswith(name)] if len(name) >= _LEAST else []
    if len(meant) > 1:
        raise KeepthreadError(
            f"{name!r} begins {len(meant)} sessions", "`keepthread show --list` names them whole."
        )
    return meant[0] if meant else name


def carry(name: str, env: Mapping[str, str], cwd: str, form: Format) -> str:
    """Return what a session knows, as a text for a fresh session, another worktree or another machine.

    It is the handoff that is stored; of a session that has none, one by the facts alone, which is not stored.

    Raises:
        KeepthreadError: there is no such session, or nothing is left of it.
    """
    session = session_named(name, env)
    handoff = load(state_dir(env), session)
    if handoff is None:
        path = find_transcript("", session, config_dir(env))
        if not path:
            raise KeepthreadError(
                f"There is neither a handoff nor a transcript of session {name!r}",
                "`keepthread show --list` names the sessions that have a handoff; six characters of an id do.",
            )
        handoff = make(Wish(transcript=path, session=session, engine="facts"), env, cwd)
    secrets = outlet_of(load_config(env, config_dir(env)), env).secrets
    text = redact.text(shown(handoff, form, env), secrets)
    return _introduction(handoff) + text if form in ("md", "context") else text


def _introduction(handoff: Handoff) -> str:
    meta = handoff["meta"]
    project = meta["project"] or "a project that is not known"
    return (
        f"The work of another session (Claude Code session {meta['session_id']}, in {project}, as of "
        f"{meta['generated_at']}) is to go on here. Its paths begin with the folder it had there; in another checkout "
        "read them from that one's root. Look at the files before relying on them: they may have changed since.\n\n"
    )


def history(session: str, env: Mapping[str, str], cwd: str) -> list[Numbered]:
    """Return the handoffs that are kept of a session ("": the one at hand), the oldest first.

    Raises:
        KeepthreadError: none is stored.
    """
    newest = stored(session and session_named(session, env), env, cwd)
    folder = session_dir(state_dir(env), newest["meta"]["session_id"])
    return [Numbered(n, one) for n, one in enumerate([*earlier(folder), newest], 1)]


def list_history(found: list[Numbered]) -> str:
    """Return one line for each handoff of a session, under its number."""
    lines = []
    for number, handoff in found:
        meta = handoff["meta"]
        reason = f" ({meta['reason']})" if meta["reason"] else ""
        lines.append(
            f"{number:3}  {meta['generated_at']}  before compaction {meta['ordinal']}  "
            f"{meta['status']}{reason}, by {meta['engine']}"
        )
    return "\n".join(lines)


def history_rows(found: list[Numbered]) -> list[dict[str, Any]]:
    """Return {number, generated_at, ordinal, status, reason, engine} of each handoff of a session."""
    names = ("generated_at", "ordinal", "status", "reason", "engine")
    return [
        {"number": number, **{name: handoff["meta"][name] for name in names}}  # type: ignore[literal-required]
        for number, handoff in found
    ]


def difference(older: str, newer: str, session: str, env: Mapping[str, str], cwd: str) -> str:
    """Return what changed between two handoffs.

    Args:
        older: a number of `history`, or a session: its newest handoff.
        newer: the same.
        session: whose numbers are meant; "": the session at hand.
        env: the process environment.
        cwd: the working folder.

    Raises:
        KeepthreadError: one of them is not kept.
    """
    first, second = (_named(name, session, env, cwd) for name in (older, newer))
    return render(compare(first, second), first, second)


def _named(name: str, session: str, env: Mapping[str, str], cwd: str) -> Handoff:
    if not name.isdecimal() or len(name) >= _LEAST:
        return stored(session_named(name, env), env, cwd)
    found = history(session, env, cwd)
    for number, handoff in found:
        if number == int(name):
            return handoff
    raise KeepthreadError(
        f"There is no handoff {name} of this session, which has {len(found)}",
        "`keepthread show --session ID --list` numbers them.",
    )


def put(text: str, target: str, env: Mapping[str, str], cwd: str) -> str:
    """Give a text to the clipboard ("clipboard") or to a file, and return in words where it is.

    Raises:
        KeepthreadError: there is no clipboard, or the file cannot be written (`ondemand.deliver`).
    """
    from keepthread.host.clipboard import copy
    from keepthread.ondemand import deliver

    if target == "clipboard":
        return f"In the clipboard ({copy(text, env)})"
    deliver(text, target, project_root(env, cwd))
    return f"Written to {target}"
