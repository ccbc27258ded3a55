"""Robustness over real transcripts: each file cut at every n-th record must give a valid handoff within its units.

    python -m benchmarks.cuts PATH... [--every 10] [--jobs 2] [--indexed]

Prints one line per file and the totals; exits 1 at the first kind of fault. What is checked: no exception, the schema,
both budgets, the required sections, no base64. With --indexed the session's facts index grows along, brought up to date
at every second cut, and the transcript has to read the same with it as without.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from keepthread.handoff.checkpoint import Job, take
from keepthread.handoff.facts_index.opened import opened
from keepthread.handoff.facts_index.update import update
from keepthread.handoff.inject import compose, read_json
from keepthread.handoff.publish import Outlet
from keepthread.handoff.schema import validate
from keepthread.handoff.units import units
from keepthread.host.locations import session_dir
from keepthread.transcript.read import read_transcript

SESSION = "11111111-1111-4111-8111-111111111111"
BUDGET, INDEX = 9_900, 4_000
SECTIONS = (
    "## Pending ask and next step",
    "## Task",
    "## Pins",
    "## Rules",
    "## State",
    "## Files touched",
)
BASE64 = re.compile(r"[A-Za-z0-9+/]{300,}")


class Tally(NamedTuple):
    """What one file came to: cuts tried, and the faults by kind."""

    path: str
    cuts: int
    faults: Counter[str]


def main() -> int:
    """Print the table; return 1 when there was a fault."""
    parser = argparse.ArgumentParser(description="Cut transcripts at every n-th record")
    parser.add_argument("paths", nargs="+", type=Path)
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--indexed", action="store_true", help="with a facts index that grows along"
    )
    options = parser.parse_args()
    files = [
        file
        for path in options.paths
        for file in (sorted(path.glob("*.jsonl")) if path.is_dir() else [path])
    ]
    with ProcessPoolExecutor(options.jobs) as pool:
        tally = partial(_tally, every=options.every, indexed=options.indexed)
        tallies = list(pool.map(tally, files))
    for tally in tallies:
        print(f"{Path(tally.path).name:40}{tally.cuts:8}  {dict(tally.faults) or 'ok'}")
    faults = sum((tally.faults for tally in tallies), Counter[str]())
    print(f"{'in all':40}{sum(tally.cuts for tally in tallies):8}  {dict(faults) or 'no fault'}")
    return 1 if faults else 0


def _tally(path: Path, every: int, *, indexed: bool) -> Tally:
    faults: Counter[str] = Counter()
    cuts = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for number, cut in enumerate(_cuts(path, every, Path(folder))):
            cuts += 1
            if indexed:
                faults.update(_otherwise(cut, str(Path(folder) / "state"), grown=number % 2 == 0))
                faults.update(_faults(cut, str(Path(folder) / "state")))
            else:
                faults.update(_faults(cut, str(Path(folder) / f"state{number}")))
    return Tally(str(path), cuts, faults)


def _cuts(path: Path, every: int, folder: Path) -> Iterator[str]:
    """Yield a growing copy of the file: after every n-th record, and once in the middle of one."""
    target = folder / f"{SESSION}.jsonl"
    with path.open("rb") as source, target.open("wb") as copy:
        for number, line in enumerate(source, 1):
            copy.write(line)
            if number % every == 0:
                copy.flush()
                yield str(target)
    yield str(target)


def _otherwise(path: str, state: str, *, grown: bool) -> Iterator[str]:
    """Yield a fault when the transcript reads otherwise with the index than without."""
    if grown and update(path, SESSION, state) not in ("appended", "rebuilt", "unchanged"):
        yield "index not updated"
    index = opened(state, SESSION, path)
    if index is not None and read_transcript(path, known=index.known) != read_transcript(path):
        yield "read otherwise"


def _faults(path: str, state: str) -> Iterator[str]:
    try:
        handoff = take(Job(SESSION, path, "", "auto"), Outlet(state, BUDGET, INDEX, "off")).handoff
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        OSError,
        TypeError,
        ValueError,
        RecursionError,
    ) as problem:
        yield f"{type(problem).__name__}: {problem}"[:80]
        return
    if validate(handoff):
        yield f"schema: {validate(handoff)[0]}"[:80]
    context = read_json(f"{session_dir(state, SESSION)}/context.json") or {}
    index = read_json(f"{session_dir(state, SESSION)}/index.json") or {}
    text = compose(context, {"asks": [], "edits": [], "boundaries": 0}, BUDGET, 0.0, {})
    if units(text) > BUDGET or units(str(index.get("text", ""))) > INDEX:
        yield "over its units"
    yield from (f"no section {section}" for section in SECTIONS if section not in text)
    if BASE64.search(text) or BASE64.search(str(index.get("text", ""))):
        yield "base64"


if __name__ == "__main__":
    raise SystemExit(main())
