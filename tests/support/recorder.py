"""Hooks for the real client that note what they were given and answer what the test says."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.client import Client, hook, python

_SCRIPT = """
import json, os, sys, time
log, answer, code, sleep = sys.argv[1:]
data = json.loads(sys.stdin.buffer.read())
path = data.get("transcript_path", "")
seen = open(path, encoding="utf-8").read() if os.path.isfile(path) else ""
line = json.dumps({"input": data, "env": dict(os.environ), "transcript": seen}) + "\\n"
descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
os.write(descriptor, line.encode())
time.sleep(float(sleep))
sys.stdout.buffer.write(open(answer, "rb").read())
sys.exit(int(code))
"""


@dataclass(frozen=True)
class Seen:
    """One call of a hook: its input, its environment, and the transcript as it stood then."""

    input: dict[str, Any]
    env: dict[str, str]
    transcript: str

    @property
    def label(self) -> str:
        """The event with its source or trigger, e.g. "SessionStart(compact)"."""
        detail = self.input.get("source") or self.input.get("trigger") or ""
        name = str(self.input["hook_event_name"])
        return f"{name}({detail})" if detail else name


class Recorder:
    """Hooks under `folder`; `add` them, then `install` them into a client's settings."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._log = folder / "log"
        self._script = folder / "hook.py"
        self._script.write_text(_SCRIPT, encoding="utf-8")
        self._hooks: dict[str, list[dict[str, Any]]] = {}

    def add(
        self, event: str, answer: str = "", *, code: int = 0, matcher: str = "", sleep: float = 0.0
    ) -> None:
        """Answer the event with `answer` on stdout and with an exit code, after `sleep` seconds."""
        entries = self._hooks.setdefault(event, [])
        path = self._folder / f"{event}-{len(entries)}"
        path.write_text(answer, encoding="utf-8")
        command = python(self._script, str(self._log), str(path), str(code), str(sleep))
        entries.append(hook(command, matcher))

    def command(self, event: str, command: str, matcher: str = "") -> None:
        """Run another command at the event."""
        self._hooks.setdefault(event, []).append(hook(command, matcher))

    def install(self, client: Client) -> None:
        """Write the hooks into the user's settings."""
        client.settings({"hooks": self._hooks})

    @property
    def seen(self) -> list[Seen]:
        """The calls so far, in order."""
        if not self._log.exists():
            return []
        return [Seen(**json.loads(line)) for line in self._log.read_text().splitlines()]

    @property
    def labels(self) -> list[str]:
        """The labels of the calls so far."""
        return [seen.label for seen in self.seen]


def context(text: str) -> str:
    """Return what a SessionStart hook prints to put `text` into the model's context."""
    output = {"hookEventName": "SessionStart", "additionalContext": text}
    return json.dumps({"hookSpecificOutput": output})
