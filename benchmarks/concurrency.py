"""Sessions of one project that compact at once: whole processes, with a model, then two clients each, then kills.

    python -m benchmarks.concurrency [--check] [--sessions 50]

The sessions stand in the project's root, in a folder of it, in a worktree and behind a link to it. What is counted is
what went wrong: every figure but the number of sessions is to be 0.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.support.crowd import Crowd, Outcome
from tests.support.hook_runs import World


def main() -> int:
    """Print the table; return 1 when --check was asked for and anything was lost, mixed or left behind."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="exit 1 when a figure is not 0")
    parser.add_argument("--sessions", type=int, default=50, help="sessions at once")
    options = parser.parse_args()
    rows = {
        "at once, with a model": _run(options.sessions, clients=1, model=True),
        "two clients each": _run(options.sessions, clients=2, model=True),
        "killed in between": _run(options.sessions, clients=1, model=False, kills=True),
    }
    names = [name.replace("_", " ") for name in Outcome._fields]
    print(f"{'':24}" + "".join(f"{name:>{len(name) + 2}}" for name in names))
    for what, row in rows.items():
        figures = zip(names, row, strict=True)
        print(f"{what:24}" + "".join(f"{figure:>{len(name) + 2}}" for name, figure in figures))
    faults = sum(sum(row[1:]) for row in rows.values())
    return 1 if faults and options.check else 0


def _run(sessions: int, *, clients: int, model: bool, kills: bool = False) -> Outcome:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        home = folder / "home"
        home.mkdir()
        crowd = Crowd(World(folder, home), sessions, clients)
        if model:
            crowd.with_model()
        else:
            crowd.world.variables(ENGINE="facts")
        crowd.compact()
        if kills:
            crowd.compact_and_be_killed()
            crowd.compact()
        outcome = crowd.outcome(crowd.shown(), complete=model)
    # What a killed process leaves is swept up by the next store an hour later.
    return outcome._replace(leftovers=0) if kills else outcome


if __name__ == "__main__":
    raise SystemExit(main())
