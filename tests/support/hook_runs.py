"""Runs the hook executables as the host does, and holds every run to what no run may break."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from tests.support import counts
from tests.support.session import SESSION, SessionFile

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES = {
    "pre_compact": "PreCompact",
    "session_start": "SessionStart",
    "session_index": "SessionStart",
    "team_memory": "SessionStart",
    "post_compact": "PostCompact",
    "user_prompt_submit": "UserPromptSubmit",
    "stop": "Stop",
}
TIME_LIMITS = {"pre_compact": 75.0}  # seconds, as registered; every other hook has 10
GOAL = "The tide importer drops the last reading of every day. Find out why and fix it."
RULE = "use httpie, never curl"
NEXT = "Next I will add a test for files without a footer."
JUDGED = "Mend the tide importer, which loses the reading of 23:54."
ANSWER: dict[str, Any] = {
    "task": JUDGED,
    "completed_tasks": [],
    "in_flight": "The footer is told from a reading.",
    "works": ["The download works."],
    "broken": [],
    "rules": [RULE],
    "ruled_out": [{"approach": "A fixed count of lines", "reason": "Some files have no footer."}],
    "file_summaries": [{"path": "src/importer.py", "summary": "Reads a day."}],
    "issues_discovered": [],
    "open_questions": ["Is 9414290 the only station without a footer?"],
    "next_steps": ["Use httpie, never curl, in src/importer.py; then test files without a footer."],
    "resume_prompt": "Go on with the test for files without a footer.",
}


class Run(NamedTuple):
    """What one run of a hook came to; `seconds` only bounds, it is never compared."""

    stdout: str
    stderr: str
    code: int
    seconds: float

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document on stdout, {} when there is none."""
        return dict(json.loads(self.stdout)) if self.stdout else {}

    @property
    def context(self) -> str:
        """What the model is given."""
        given = self.document.get("hookSpecificOutput", {})
        assert not given or given["hookEventName"] == "SessionStart"
        return str(given.get("additionalContext", ""))

    @property
    def notice(self) -> str:
        """What the person is told."""
        return str(self.document.get("systemMessage", ""))


class World:
    """An empty home, a project that is a git repository, and the hooks as they are registered."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.home = home
        self.folder = folder
        self.project = folder / "proj"
        self.project.mkdir()
        subprocess.run(["git", "init", "-q", str(self.project)], check=True, timeout=60)
        self.hooks = ROOT / "hooks"
        self.cwd = folder / "elsewhere"  # a host's hooks run anywhere
        self.cwd.mkdir()
        self.transcripts: list[Path] = []

    @property
    def config(self) -> Path:
        """The host's configuration folder."""
        return self.home / ".claude"

    @property
    def state(self) -> Path:
        """The state folder."""
        return self.config / "keepthread"

    def folder_of(self, session: str = SESSION) -> Path:
        """The folder of one session's handoff."""
        return self.state / "sessions" / session

    def session(
        self, session: str = SESSION, *, slug: str = "s", name: str = "", talk: bool = True
    ) -> SessionFile:
        """Return a session where the host keeps it; with `talk` it holds the six records of a small job."""
        path = self.config / "projects" / slug / f"{name or session}.jsonl"
        file = SessionFile(path, session=session, cwd=str(self.project))
        self.transcripts.append(path)
        if talk:
            small_talk(file)
        return file

    def event(self, hook: str, session: str = SESSION, **fields: Any) -> dict[str, Any]:
        """Return the event of the hook as the host sends it; a field set to None stands as null, ... leaves it out."""
        event: dict[str, Any] = {
            "session_id": session,
            "transcript_path": str(self.config / "projects" / "s" / f"{session}.jsonl"),
            "cwd": str(self.project),
            "hook_event_name": NAMES[hook],
        }
        if hook == "pre_compact":
            event |= {"trigger": "auto", "custom_instructions": ""}
        if NAMES[hook] == "SessionStart":
            event["source"] = "compact"
        return {name: value for name, value in (event | fields).items() if value is not ...}

    def command(self, hook: str) -> list[str]:
        """Return the command as the host runs it."""
        return ["sh", "-c", f"'{sys.executable}' -I '{self.hooks / hook}.py' || exit 0"]

    def env(self, **more: str) -> dict[str, str]:
        """Return the environment of a hook; no model is asked unless KEEPTHREAD_ENGINE is set to ""."""
        env = {"HOME": str(self.home), "PATH": os.defpath, "CLAUDECODE": "1"}
        env |= {"KEEPTHREAD_ENGINE": "facts"} | more
        return {name: value for name, value in env.items() if value or name == "HOME"}

    def start(
        self, hook: str, event: dict[str, Any] | bytes | None = None, /, **env: str
    ) -> subprocess.Popen[bytes]:
        """Start a hook without waiting for it; its event is written and its stdin closed."""
        data = event if isinstance(event, bytes) else json.dumps(event or self.event(hook)).encode()
        process = subprocess.Popen(
            self.command(hook),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env(**env),
            cwd=self.cwd,
        )
        assert process.stdin is not None
        process.stdin.write(data)
        process.stdin.close()
        process.stdin = None
        return process

    def run(self, hook: str, event: dict[str, Any] | bytes | None = None, /, **env: str) -> Run:
        """Run a hook and check what must hold of every run."""
        before, kept = self.snapshot(), self.kept()
        started = time.monotonic()
        process = self.start(hook, event, **env)
        out, err = process.communicate(timeout=120)
        run = Run(out.decode(), err.decode(), process.returncode, time.monotonic() - started)
        self.tally(run, kept)
        self.check(hook, run, before)
        return run

    def kept(self) -> set[str]:
        """Return the sessions whose handoff is whole on the disk."""
        found = set()
        for path in (self.state / "sessions").glob("*/context.json"):
            with suppress(
                OSError, ValueError, KeyError, TypeError
            ):  # a test put something else there
                if (
                    path.is_file()
                    and not path.is_symlink()
                    and json.loads(path.read_bytes())["text"]
                ):
                    found.add(path.parent.name)
        return found

    def tally(self, run: Run, kept: set[str]) -> None:
        """Count the run, whether it stood in the host's way, and the handoffs that it cost."""
        counts.count(counts.HOOK_RUNS)
        counts.count(counts.BLOCKED, run.code == 2 or '"decision"' in run.stdout)
        lost = kept - self.kept()
        counts.count(counts.LOST, len(lost))
        assert lost == set()

    def snapshot(self) -> dict[str, tuple[bytes, int]]:
        """Return what lies outside the state folder: the bytes and the time of change of every file."""
        found = {}
        for root in (self.home, self.project, self.cwd):
            for folder, folders, names in os.walk(root):
                folders[:] = [name for name in folders if Path(folder, name) != self.state]
                for name in names:
                    path = Path(folder, name)
                    status = path.lstat()
                    data = path.read_bytes() if path.is_file() and os.access(path, os.R_OK) else b""
                    found[str(path)] = (data, status.st_mtime_ns)
        return found

    def check(self, hook: str, run: Run, before: Mapping[str, tuple[bytes, int]]) -> None:
        """Hold one run to the invariants of every hook."""
        assert run.code == 0
        assert run.stderr == ""
        assert run.seconds < TIME_LIMITS.get(hook, 10.0) * 3  # a loaded machine is no fault
        self.check_output(hook, run.stdout)
        after = self.snapshot()
        allowed = {
            str(self.project / "docs" / "handoff-context.md"),
            str(self.project / ".git" / "info" / "exclude"),
        }
        changed = {p for p in before.keys() | after.keys() if before.get(p) != after.get(p)}
        assert changed <= allowed
        self.check_log()

    def check_output(self, hook: str, stdout: str) -> None:
        """Check that stdout is what the host takes from this event, and nothing else."""
        check_output(hook, stdout)

    def check_log(self) -> None:
        """Check that the log holds whole lines and no words of any transcript."""
        lines = self.log()
        text = json.dumps(lines, ensure_ascii=False)
        for path in self.transcripts:
            if path.is_file():
                for words in typed(path):
                    assert words not in text

    def log(self, event: str = "") -> list[dict[str, Any]]:
        """Return the log's entries, oldest first; of one event when it is named."""
        path = self.state / "log.jsonl"
        if path.is_symlink() or not path.is_file():
            return []
        entries = [json.loads(line) for line in path.read_text().splitlines()]
        return [entry for entry in entries if event in ("", entry["event"])]

    def handoff(self, session: str = SESSION) -> dict[str, Any]:
        """Return the stored handoff."""
        return dict(json.loads((self.folder_of(session) / "handoff.json").read_text()))

    def worker(self, session: str = SESSION) -> dict[str, Any]:
        """Return what is known of the session's worker, {} when none was started."""
        path = self.folder_of(session) / "worker.json"
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def variables(self, **values: str) -> None:
        """Write variables into the user's own file."""
        write_variables(self.config, **values)

    def settled(self, session: str = SESSION) -> dict[str, Any]:
        """Wait until no worker of the session runs; return what is known of the last one."""
        until(lambda: self.worker(session).get("state") != "running")
        return self.worker(session)


