"""Team memory under attack and under load: escapes, lost changes, the time of listing, searching and a session start.

    python -m benchmarks.memory [--check] [--reads N] [--writes N] [--keys N] [--processes N] [--seconds S]
        [--entries N] [--rounds N]

A folder is swapped for a link by another process while it is read and written; random keys are judged; processes add,
edit, move and delete while a tenth of them is killed; a folder of many entries is listed, searched as whole processes
against `git grep` in the same run, and shown to a session that starts, against `python -I -c pass`; three clones of one
remote change the same entries and sync in turn, at once, killed and cut off. Every figure but the counts of work done
is to be 0, every ratio below its bar.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from keepthread.memory import keys
from keepthread.memory.store import Memory
from tests.support.memory_stress import Arena, crowd
from tests.support.team_loop import loop

ROOT = Path(__file__).resolve().parent.parent
SEARCH_BAR = 3.0  # times git grep
START_BAR = 2.5  # times an interpreter that does nothing
_SESSION = "11111111-1111-4111-8111-111111111111"
_PIECES = (
    *("..", ".", "/", "\\", "%2e", "%252f", "%", "．", "／", "\u2025", "\0", "\n", "~1", ":", " "),
    *(
        "CON",
        "nul",
        "a",
        "b.md",
        "notes",
        "é",
        "e\u0301",
        "\u200b",
        "-",
        "%c0%ae",
        "℀",
        "³",
        "日本",
    ),
)


class Figure(NamedTuple):
    """One line of the table; `bad` says that it misses what is promised."""

    what: str
    value: str
    bad: bool


def main() -> int:
    """Print the table; return 1 when --check was asked for and a figure is bad."""
    options = _options()
    figures = [
        *in_folder(lambda base: race(base, options.reads, options.writes)),
        *random_keys(options.keys),
        *in_folder(lambda base: writers(base, options.processes, options.seconds)),
        *in_folder(lambda base: load(base, options.entries)),
        *in_folder(lambda base: sync(base, options.rounds)),
        *in_folder(lambda base: start(base, options.entries)),
    ]
    for figure in figures:
        print(f"{figure.what:58}{figure.value:>16}{'   <-- bad' if figure.bad else ''}")
    return 1 if options.check and any(figure.bad for figure in figures) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="exit 1 when a figure is bad")
    parser.add_argument("--reads", type=int, default=100_000, help="reads during the swaps")
    parser.add_argument("--writes", type=int, default=20_000, help="changes during the swaps")
    parser.add_argument("--keys", type=int, default=100_000, help="random keys")
    parser.add_argument("--processes", type=int, default=50, help="writers at once")
    parser.add_argument("--seconds", type=float, default=60, help="for how long they write")
    parser.add_argument("--entries", type=int, default=10_000, help="entries listed and searched")
    parser.add_argument("--rounds", type=int, default=100, help="rounds of three clones")
    return parser.parse_args()


def in_folder(measure: Callable[[Path], list[Figure]]) -> list[Figure]:
    """Return the figures of a measurement in a folder of its own."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        return measure(Path(name).resolve())


