"""Many sessions of one project that compact at the same time, and what may have gone wrong between them."""

from __future__ import annotations

import fcntl
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests.support import counts
from tests.support.hook_runs import ANSWER, World, until
from tests.support.session import SessionFile

MARK = r"station-\d{3}-[0-9a-f]{4}"
# A model that says whose conversation it was given.
_MODEL = f"""
import json, re, sys
told = set(re.findall({MARK!r}, sys.stdin.read()))
answer = {ANSWER!r}
answer["task"] = "Mend the importer of " + " and ".join(sorted(told)) + "."
answer["file_summaries"], answer["rules"] = [], []
answer["next_steps"] = ["Test src/" + min(told) + ".py."]
answer["resume_prompt"] = "Go on with " + min(told) + "."
print(json.dumps(answer))
"""


class Outcome(NamedTuple):
    """How many sessions there were, and how many of each fault; all but the first are to be 0."""

    sessions: int
    lost: int  # no whole handoff, or one without its session's words
    mixed: int  # words of another session
    not_completed: int  # the model's answer did not arrive
    shown_otherwise: int  # not exactly once to exactly one of the session's clients
    locks_held: int
    leftovers: int  # temporary files, doubled lines
    torn_lines: int  # of the log


class Crowd:
    """Sessions of one project: in its root, in a folder of it, in a worktree, and through a link to it."""

    def __init__(self, world: World, number: int, clients: int = 2) -> None:
        self.world = world
        self.clients = clients
        self.runs = 0
        self.files: dict[str, SessionFile] = {}
        self.marks: dict[str, str] = {}
        places = _places(world)
        for count in range(number):
            session = f"{count:08}-1111-4111-8111-111111111111"
            place = places[count % len(places)]
            file = SessionFile(
                world.config / "projects" / f"s{count % 3}" / f"{session}.jsonl",
                session=session,
                cwd=str(place),
            )
            mark = f"station-{count:03}-{random.Random(count).randrange(16**4):04x}"
            file.user(f"Mend the importer of {mark}, and never call another one than {mark}.")
            root = world.project if world.project in place.parents else place
            file.edit(f"{root}/src/{mark}.py")
            file.bash(f"pytest -q tests/test_{mark}.py", f"1 failed: {mark}", is_error=True)
            self.files[session], self.marks[session] = file, mark

    def with_model(self) -> None:
        """Let a model answer that knows only what it is told."""
        program = self.world.folder / "model.py"
        program.write_text(_MODEL)
        self.world.variables(
            ENGINE="command",
            COMMAND=f"{sys.executable} -I {program}",
            MAX_CALLS_PER_HOUR="10000",
            TIMEOUT="60",
        )

    def compact(self) -> None:
        """Let every client of every session run its PreCompact hook, all at once; wait for hooks and workers."""
        for process in [self._start("pre_compact", each) for each in self._everybody()]:
            out, err = process.communicate(timeout=300)
            assert (process.returncode, err) == (0, b"")
            self.world.check_output("pre_compact", out.decode())
        until(lambda: all(self._is_settled(session) for session in self.files), 300)

    def compact_and_be_killed(self) -> None:
        """Let every session compact once more and kill its hook at a moment of chance."""
        moments = random.Random(len(self.files))
        for session, file in self.files.items():
            file.user(f"And now the notes of {self.marks[session]}.")
        running = [self._start("pre_compact", session) for session in self.files]
        for process in running:
            time.sleep(moments.uniform(0, 0.1))
            process.send_signal(signal.SIGKILL)
            counts.count(counts.FAULTS)
        for process in running:
            process.communicate(timeout=60)

    def shown(self) -> dict[str, list[str]]:
        """Let every client of every session start at once; return the contexts each session was given."""
        running = [(each, self._start("session_start", each)) for each in self._everybody()]
        given: dict[str, list[str]] = {session: [] for session in self.files}
        for session, process in running:
            out, err = process.communicate(timeout=300)
            assert (process.returncode, err) == (0, b"")
            self.world.check_output("session_start", out.decode())
            if out:
                given[session].append(json.loads(out)["hookSpecificOutput"]["additionalContext"])
        return given

    def outcome(self, given: dict[str, list[str]], *, complete: bool = True) -> Outcome:
        """Return what became of it all."""
        lost = [session for session in self.files if not self._is_whole(session)]
        mixed = [s for s in self.files if self._foreign(s, "\n".join(given.get(s, [])))]
        partial = [s for s in self.files if self.world.handoff(s)["meta"]["status"] != "complete"]
        otherwise = [s for s, contexts in given.items() if len(contexts) != 1]
        counts.count(counts.LOST, len(lost))
        return Outcome(
            len(self.files),
            len(lost),
            len(mixed) + len(self._documents_mixed()),
            len(partial) if complete else 0,
            len(otherwise),
            len(self._held()),
            len(list(self.world.state.rglob(".tmp*"))) + self._doubled(),
            self._torn(),
        )

    def _everybody(self) -> list[str]:
        """Return each session as often as it has clients, the clients of one beside each other."""
        return [session for session in self.files for _ in range(self.clients)]

    def _start(self, hook: str, session: str) -> subprocess.Popen[bytes]:
        self.runs += 1
        counts.count(counts.HOOK_RUNS)
        file = self.files[session]
        event = self.world.event(hook, session, transcript_path=str(file.path), cwd=file.cwd)
        return self.world.start(hook, event, KEEPTHREAD_ENGINE="")

    def _is_settled(self, session: str) -> bool:
        return self.world.worker(session).get("state") != "running"

    def _is_whole(self, session: str) -> bool:
        folder, mark = self.world.folder_of(session), self.marks[session]
        try:
            handoff = self.world.handoff(session)
            context = json.loads((folder / "context.json").read_bytes())
            index = json.loads((folder / "index.json").read_bytes())
        except (OSError, ValueError):
            return False
        paths = [entry["path"] for entry in handoff["files_touched"]]
        same = context["key"] == index["key"] and context["session_id"] == session
        return same and mark in context["text"] and paths == [f"src/{mark}.py"]

    def _foreign(self, session: str, given: str) -> bool:
        texts = [given]
        texts += [path.read_text() for path in self.world.folder_of(session).glob("*.*")]
        return bool(set(re.findall(MARK, "\n".join(texts))) - {self.marks[session]})

    def _documents_mixed(self) -> list[Path]:
        documents = [place / "docs" / "handoff-context.md" for place in _roots(self.world)]
        return [path for path in documents if len(set(re.findall(MARK, path.read_text()))) != 1]

    def _held(self) -> list[Path]:
        """Return the locks that somebody holds, though nobody is at work."""
        held = []
        for path in self.world.state.rglob("*lock*"):
            with path.open("rb") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    held.append(path)
        return held

    def _doubled(self) -> int:
        lines = (self.world.project / ".git" / "info" / "exclude").read_text().splitlines()
        return len(lines) - len(set(lines) - {""}) - lines.count("")

    def _torn(self) -> int:
        lines = (self.world.state / "log.jsonl").read_bytes().splitlines()
        return sum(not _is_object(line) for line in lines)


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _roots(world: World) -> list[Path]:
    return [world.project, world.folder / "tree"]


def _places(world: World) -> list[Path]:
    """Return four ways to stand in one project."""
    (world.project / "sub" / "deep").mkdir(parents=True)
    (world.folder / "link").symlink_to(world.project)
    for arguments in (
        ("commit", "-q", "--allow-empty", "-m", "start"),
        ("worktree", "add", "-q", str(world.folder / "tree")),
    ):
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(
            ["git", "-C", str(world.project), *identity, *arguments],
            check=True,
            capture_output=True,
            timeout=60,
            env={"PATH": os.environ["PATH"], "HOME": str(world.home)},
        )
    return [
        world.project,
        world.project / "sub" / "deep",
        world.folder / "tree",
        world.folder / "link",
    ]
