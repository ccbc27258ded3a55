"""A long session with a bit of everything, written record by record, and its handoffs with and without an index."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from keepthread.handoff.checkpoint import Job, take
from keepthread.handoff.facts_index.opened import opened
from keepthread.handoff.facts_index.update import update
from keepthread.handoff.publish import Outlet
from keepthread.transcript.read import read_transcript
from tests.support.session import SESSION, SessionFile

INDEX = "facts-index"


def index_of(state: Path, session: str = SESSION) -> Path:
    """Return the path of a session's index."""
    return state / "sessions" / session / INDEX


def indexed(file: SessionFile, state: Path, *secrets: str) -> str:
    """Bring the index up to date."""
    return update(str(file.path), SESSION, str(state), secrets)


def same_reading(file: SessionFile, state: Path) -> bool:
    """Return whether there is an index; then a reading with it and one without have to come to the same."""
    index = opened(str(state), SESSION, str(file.path))
    if index is None:
        return False
    path = str(file.path)
    assert read_transcript(path, known=index.known) == read_transcript(path)
    return True


def handoff(file: SessionFile, state: Path, *secrets: str) -> dict[str, Any]:
    """Take a handoff into a state folder; without what tells of the moment it was taken."""
    outlet = Outlet(str(state), 9_900, 4_000, "off", secrets)
    job = Job(SESSION, str(file.path), "/home/dev/proj", "manual")
    taken: dict[str, Any] = {**take(job, outlet, reason="engine_facts", again=True).handoff}
    taken["meta"] = {**taken["meta"], "generated_at": "", "seconds": 0}
    return taken


def _rewind(file: SessionFile, marks: list[str | None]) -> None:
    file.rewind(marks[-2] if len(marks) > 1 else file.last)


def _resume(file: SessionFile, marks: list[str | None]) -> None:
    """Write the last lines once more, as a resume does."""
    file.raw(b"".join(file.path.read_bytes().splitlines(keepends=True)[-3:]))


def _glued(file: SessionFile, marks: list[str | None]) -> None:
    """Write two records on one line."""
    file.assistant("half of a line")
    file.path.write_bytes(file.path.read_bytes().rstrip(b"\n"))
    file.snapshot({"/home/dev/proj/glued.py": True})


# What may come next, and how often.
STEPS: list[tuple[int, Callable[[SessionFile, int, list[str | None]], object]]] = [
    (
        6,
        lambda f, n, m: f.user(
            f"Now part {n}: never touch `table_{n}`, and keep `src/p{n}.py` small."
        ),
    ),
    (6, lambda f, n, m: f.assistant(f"I look at `part_{n}` and src/p{n % 7}.py.")),
    (5, lambda f, n, m: f.edit(f"/home/dev/proj/src/p{n % 7}.py", f"x = {n}", f"x = {n + 1}")),
    (2, lambda f, n, m: f.write(f"/home/dev/proj/src/new{n}.py", f"def new_{n}(): ...\n")),
    (3, lambda f, n, m: f.bash(f"pytest -q tests/test_{n % 5}.py", f"{n} passed in 1.0s")),
    (1, lambda f, n, m: f.bash("pytest -q", f"FAILED tests/test_{n}.py\n1 failed", is_error=True)),
    (2, lambda f, n, m: f.reject("Edit", {"file_path": f"/no/{n}.py"}, f"no, not file {n}")),
    (1, lambda f, n, m: f.queue("enqueue", f"and mind the edge case {n}")),
    (1, lambda f, n, m: f.queue("dequeue")),
    (1, lambda f, n, m: f.queue("popAll")),
    (1, lambda f, n, m: f.attachment("queued_command", prompt=f"also the docs of {n}")),
    (1, lambda f, n, m: f.sidechain(f"Find out about {n}", f"It is {n}.")),
    (1, lambda f, n, m: f.snapshot({f"/home/dev/proj/src/p{n % 7}.py": n % 2 == 0})),
    (1, lambda f, n, m: f.progress("hook_progress", command="x")),
    (1, lambda f, n, m: f.system("away_summary", content=f"Next is part {n}.")),
    (
        1,
        lambda f, n, m: f.tool(
            "TodoWrite", {"todos": [{"content": f"do {n}", "status": "pending"}]}
        ),
    ),
    (2, lambda f, n, m: _rewind(f, m)),
    (1, lambda f, n, m: _resume(f, m)),
    (1, lambda f, n, m: _glued(f, m)),
    (1, lambda f, n, m: f.raw('{"type":"user","message":{"role":"us\n')),
    (
        1,
        lambda f, n, m: f.record(
            {"type": "ai-title", "aiTitle": f"Part {n}", "sessionId": f.session}
        ),
    ),
]


def steps(file: SessionFile, seed: int, number: int, *, compactions: bool) -> Iterator[int]:
    """Write a session, and yield after each step."""
    chance = Random(seed)
    choices = [step for often, step in STEPS for _ in range(often)]
    marks: list[str | None] = [file.user("Port the billing module. Never change the migrations.")]
    for at in range(number):
        if compactions and at and at % 23 == 0:
            file.boundary(f"Up to step {at}.")
        chance.choice(choices)(file, at, marks)
        marks.append(file.last)
        yield at