def race(base: Path, reads: int, writes: int) -> list[Figure]:
    """Return how many reads and changes escaped while the folder was swapped, and how many naive reads did."""
    arena = Arena(base)
    with arena.swapping():
        naive = arena.naive_reads(max(1000, reads // 10))
        read, changed = arena.reads(reads), arena.writes(writes)
    outside = 0 if arena.untouched() else 1
    return [
        Figure(
            "naive reads that escaped (the control)",
            f"{naive.escaped} of {sum(naive)}",
            not naive.escaped,
        ),
        Figure("reads that escaped", f"{read.escaped} of {sum(read)}", read.escaped > 0),
        Figure("  of them done inside, refused", f"{read.inside}, {read.refused}", not read.inside),
        Figure(
            "changes that escaped",
            f"{changed.escaped} of {sum(changed)}",
            changed.escaped + outside > 0,
        ),
        Figure(
            "  of them done inside, refused",
            f"{changed.inside}, {changed.refused}",
            not changed.inside,
        ),
    ]


def random_keys(number: int) -> list[Figure]:
    """Return how many random keys were accepted, and how many of these leave the root on some system."""
    rng = random.Random(7)
    accepted = escaped = 0
    for _ in range(number):
        key = "".join(rng.choice(_PIECES) for _ in range(rng.randrange(1, 8)))
        if not keys.broken_rule(key):
            accepted += 1
            escaped += _leaves(key)
    return [
        Figure("random keys accepted", f"{accepted} of {number}", not accepted),
        Figure("accepted keys that leave the root", str(escaped), escaped > 0),
    ]


def _leaves(key: str) -> bool:
    forms = {key, unicodedata.normalize("NFKC", key), unquote(key), unquote(unquote(key))}
    return any(
        os.path.normpath(os.path.join("/root/team", form.replace("\\", "/"))) == "/root/team"
        or not os.path.normpath(os.path.join("/root/team", form.replace("\\", "/"))).startswith(
            "/root/team/"
        )
        for form in forms
    )


def writers(base: Path, processes: int, seconds: float) -> list[Figure]:
    """Return what a crowd of writers left, a tenth of them killed."""
    outcome = crowd(base, processes, seconds)
    work = ("acknowledged", "killed", "timeouts")
    rows = outcome._asdict().items()
    return [
        Figure(
            f"{processes} writers, {seconds:g} s: {name.replace('_', ' ')}",
            str(value),
            bool(value) and name not in work,
        )
        for name, value in rows
    ]


def load(base: Path, entries: int) -> list[Figure]:
    """Return the times of a listing and a search among many entries."""
    project = base / "project"
    team = project / ".claude" / "team-memory"
    _fill(team, entries)
    git = ["git", "-C", str(project)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    ours = [sys.executable, "-m", "keepthread", "memory"]
    _run([*ours, "list"], base)  # makes the cache
    runs = [
        (
            _run([*ours, "list"], base),
            _run([*ours, "search", "gateway"], base),
            _run([*git, "grep", "-i", "gateway", "--", ".claude"], base),
        )
        for _ in range(11)
    ]
    listed, searched, grepped = ([*column] for column in zip(*runs, strict=True))
    busy = _median(searched, "busy") / _median(grepped, "busy")
    # The best of each: other processes only add, and git takes the share of several threads from a busy machine.
    wall = min(run.wall for run in searched) / min(run.wall for run in grepped)
    with Memory.open(str(team), cache=str(base / "cache.json")) as memory:
        cold, warm = _timed(memory.rows), _timed(memory.rows)
    title = f"{entries} entries:"
    return [
        Figure(f"{title} index read from the files, ms", f"{cold * 1000:.0f}", False),
        Figure(f"{title} index again, ms", f"{warm * 1000:.0f}", False),
        Figure(f"{title} list, whole process, ms", f"{_median(listed, 'wall') * 1000:.0f}", False),
        Figure(
            f"{title} search, whole process, ms", f"{_median(searched, 'wall') * 1000:.0f}", False
        ),
        Figure("  git grep, ms", f"{_median(grepped, 'wall') * 1000:.0f}", False),
        Figure(
            f"  the best of the two by the clock, at most {SEARCH_BAR:g}",
            f"{wall:.2f}",
            wall >= SEARCH_BAR,
        ),
        Figure(f"  by processor time, at most {SEARCH_BAR:g}", f"{busy:.2f}", busy >= SEARCH_BAR),
    ]


def start(base: Path, entries: int, runs: int = 15) -> list[Figure]:
    """Return how long the memory's hook takes at a start as a whole process, and how often an idle one fits in."""
    project, home = base / "project", base / "home"
    home.mkdir()
    _fill(project / ".claude" / "team-memory", entries)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src")}
    trust = [sys.executable, "-m", "keepthread", "memory", "trust", "--yes"]
    subprocess.run(trust, cwd=project, env=env, stdout=subprocess.DEVNULL, check=True)
    event = {
        "session_id": _SESSION,
        "transcript_path": "",
        "cwd": str(project),
        "source": "startup",
    }
    sent = json.dumps(event | {"hook_event_name": "SessionStart"}).encode()
    idle, shown = [], []
    hook = str(ROOT / "hooks" / "team_memory.py")
    for _ in range(runs + 1):
        for marker in (home / ".claude" / "keepthread" / "sessions").glob("*/shown-*"):
            marker.unlink()
        idle.append(_timed(lambda: _hook(["-c", "pass"], sent, env)))
        shown.append(_timed(lambda: _hook([hook], sent, env, says=b"additionalContext")))
    ratio = statistics.median(shown[1:]) / statistics.median(idle[1:])
    took = f"{statistics.median(shown[1:]) * 1000:.0f}"
    return [
        Figure(f"{entries} entries: session start, ms", took, False),
        Figure(
            f"  times python -I -c pass, at most {START_BAR:g}", f"{ratio:.2f}", ratio > START_BAR
        ),
    ]


def _hook(arguments: list[str], data: bytes, env: dict[str, str], says: bytes = b"") -> None:
    command = [sys.executable, "-I", *arguments]
    said = subprocess.run(command, input=data, env=env, capture_output=True, check=True).stdout
    if says not in said:
        raise AssertionError("the hook showed nothing")


def sync(base: Path, rounds: int) -> list[Figure]:
    """Return what three clones came to that change the same entries and sync through one remote."""
    outcome = loop(base, rounds)
    work = outcome._asdict()
    seconds = work.pop("seconds_of_sync")
    title = f"3 clones, {rounds} rounds:"
    promised = ("lost", "diverged", "unclean", "refused")
    return [
        *(
            Figure(
                f"{title} {name.replace('_', ' ')}", str(value), bool(value) and name in promised
            )
            for name, value in work.items()
        ),
        Figure(
            f"{title} seconds of a sync, those at once left out",
            f"{seconds / _alone(work):.2f}",
            False,
        ),
    ]


def _alone(work: dict[str, int]) -> int:
    return max(1, work["syncs"] - work["at_once"])


def _fill(team: Path, entries: int) -> None:
    rng = random.Random(3)
    words = ["".join(rng.choice("abcdefghiklmnoprstu") for _ in range(7)) for _ in range(3000)]
    for number in range(entries):
        folder = team / f"t{number % 20}"
        folder.mkdir(parents=True, exist_ok=True)
        said = " ".join(rng.choice(words) for _ in range(150))
        body = f"{said}\n" + ("use the gateway\n" if number % 100 == 0 else "")
        head = f"name: e{number}\ndescription: {' '.join(rng.choice(words) for _ in range(8))}\ntype: project"
        (folder / f"e{number}.md").write_text(f"---\n{head}\n---\n{body}")


class Run(NamedTuple):
    """What a process took, in seconds. Only its share of the processor is the same on a busy machine."""

    wall: float
    busy: float


def _run(command: list[str], base: Path) -> Run:
    env = {**os.environ, "HOME": str(base), "PYTHONPATH": str(ROOT / "src")}
    before, start = os.times(), time.perf_counter()
    subprocess.run(command, cwd=base / "project", env=env, stdout=subprocess.DEVNULL, check=True)
    wall, after = time.perf_counter() - start, os.times()
    user = after.children_user - before.children_user
    return Run(wall, user + after.children_system - before.children_system)


def _median(runs: list[Run], field: str) -> float:
    return statistics.median(float(getattr(run, field)) for run in runs)


def _timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    raise SystemExit(main())
