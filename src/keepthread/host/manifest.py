"""What install wrote, so that uninstall takes out exactly that, one record for each settings file.

That of the user's settings is `<state>/manifest.json`; those of projects lie in `<state>/manifests/`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from keepthread import files
from keepthread.host import env_splice
from keepthread.host.entries import Wanted, shipped_script
from keepthread.host.env_splice import EnvValue
from keepthread.host.scopes import Place, key_of
from keepthread.host.settings_containers import Containers

_LIMIT = 1 << 20
_SETTINGS = 64 << 20


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
    """What is known of one settings file and of the slash commands.

    `env` are the values written into its `env` block, `lines` the commands that our status line has there (two only
    while one takes the place of the other). `commands` maps names in the user's commands folder to the
    sha256 of what was written; the settings files share them. `created_file`, `created_folder` (the one around the
    settings file) and `created_commands_folder` say that these were not there before; `excluded` that the file was
    named in the repository's .git/info/exclude.
    """

    version: str
    settings: str
    created_file: bool = False
    created_folder: bool = False
    containers: Containers = field(default_factory=Containers)
    hooks: tuple[Written, ...] = ()
    commands: Mapping[str, str] = field(default_factory=dict)
    created_commands_folder: bool = False
    env: tuple[EnvValue, ...] = ()
    lines: tuple[str, ...] = ()
    scope: str = "user"
    project: str = ""
    excluded: bool = False

    @property
    def holds(self) -> bool:
        """Whether anything of ours stands in the settings by this record."""
        return bool(self.hooks or self.env or self.lines)

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


def load(state: str, key: str = "") -> Manifest | None:
    """Return the manifest of a settings file (`Place.key`), or None when there is none that can be read."""
    return _load(path(state, key), state)


def of(state: str, place: Place) -> Manifest | None:
    """Return the manifest of a settings file, also when its project's folder had another name when it was written."""
    known = load(state, place.key)
    if known and known.settings == place.path:
        return known
    return next((one for _, one in _moved(state, place)), None) if known is None else None


def load_all(state: str, *places: Place) -> list[Manifest]:
    """Return the manifests of all settings files that something of ours stands in, the user's first.

    Those of files that are gone are left out: their project was removed, moved, or is not mounted now. One that was
    moved to one of `places` is found there.
    """
    loaded = [_load(file, state) for file in [path(state), *_of_projects(state)]]
    found = [one for one in loaded if one and os.path.lexists(one.settings)]
    there = {one.settings for one in found}
    return found + [
        one for place in places if place.path not in there and (one := of(state, place))
    ]


def forget_moved(state: str, place: Place) -> None:
    """Remove the records that a project's settings had under an earlier name of its folder."""
    for file, _ in _moved(state, place):
        with suppress(OSError):  # nobody asks for it any more
            os.unlink(file)


def _of_projects(state: str) -> list[str]:
    folder = os.path.join(state, "manifests")
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        return []  # nothing was installed in a project
    return [os.path.join(folder, name) for name in names]


def _moved(state: str, place: Place) -> Iterator[tuple[str, Manifest]]:
    """Yield the records of settings that are gone and whose every entry and value stands in this file now.

    The folder has kept its own name or the one it lies in; the same values in just any project are not ours.
    """
    if not place.root:
        return
    for file in _of_projects(state):
        one = _load(file, state)
        if one is None or one.scope != place.scope or os.path.lexists(one.settings):
            continue
        names, here = os.path.split(one.project), os.path.split(place.root)
        if one.holds and (names[0] == here[0] or names[1] == here[1]) and _stands(one, place.path):
            yield file, replace(one, settings=place.path, project=place.root)


def _stands(one: Manifest, settings: str) -> bool:
    try:
        document = json.loads(files.read_regular(settings, _SETTINGS))
        groups = [group for event in document.get("hooks", {}).values() for group in event]
        scripts = {one.owner(hook) for group in groups for hook in group["hooks"]}
        line = document.get("statusLine", {}).get("command")
    except (OSError, ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return False  # absent, or none that the host reads
    hooks = {hook.script for hook in one.hooks} <= scripts
    values = len(env_splice.ours(document, one.env)) == len(one.env)
    return hooks and values and (not one.lines or line in one.lines)


def _settings(recorded: str, file: str, state: str) -> str:
    """Return where the settings of a manifest lie now: the user's lie beside the state folder.

    The home folder may have been moved since they were written, or be reached by another name (a link).
    """
    folder, name = os.path.split(state)
    if file != path(state) or name != "keepthread":
        return recorded
    return os.path.join(folder, os.path.basename(recorded))


def _load(file: str, state: str) -> Manifest | None:
    try:
        raw = json.loads(files.read_regular(file, _LIMIT))
        containers = raw["containers"]
        return Manifest(
            version=str(raw["version"]),
            settings=_settings(str(raw["settings"]), file, state),
            created_file=raw["created_file"] is True,
            created_folder=raw.get("created_folder") is True,
            containers=Containers(frozenset(containers["created"]), dict(containers["empty"])),
            hooks=tuple(_written(one) for one in raw["hooks"]),
            commands=dict(raw["commands"]),
            created_commands_folder=raw["created_commands_folder"] is True,
            env=tuple(_value(one) for one in raw.get("env", ())),
            lines=tuple(str(one) for one in raw.get("lines", ())),
            scope=str(raw.get("scope", "user")),
            project=str(raw.get("project", "")),
            excluded=raw.get("excluded") is True,
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
        "scope": manifest.scope,
        "project": manifest.project,
        "settings": manifest.settings,
        "created_file": manifest.created_file,
        "created_folder": manifest.created_folder,
        "excluded": manifest.excluded,
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
        "env": [one._asdict() for one in manifest.env],
        "lines": manifest.lines,
        "commands": dict(manifest.commands),
        "created_commands_folder": manifest.created_commands_folder,
    }
    file = path(state, "" if manifest.scope == "user" else key_of(manifest.settings))
    files.make_private(state)
    files.make_private(os.path.dirname(file))
    files.write_private(file, json.dumps(raw, indent=2).encode() + b"\n")


def path(state: str, key: str = "") -> str:
    """Return the path of a settings file's manifest (`Place.key`)."""
    if not key:
        return os.path.join(state, "manifest.json")
    return os.path.join(state, "manifests", f"{key}.json")


def _value(raw: Mapping[str, Any]) -> EnvValue:
    before = raw["before"]
    return EnvValue(str(raw["name"]), str(raw["value"]), None if before is None else str(before))


def _written(raw: Mapping[str, Any]) -> Written:
    args = raw["args"]
    return Written(
        event=str(raw["event"]),
        script=str(raw["script"]),
        command=str(raw["command"]),
        args=None if args is None else tuple(args),
        timeout=float(raw["timeout"]),
    )
