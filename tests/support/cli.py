"""A person at a terminal: a project, its sessions, and the command line, in this process or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keepthread import cli
from tests.support.fake_claude import FakeClaude
from tests.support.session import SESSION, SessionFile

SOURCE = Path(__file__).parents[2] / "src"
RULE = "Never touch the gauges table, it is read by the harbour office."
ASK = "Now let the tide endpoint answer 404 for unknown stations."
DOCUMENT: dict[str, Any] = {
    "task": "Let the tide endpoint answer 404 for unknown stations.",
    "completed_tasks": [],
    "in_flight": "The 404 branch of the tide endpoint.",
    "works": [],
    "broken": [],
    "rules": [RULE],
    "ruled_out": [],
    "file_summaries": [],
    "issues_discovered": [],
    "open_questions": [],
    "next_steps": ["Let the tide endpoint in src/tides.py answer 404 for unknown stations."],
    "resume_prompt": "Go on with the 404 branch of the tide endpoint.",
}


class Ran(NamedTuple):
    """What a run came to: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


class Person:
    """Someone in a project, without a `claude` on PATH until `has_claude` is called."""

    def __init__(self, home: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home = home
        self.config = home / ".claude"
        self.state = self.config / "keepthread"
        self.project = home / "proj"
        self.project.mkdir()
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        monkeypatch.chdir(self.project)
        self.set(PATH="/usr/bin:/bin", COLUMNS="200")

    def set(self, **variables: str) -> None:
        """Set environment variables."""
        for name, text in variables.items():
            self._monkeypatch.setenv(name, text)

    def go(self, folder: Path) -> None:
        """Change the working folder."""
        folder.mkdir(exist_ok=True)
        self._monkeypatch.chdir(folder)

    def write_env(self, text: str) -> None:
        """Write the user's own file of variables."""
        self.config.mkdir(exist_ok=True)
        (self.config / ".env").write_text(text)

    def has_claude(self, **behaviour: Any) -> FakeClaude:
        """Put a stand-in for the host's program on PATH, with an API key."""
        fake = FakeClaude(self.home / "bin", **behaviour)
        self.set(PATH=f"{fake.folder}:/usr/bin:/bin", ANTHROPIC_API_KEY="fake-key")
        return fake

    def session(self, project: Path | None = None, session: str = SESSION) -> SessionFile:
        """Write a transcript where the host would, and return it."""
        cwd = str(project or self.project)
        slug = "".join(char if char.isascii() and char.isalnum() else "-" for char in cwd)
        path = self.config / "projects" / slug / f"{session}.jsonl"
        file = SessionFile(path, session=session, cwd=cwd)
        file.user(RULE)
        file.assistant("I will leave it alone.", tokens=21_000)
        file.edit(f"{cwd}/src/tides.py", tokens=24_000)
        file.write(
            f"{cwd}/src/stations.py", "def find_station(code: str) -> Station: ...\n", tokens=24_500
        )
        file.user(ASK)
        return file

    def run(self, *arguments: str) -> Ran:
        """Run keepthread in this process, from main() on."""
        self._monkeypatch.setattr(sys, "argv", ["keepthread", *arguments])
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ending:
            cli.main()
        shown = self._capsys.readouterr()
        assert isinstance(ending.value.code, int)
        return Ran(ending.value.code, shown.out, shown.err)

    def ok(self, *arguments: str) -> str:
        """Run it, expect exit code 0 and silence on standard error, return what it printed."""
        ran = self.run(*arguments)
        assert (ran.code, ran.err) == (0, ""), ran
        return ran.out

    def json(self, *arguments: str) -> Any:
        """Run it and return the JSON it printed."""
        return json.loads(self.run(*arguments).out)

    def start(self, *arguments: str, code: str = "", **more: Any) -> subprocess.Popen[str]:
        """Start keepthread as a process of its own, after running `code` in it."""
        own = (
            ["-c", f"{code}\nfrom keepthread.cli import main; main()"]
            if code
            else ["-m", "keepthread"]
        )
        return subprocess.Popen(
            [sys.executable, *own, *arguments],
            env={**os.environ, "PYTHONPATH": str(SOURCE)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **more,
        )

    def stored(self, session: str = SESSION) -> dict[str, Any]:
        """Return the session's stored handoff."""
        value: dict[str, Any] = json.loads(
            (self.state / "sessions" / session / "handoff.json").read_text(encoding="utf-8")
        )
        return value

    def files(self) -> dict[str, bytes]:
        """Return every file of the home folder, by its path there."""
        return {
            str(path.relative_to(self.home)): path.read_bytes()
            for path in sorted(self.home.rglob("*"))
            if path.is_file() and not path.is_relative_to(self.home / "bin")
        }
