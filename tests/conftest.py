"""No test may touch the real home: every one gets its own, and no variable of the host or of ours."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


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
