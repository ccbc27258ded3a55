"""One transcript under construction, where the host would keep it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.session import SESSION, SessionFile


@pytest.fixture
def session(tmp_path: Path) -> SessionFile:
    """Give an empty transcript."""
    return SessionFile(tmp_path / "projects" / "proj" / f"{SESSION}.jsonl")
