"""Install and uninstall as a whole: once is enough, and nothing remains."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from keepthread.errors import KeepthreadError
from keepthread.host import manifest
from keepthread.host.install import install_here, uninstall_here

from .conftest import ONCE, Host


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file below a folder with its time and content."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "install.lock"
    }


def test_install_says_what_it_did_and_then_that_nothing_is_to_do(host: Host) -> None:
    """Post-state, not message, is what counts; both agree."""
    host.write("{}")
    first = host.install()
    before = snapshot(host.folder)
    second = host.install()

    assert (first.changed, second.changed) == (True, False)
    assert second.notes == ["Nothing to do"]
    assert first.settings_path == str(host.settings)
    assert snapshot(host.folder) == before


def test_installing_three_times_with_another_interpreter_leaves_one_entry(host: Host) -> None:
    """G4: on a file that already holds two old copies; uninstall leaves what was foreign."""
    old = {
        "type": "command",
        "command": "'/old/bin/python' -I '/old/keepthread/hooks/pre_compact.py' || exit 0",
    }
    guard = {"type": "command", "command": "guard.sh"}
    host.write(
        json.dumps(
            {
                "x": 1,
                "hooks": {"PreCompact": [{"hooks": [old]}, {"hooks": [guard]}, {"hooks": [old]}]},
            },
            indent=2,
        )
    )
    host.install()
    host.install()
    host.install(python="/third/bin/python")

    assert host.ours() == ONCE
    assert all(c.startswith("'/third/bin/python'") for c in host.commands_of("SessionStart"))
    assert host.commands_of("PreCompact")[1] == "guard.sh"
    host.uninstall()
    assert host.read() == {"x": 1, "hooks": {"PreCompact": [{"hooks": [guard]}]}}


def test_an_installation_outside_a_package_folder_is_known_by_the_manifest(host: Host) -> None:
    """A checkout has its hooks in a folder of any name: only what was written tells that it is ours."""
    before = host.write(
        '{"hooks": {"PreCompact": [{"hooks": [{"type": "command", "command": "x"}]}]}}'
    )
    host.install(package_hooks="/src/clone/hooks")
    host.install(package_hooks="/src/other/hooks")

    assert [c for c in host.commands_of("PreCompact") if "/hooks/" in c] == [
        f"'{host.python}' -I '/src/other/hooks/pre_compact.py' || exit 0"
    ]
    host.uninstall()
    assert host.settings.read_bytes() == before


def test_an_install_that_died_before_its_last_step_is_recognised(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The manifest is written first: the entries of an interrupted run are ours, whatever their folder is called."""
    before = host.write('{"a": 1}')

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("keepthread.host.commands.apply", die)
        with pytest.raises(KeyboardInterrupt):
            host.install(package_hooks="/src/clone/hooks")
    assert "PreCompact" in host.read()["hooks"]
    host.install(package_hooks="/src/moved/hooks")

    assert len(host.commands_of("PreCompact")) == 1
    host.uninstall()
    assert host.settings.read_bytes() == before


def test_a_dry_run_shows_the_difference_and_writes_nothing_at_all(host: Host) -> None:
    """No lock, no state folder, no backup."""
    host.write('{\n  "a": 1\n}')
    before = snapshot(host.root)
    report = host.install(dry_run=True)

    assert report.changed
    assert snapshot(host.root) == before
    assert not host.state.exists()
    assert report.diff.startswith(f"--- {host.settings}\n+++ {host.settings}\n")
    assert '\n-  "a": 1\n' in report.diff
    assert '+    "PreCompact": [\n' in report.diff
    assert "\\ No newline at end of file" in report.diff
    assert f"--- /dev/null\n+++ {host.folder}/commands/handoff.md\n" in report.diff


def test_a_dry_run_of_an_uninstall_shows_what_would_go(host: Host) -> None:
    """The same diff the other way round."""
    host.install()
    before = snapshot(host.root)
    report = host.uninstall(dry_run=True)

    assert report.changed
    assert snapshot(host.root) == before
    assert f"--- {host.settings}\n+++ /dev/null\n" in report.diff
    assert '-    "PreCompact": [\n' in report.diff


def test_a_dry_run_on_a_missing_folder_creates_nothing(host: Host) -> None:
    """Not even the folder of the host."""
    host.folder.rmdir()

    assert host.install(dry_run=True).changed
    assert not host.folder.exists()


def test_a_dry_run_refuses_what_the_real_one_would(host: Host) -> None:
    """The same code up to the first write."""
    host.write('{"a": 1,}')

    with pytest.raises(KeepthreadError, match="a comma before a closing bracket"):
        host.install(dry_run=True)


def test_uninstalling_what_was_never_installed_leaves_no_trace(host: Host) -> None:
    """Not even our own folder."""
    host.write('{"a": 1}')
    report = host.uninstall()

    assert not report.changed
    assert [path.name for path in host.folder.iterdir()] == ["settings.json"]


def test_uninstall_keeps_the_state_and_says_so(host: Host) -> None:
    """Handoffs are the user's."""
    host.write('{"a": 1}')
    host.install()
    (host.state / "sessions").mkdir()
    report = host.uninstall()

    assert host.state.is_dir()
    assert not (host.state / "manifest.json").exists()
    assert any(str(host.state) in note and "--purge" in note for note in report.notes)
    assert any("2 backups" in note for note in report.notes)


