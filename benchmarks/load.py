"""A state folder after a long time: every command and hook with 10,000 sessions stored, and after 30 days of daily use.

    python -m benchmarks.load [--check] [--sessions 10000] [--days 30] [--runs 7]

Each is a whole process, set against the same with an empty state folder, taken in turns within one run: ratios, no
times. A day has 20 sessions of 3 compactions each; its hooks are forks of this process, which takes a quarter of the
time. At the end: is the folder bounded, and did nothing young go?
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn

from keepthread import handlers
from keepthread.handoff.retention import STAMP, Limits, tidy
from keepthread.host.config import Config
from tests.support.session import SESSION, SessionFile

ROOT = Path(__file__).resolve().parent.parent
DAY = 86_400
SESSIONS_A_DAY = 20
COMPACTIONS = 3
BARS = {
    "session_start": 1.5,
    "session_index": 1.5,
    "user_prompt_submit": 1.5,
    "pre_compact": 1.5,
    "pre_compact, once a day": 2.5,
    "post_compact": 1.5,
    "handoff": 1.5,
    "show": 1.5,
    "show --list": 3.0,
    "status": 2.0,
    "pins": 1.5,
    "logs": 5.0,
    "doctor": 2.0,
}
LINKED = ("handoff.md", "index.json", "host-summary.md")


class Row(NamedTuple):
    """One line of the table: what ran, the ratio of the medians in two states of the folder, and the bar."""

    what: str
    loaded: float
    used: float
    bar: float


def main() -> int:
    """Print the table; return 1 when --check was asked for and a bar is missed or something young is gone."""
    options = _options()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        empty, full = Home(Path(folder) / "empty"), Home(Path(folder) / "full")
        full.fill(options.sessions)
        loaded = _ratios(empty, full, options.runs)
        made = full.live_through(options.days)
        used = _ratios(empty, full, options.runs)
        faults = full.faults(made)
        size = sum(path.stat().st_size for path in full.state.rglob("*") if path.is_file()) / 1e6
        count = len(list((full.state / "sessions").iterdir()))
    rows = [Row(what, loaded[what], used[what], bar) for what, bar in BARS.items()]
    print(f"{'against an empty folder':28}{'sessions':>10}{'days':>8}{'bar':>8}")
    print(f"{'':28}{options.sessions:10,}{options.days:8}")
    for row in rows:
        print(f"{row.what:28}{row.loaded:10.2f}{row.used:8.2f}{row.bar:8.2f}")
    print(
        f"then {count:,} sessions in {size:.0f} MB; {len(made):,} compactions; {'; '.join(faults) or 'none lost'}"
    )
    missed = [row.what for row in rows if max(row.loaded, row.used) > row.bar] + faults
    print("missed: " + ", ".join(missed) if missed else "all within their bars")
    return 1 if missed and options.check else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Every command and hook with a full state folder.")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed")
    parser.add_argument("--sessions", type=int, default=10_000, help="sessions stored before")
    parser.add_argument("--days", type=int, default=30, help="days of daily use")
    parser.add_argument("--runs", type=int, default=7, help="runs of each process")
    return parser.parse_args()


class Home:
    """A home folder with a project, a session in it, and the hooks and commands run there."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / ".claude"
        self.state = self.config / "keepthread"
        self.project = folder / "proj"
        self.project.mkdir(parents=True)
        (self.project / ".git").mkdir()
        slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in str(self.project))
        self.transcripts = self.config / "projects" / slug
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT / "src"),
            "KEEPTHREAD_ENGINE": "facts",
            "CLAUDE_CODE_SESSION_ID": SESSION,
        }
        self.spawn([sys.executable, "-m", "keepthread", "install"])
        self.talk(SESSION)
        self.hook("pre_compact", SESSION)
        self.hook("post_compact", SESSION)

    def talk(self, session: str) -> SessionFile:
        """Write a small session."""
        file = SessionFile(
            self.transcripts / f"{session}.jsonl", session=session, cwd=str(self.project)
        )
        file.user("Port the billing module to the new ledger. Never touch the migrations.")
        self.work(file, 1)
        return file

    def work(self, file: SessionFile, part: int) -> None:
        """Let the session go on for a while."""
        for number in range(8):
            name = f"{self.project}/src/part_{part}_{number}.py"
            file.read(name, f"def part_{number}():\n    return {part}\n" * 20)
            file.edit(name, f"return {part}", f"return {part} + 1")
            file.bash(f"pytest -q tests/test_{number}.py", f"{number} passed in 1.0s")
        file.user(f"Now part {part} of the ledger, and always run its tests.")
        file.assistant("I have begun with it.")

    def fill(self, count: int) -> None:
        """Store so many sessions, from one day to 46 days old."""
        template = self.state / "sessions" / SESSION
        for number in range(count):
            session = str(uuid.uuid4())
            folder = template.parent / session
            folder.mkdir(mode=0o700)
            for path in template.iterdir():
                if path.name in LINKED:
                    os.link(path, folder / path.name)
                else:
                    data = path.read_bytes().replace(SESSION.encode(), session.encode())
                    (folder / path.name).write_bytes(data)
            _age(folder, 1 + number * 45 / count)
        for _ in range(600):
            (self.transcripts / f"{uuid.uuid4()}.jsonl").write_bytes(b"{}\n")

    def live_through(self, days: int) -> list[str]:
        """Go through days of use; return the session of each compaction."""
        made = []
        for _ in range(days):
            for path in (*(self.state / "sessions").iterdir(), self.state / STAMP):
                if path.exists():
                    _age(path, (time.time() - path.stat().st_mtime) / DAY + 1)
            for _ in range(SESSIONS_A_DAY):
                session = str(uuid.uuid4())
                file = self.talk(session)
                for part in range(COMPACTIONS):
                    for hook in ("pre_compact", "session_start", "session_index", "post_compact"):
                        self.forked(hook, session)
                    made.append(session)
                    file.boundary("Work on the ledger.")
                    self.work(file, part + 2)
        return made

    def faults(self, made: Sequence[str]) -> list[str]:
        """Return what is wrong with the folder after all: a handoff that is gone, too many that are kept whole."""
        limits, found = Config(), []
        (self.state / STAMP).unlink(missing_ok=True)
        tidy(str(self.state), Limits(limits.keep_sessions, limits.keep_days))  # as a worker does
        sessions = self.state / "sessions"
        lost = [one for one in set(made) if not (sessions / one / "context.json").exists()]
        if lost:
            found.append(f"{len(lost)} handoffs lost")
        whole = sum((folder / "handoff.md").exists() for folder in sessions.iterdir())
        if whole > limits.keep_sessions:
            found.append(f"{whole} sessions are kept whole")
        return found

    def hook(self, name: str, session: str = SESSION) -> None:
        """Run a hook as the host would."""
        script = str(ROOT / "hooks" / f"{name}.py")
        self.spawn([sys.executable, "-I", script], self.event(name, session))

    def forked(self, name: str, session: str) -> None:
        """Run a hook in a fork of this process: the same work without the start of an interpreter."""
        if not hasattr(os, "fork"):
            self.hook(name, session)
            return
        with tempfile.TemporaryFile() as given:
            given.write(self.event(name, session))
            given.seek(0)
            child = os.fork()
            if child:
                os.waitpid(child, 0)
                return
            _become(name, given.fileno(), self.env, self.project)

    def event(self, name: str, session: str) -> bytes:
        """Return the event that a hook is given."""
        event = {
            "session_id": session,
            "transcript_path": str(self.transcripts / f"{session}.jsonl"),
            "cwd": str(self.project),
            "hook_event_name": name,
            "trigger": "manual",
            "source": "compact",
            "prompt": "go on with the ledger",
            "compact_summary": "<summary>Work on the ledger.</summary>",
            "custom_instructions": None,
        }
        return json.dumps(event).encode()

    def spawn(self, command: Sequence[str], data: bytes = b"") -> None:
        """Run a process; doctor ends with 1, since there is no login here."""
        subprocess.run(
            command,
            input=data,
            env=self.env,
            cwd=self.project,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )

    def run(self, what: str) -> Callable[[], None]:
        """Return a run of a hook or command that has all its work to do each time."""
        if what.startswith("pre_compact"):
            return lambda: self.compact(tidy="once a day" in what)
        if (ROOT / "hooks" / f"{what}.py").exists():
            return lambda: self.start(what)
        more = ["--engine", "facts"] if what == "handoff" else []
        command = [sys.executable, "-m", "keepthread", *what.split(), *more]
        return lambda: self.spawn(command)

    def compact(self, *, tidy: bool) -> None:
        """Take the session's handoff anew, with or without the work of a day."""
        shutil.rmtree(self.state / "sessions" / SESSION, ignore_errors=True)
        if tidy:
            (self.state / STAMP).unlink(missing_ok=True)
        else:
            (self.state / STAMP).touch()
        self.hook("pre_compact")

    def start(self, what: str) -> None:
        """Run a hook that has something to show."""
        for marker in (self.state / "sessions" / SESSION).glob("shown-*"):
            marker.unlink()
        self.hook(what)


def _become(name: str, given: int, env: Mapping[str, str], folder: Path) -> NoReturn:
    """Be a hook from here on, and end."""
    try:
        os.dup2(given, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(env)
        handlers.main(name)
    finally:
        os._exit(0)


def _age(path: Path, days: float) -> None:
    then = time.time() - days * DAY
    os.utime(path, (then, then))


def _ratios(empty: Home, full: Home, runs: int) -> dict[str, float]:
    """Return for each hook and command the ratio of its medians, taken in turns."""
    found = {}
    for what in BARS:
        pair = (empty.run(what), full.run(what))
        times: tuple[list[float], list[float]] = ([], [])
        for number in range(runs + 1):
            for one, run in enumerate(pair):
                started = time.perf_counter()
                run()
                if number:  # the first one warms up
                    times[one].append(time.perf_counter() - started)
        found[what] = statistics.median(times[1]) / statistics.median(times[0])
    return found


if __name__ == "__main__":
    raise SystemExit(main())
