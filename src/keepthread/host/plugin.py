"""The hooks of keepthread as a plugin: `hooks/hooks.json`, made of the same table as the entries in the settings.

`python -m keepthread.host.plugin` prints it; a test holds the file to that.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from keepthread.host.entries import ENTRIES, OPTIONAL, Entry

# Every start. The handlers look at KEEPTHREAD_SOURCES themselves: a plugin's matchers cannot follow them.
_SOURCES = ("startup", "resume", "clear", "compact", "fork")


def hooks() -> dict[str, Any]:
    """Return the content of hooks.json: every entry there is, since a plugin cannot know what its user turns on."""
    events: dict[str, list[dict[str, Any]]] = {}
    for entry in (*ENTRIES, *OPTIONAL):
        group = {"matcher": _matcher(entry)} if _matcher(entry) else {}
        events.setdefault(entry.event, []).append({**group, "hooks": [_handler(entry)]})
    return {"description": "keepthread: handoffs across compaction", "hooks": events}


def _matcher(entry: Entry) -> str:
    return "|".join(_SOURCES) if entry.by_source else entry.matcher


def _handler(entry: Entry) -> dict[str, Any]:
    name = entry.script.removesuffix(".py")
    # `sh`, because a copy may lose the mode; the refuge is that of `entries.posix_command`.
    command = f'sh "${{CLAUDE_PLUGIN_ROOT}}/hooks/run" {name} || exit 0'
    return {"type": "command", "command": command, "timeout": entry.timeout}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(hooks(), indent=2) + "\n")
