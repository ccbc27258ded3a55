"""Speed of the hooks as whole processes, in ratios within one run: machines are noisy, so no absolute time is promised.

    python -m benchmarks.speed [--check] [--runs N] [--sizes-mb 1 100 1024] [--client]

The small hooks are set against a bare `python -I -c pass`; PreCompact on transcripts of 1 MB, 100 MB and 1 GB against
the live part of 5 MB alone, which is the end of the two large ones; its peak memory, on the largest, is the kernel's
figure for the process. With --client the time added to a compaction of the real client follows (benchmarks.overlap).
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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.memory import START_BAR, in_folder, start
from keepthread.handoff.facts_index.update import update
from tests.support.session import SESSION, SessionFile

ROOT = Path(__file__).resolve().parent.parent
LIVE_BYTES = 5 * 1024 * 1024
BARS = {
    "session_start": 2.5,
    "session_index": 2.5,
    "user_prompt_submit": 2.5,
    "stop": 3.0,
    "status_line": 2.5,
    "post_tool_use": 2.5,
}
INDEXED_BYTES = 20 * 1024 * 1024
INDEXED_BAR = 0.6  # of PreCompact on a live part of 20 MB that the facts index knows, against one without an index
FLAT_BAR = 1.5  # of PreCompact, whatever the transcript's size
MEMORY_BAR = 120  # MB


class Row(NamedTuple):
    """One line of the table: what ran, against what, the ratio of the medians and the bar."""

    what: str
    against: str
    ratio: float
    bar: float


def main() -> int:
    """Print the table; return 1 when --check was asked for and a bar is missed."""
    options = _options()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        bench = Bench(Path(folder), options.runs)
        rows = [*bench.hot_hooks(), team_memory(), bench.stop(bench.live)]
        for size in sorted(options.sizes_mb):
            rows += [bench.transcript(size), bench.stop(bench.large)]
        rows.append(bench.indexed())
        memory = bench.peak_memory()
    print(f"{'what':24}{'against':34}{'ratio':>7}{'bar':>7}")
    for row in rows:
        print(f"{row.what:24}{row.against:34}{row.ratio:7.2f}{row.bar:7.2f}")
    largest = f"pre_compact {max(options.sizes_mb)} MB"
    print(f"{largest:24}{'peak memory, MB':34}{memory:7.0f}{MEMORY_BAR:7.0f}")
    missed = [row.what for row in rows if row.ratio > row.bar] + (
        ["memory"] if memory > MEMORY_BAR else []
    )
    if missed:
        print("missed: " + ", ".join(missed))
    slow = bool(missed) | (options.client and bool(_client_added()))
    return 1 if slow and options.check else 0


def team_memory() -> Row:
    """Time the hook that shows the memories, with 10,000 entries: see benchmarks.memory."""
    ratio = float(in_folder(lambda base: start(base, 10_000))[-1].value)
    return Row("team_memory", "python -I -c pass", ratio, START_BAR)


def _client_added() -> int:
    """Print the time added to a compaction of the real client; return 1 when it is too much."""
    command = [sys.executable, "-m", "benchmarks.overlap", "--check"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="exit 1 when a ratio is missed")
    parser.add_argument("--runs", type=int, default=15, help="runs of each process")
    parser.add_argument(
        "--sizes-mb", type=int, nargs="+", default=[1, 100, 1024], help="sizes of the transcripts"
    )
    parser.add_argument("--client", action="store_true", help="measure the real client as well")
    return parser.parse_args()


class Bench:
    """A home folder of its own, a session with a handoff, and the processes that are timed in it."""

    def __init__(self, folder: Path, runs: int) -> None:
        self.folder = folder
        self.runs = runs
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "KEEPTHREAD_ENGINE": "facts",
        }
        (folder / "home").mkdir()
        self.live = folder / f"{SESSION}.jsonl"
        _write_live_part(self.live)
        self.large = folder / "sized" / f"{SESSION}.jsonl"

    def hot_hooks(self) -> list[Row]:
        """Time the hooks that run at every start and prompt against an interpreter that does nothing."""
        self.hook("pre_compact", self.live)
        rows = []
        self.turn_on("spill")
        for name in (
            "session_start",
            "session_index",
            "user_prompt_submit",
            "status_line",
            "post_tool_use",
        ):
            pair = self.medians(
                lambda: _spawn([sys.executable, "-I", "-c", "pass"], b"", self.env), self.hot(name)
            )
            rows.append(Row(name, "python -I -c pass", pair[1] / pair[0], BARS[name]))
        return rows

    def turn_on(self, feature: str) -> None:
        """Turn on, in the stored settings, what only its user's wish brings about."""
        path = self.folder / "home" / ".claude" / "keepthread" / "settings.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {feature: True}))

    def hot(self, name: str) -> Callable[[], None]:
        """Return a run of a hot hook that has something to show each time."""

        def run() -> None:
            state = self.folder / "home" / ".claude" / "keepthread" / "sessions" / SESSION
            for marker in state.glob("shown-*"):
                marker.unlink()
            self.hook(name, self.live)

        return run

    def stop(self, transcript: Path) -> Row:
        """Time the Stop hook with nothing to be done: a memory kept by a model, and 100 KB after its last update."""
        SessionFile(transcript, cwd=str(transcript.parent)).assistant("That part is done.")
        size = transcript.stat().st_size
        known = {
            "model": {"size": size - 100_000, "tokens": 1_000},
            "read": {"path": str(transcript), "size": size},
        }
        state = self.folder / "home" / ".claude" / "keepthread"
        folder = state / "sessions" / SESSION
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "memory-state.json").write_text(json.dumps(known))
        (state / "settings.json").write_text(json.dumps({"session_memory": "model"}))
        env = {name: value for name, value in self.env.items() if name != "KEEPTHREAD_ENGINE"}
        hook = [sys.executable, "-I", str(ROOT / "hooks" / "stop.py")]
        bare, run = self.medians(
            lambda: _spawn([sys.executable, "-I", "-c", "pass"], b"", self.env),
            lambda: _spawn(hook, _event(transcript), env),
        )
        assert (
            not (state / "log.jsonl").exists()
            or b'"stop"' not in (state / "log.jsonl").read_bytes()
        )
        return Row(f"stop, {size >> 20} MB", "python -I -c pass", run / bare, BARS["stop"])

    def transcript(self, size_mb: int) -> Row:
        """Time PreCompact on a transcript of this size against the live part alone."""
        self.large.unlink(missing_ok=True)
        if size_mb << 20 > 2 * LIVE_BYTES:
            _write_large(self.large, self.live, size_mb)
        else:
            _write_live_part(self.large, size_mb << 20)

        def run(path: Path) -> Callable[[], None]:
            def once() -> None:
                shutil.rmtree(self.folder / "home" / ".claude", ignore_errors=True)
                self.hook("pre_compact", path)

            return once

        small, large = self.medians(run(self.live), run(self.large))
        return Row(
            f"pre_compact {size_mb} MB",
            "the live part alone (5 MB)",
            large / small,
            FLAT_BAR,
        )

    def indexed(self) -> Row:
        """Time PreCompact on a long live part that the session's facts index knows against one without an index."""
        path = self.folder / "long" / f"{SESSION}.jsonl"
        _write_live_part(path, INDEXED_BYTES)
        update(str(path), SESSION, str(self.folder / "indexed"))
        index = self.folder / "indexed" / "sessions" / SESSION / "facts-index"
        state = self.folder / "home" / ".claude" / "keepthread" / "sessions" / SESSION

        def run(*, linked: bool) -> Callable[[], None]:
            def once() -> None:
                shutil.rmtree(self.folder / "home" / ".claude", ignore_errors=True)
                if linked:
                    state.mkdir(parents=True)
                    os.link(index, state / index.name)
                self.hook("pre_compact", path)

            return once

        without, known = self.medians(run(linked=False), run(linked=True))
        return Row("pre_compact, indexed", "20 MB without an index", known / without, INDEXED_BAR)

    def peak_memory(self) -> float:
        """Return the peak resident size of PreCompact on the transcript timed last, in MB."""
        shutil.rmtree(self.folder / "home" / ".claude", ignore_errors=True)
        code = "import resource, subprocess, sys; subprocess.run(sys.argv[1:]); "
        code += "print(); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        command = [
            sys.executable,
            "-c",
            code,
            sys.executable,
            "-I",
            str(ROOT / "hooks" / "pre_compact.py"),
        ]
        answer = subprocess.run(
            command, input=_event(self.large), env=self.env, capture_output=True, check=True
        )
        kilobytes = int(answer.stdout.split()[-1])
        return kilobytes / 1024 if sys.platform != "darwin" else kilobytes / 1024 / 1024

    def hook(self, name: str, transcript: Path) -> None:
        """Run a hook as the host would."""
        _spawn(
            [sys.executable, "-I", str(ROOT / "hooks" / f"{name}.py")], _event(transcript), self.env
        )

    def medians(self, *runs: Callable[[], None]) -> list[float]:
        """Return the median of each, taken in turns so that a busy moment of the machine hits all alike."""
        times: list[list[float]] = [[] for _ in runs]
        for run in runs:
            run()
        for _ in range(self.runs):
            for number, run in enumerate(runs):
                started = time.perf_counter()
                run()
                times[number].append(time.perf_counter() - started)
        return [statistics.median(one) for one in times]


