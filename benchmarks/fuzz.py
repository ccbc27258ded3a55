"""Fuzz of the hooks: events on stdin and records of transcripts, by their schema and as damaged bytes.

    python -m benchmarks.fuzz [--check] [--examples 100000] [--processes 2]

The tests of tests/fuzz, which CI runs with a few hundred examples, are run with as many. Every example is held to the
same: no exception, output that the host takes, budgets kept, the handoff before it whole or a newer one whole.
"""

from __future__ import annotations

import argparse
import time

from benchmarks.collected import Collected, run_tests
from tests.support import counts

IN_CI = 200  # examples of tests/fuzz at a scale of 1: half events, half transcripts


def main() -> int:
    """Print the table; return 1 when --check was asked for and an example failed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="exit 1 when an example failed")
    parser.add_argument("--examples", type=int, default=100_000, help="examples in all")
    parser.add_argument("--processes", type=int, default=2, help="processes that share the work")
    options = parser.parse_args()
    started = time.monotonic()
    done = run_tests(["tests/fuzz"], scale=options.examples / IN_CI, processes=options.processes)
    seconds = time.monotonic() - started
    for name in (counts.EVENTS, counts.RECORDS, counts.LOST):
        print(f"{name:28}{done.figures[name]:>10,}")
    print(f"{'examples that failed':28}{len(done.failed):>10,}")
    print(f"{'seconds':28}{seconds:>10,.0f}")
    report(done)
    return 1 if options.check and (done.failed or done.figures[counts.LOST]) else 0


def report(done: Collected) -> None:
    """Print what failed, with its reason."""
    for name, reason in done.failed.items():
        print(f"\nfailed: {name}\n{reason}")


if __name__ == "__main__":
    raise SystemExit(main())
