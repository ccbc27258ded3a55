"""The counts of one run: what was tried on the hooks, and what came of it.

    python -m benchmarks.safety [--check] [--examples 1000] [--processes 2]

Runs tests/cases and tests/fuzz and adds up what each test counts while it runs; no figure stands here.
"""

from __future__ import annotations

import argparse
from typing import NamedTuple

from benchmarks.collected import Collected, run_tests
from benchmarks.fuzz import IN_CI, report
from tests.support import counts

ANY = "any"  # a machine may lack what a case needs; root can write everywhere


class Row(NamedTuple):
    """One line: a count, and what it has to be: "" for more than none, ANY for whatever it is."""

    what: str
    figure: int
    bar: str = ""

    @property
    def is_right(self) -> bool:
        """Whether the count is what it has to be."""
        if self.bar == ANY:
            return True
        return f"{self.figure:,}" == self.bar if self.bar else self.figure > 0


def main() -> int:
    """Print the table; return 1 when --check was asked for and a count is not what it has to be."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="exit 1 when a count is wrong")
    parser.add_argument("--examples", type=int, default=1_000, help="examples to fuzz")
    parser.add_argument("--processes", type=int, default=2, help="processes that share the work")
    options = parser.parse_args()
    done = run_tests(
        ["tests/cases", "tests/fuzz"],
        scale=options.examples / IN_CI,
        processes=options.processes,
    )
    rows = table(done)
    print()
    for row in rows:
        bar = f"has to be {row.bar}" if row.bar not in ("", ANY) else ""
        print(f"{row.what:28}{row.figure:>10,}  {bar}{'' if row.is_right else '  WRONG'}".rstrip())
    report(done)
    return 1 if options.check and not all(row.is_right for row in rows) else 0


def table(done: Collected) -> list[Row]:
    """Return the counts of a run."""
    figures = done.figures
    cases = [name for name in done.passed if "/cases/" in name]
    return [
        Row("cases run", len(cases)),
        Row("cases failed", len(done.failed), "0"),
        Row("cases skipped", len(done.skipped), ANY),
        Row("hook processes run", figures[counts.HOOK_RUNS]),
        Row("faults injected", figures[counts.FAULTS]),
        Row("events fuzzed", figures[counts.EVENTS]),
        Row("transcripts fuzzed", figures[counts.RECORDS]),
        Row("secrets planted", figures[counts.PLANTED]),
        Row("secrets found", figures[counts.FOUND], f"{figures[counts.PLANTED]:,}"),
        Row("injections planted", figures[counts.INJECTED]),
        Row("injections adopted", figures[counts.ADOPTED], "0"),
        Row("compactions blocked", figures[counts.BLOCKED], "0"),
        Row("handoffs lost", figures[counts.LOST], "0"),
    ]


if __name__ == "__main__":
    raise SystemExit(main())
