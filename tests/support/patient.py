"""An installation of its own with an empty home, in which doctor is run as a process and faults are planted."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.session import SESSION, SessionFile

SOURCE = Path(__file__).parents[2] / "src"


class Patient:
    """Somebody with keepthread installed, whose only engine is the facts."""

    def __init__(self, home: Path, python: str = sys.executable) -> None:
        self.home = home
        self.config = home / ".claude"
        self.state = self.config / "keepthread"
        self.project = home / "proj"
        self.project.mkdir()
        self.env = {
            "HOME": str(home),
            "USERPROFILE": str(home),
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(SOURCE),
            "KEEPTHREAD_ENGINE": "facts",
            "LANG": "C.UTF-8",
        }
        self.ok("install", python=python)

    def run(
        self, *arguments: str, python: str = sys.executable
    ) -> subprocess.CompletedProcess[str]:
        """Run keepthread in the project, as a process."""
        return subprocess.run(
            [python, "-m", "keepthread", *arguments],
            cwd=self.project,
            env=self.env,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )

    def ok(self, *arguments: str, python: str = sys.executable) -> str:
        """Run it and expect that it is done."""
        ran = self.run(*arguments, python=python)
        assert ran.returncode == 0, ran
        return ran.stdout

    def checks(self) -> dict[str, dict[str, Any]]:
        """Return what doctor says, by name; its exit code tells of faults."""
        ran = self.run("doctor", "--json")
        found = json.loads(ran.stdout)["checks"]
        assert (ran.returncode == 1) == any(not check["ok"] for check in found), ran
        assert all(check["fix"] for check in found if not check["ok"])
        return {check["name"]: check for check in found if not check["name"].startswith("dry run")}

    def faults(self) -> dict[str, dict[str, Any]]:
        """Return what is wrong, by name."""
        return {name: check for name, check in self.checks().items() if not check["ok"]}

    def follow(self, fix: str) -> None:
        """Type what doctor says, as it stands there."""
        words = fix.replace("keepthread ", f"{shlex.quote(sys.executable)} -m keepthread ")
        subprocess.run(
            ["sh", "-ec", words], cwd=self.project, env=self.env, capture_output=True, check=True
        )

    def edit(self, path: Path, change: Callable[[Any], Any]) -> None:
        """Change a JSON file through a function of its document."""
        path.parent.mkdir(exist_ok=True, parents=True)
        document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        change(document)
        path.write_text(json.dumps(document), encoding="utf-8")

    @property
    def settings(self) -> Path:
        """The user's settings file."""
        return self.config / "settings.json"

    def hook(self, event: str) -> dict[str, Any]:
        """Return the first hook object of an event."""
        found: dict[str, Any] = json.loads(self.settings.read_text(encoding="utf-8"))["hooks"][
            event
        ][0]["hooks"][0]
        return found

    def change_hook(self, event: str, **values: Any) -> None:
        """Change values of the first hook object of an event."""
        self.edit(
            self.settings, lambda document: document["hooks"][event][0]["hooks"][0].update(values)
        )

    def session(self) -> SessionFile:
        """Write a transcript where the host would."""
        slug = "".join(
            char if char.isascii() and char.isalnum() else "-" for char in str(self.project)
        )
        path = self.config / "projects" / slug / f"{SESSION}.jsonl"
        return SessionFile(path, session=SESSION, cwd=str(self.project))

    def fire(self, event: str, **more: Any) -> None:
        """Run the registered command of an event, as the host would."""
        given = {"session_id": SESSION, "hook_event_name": event, "cwd": str(self.project), **more}
        subprocess.run(
            ["sh", "-c", self.hook(event)["command"]],
            input=json.dumps(given),
            text=True,
            cwd=self.project,
            env=self.env,
            capture_output=True,
            check=True,
        )

    def log(self, **fields: Any) -> None:
        """Add a line to the log."""
        line = {"time": "2026-01-01T00:00:00Z", "session": "", "outcome": "partial", **fields}
        with (self.state / "log.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
        os.chmod(self.state / "log.jsonl", 0o600)
