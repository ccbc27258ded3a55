"""Where the bundled files are found."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from keepthread import resources


@pytest.mark.parametrize("name", ["hooks", "commands", "templates"])
def test_in_a_checkout_the_folders_lie_beside_src(name: str) -> None:
    """Nothing is copied into the package before it is built."""
    assert resources.folder(name) == str(Path(__file__).parents[1] / name)


def test_inside_an_installed_package_its_own_folder_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wheel carries them in the package."""
    (tmp_path / "hooks").mkdir()
    monkeypatch.setattr(resources, "_PACKAGE", str(tmp_path))

    assert resources.folder("hooks") == os.path.join(tmp_path, "hooks")


def test_a_bundled_file_is_read_as_utf_8() -> None:
    """Whatever the locale says."""
    assert json.loads(resources.read("templates", "handoff.schema.json"))["$schema"].endswith(
        "2020-12/schema"
    )
