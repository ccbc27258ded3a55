"""Time that keepthread adds to a compaction of the real client: the same hooks empty, the child answering, hanging.

    python -m benchmarks.overlap [--check] [--runs N] [--summary SECONDS] [--child SECONDS]

One table from one run, medians, against the same hooks with an empty script: from the start of a turn with an automatic
compaction at its beginning to the request that goes on after it. The whole turn, which ends with the Stop hooks, stands
beside it. The host's summary takes 12 s and the child 10 s unless told otherwise.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

from keepthread.host.entries import ENTRIES, posix_command
from tests.client import story
from tests.support.api import Answer, FakeApi, is_summariser
from tests.support.client import Client
from tests.support.fetch_client import fetch_client

ROOT = Path(__file__).resolve().parent.parent
EVENTS = tuple(entry.event for entry in ENTRIES)
SLACK = 0.3  # seconds that keepthread may add
JOIN = 3.0  # seconds SessionStart waits for a child that does not answer


class Case(NamedTuple):
    """One row: what the hooks are, how long the child takes (None: no keepthread), what may be added."""

    name: str
    child: float | None
    allowed: float


class Turn(NamedTuple):
    """One measured turn: seconds to the request after the compaction and in all, and whether it held the handoff."""

    seconds: float
    whole: float
    complete: bool


def main() -> int:
    """Print the table; return 1 when --check was asked for and a bar is missed."""
    parser = argparse.ArgumentParser(description="Time added to a compaction of the real client")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--summary", type=float, default=12.0)
    parser.add_argument("--child", type=float, default=10.0)
    options = parser.parse_args()
    cases = [
        Case("hooks empty", None, 0.0),
        Case(f"child answers in {options.child:g} s", options.child, SLACK),
        Case("child hangs", 3_600.0, JOIN + SLACK),
    ]
    turns: dict[str, list[Turn]] = {case.name: [] for case in cases}
    executable = fetch_client()
    for _ in range(options.runs):
        for case in cases:
            turns[case.name].append(_measure(executable, case, options.summary))
    return _report(cases, turns, options.check)


def _report(cases: list[Case], turns: dict[str, list[Turn]], check: bool) -> int:
    base = statistics.median(turn.seconds for turn in turns[cases[0].name])
    whole = statistics.median(turn.whole for turn in turns[cases[0].name])
    missed = []
    print(
        f"{'hooks':28}{'s':>8}{'added':>8}{'allowed':>9}{'whole turn, added':>19}  complete in the next request"
    )
    for case in cases:
        seconds = statistics.median(turn.seconds for turn in turns[case.name])
        complete = sum(turn.complete for turn in turns[case.name])
        of = len(turns[case.name])
        more = statistics.median(turn.whole for turn in turns[case.name]) - whole
        print(
            f"{case.name:28}{seconds:8.2f}{seconds - base:8.2f}{case.allowed:9.2f}{more:19.2f}  {complete} of {of}"
        )
        if seconds - base > case.allowed or (case.allowed == SLACK and complete < of):
            missed.append(case.name)
    if missed:
        print("missed: " + ", ".join(missed))
    return 1 if missed and check else 0


def _measure(executable: Path, case: Case, summary: float) -> Turn:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, FakeApi() as api:
        client = _client(executable, Path(folder), api)
        if case.child is None:
            client.settings({"hooks": _empty_hooks(client.home / "empty.py")})
        else:
            _install(client)
            story.answer_child(api, Answer(document=story.DOCUMENT, sleep=case.child))
        session = story.begin(client, api)
        api.rule(is_summariser, Answer("<summary>The session so far.</summary>", sleep=summary))
        started = time.monotonic()
        client.prompt(story.ASK, session)
        whole = time.monotonic() - started
        last = api.talks[-1]
        return Turn(last.at - started, whole, story.JUDGED in story.injected(last.body))


def _client(executable: Path, folder: Path, api: FakeApi) -> Client:
    home, project = folder / "home", folder / "proj"
    home.mkdir()
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    return Client(executable, home.resolve(), project.resolve(), api)


def _empty_hooks(script: Path) -> dict[str, Any]:
    """Return the same hooks, empty: each starts the same interpreter, reads its event and ends."""
    script.write_text("import sys\nsys.stdin.buffer.read()\n", encoding="utf-8")
    groups: dict[str, Any] = {}
    for event in EVENTS:
        command = posix_command(sys.executable, str(script))
        hook = {"type": "command", "command": command, "timeout": 10}
        groups.setdefault(event, []).append({"hooks": [hook]})
    return groups


def _install(client: Client) -> None:
    subprocess.run(
        [sys.executable, "-m", "keepthread", "install"],
        env=client.environment() | {"PYTHONPATH": str(ROOT / "src")},
        check=True,
        capture_output=True,
    )


if __name__ == "__main__":
    raise SystemExit(main())
