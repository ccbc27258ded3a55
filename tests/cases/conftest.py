"""What every case has: a home, a project, the hooks as registered, and a stand-in for the host's own program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.fake_claude import FakeClaude
from tests.support.hook_runs import World


@pytest.fixture
def world(tmp_path: Path, home: Path) -> World:
    """An empty home and a project; every run is held to the invariants of CASES."""
    return World(tmp_path, home)


@pytest.fixture
def claude(tmp_path: Path) -> FakeClaude:
    """A `claude` for the front of PATH."""
    return FakeClaude(tmp_path / "bin")