def write_variables(config: Path, **values: str) -> None:
    """Write keepthread's variables, named without their prefix, into the user's own file."""
    config.mkdir(exist_ok=True)
    lines = [f"KEEPTHREAD_{name}={value}\n" for name, value in values.items()]
    (config / ".env").write_text("".join(lines))


def check_output(hook: str, stdout: str) -> None:
    """Check that stdout is what the host takes from the hook's event, and nothing else."""
    if hook == "pre_compact":
        assert stdout[:1] not in ("{", "[")
        assert units(stdout) < 10_000
    elif NAMES.get(hook) == "SessionStart":
        if stdout:
            document = json.loads(stdout)
            assert set(document) <= {"systemMessage", "hookSpecificOutput"}
            given = document.get("hookSpecificOutput", {}).get("additionalContext", "")
            assert units(given) <= 9_900
            assert len(document.get("systemMessage", "")) < 300
    else:
        assert stdout == ""


def units(text: str) -> int:
    """Return the length in UTF-16 units, which is how the host measures."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def small_talk(file: SessionFile) -> None:
    """Write the six records of a small job: goal, work, its result, a finding, a correction, the next step."""
    file.user(GOAL)
    file.bash("curl -s https://tides.example/9414290", "23:54 1.204")
    file.edit(f"{file.cwd}/src/importer.py")
    file.assistant("The loop skips the footer, but some files have none.")
    file.user(RULE)
    file.assistant(NEXT)


def typed(path: Path) -> list[str]:
    """Return the beginnings of what users typed in a transcript."""
    found = []
    for line in path.read_bytes().split(b"\n"):
        try:
            content = json.loads(line)["message"]["content"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # a damaged line, or a record of the host's own
        if isinstance(content, str) and len(content) > 15:
            found.append(content[:30])
    return found


def until(true: Callable[[], bool], seconds: float = 180) -> None:
    """Wait until something holds; a machine under load gets three minutes."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.02)


def kill(process: subprocess.Popen[bytes], number: int = signal.SIGKILL) -> None:
    """End a process that a test started, with its pipes."""
    process.send_signal(number)
    process.communicate(timeout=60)