def test_purge_leaves_nothing_behind(host: Host) -> None:
    """State and backups go; the settings have their first bytes."""
    before = host.write('{"a": 1}')
    host.install()
    (host.state / "sessions").mkdir()
    host.uninstall(purge=True)

    assert [path.name for path in host.folder.iterdir()] == ["settings.json"]
    assert host.settings.read_bytes() == before


def test_purge_removes_no_folder_that_is_not_ours(host: Host) -> None:
    """A link in place of the state folder is not followed."""
    precious = host.root / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    host.state.symlink_to(precious)

    with pytest.raises(KeepthreadError, match="not a folder that keepthread made"):
        host.uninstall(purge=True)

    assert (precious / "file").read_text() == "x"


def test_another_keepthread_in_another_scope_is_told_from_the_same(host: Host) -> None:
    """The host runs equal commands once, and others each."""
    project = host.root / "proj"
    project.mkdir()
    host.install()
    here = {"scope": "local", "project": str(project)}

    assert any("runs equal ones once" in note for note in host.install(**here).notes)
    told = host.install(**here, python="/other/venv/bin/python").notes
    assert any("each event runs twice" in note for note in told)


def test_a_second_name_of_the_settings_is_named(host: Host) -> None:
    """A hard link: what is replaced under one name stays under the other."""
    host.write("{}")
    other = host.root / "other.json"
    os.link(host.settings, other)

    assert any("another name" in note for note in host.install().notes)
    assert other.read_text() == "{}"


def test_hooks_that_are_switched_off_are_named(host: Host) -> None:
    """Installed, and yet nothing would run."""
    host.write('{"disableAllHooks": true}')

    assert any("disableAllHooks" in note for note in host.install().notes)


def test_the_manifest_holds_exactly_what_stands_in_the_settings(host: Host) -> None:
    """It is what uninstall goes by."""
    host.write("{}")
    host.install()
    known = manifest.load(str(host.state))

    assert known is not None
    written = [(one.event, one.command) for one in known.hooks]
    assert written == [
        (event, c) for event in host.read()["hooks"] for c in host.commands_of(event)
    ]
    assert list(known.commands) == ["handoff.md"]
    assert (known.settings, known.created_file) == (str(host.settings), False)


def test_windows_entries_are_installed_upgraded_and_removed(host: Host) -> None:
    """Exec form all the way."""
    before = host.write("{}")
    python, hooks = r"C:\venv\Scripts\python.exe", r"C:\venv\Lib\site-packages\keepthread\hooks"
    host.install(python=python, package_hooks=hooks, windows=True)
    host.install(python=python.replace("venv", "new"), package_hooks=hooks, windows=True)

    entry = host.read()["hooks"]["PreCompact"][0]["hooks"][0]
    assert len(host.read()["hooks"]["PreCompact"]) == 1
    assert (entry["command"], entry["args"][0]) == (r"C:\new\Scripts\python.exe", "-I")
    host.uninstall()
    assert host.settings.read_bytes() == before


def test_an_entry_that_changes_its_form_loses_the_fields_of_the_old_one(host: Host) -> None:
    """From program and arguments to a shell command: `args` would make the host take it for a program's name."""
    host.write("{}")
    host.install(python=r"C:\v\python.exe", package_hooks=r"C:\v\keepthread\hooks", windows=True)
    host.install()

    assert "args" not in host.read()["hooks"]["PreCompact"][0]["hooks"][0]
    assert host.ours() == ONCE


def test_the_running_keepthread_is_installed_for_the_user_of_the_environment(
    home: Path, tmp_path: Path
) -> None:
    """CLAUDE_CONFIG_DIR set: only that folder changes; the user's sources are the matcher."""
    folder = tmp_path / "alt"
    folder.mkdir()
    (folder / ".env").write_text("KEEPTHREAD_SOURCES=compact\nKEEPTHREAD_JOIN=nine\n")
    report = install_here({"CLAUDE_CONFIG_DIR": str(folder), "HOME": str(home)})

    settings = json.loads((folder / "settings.json").read_text())
    entry = settings["hooks"]["SessionStart"][0]
    assert entry["matcher"] == "compact|startup"
    assert entry["hooks"][0]["command"].startswith(f"'{sys.executable}' -I '")
    assert os.path.exists(entry["hooks"][0]["command"].split("'")[3])
    assert json.loads((folder / "keepthread" / "settings.json").read_text())["sources"] == [
        "compact"
    ]
    assert any("KEEPTHREAD_JOIN" in note for note in report.notes)
    assert list(home.iterdir()) == []
    uninstall_here({"CLAUDE_CONFIG_DIR": str(folder), "HOME": str(home)}, purge=True)
    assert [path.name for path in folder.iterdir()] == [".env"]


def test_the_environment_of_a_shell_does_not_narrow_what_is_stored(home: Path) -> None:
    """It holds for one run; the stored settings hold for all."""
    install_here({"HOME": str(home), "KEEPTHREAD_DISABLE": "1", "KEEPTHREAD_JOIN": "1"})
    stored = json.loads((home / ".claude" / "keepthread" / "settings.json").read_text())

    assert (stored["disable"], stored["join"]) == (False, 3.0)
