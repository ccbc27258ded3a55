"""From KEEPTHREAD_ENGINE to the ladder of engines."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from keepthread.engines import anthropic, claude, command, endpoints, facts, ollama, openai, plugins
from keepthread.engines.caps import Caps
from keepthread.engines.gate import Failed, Gate, is_local
from keepthread.engines.model import Engine, Setup
from keepthread.errors import KeepthreadError
from keepthread.host.config import Config
from keepthread.host.locations import happens_in, session_dir

AUTO = "auto"

_Maker = Callable[[Setup], Engine]


def _endpoint(name: str) -> _Maker:
    return lambda setup: openai.OpenAIEngine(name, setup)


# `auto` is the host's own login and nothing else: a key kept for another purpose must not send transcripts anywhere.
_MAKERS: Mapping[str, _Maker] = {
    claude.NAME: lambda setup: claude.ClaudeEngine(
        setup.env, config_dir=setup.config_dir, project=setup.project
    ),
    anthropic.NAME: anthropic.AnthropicEngine,
    **{name: _endpoint(name) for name in endpoints.OPENAI_LIKE},
    ollama.NAME: ollama.OllamaEngine,
    command.NAME: command.CommandEngine,
    facts.NAME: lambda _: facts.FactsEngine(),
}


def built_in() -> list[str]:
    """Return the names KEEPTHREAD_ENGINE may hold without any package's help."""
    return [AUTO, *_MAKERS]


def known() -> list[str]:
    """Return every name KEEPTHREAD_ENGINE may hold, those of installed packages last."""
    own = built_in()
    return [*own, *(name for name in plugins.names() if name not in own)]


def engines_for(
    config: Config,
    env: Mapping[str, str],
    *,
    config_dir: str,
    project: str,
    session: str = "",
    afresh: bool = False,
) -> list[Engine]:
    """Return the ladder, first choice first; it always ends with `facts`.

    Args:
        config: `engine` names one engine, several between commas, or "auto" (the host's own login, then facts).
        env: the environment the engines' children inherit from; its PWD is where the session is at work.
        config_dir: the host's configuration folder.
        project: the project's folder or ""; no program in it is ever run.
        session: the session whose failures for good are remembered, or "".
        afresh: try again what failed for good: a person asked for it.

    Raises:
        KeepthreadError: a name is unknown.
    """
    setup = Setup(config.user, env, config_dir, project, config.window)
    makers = [_maker(name) for name in _names(config.engine)]
    engines = [make(setup) for make in makers]
    if happens_in(config.local_only_projects, env, env.get("PWD", ""), project):
        engines = [engine for engine in engines if is_local(engine)]
    state = os.path.join(config_dir, "keepthread")
    caps = Caps(state, config.max_calls_per_hour, config.max_usd_per_day)
    failed = Failed(session_dir(state, session) if session else "", config_dir, afresh=afresh)
    return [*(Gate(engine, caps, failed) for engine in engines), facts.FactsEngine()]


def _names(setting: str) -> list[str]:
    names: list[str] = []
    for name in (part.strip().lower() for part in setting.split(",")):
        if name == facts.NAME:
            break  # the ladder ends there
        if name:
            names.append(claude.NAME if name == AUTO else name)
    return list(dict.fromkeys(names))


def _maker(name: str) -> _Maker:
    maker = _MAKERS.get(name) or plugins.find(name)
    if maker is None:
        raise KeepthreadError(
            f"KEEPTHREAD_ENGINE names an unknown engine: {name!r}",
            f"Known are: {', '.join(known())}.",
        )
    return maker
