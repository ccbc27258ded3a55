"""What was written is taken out again when the home folder has another name by then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Person

TEXT = '{\n  "model": "opus"\n}\n'


@pytest.mark.parametrize("how", ["moved", "by a link"])
def test_an_uninstall_under_another_name_of_the_home_takes_everything_out(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    monkeypatch.setenv("HOME", str(first))
    person = Person(first, capsys, monkeypatch)
    person.config.mkdir()
    (person.config / "settings.json").write_text(TEXT)
    person.ok("install", "--profile", "tuned")
    person.ok("statusline", "--install")
    if how == "moved":
        first.rename(second)
    else:
        second.symlink_to(first)
    person.set(HOME=str(second))
    person.go(second / "proj")

    told = person.ok("uninstall")

    assert (second / ".claude" / "settings.json").read_text() == TEXT
    assert not (second / ".claude" / "commands").exists()
    assert "Left: what stands in" not in told
