"""Runs tests and adds up the figures that they leave in their reports."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from importlib.util import find_spec
from unittest import mock

import pytest


class Collected:
    """A plugin of pytest: what ran, what failed and why, and the sums of what the tests counted."""

    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.failed: dict[str, str] = {}
        self.skipped: set[str] = set()
        self.figures: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take note of one phase of one test; its figures are complete when it is torn down."""
        if report.failed:
            self.failed[report.nodeid] = report.longreprtext[-2_000:]
        elif report.skipped:
            self.skipped.add(report.nodeid)
        elif report.when == "call":
            self.passed.add(report.nodeid)
        if report.when == "teardown":
            for name, figure in report.user_properties:
                if isinstance(figure, int):
                    self.figures[name] += figure

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file that cannot be read runs no test: that is a failure."""
        if report.failed:
            self.failed[report.nodeid] = report.longreprtext[-2_000:]


def run_tests(paths: Sequence[str], *, scale: float, processes: int) -> Collected:
    """Run the tests in these files, `scale` times as many fuzzed examples as in CI; return what came of it."""
    collected = Collected()
    arguments = [*paths, "-q", "--no-header", "--no-summary", "-p", "no:randomly"]
    arguments += ["--timeout", "0"]  # a hundred thousand examples are one test
    if processes > 1 and find_spec("xdist"):
        arguments += ["-n", str(processes), "--dist", "worksteal"]
    with mock.patch.dict(os.environ, {"KEEPTHREAD_TEST_SCALE": str(scale)}):
        pytest.main(arguments, plugins=[collected])
    return collected
