"""A directory with something outside it that must stay untouched."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from keepthread.memory.directory import Directory
from keepthread.memory.directory_by_name import DirectoryByName

SECRET = b"outside"


class Place(NamedTuple):
    """The root, and what lies beside it."""

    team: Path
    out: Path
    evil: Path

    def untouched(self) -> bool:
        """Return whether everything outside is as it was."""
        names = sorted(str(p.relative_to(self.out.parent)) for p in self.out.parent.rglob("*"))
        outside = [name for name in names if not name.startswith("team/") and name != "team"]
        kept = (self.out / "secret").read_bytes() == SECRET
        return kept and outside == ["out", "out/secret", "team-evil", "team-evil/x.md"]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """Make it, and see at the end that nothing outside was touched."""
    base = tmp_path / "base"
    found = Place(base / "team", base / "out", base / "team-evil")
    for folder in found:
        folder.mkdir(parents=True, mode=0o700)
    (found.out / "secret").write_bytes(SECRET)
    (found.evil / "x.md").write_bytes(SECRET)
    yield found

    assert found.untouched()


@pytest.fixture(params=[Directory, DirectoryByName], ids=["by descriptor", "by name"])
def team(request: pytest.FixtureRequest, place: Place) -> Iterator[Directory]:
    """Open the root, once with each implementation."""
    with request.param.open(str(place.team)) as directory:
        yield directory
