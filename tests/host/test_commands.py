"""Our slash commands: a name that its user has taken stays the user's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from keepthread import resources
from keepthread.host import commands

from .conftest import COMMAND, Host


def names(host: Host) -> list[str]:
    folder = host.folder / "commands"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_command_is_written_private_with_the_program_in_it(host: Host) -> None:
    """The placeholder becomes the absolute path, quoted where the shell needs it."""
    host.install(python="/opt/my venv/bin/python")
    path = host.folder / "commands" / "handoff.md"

    assert "!`'/opt/my venv/bin/python' -I -m keepthread handoff`" in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_commands_folder_that_we_created_goes_with_its_last_command(host: Host) -> None:
    """And one that was there stays."""
    host.install()
    host.uninstall()
    assert not (host.folder / "commands").exists()

    (host.folder / "commands").mkdir()
    host.install()
    host.uninstall()
    assert (host.folder / "commands").exists()


def test_a_command_of_the_users_own_is_left_alone(host: Host) -> None:
    """M2: install, upgrade and uninstall; ours has another name, and the user is told."""
    mine = host.folder / "commands" / "handoff.md"
    mine.parent.mkdir()
    mine.write_text("my own\n")
    report = host.install()

    assert names(host) == ["handoff.md", "keepthread-handoff.md"]
    assert "/handoff is yours; ours is /keepthread-handoff" in report.notes
    host.install(python="/new/python")
    assert "/new/python" in (mine.parent / "keepthread-handoff.md").read_text()
    host.uninstall()
    assert names(host) == ["handoff.md"]
    assert mine.read_text() == "my own\n"


def test_a_skill_of_the_name_makes_ours_step_aside(host: Host) -> None:
    """A skill beats a command of the same name: ours would never run."""
    host.install()
    (host.folder / "skills" / "handoff").mkdir(parents=True)
    host.install()

    assert names(host) == ["keepthread-handoff.md"]


def test_a_name_that_becomes_free_is_taken(host: Host) -> None:
    """The name under which every text speaks of it."""
    mine = host.folder / "commands" / "handoff.md"
    mine.parent.mkdir()
    mine.write_text("my own\n")
    host.install()
    mine.unlink()
    host.install()

    assert names(host) == ["handoff.md"]
    assert COMMAND in mine.read_text()


def test_when_both_names_are_taken_ours_is_left_out(host: Host) -> None:
    """The user is told; nothing is overwritten."""
    folder = host.folder / "commands"
    folder.mkdir()
    for name in ("handoff.md", "keepthread-handoff.md"):
        (folder / name).write_text("mine")
    report = host.install()

    assert any("left out" in note for note in report.notes)
    assert {path.read_text() for path in folder.iterdir()} == {"mine"}


def test_a_command_whose_marker_was_taken_out_is_the_users(host: Host) -> None:
    """That is how a user keeps a version of their own."""
    host.install()
    path = host.folder / "commands" / "handoff.md"
    path.write_text(
        path.read_text().replace(COMMAND, "").replace("description: x", "description: mine")
    )
    host.install()
    host.uninstall()

    assert "description: mine" in path.read_text()


def test_a_command_of_ours_that_no_longer_exists_is_removed(host: Host) -> None:
    """An upgrade that drops a command."""
    (host.texts / "old.md").write_text(f"{COMMAND}\nold\n")
    host.install()
    assert names(host) == ["handoff.md", "old.md"]
    (host.texts / "old.md").unlink()
    host.install()

    assert names(host) == ["handoff.md"]


@pytest.mark.parametrize("kind", ["link", "folder"])
def test_what_is_no_file_is_not_ours(host: Host, kind: str) -> None:
    """A link is somebody's arrangement; it is neither followed nor replaced."""
    path = host.folder / "commands" / "handoff.md"
    path.parent.mkdir()
    target = host.root / "elsewhere.md"
    target.write_text(COMMAND)
    path.mkdir() if kind == "folder" else path.symlink_to(target)
    host.install()
    host.uninstall()

    assert target.read_text() == COMMAND
    assert path.is_dir() or path.is_symlink()


def test_every_bundled_command_carries_the_marker_and_no_placeholder_is_left() -> None:
    """Without it, an upgrade would not know it again."""
    texts = commands.bundled(resources.folder("commands"), "/opt/python")

    assert "handoff.md" in texts
    for text in texts.values():
        assert commands.MARKER.encode() in text.splitlines()
        assert commands.PROGRAM.encode() not in text
        assert b"\r" not in text


def test_backslashes_of_windows_become_slashes(tmp_path: Path) -> None:
    """Git Bash takes a backslash for an escape."""
    (tmp_path / "x.md").write_text(commands.PROGRAM)

    assert commands.bundled(str(tmp_path), r"C:\v\Scripts\python.exe") == {
        "x.md": b"C:/v/Scripts/python.exe -I -m keepthread"
    }


def test_what_a_killed_install_left_half_written_goes_with_the_folder(host: Host) -> None:
    """And a file of the user's that only looks alike stays."""
    host.install()
    folder = host.folder / "commands"
    half = folder / (".tmp-" + "0a" * 12)
    half.write_text("half a command")
    host.uninstall()
    assert not folder.exists()

    folder.mkdir()
    half.write_text("half a command")
    (folder / ".tmp-mine").write_text("a note")
    host.install()

    assert not half.exists()
    assert (folder / ".tmp-mine").exists()


@pytest.mark.skipif(os.name == "nt", reason="runs it with sh")
def test_a_command_runs_nothing_that_a_repository_puts_in_the_way(host: Host) -> None:
    """Its settings can set PYTHONPATH for what the host starts, and its folder is the current one."""
    host.install(python=sys.executable, command_folder=resources.folder("commands"))
    trap = host.root / "repository"
    (trap / "keepthread").mkdir(parents=True)
    for name in ("keepthread/__init__.py", "json.py", "sitecustomize.py", "click.py"):
        (trap / name).write_text("raise SystemExit(42)\n")
    text = (host.folder / "commands" / "memory-check.md").read_text()
    command = text.partition("!`")[2].partition("`")[0]
    env = {"HOME": str(host.root), "PYTHONPATH": str(trap), "PATH": os.defpath}
    ran = subprocess.run(["sh", "-c", command], cwd=trap, env=env, capture_output=True, text=True)

    assert (ran.returncode, ran.stdout) == (0, "Nothing to complain about.\n"), ran.stderr
