"""What the tests of safety count while they run; `python -m benchmarks.safety` adds the figures up and prints them."""

from __future__ import annotations

from collections import Counter

HOOK_RUNS = "hook runs"
BLOCKED = "compactions blocked"
FAULTS = "faults injected"
EVENTS = "events fuzzed"
RECORDS = "transcripts fuzzed"
LOST = "handoffs lost"
PLANTED = "secrets planted"
FOUND = "secrets found"
INJECTED = "injections planted"
ADOPTED = "injections adopted"

_counted: Counter[str] = Counter()


def count(name: str, number: int = 1) -> None:
    """Add to a figure of the test that runs."""
    _counted[name] += number


def taken() -> list[tuple[str, object]]:
    """Return the figures since the last call, as properties of a test's report."""
    properties: list[tuple[str, object]] = [*_counted.items()]
    _counted.clear()
    return properties
