"""keepthread as a plugin: beside hooks in the settings, or twice, it would answer each event twice."""

from __future__ import annotations

import json
import os
from typing import Any

from keepthread import files
from keepthread.host.settings_file import LIMIT

_NAME = "keepthread"


def plugins(config_dir: str, project: str = "") -> list[str]:
    """Return the plugins named keepthread (`keepthread@<marketplace>`) that are enabled for this user and project.

    The nearer file decides, as in the host: local before project before user. Settings that cannot be read enable
    nothing.
    """
    paths = [os.path.join(config_dir, "settings.json")]
    if project:
        names = ("settings.json", "settings.local.json")
        paths += [os.path.join(project, ".claude", name) for name in names]
    states: dict[str, Any] = {}
    for path in dict.fromkeys(paths):
        states |= _enabled(path)
    return sorted(name for name, on in states.items() if on and name.partition("@")[0] == _NAME)


def _enabled(path: str) -> dict[str, Any]:
    try:
        data = files.read_regular(os.path.realpath(path), LIMIT)
        if b'"enabledPlugins"' not in data:
            return {}
        found = json.loads(data).get("enabledPlugins")
    except (OSError, ValueError, AttributeError, RecursionError):
        return {}  # absent, or nothing that the host would read either
    return found if isinstance(found, dict) else {}
