"""Runs the hooks in this process, where thousands of runs are cheap, and holds each to what no run may break."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Any
from unittest import mock

from jsonschema import Draft202012Validator

from keepthread import files, handlers, log, resources
from keepthread.handoff import checkpoint, inject
from tests.support import counts
from tests.support.hook_runs import RULE, check_output, small_talk, units
from tests.support.session import SESSION, SessionFile

OTHER = "22222222-2222-4222-8222-222222222222"
BUDGET, INDEX = 9_900, 4_000  # UTF-16 units, the defaults
FRAMES = ("<keepthread-handoff>", "<keepthread-index>")
_SCHEMA = Draft202012Validator(json.loads(resources.read("templates", "handoff.schema.json")))


class Arena:
    """A home, a project and a session that has a handoff; every example begins from there.

    What only takes time is left out: the wait for a prompt that is on its way, and for the disk.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.project = folder / "proj"
        self.state = self.home / ".claude" / "keepthread"
        self.transcript = self.home / ".claude" / "projects" / "s" / f"{SESSION}.jsonl"
        self.fifo = self.home / "fifo"
        self.entries: list[dict[str, Any]] = []
        self._patches = ExitStack()
        self._pristine: dict[Path, bytes] = {}

    def __enter__(self) -> Arena:
        self.home.mkdir(parents=True)
        self.project.mkdir()
        small_talk(SessionFile(self.transcript, cwd=str(self.project)))
        (self.home / ".claude" / ".env").write_text("KEEPTHREAD_DOCUMENT=off\n")
        env = {"HOME": str(self.home), "PATH": os.defpath, "KEEPTHREAD_ENGINE": "facts"}
        for patch in (
            mock.patch.dict(os.environ, env, clear=True),
            mock.patch.object(log, "record", self._record),
            mock.patch.object(checkpoint, "_PROMPT_LAG", 0.0),
            mock.patch.object(inject, "_BETWEEN", 0.0),
            mock.patch.object(files, "sync", lambda descriptor: None),
        ):
            self._patches.enter_context(patch)
        self._patches.callback(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        self.run("pre_compact", self.event("PreCompact"))
        os.mkfifo(self.fifo)
        self._pristine = self._files()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._patches.close()

    def reset(self) -> None:
        """Bring back the state and the transcript that every example begins from."""
        for folder in (self.state, self.transcript.parent):
            shutil.rmtree(folder)
        for path, data in self._pristine.items():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.write_bytes(data)
        self.entries.clear()

    def event(self, name: str, **fields: Any) -> bytes:
        """Return an event of this session as the host sends it."""
        event = {
            "session_id": SESSION,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "hook_event_name": name,
            "trigger": "auto",
            "source": "compact",
        }
        return json.dumps(event | fields).encode("utf-8", "surrogatepass")

    def run(self, hook: str, event: bytes) -> str:
        """Run a hook; return what it printed. It raised nothing, and what it printed is what the host takes."""
        with _standard(event) as printed:
            handlers.main(hook)
            printed.seek(0)
            text = printed.read().decode()
        check_output(hook, text)
        if hook.startswith("session_") and text:
            shown = json.loads(text).get("hookSpecificOutput", {}).get("additionalContext", "")
            _check_frame(shown)
        bugs = [entry for entry in self.entries if entry["reason"].startswith("bug")]
        assert bugs == []
        return text

    def check(self, *, unchanged: bool = False) -> None:
        """Check that every stored handoff is whole; with `unchanged` the first one still says what it said."""
        handoffs = {path.parent.name: _whole(path.parent) for path in self._contexts()}
        kept = SESSION in handoffs and (not unchanged or RULE in json.dumps(handoffs[SESSION]))
        counts.count(counts.LOST, not kept)
        assert kept
        assert [path for path in self._files() if path.name.startswith(files.TEMP_PREFIX)] == []
        assert {path.name for path in self.folder.iterdir()} == {"home", "proj"}
        assert list(self.project.iterdir()) == []

    def _contexts(self) -> list[Path]:
        return list((self.state / "sessions").glob("*/context.json"))

    def _files(self) -> dict[Path, bytes]:
        found: dict[Path, bytes] = {}
        for folder in (self.state, self.transcript.parent):
            for root, _, names in os.walk(folder):
                found |= {Path(root, name): Path(root, name).read_bytes() for name in names}
        return found

    def _record(self, state: str, **entry: Any) -> None:
        self.entries.append({"reason": "", **entry})


@contextmanager
def _standard(event: bytes) -> Iterator[IO[bytes]]:
    """Put files in the place of this process's standard input and output; yield what is printed."""
    with TemporaryFile() as given, TemporaryFile() as printed:
        given.write(event)
        given.seek(0)
        before = [os.dup(0), os.dup(1)]
        try:
            os.dup2(given.fileno(), 0)
            os.dup2(printed.fileno(), 1)
            yield printed
        finally:
            for descriptor, saved in enumerate(before):
                os.dup2(saved, descriptor)
                os.close(saved)


def _whole(folder: Path) -> dict[str, Any]:
    """Return the handoff of a folder; it meets the schema, and context and index are its own and within bounds."""
    handoff = dict(json.loads((folder / "handoff.json").read_bytes()))
    context = json.loads((folder / "context.json").read_bytes())
    index = json.loads((folder / "index.json").read_bytes())
    faults = [f"{error.json_path}: {error.message[-60:]}" for error in _SCHEMA.iter_errors(handoff)]
    assert faults == []
    assert context["key"] == index["key"]
    assert context["session_id"] == handoff["meta"]["session_id"]
    assert units(context["text"] + context["closing"]) <= BUDGET
    assert units(index["text"]) <= INDEX
    assert "\n## Task" in context["text"]
    (folder / "handoff.md").read_bytes().decode()
    return handoff


def _check_frame(shown: str) -> None:
    """Check that nothing inside ended our frame, began another one or speaks as the host."""
    if not shown:
        return
    opening = next(frame for frame in FRAMES if shown.startswith(frame[:-1]))
    closing = f"</{opening[1:]}"
    assert shown.endswith(closing)
    assert shown.count(closing) == 1
    assert "<system-reminder" not in shown
