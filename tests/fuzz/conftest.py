"""What a fuzzed hook runs in, and the figures a test leaves in its report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import counts
from tests.support.arena import Arena


@pytest.fixture
def arena(tmp_path: Path) -> Iterator[Arena]:
    """A home, a project and a session with a handoff, and the hooks in this process."""
    with Arena(tmp_path / "arena") as arena:
        yield arena


@pytest.fixture(autouse=True)
def counted(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave what the test counted in its report."""
    counts.taken()
    yield
    request.node.user_properties += counts.taken()
