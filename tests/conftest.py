"""No test may touch the real home: every one gets its own, and no variable of the host or of ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.posix import TESTS, needs_posix

if TYPE_CHECKING:
    from tests.support.cli import Person


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test an empty home folder."""
    for name in list(os.environ):
        if (
            name.startswith(("CLAUDE", "KEEPTHREAD_", "ANTHROPIC_"))
            and name != "KEEPTHREAD_TEST_SCALE"
        ):
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("USERPROFILE", str(folder))
    return folder


@pytest.fixture
def person(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Person:
    """Give the test somebody at a terminal, in a project of an empty home."""
    from tests.support.cli import Person  # here: most tests need no command line

    return Person(home, capsys, monkeypatch)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """On Windows, leave out what needs a POSIX system."""
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    return True if os.name == "nt" and is_test and needs_posix(collection_path) else None


def pytest_report_header() -> list[str]:
    """Say what was left out."""
    if os.name != "nt":
        return []
    left = {path: needs_posix(path) for path in sorted(TESTS.rglob("test_*.py"))}
    return [f"left out: {path.relative_to(TESTS)} needs {why}" for path, why in left.items() if why]
