"""A host's configuration folder, and install and uninstall with everything given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from keepthread.host import commands, settings_env
from keepthread.host.entries import ENTRIES
from keepthread.host.install import Report, install, uninstall
from keepthread.host.scopes import place

COMMAND = (
    "<!-- keepthread command: written by keepthread install, replaced when it is run again -->"
)


class Host:
    """The folder `.claude` of a user, with what keepthread puts there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / ".claude"
        self.settings = self.folder / "settings.json"
        self.state = self.folder / "keepthread"
        self.python = "/opt/keepthread/venv/bin/python"
        self.hooks = "/opt/keepthread/venv/lib/python3.11/site-packages/keepthread/hooks"
        self.texts = root / "bundled"
        self.texts.mkdir()
        (self.texts / "handoff.md").write_text(
            f"---\ndescription: x\n---\n{COMMAND}\n!`{commands.PROGRAM} handoff`\n"
        )
        self.folder.mkdir(mode=0o700)

    def write(self, data: bytes | str) -> bytes:
        """Write the settings and return their bytes."""
        raw = data.encode() if isinstance(data, str) else data
        self.settings.write_bytes(raw)
        return raw

    def read(self) -> Any:
        """Return the settings, parsed."""
        text = self.settings.read_text(encoding="utf-8-sig")
        return json.loads(text, parse_int=lambda digits: int(digits[:100]))

    def commands_of(self, event: str) -> list[str]:
        """Return the commands of an event in the order of the file."""
        groups = self.read().get("hooks", {}).get(event, [])
        return [hook["command"] for group in groups for hook in group["hooks"]]

    def ours(self) -> dict[str, int]:
        """Return how often each script of ours stands in the settings."""
        found: dict[str, int] = {}
        for event in self.read().get("hooks", {}):
            for command in self.commands_of(event):
                name = command.rpartition("/keepthread/hooks/")[2].partition("'")[0]
                if "/keepthread/hooks/" in command:
                    found[name] = found.get(name, 0) + 1
        return found

    def install(self, **more: Any) -> Report:
        """Install with this host's paths."""
        given: dict[str, Any] = {
            "config_dir": str(self.folder),
            "state": str(self.state),
            "python": self.python,
            "package_hooks": self.hooks,
            "command_folder": str(self.texts),
            "windows": False,
        }
        return install(**{**given, **more})

    def uninstall(self, **more: Any) -> Report:
        """Uninstall with this host's paths."""
        return uninstall(config_dir=str(self.folder), state=str(self.state), **more)

    def put_values(self, **wanted: str) -> None:
        """Put values into the `env` block of the user's settings."""
        folder, state = str(self.folder), str(self.state)
        where = place("user", folder, state)
        settings_env.apply(wanted, where=where, config_dir=folder, state=state)

    def litter(self) -> list[str]:
        """Return the hidden files in the folder, temporary ones among them."""
        return [path.name for path in self.folder.iterdir() if path.name.startswith(".")]

    def backups(self) -> list[Path]:
        """Return the backups of the settings."""
        return sorted(self.folder.glob("settings.json.keepthread-*.bak"))


ONCE = {entry.script: 1 for entry in ENTRIES}


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Give the test a host without settings."""
    return Host(tmp_path)
