"""What every case has: a home, a project, the hooks as registered, and a stand-in for the host's own program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import counts
from tests.support.fake_claude import FakeClaude
from tests.support.hook_runs import ANSWER, World


@pytest.fixture
def world(tmp_path: Path, home: Path) -> World:
    """An empty home and a project; every run is held to the invariants of `World`."""
    return World(tmp_path, home)


@pytest.fixture
def claude(tmp_path: Path) -> FakeClaude:
    """A `claude` for the front of PATH."""
    return FakeClaude(tmp_path / "bin")


@pytest.fixture
def asked(world: World, claude: FakeClaude) -> FakeClaude:
    """A stand-in for the model that answers, and hooks that may ask it."""
    claude.answer(ANSWER)
    environment = claude.env(world.home, KEEPTHREAD_ENGINE="")
    plain = world.env
    world.env = lambda **more: plain(**{**environment, **more})  # type: ignore[method-assign]
    return claude


@pytest.fixture(autouse=True)
def counted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave what the test counted in its report; a test of a fault that counts none injects one."""
    counts.taken()
    yield
    figures = dict(counts.taken())
    if "_faults" in request.node.path.name:
        figures.setdefault(counts.FAULTS, 1)
    request.node.user_properties += list(figures.items())
