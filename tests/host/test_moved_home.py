"""What was written is taken out again when the home folder, or the project's, has another name by then."""

from __future__ import annotations

import shutil
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


def in_a_project(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> Person:
    home, project = tmp_path / "person", tmp_path / "work" / "proj"
    home.mkdir()
    (project / ".git" / "info").mkdir(parents=True)
    (project / ".claude").mkdir()
    (project / ".claude" / "settings.json").write_text(TEXT)
    monkeypatch.setenv("HOME", str(home))
    person = Person(home, capsys, monkeypatch)
    person.go(project)
    person.ok("install", "--scope", "local", "--profile", "tuned")
    person.ok("profile", "apply", "aggressive", "--scope", "project")
    person.ok("statusline", "--install", "--scope", "project")
    return person


@pytest.mark.parametrize("to", ["work/renamed", "elsewhere/proj"])
@pytest.mark.parametrize("how", ["one by one", "purge"])
def test_a_project_that_was_moved_takes_its_record_along(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, to: str, how: str
) -> None:
    person = in_a_project(tmp_path, capsys, monkeypatch)
    moved = tmp_path / to
    moved.parent.mkdir(exist_ok=True)
    (tmp_path / "work" / "proj").rename(moved)
    person.go(moved)

    assert "applied" in person.ok("profile", "list")
    if how == "purge":
        person.ok("uninstall", "--purge")
    else:
        person.ok("profile", "clear")
        person.ok("statusline", "--remove", "--scope", "project")
        person.ok("uninstall", "--scope", "local")

    assert (moved / ".claude" / "settings.json").read_text() == TEXT
    assert not (moved / ".claude" / "settings.local.json").exists()
    assert "settings.local.json" not in (moved / ".git" / "info" / "exclude").read_text()
    assert not list((person.config / "keepthread" / "manifests").glob("*"))


@pytest.mark.parametrize("other", ["another name", "another value", "the first is still there"])
def test_a_record_stays_with_its_project_unless_that_was_moved(
    tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    """What stands in another project by chance is its user's own."""
    person = in_a_project(tmp_path, capsys, monkeypatch)
    first = tmp_path / "work" / "proj"
    second = tmp_path / ("elsewhere/unlike" if other == "another name" else "work/second")
    shutil.copytree(first, second)
    text = (second / ".claude" / "settings.json").read_text()
    if other == "another value":
        text = text.replace('"50"', '"55"')
        (second / ".claude" / "settings.json").write_text(text)
    if other != "the first is still there":
        shutil.rmtree(first)
    person.go(second)
    person.ok("profile", "clear", "--scope", "project")

    assert (second / ".claude" / "settings.json").read_text() == text
