"""Is everything in place: each check has a name, a result and what mends it. They stand in checks_*.py by subject."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from keepthread import log
from keepthread.diagnose import (
    checks_client,
    checks_memory,
    checks_runs,
    checks_settings,
    checks_state,
    checks_variables,
    registered,
)
from keepthread.diagnose.check import Check, Place
from keepthread.host.config import load as load_config
from keepthread.host.locations import config_dir, project_root, state_dir

__all__ = ["Check", "examine", "place_here", "render_checks"]


def examine(env: Mapping[str, str], cwd: str) -> list[Check]:
    """Return every check's finding; nothing of the user's is changed.

    How long it takes does not depend on how much is stored: what grows is looked at in part, and says so.

    Raises:
        KeepthreadError: there is no configuration folder.
    """
    place = place_here(env, cwd)
    files = registered.read_all(place)
    lines = log.read(place.state, limit=checks_runs.LINES)
    version = checks_client.client_version(place)
    parts: list[Callable[[], Iterator[Check]]] = [
        lambda: checks_settings.check(place, files),
        lambda: checks_runs.check(place, files, lines),
        lambda: checks_state.check(place, lines),
        lambda: checks_variables.check(place, version),
        lambda: checks_memory.check(place),
        lambda: checks_client.check(place, files, version),
    ]
    return [found for part in parts for found in part()]


def place_here(env: Mapping[str, str], cwd: str) -> Place:
    """Return whose installation doctor looks at.

    Raises:
        KeepthreadError: there is no configuration folder.
    """
    folder, project = config_dir(env), project_root(env, cwd)
    return Place(env, cwd, folder, state_dir(env), project, load_config(env, folder))


def render_checks(checks: list[Check]) -> str:
    """Return the findings as text: one line each, and what to do about what is wrong or can be better."""
    lines = []
    for check in checks:
        word = "FAIL" if not check["ok"] else "note" if check["fix"] else "ok  "
        lines.append(f"{word}  {check['name']}: {check['detail']}")
        if check["fix"]:
            lines.append(f"        {'see' if check['ok'] else 'mend it'}: {check['fix']}")
    return "\n".join(lines)
