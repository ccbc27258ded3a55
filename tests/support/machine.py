"""A person's machine: the program as a process of its own, and the hooks run exactly as they stand in the settings."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.session import SESSION, SessionFile

ROOT = Path(__file__).resolve().parents[2]


class Hook(NamedTuple):
    """One hook of the settings: its event, and its JSON object."""

    event: str
    handler: dict[str, Any]

    @property
    def command(self) -> str:
        """The command as it stands there."""
        return str(self.handler["command"])


class Machine:
    """A home, a project that is a repository, and an interpreter that has keepthread."""

    def __init__(self, home: Path, project: Path, python: str = sys.executable) -> None:
        self.home = home
        self.config = home / ".claude"
        self.settings = self.config / "settings.json"
        self.state = self.config / "keepthread"
        self.project = project
        self.python = python
        project.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "init", "-q", str(project)], check=True, timeout=60)

    def env(self, **more: str) -> dict[str, str]:
        """Return the environment; a value of "" takes the variable out, one of one space leaves it set but empty."""
        env = {"HOME": str(self.home), "PATH": os.defpath, "KEEPTHREAD_ENGINE": "facts", **more}
        return {name: value.replace(" ", "", value == " ") for name, value in env.items() if value}

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[bytes]:
        """Run the program in the project; no run may end in a traceback."""
        done = subprocess.run(
            [self.python, "-m", "keepthread", *words],
            stdin=subprocess.DEVNULL,
            env=self.env(**env),
            cwd=self.project,
            capture_output=True,
            timeout=120,
        )
        assert b"Traceback" not in done.stderr, done.stderr
        assert done.returncode != 3, done.stderr
        return done

    def ok(self, *words: str, **env: str) -> str:
        """Run it, expect that it ends well, return what it printed."""
        return self.ok_bytes(*words, **env).decode()

    def ok_bytes(self, *words: str, **env: str) -> bytes:
        """Do the same where the output is in another encoding."""
        done = self.run(*words, **env)
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout

    def refused(self, *words: str, **env: str) -> str:
        """Run it, expect that it refuses, return the reason."""
        done = self.run(*words, **env)
        assert done.returncode == 1, (done.stdout, done.stderr)
        return done.stderr.decode()

    def write(self, text: str | bytes) -> bytes:
        """Write the settings, and return their bytes."""
        data = text.encode() if isinstance(text, str) else text
        self.config.mkdir(exist_ok=True)
        self.settings.write_bytes(data)
        return data

    def registered(self, settings: Path | None = None) -> list[Hook]:
        """Return every hook of the settings, ours and others'."""
        document = json.loads((settings or self.settings).read_bytes())
        return [
            Hook(event, handler)
            for event, groups in document.get("hooks", {}).items()
            for group in groups
            for handler in group["hooks"]
        ]

    def ours(self, settings: Path | None = None) -> list[Hook]:
        """Return those of keepthread."""
        return [one for one in self.registered(settings) if "/hooks/" in one.command]

    def fire(self, event: str, fields: dict[str, Any] | bytes, **env: str) -> list[Any]:
        """Run every registered hook of an event as the host does; return what each printed."""
        told: dict[str, Any] = {"session_id": SESSION, "cwd": str(self.project)}
        told |= {"hook_event_name": event, "transcript_path": str(self.transcript)}
        data = fields if isinstance(fields, bytes) else json.dumps(told | fields).encode()
        return [self._fired(hook, data, env) for hook in self.registered() if hook.event == event]

    def _fired(self, hook: Hook, data: bytes, env: dict[str, str]) -> str:
        done = subprocess.run(
            ["sh", "-c", hook.command],
            input=data,
            env=self.env(CLAUDECODE="1", **env),
            cwd=self.home,
            capture_output=True,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, b""), (hook.command, done.stderr)
        return done.stdout.decode()

    @property
    def transcript(self) -> Path:
        """Where the host keeps this project's session."""
        name = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(self.project))
        return self.config / "projects" / name / f"{SESSION}.jsonl"

    def session(self) -> SessionFile:
        """Begin a session where the host keeps it."""
        return SessionFile(self.transcript, session=SESSION, cwd=str(self.project))

    def log(self) -> list[dict[str, Any]]:
        """Return the lines of the log."""
        path = self.state / "log.jsonl"
        return (
            [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
        )


def interpreter(folder: Path) -> str:
    """Make an environment whose package lies in it as a wheel puts it there; return its interpreter."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120
    )
    packages = next(folder.glob("lib/python*/site-packages"))
    package = packages / "keepthread"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "keepthread", package, ignore=ignore)
    for name in ("hooks", "commands", "templates"):
        shutil.copytree(ROOT / name, package / name, ignore=ignore)
    # What it depends on comes from where the tests' own does.
    dependencies = [path for path in site.getsitepackages() if Path(path).is_dir()]
    (packages / "theirs.pth").write_text("\n".join(dependencies) + "\n", encoding="utf-8")
    return str(folder / "bin" / "python")
