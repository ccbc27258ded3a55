"""Drives the real client in print mode, in a home of its own, against the stand-in for the API."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.api import FakeApi

MODEL = "claude-sonnet-4-6"  # compacts early: at 167,000 tokens of its 200,000
LIMIT = 240.0  # seconds after which a run counts as hanging


@dataclass(frozen=True)
class Run:
    """What one run of the client came to. `result` is its JSON answer, {} when it printed none."""

    code: int
    result: dict[str, Any]
    stdout: str
    stderr: str

    @property
    def session(self) -> str:
        """The session's id, "" when the client did not say."""
        return str(self.result.get("session_id", ""))

    @property
    def text(self) -> str:
        """What the client answered."""
        return str(self.result.get("result", ""))


@dataclass
class Client:
    """The client with a home, a project and an API. `env` holds more variables, None removes one."""

    executable: Path
    home: Path
    project: Path
    api: FakeApi
    env: dict[str, str | None] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        """The client's configuration folder."""
        return self.home / ".claude"

    def environment(self) -> dict[str, str]:
        """Return the variables the client is started with: nothing of the caller's own but the temporary folder."""
        variables: dict[str, str | None] = {
            "HOME": str(self.home),
            "USERPROFILE": str(self.home),
            "PATH": os.pathsep.join([str(self.executable.parent), *_system_path()]),
            "TMPDIR": os.environ.get("TMPDIR"),
            "SYSTEMROOT": os.environ.get("SYSTEMROOT"),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "ANTHROPIC_API_KEY": "fake-key",
            "ANTHROPIC_BASE_URL": self.api.url,
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "IS_SANDBOX": "1",  # lets root skip permissions
        }
        return {name: value for name, value in (variables | self.env).items() if value is not None}

    def run(self, *arguments: str, stdin: str = "") -> Run:
        """Run the client in the project.

        Raises:
            subprocess.TimeoutExpired: it hangs.
        """
        process = subprocess.run(
            [str(self.executable), *arguments],
            cwd=self.project,
            env=self.environment(),
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=LIMIT,
        )
        return Run(process.returncode, _object(process.stdout), process.stdout, process.stderr)

    def prompt(self, text: str, resume: str | None = None, *more: str, model: str = MODEL) -> Run:
        """Say `text` in a new session, or in the session `resume`, with all tools allowed."""
        arguments = ["-p", text, "--output-format", "json", "--model", model]
        if resume:
            arguments += ["--resume", resume]
        return self.run(*arguments, "--dangerously-skip-permissions", *more)

    def converse(
        self, *words: str, persist: bool = True, model: str = MODEL, resume: str = ""
    ) -> Run:
        """Say one thing after the other in one process, as an open session does; the result is the last turn's."""
        arguments = ["-p", "--input-format", "stream-json", "--output-format", "stream-json"]
        arguments += ["--verbose", "--model", model, "--dangerously-skip-permissions"]
        arguments += ["--resume", resume] if resume else []
        if not persist:
            arguments.append("--no-session-persistence")
        with tempfile.TemporaryFile("w+", encoding="utf-8") as errors:
            process = subprocess.Popen(
                [str(self.executable), *arguments],
                cwd=self.project,
                env=self.environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
            )
            guard = threading.Timer(LIMIT, process.kill)
            guard.start()
            try:
                lines = [line for text in words for line in _turn(process, text)]
                lines += _rest(process)
            finally:
                guard.cancel()
            errors.seek(0)
            stdout = "".join(lines)
            return Run(process.returncode, _object(stdout), stdout, errors.read())

    def compact(self, session: str, words: str = "") -> Run:
        """Compact the session by hand."""
        return self.prompt(f"/compact {words}".strip(), session)

    def transcript(self, session: str) -> Path:
        """Return the session's transcript."""
        folder = re.sub("[^a-zA-Z0-9]", "-", str(self.project))
        return self.config / "projects" / folder / f"{session}.jsonl"

    def records(self, session: str) -> list[dict[str, Any]]:
        """Return the records of the session's transcript."""
        lines = self.transcript(session).read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def settings(self, value: dict[str, Any]) -> None:
        """Write the user's settings."""
        self.config.mkdir(parents=True, exist_ok=True)
        (self.config / "settings.json").write_text(json.dumps(value), encoding="utf-8")


def hook(command: str, matcher: str = "") -> dict[str, Any]:
    """Return one entry of an event's list of hooks."""
    return {
        "matcher": matcher,
        "hooks": [{"type": "command", "command": command, "timeout": 60}],
    }


def python(script: Path, *arguments: str) -> str:
    """Return the shell command that runs a Python script."""
    return shlex.join([sys.executable, "-I", str(script), *arguments])


def _turn(process: subprocess.Popen[str], text: str) -> list[str]:
    """Say something and return the lines up to the turn's result: what is said earlier would join the turn."""
    assert process.stdin
    assert process.stdout
    line = {"type": "user", "message": {"role": "user", "content": text}}
    process.stdin.write(json.dumps(line) + "\n")
    process.stdin.flush()
    lines = []
    for answer in process.stdout:
        lines.append(answer)
        if _object(answer).get("type") == "result":
            break
    return lines


def _rest(process: subprocess.Popen[str]) -> list[str]:
    assert process.stdin
    assert process.stdout
    process.stdin.close()
    with process.stdout as output:
        lines = list(output)
    process.wait()
    return lines


def _system_path() -> list[str]:
    """Return where git and the shell's tools are, and no folder in which a person keeps a client of their own."""
    if os.name == "nt":
        return os.environ.get("PATH", "").split(os.pathsep)
    return ["/usr/bin", "/bin", "/usr/sbin", "/sbin"]


def _object(text: str) -> dict[str, Any]:
    """Return the object that is the whole text or its last line, {} when there is none."""
    try:
        value = json.loads(text.strip().rpartition("\n")[2])
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
