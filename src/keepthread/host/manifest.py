"""What install wrote, so that uninstall takes out exactly that: `<state>/manifest.json`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from keepthread import files
from keepthread.host.entries import Wanted, shipped_script
from keepthread.host.settings_text import Containers

_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Written:
    """One hook entry as it was written, or is about to be."""

    event: str
    script: str
    command: str
    args: tuple[str, ...] | None
    timeout: float

    @classmethod
    def of(cls, entry: Wanted) -> Written:
        """Return the record of an entry of the table."""
        args = entry.handler.get("args")
        return cls(
            entry.event,
            entry.script,
            entry.handler["command"],
            None if args is None else tuple(args),
            entry.handler["timeout"],
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """What is known of one settings file and of the commands beside it.

    `commands` maps names in the commands folder to the sha256 of what was written. `created_file` and
    `created_commands_folder` say that these were not there before.
    """

    version: str
    settings: str
    created_file: bool = False
    containers: Containers = field(default_factory=Containers)
    hooks: tuple[Written, ...] = ()
    commands: Mapping[str, str] = field(default_factory=dict)
    created_commands_folder: bool = False

    def owner(self, hook: Mapping[str, Any]) -> str:
        """Return the script of ours that a hook object runs, or "": exact equality with what was written."""
        written = self._written(hook)
        return written.script if written else ""

    def keeps_timeout(self, hook: Mapping[str, Any]) -> bool:
        """Return whether the time limit of a hook of ours was changed since we wrote it."""
        written = self._written(hook)
        return written is not None and written.timeout != hook.get("timeout")

    def _written(self, hook: Mapping[str, Any]) -> Written | None:
        if hook.get("type") != "command":
            return None
        args = hook.get("args")
        key = (hook.get("command"), tuple(args) if isinstance(args, list) else None)
        return next((one for one in self.hooks if (one.command, one.args) == key), None)


def owner(manifest: Manifest | None, hook: Mapping[str, Any]) -> str:
    """Return the script of ours that a hook object runs, or "": by the manifest, else by the forms ever shipped."""
    return (manifest.owner(hook) if manifest else "") or shipped_script(hook)


def load(state: str) -> Manifest | None:
    """Return the manifest, or None when there is none that can be read."""
    try:
        raw = json.loads(files.read_regular(path(state), _LIMIT))
        containers = raw["containers"]
        return Manifest(
            version=str(raw["version"]),
            settings=str(raw["settings"]),
            created_file=raw["created_file"] is True,
            containers=Containers(frozenset(containers["created"]), dict(containers["empty"])),
            hooks=tuple(_written(one) for one in raw["hooks"]),
            commands=dict(raw["commands"]),
            created_commands_folder=raw["created_commands_folder"] is True,
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None  # absent or damaged: the forms we shipped are still recognised


def save(state: str, manifest: Manifest) -> None:
    """Write the manifest.

    Raises:
        OSError: the state folder cannot be written.
    """
    raw = {
        "version": manifest.version,
        "settings": manifest.settings,
        "created_file": manifest.created_file,
        "containers": {
            "created": sorted(manifest.containers.created),
            "empty": dict(manifest.containers.empty),
        },
        "hooks": [
            {
                "event": one.event,
                "script": one.script,
                "command": one.command,
                "args": one.args,
                "timeout": one.timeout,
            }
            for one in manifest.hooks
        ],
        "commands": dict(manifest.commands),
        "created_commands_folder": manifest.created_commands_folder,
    }
    files.make_private(state)
    files.write_private(path(state), json.dumps(raw, indent=2).encode() + b"\n")


def path(state: str) -> str:
    """Return the path of the manifest."""
    return os.path.join(state, "manifest.json")


def _written(raw: Mapping[str, Any]) -> Written:
    args = raw["args"]
    return Written(
        event=str(raw["event"]),
        script=str(raw["script"]),
        command=str(raw["command"]),
        args=None if args is None else tuple(args),
        timeout=float(raw["timeout"]),
    )
