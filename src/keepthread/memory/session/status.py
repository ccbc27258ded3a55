"""Turning the session memory on and off, and how it stands: what `keepthread memory session` does."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from keepthread.handoff import circuit
from keepthread.handoff.alive import running
from keepthread.host.config import load as load_config
from keepthread.host.env_file import set_variable
from keepthread.host.locations import config_dir, project_root, session_dir, state_dir
from keepthread.host.sessions import newest_session
from keepthread.memory.session.due import FIRST, GROWN
from keepthread.memory.session.extract import PROMPT
from keepthread.memory.session.store import MARKDOWN, load, read_state

VARIABLE = "KEEPTHREAD_SESSION_MEMORY"
_FORMS = {
    "model": "on: a model keeps it up to date",
    "facts": "on, without a model: computed from the transcript; it costs nothing",
    "off": "off: nothing is kept",
}


def choose(form: str, env: Mapping[str, str]) -> str:
    """Write the choice into the user's own file; return the file's path.

    Args:
        form: "model", "facts" or "off".
        env: the process environment.

    Raises:
        KeepthreadError: the file cannot be changed safely; nothing was written.
        OSError: it cannot be written; the old one stays.
    """
    path = os.path.join(config_dir(env), ".env")
    set_variable(path, VARIABLE, form)
    return path


def cost(env: Mapping[str, str]) -> str:
    """Return in words what the form with a model costs."""
    config = load_config(env, config_dir(env))
    most = min(PROMPT, config.prompt_tokens)
    return (
        f"With a model: one call of {config.memory_model!r} when a session reaches {FIRST:,} tokens of context and one "
        f"for each {GROWN:,} more, of at most {most:,} tokens of prompt and one correction; the spending caps hold, a "
        "quarter of them is left to the handoffs."
    )


def standing(env: Mapping[str, str], cwd: str) -> dict[str, Any]:
    """Return how the session memory stands, as `--json` prints it.

    Raises:
        KeepthreadError: there is no configuration folder.
    """
    folder, state = config_dir(env), state_dir(env)
    config = load_config(env, folder)
    session = env.get("CLAUDE_CODE_SESSION_ID", "") or _newest(env, folder, cwd)
    memory = load(state, session) if session else None
    known = read_state(state, session) if session else {}
    path = os.path.join(session_dir(state, session), MARKDOWN) if session else ""
    meta: Any = memory["handoff"]["meta"] if memory else {}
    return {
        "setting": config.session_memory,
        "asks": config.session_memory == "model" and config.engine != "facts",
        "model": config.memory_model,
        "session": session or None,
        "form": memory["form"] if memory else None,
        "file": path if memory and os.path.exists(path) else None,
        "generated_at": meta.get("generated_at"),
        "tokens": (memory.get("tokens") or None) if memory else None,
        "engine": meta.get("engine"),
        "cost_usd": meta.get("cost_usd"),
        "running": running(known),
        "circuit": circuit.state(known, time.time()),
    }


def text(found: Mapping[str, Any]) -> str:
    """Return the same for people."""
    lines = [f"The session memory is {_FORMS[found['setting']]}."]
    if found["setting"] == "model" and not found["asks"]:
        lines.append(
            "No model is asked as long as KEEPTHREAD_ENGINE is facts: until then code alone keeps it."
        )
    if found["form"]:
        by = f" by {found['engine']}" if found["form"] == "model" else ""
        lines.append(f"This session's was written {found['generated_at']}{by}: {found['file']}")
    elif found["session"]:
        lines.append("This session has none yet.")
    if found["running"]:
        lines.append("It is being brought up to date right now.")
    if found["circuit"] == "open":
        lines.append("Three calls failed in a row; the next is made when half an hour has passed.")
    return "\n".join(lines)


def _newest(env: Mapping[str, str], folder: str, cwd: str) -> str:
    path = newest_session(folder, cwd) or newest_session(folder, project_root(env, cwd))
    return os.path.splitext(os.path.basename(path))[0]