def _spawn(command: Sequence[str], data: bytes, env: dict[str, str]) -> None:
    subprocess.run(
        command,
        input=data,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )


def _event(transcript: Path) -> bytes:
    return json.dumps(
        {
            "session_id": SESSION,
            "transcript_path": str(transcript),
            "cwd": str(transcript.parent),
            "hook_event_name": "PreCompact",
            "trigger": "auto",
            "source": "compact",
            "prompt": "go on with the importer",
            "custom_instructions": None,
            "prompt_id": SESSION,
            "tool_name": "Bash",
            "tool_use_id": "toolu_01",
            "tool_response": {"stdout": "x" * 5_000, "stderr": ""},
        }
    ).encode()


def _write_live_part(path: Path, size: int = LIVE_BYTES) -> None:
    """Write a session of `size` bytes: prompts, edits, commands with long outputs."""
    session = SessionFile(path, cwd=str(path.parent))
    session.user("Port the billing module to the new ledger. Never touch the migrations.")
    number = 0
    while path.stat().st_size < size:
        number += 1
        session.assistant(f"Now I look at part {number} of `ledger_part_{number % 60}`.")
        session.read(
            f"{path.parent}/src/part_{number % 60}.py",
            f"def part_{number}():\n    return {number}\n" * 60,
        )
        session.edit(
            f"{path.parent}/src/part_{number % 60}.py", f"return {number}", f"return {number} + 1"
        )
        session.bash(
            f"pytest -q tests/test_part_{number % 60}.py", "." * 400 + f"\n{number} passed in 1.0s"
        )
        if number % 40 == 0:
            session.user(f"Now part {number}, and always run the tests after it.")


def _write_large(path: Path, live: Path, size_mb: int) -> None:
    """Write a transcript of `size_mb` whose last 5 MB, behind a compaction, are the live part."""
    path.parent.mkdir(exist_ok=True)
    body = live.read_bytes()
    with path.open("wb") as file:
        while file.tell() + len(body) < (size_mb * 1024 * 1024) - len(body):
            file.write(body)
    SessionFile(path, cwd=str(path.parent)).boundary("Earlier work on the ledger.")
    with path.open("ab") as file:
        file.write(body)


if __name__ == "__main__":
    raise SystemExit(main())
