"""From KEEPTHREAD_ENGINE to the ladder of engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from keepthread.engines import claude, facts
from keepthread.engines.model import Engine
from keepthread.errors import KeepthreadError
from keepthread.host.config import Config
from keepthread.host.locations import inside_any

AUTO = "auto"

_Maker = Callable[[Mapping[str, str], str, str], Engine]

_MAKERS: dict[str, _Maker] = {
    claude.NAME: lambda env, config_dir, project: claude.ClaudeEngine(
        env, config_dir=config_dir, project=project
    ),
    facts.NAME: lambda *_: facts.FactsEngine(),
}

# What sends nothing off this machine, and may be used in the projects its user keeps local.
_LOCAL = frozenset((facts.NAME,))


def known() -> list[str]:
    """Return every name KEEPTHREAD_ENGINE may hold."""
    return [AUTO, *_MAKERS]


def engines_for(
    config: Config, env: Mapping[str, str], *, config_dir: str, project: str
) -> list[Engine]:
    """Return the ladder, first choice first; it always ends with `facts`.

    Args:
        config: `engine` names one engine, several between commas, or "auto" (the host's own login, then facts).
        env: the environment the engines' children inherit from.
        config_dir: the host's configuration folder.
        project: the project's folder or ""; no program in it is ever run.

    Raises:
        KeepthreadError: a name is unknown.
    """
    names = _names(config.engine)
    if inside_any(project, config.local_only_projects):
        names = [name for name in names if name in _LOCAL]
    return [_MAKERS[name](env, config_dir, project) for name in names]


def _names(setting: str) -> list[str]:
    names: list[str] = []
    for name in (part.strip().lower() for part in setting.split(",")):
        if name == AUTO:
            names.append(claude.NAME)
        elif name in _MAKERS:
            names.append(name)
        elif name:
            raise KeepthreadError(
                f"KEEPTHREAD_ENGINE names an unknown engine: {name!r}",
                f"Known are: {', '.join(known())}.",
            )
    before_facts = names[: names.index(facts.NAME)] if facts.NAME in names else names
    return [*dict.fromkeys(before_facts), facts.NAME]

