"""The values the host goes by: the process environment and its settings files, and where each value comes from.

The host's order, later wins: environment, user, project, local, managed settings. The `env` blocks override the
shell's variables (measured on 2.1.332 for the user's file). A file it would refuse is skipped, as its print mode does.
What a project sets waits in the host until the folder is trusted; here it counts at once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from keepthread import files, platforms
from keepthread.errors import KeepthreadError
from keepthread.host import settings_parse

ENVIRONMENT = "environment"
_LIMIT = 1 << 20


class InForce(NamedTuple):
    """A value as text, and its source: "environment" or the path of a settings file."""

    value: str
    source: str


def settings_files(config_dir: str, project: str) -> list[str]:
    """Return the paths of the settings files, weakest first; `project` is a folder, "" for none."""
    found = [os.path.join(config_dir, "settings.json")]
    if project:
        folder = os.path.join(project, ".claude")
        found += [os.path.join(folder, name) for name in ("settings.json", "settings.local.json")]
    managed = platforms.managed_settings(os.environ)
    # A project that is the home folder names the user's file a second time.
    return list(dict.fromkeys([*found, managed] if managed else found))


def settings_env(env: Mapping[str, str], config_dir: str, project: str) -> dict[str, InForce]:
    """Return each variable as the host will see it, the process environment `env` included."""
    found = {name: InForce(value, ENVIRONMENT) for name, value in env.items()}
    for path in settings_files(config_dir, project):
        block = read_settings(path).get("env")
        for name, value in block.items() if isinstance(block, dict) else ():
            text = as_text(value)
            if text is not None:
                found[name] = InForce(text, path)
    return found


def settings_values(config_dir: str, project: str, *names: str) -> dict[str, InForce]:
    """Return those of the top-level keys `names` that some settings file sets to a text, number or boolean."""
    found = {}
    for path in settings_files(config_dir, project):
        settings = read_settings(path)
        for name in names:
            text = as_text(settings.get(name))
            if text is not None:
                found[name] = InForce(text, path)
    return found


def read_settings(path: str) -> dict[str, Any]:
    """Return a settings file's object with numbers as the bytes of their text, {} where the host would skip it."""
    try:
        data = files.read_regular(os.path.realpath(path), _LIMIT)
        document = settings_parse.parse(settings_parse.decode(data, path)[0], path)
    except (OSError, KeepthreadError):
        return {}  # absent, unreadable or no strict JSON
    return document if isinstance(document, dict) else {}


def as_text(value: Any) -> str | None:
    """Return a parsed setting as the environment would hold it, None for null, lists and objects."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode()
    return value if isinstance(value, str) else None
