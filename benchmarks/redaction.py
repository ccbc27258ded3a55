"""What the redaction finds in transcripts that hold no secrets: its false positives, rule by rule, and its speed.

    python -m benchmarks.redaction FOLDER [--show] [--write]
    python -m benchmarks.redaction --write

FOLDER holds transcripts (*.jsonl) that are public and clean, so that whatever is found is to be judged. No value is
printed: --show gives a mask of each, with the words before it. --write brings the table of docs/redaction.md up to
date; without a FOLDER what was measured stays.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from keepthread import redact
from keepthread.redact import catalogue

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "redaction.md"
MARK = "<!-- rules -->"
_BEFORE = 40  # characters shown in front of a find
_MASK = [(r"[a-z]", "a"), (r"[A-Z]", "A"), (r"[0-9]", "0")]


class Found(NamedTuple):
    """What a run came to: finds and distinct values of each rule, masks of them; characters, seconds, files."""

    finds: Counter[str]
    distinct: dict[str, set[str]]
    masks: dict[str, Counter[str]]
    characters: int
    seconds: float
    files: int


def main() -> int:
    """Print what was found, and write the table."""
    options = _options()
    measured = _in_table(DOCUMENT.read_text(encoding="utf-8")) if DOCUMENT.exists() else {}
    if options.folder:
        found = _search(sorted(Path(options.folder).rglob("*.jsonl")))
        _print(found, show=options.show)
        measured = {name: _told(found, name) for name in catalogue.names()}
    if options.write:
        before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(MARK)
        after = rest.partition(MARK)[2]
        table = catalogue.table(measured)
        DOCUMENT.write_text(f"{before}{MARK}\n{table}\n{MARK}{after}", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="False positives of the redaction.")
    parser.add_argument("folder", nargs="?", help="transcripts without secrets")
    parser.add_argument("--show", action="store_true", help="print masks of what was found")
    parser.add_argument("--write", action="store_true", help="write the table of the documentation")
    return parser.parse_args()


def _in_table(text: str) -> dict[str, str]:
    """Return what the documentation says was found by each rule."""
    rows = re.findall(r"^\| `([a-z0-9-]+)` \|.*\| ([0-9() ]+) \|[^|]*\|$", text, re.MULTILINE)
    return dict(rows)


def _print(found: Found, *, show: bool) -> None:
    print(f"{'rule':22}{'finds':>8}{'distinct':>10}")
    for name in catalogue.names():
        if found.finds[name]:
            print(f"{name:22}{found.finds[name]:8}{len(found.distinct[name]):10}")
            for mask, count in found.masks[name].most_common() if show else ():
                print(f"    {count:4} x {mask}")
    megabytes = found.characters / 1e6
    print(f"{found.files} transcripts, {megabytes:.1f} million characters, ", end="")
    print(
        f"{found.seconds / max(megabytes, 1e-9):.2f} s for each million; {sum(found.finds.values())} finds"
    )


def _search(paths: list[Path]) -> Found:
    found = Found(Counter(), defaultdict(set), defaultdict(Counter), 0, 0.0, len(paths))
    characters, seconds = 0, 0.0
    for path in paths:
        for text in _texts(path):
            started = time.perf_counter()
            findings = redact.scan(text)
            seconds += time.perf_counter() - started
            characters += len(text)
            for rule, start, end in findings:
                found.finds[rule] += 1
                found.distinct[rule].add(text[start:end])
                found.masks[rule][_mask(text, start, end)] += 1
    return found._replace(characters=characters, seconds=seconds)


def _told(found: Found, name: str) -> str:
    number = found.finds[name]
    return f"{number} ({len(found.distinct[name])})" if number else "0"


def _mask(text: str, start: int, end: int) -> str:
    value = text[start:end][:60]
    for pattern, letter in _MASK:
        value = re.sub(pattern, letter, value)
    before = " ".join(text[max(0, start - _BEFORE) : start].split())
    return f"{before} >>> {value!r}"


def _texts(path: Path) -> Iterator[str]:
    """Yield every string of every record, decoded."""
    for line in path.read_bytes().splitlines():
        yield from _strings(_parsed(line))


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None  # a damaged line


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from _strings(item)


if __name__ == "__main__":
    raise SystemExit(main())
