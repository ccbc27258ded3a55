"""Fidelity: what sessions needed after their compactions, and how much of it each text held.

    python -m benchmarks.fidelity [--check] [--jobs N] [PATH ...]

Without PATH the transcripts in ../shared/transcripts are measured when they are there, else sessions made here: their
facts are planted among much that is never used again, and some of them are used after the boundary.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from keepthread.evaluate.report import Totals, table, totals
from keepthread.evaluate.run import evaluate
from tests.support.session import SessionFile

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared" / "transcripts"
BARS = {"context+index": 90.0, "context": 72.0}  # percent of the needed facts
SESSIONS = 6
RULES = (
    "Never touch the migrations folder.",
    "Always run the linter before you commit.",
    "Don't add new dependencies without asking.",
    "Die Tabelle darf niemals umbenannt werden.",
)
VERBS = ("load", "merge", "parse", "send", "check", "store", "build", "split")
NOUNS = ("ledger", "invoice", "session", "payment", "account", "report", "cursor", "header")


def main() -> int:
    """Print the table; return 1 when --check was asked for and a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="transcripts, or folders of them")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed")
    parser.add_argument("--jobs", type=int, default=None, help="processes")
    options = parser.parse_args()
    paths = options.paths or ([str(SHARED)] if SHARED.is_dir() else [])
    with tempfile.TemporaryDirectory() as folder:
        result = evaluate(paths or write_sessions(Path(folder)), jobs=options.jobs)
        print(table(result))
        missed = misses(totals(result.boundaries, result.files))
    print("\n".join(missed) or "All bars met.")
    return 1 if missed and options.check else 0


def misses(sums: Totals) -> list[str]:
    """Return a line for each bar that is missed."""
    systems = sums["systems"]
    found = []
    for name, bar in BARS.items():
        held = systems[name]["held"] if name in systems else None
        if held is None or held < bar:
            found.append(
                f"missed: {name} holds {held} % of the needed facts, the bar is {bar:.0f} %"
            )
    own = systems.get("context")
    shares = (
        {"rules": own["rules"], "edited files": own["edited"], "asks": own["ask"]} if own else {}
    )
    found += [
        f"missed: the context holds {share} % of the {what}"
        for what, share in shares.items()
        if share is not None and share < 100
    ]
    return found


def write_sessions(folder: Path) -> list[str]:
    """Write the sessions of our own and return their paths; the same ones in every run."""
    paths = []
    for number in range(SESSIONS):
        path = folder / f"made-{number + 1:02}.jsonl"
        Author(path, random.Random(number)).write()
        paths.append(str(path))
    return paths


class Author:
    """Writes one session: two stretches of work parted by a compaction, the second on half of the first's files."""

    def __init__(self, path: Path, chance: random.Random) -> None:
        self.session = SessionFile(path, cwd="/home/dev/billing")
        self.chance = chance
        self.files = [
            f"/home/dev/billing/src/{noun}/{verb}_{noun}.py" for noun in NOUNS for verb in VERBS
        ]
        chance.shuffle(self.files)
        self.worked: dict[str, int] = {}
        self.commit = f"{chance.getrandbits(28):07x}"[:6] + "a"
        self.issue = f"#{chance.randint(100, 999)}"

    def write(self) -> None:
        """Write the whole session: files are looked at all along, every third one is worked on."""
        self.session.user(
            f"Port the billing module to the new ledger, see {self.issue}. {RULES[0]}"
        )
        for number, path in enumerate(self.files):
            self.look(path)
            if number % 3 == 0:
                self.edit(path, self.chance.randint(1, 20))
            if number % 16 == 15:
                self.session.user(f"Go on. {RULES[1 + number // 16 % 3]}")
        self.session.bash("git commit -am port", f"[main {self.commit}] port")
        self.session.assistant(f"Committed as {self.commit}.")
        self.session.user("Now make the tests of the ported modules pass and push them.")
        self.session.boundary("1. Primary Request and Intent: port the billing module.")
        again = list(self.worked)
        for path in again[::2]:
            self.session.assistant(f"Next is {path} of {self.issue}, then {self.commit}.")
            self.edit(path, self.worked[path])
        self.session.assistant(f"`{name(self.files[1], 5)}` is left as it was.")

    def look(self, path: str) -> None:
        """Read a file full of names."""
        lines = [f"{at}\tdef {name(path, at)}(rowCount):" for at in range(1, 30)]
        self.session.read(path, "\n".join(lines))

    def edit(self, path: str, at: int) -> None:
        """Change a function of a file, and run its test."""
        self.worked[path] = at
        function = name(path, at)
        self.session.assistant(f"`{function}` still counts rows itself.")
        self.session.edit(path, f"def {function}(rowCount):", f"def {function}(ledger):")
        self.session.bash(f"pytest -q tests/test_{Path(path).name}", "3 passed in 0.2s")


def name(path: str, at: int) -> str:
    """Return the name of a function of a file."""
    return f"{Path(path).stem}_{VERBS[at % len(VERBS)]}_{at}"


if __name__ == "__main__":
    raise SystemExit(main())
