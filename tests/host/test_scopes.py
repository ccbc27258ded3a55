"""User, project and local scope: several settings files at once, each with a record of its own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from keepthread.errors import KeepthreadError
from keepthread.host import manifest, settings_env
from keepthread.host.scopes import here, place

from .conftest import ONCE, Host

TEXT = '{\n  "a": 1\n}\n'
FILES = {"project": "settings.json", "local": "settings.local.json"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return an empty project."""
    folder = tmp_path / "work" / "proj"
    folder.mkdir(parents=True)
    return folder


def settings(project: Path, scope: str) -> Path:
    return project / ".claude" / FILES[scope]


def commands(path: Path) -> list[str]:
    hooks = json.loads(path.read_text())["hooks"]
    return [hook["command"] for event in hooks.values() for g in event for hook in g["hooks"]]


@pytest.mark.parametrize("scope", FILES)
@pytest.mark.parametrize("before", [None, TEXT, "{}", '{"hooks": {}}'])
def test_a_projects_settings_are_edited_and_given_back(
    host: Host, project: Path, scope: str, before: str | None
) -> None:
    """With everything that was made for it; no backup is left where git would show it."""
    path = settings(project, scope)
    if before is not None:
        path.parent.mkdir()
        path.write_text(before)
    listing = sorted(project.rglob("*"))
    report = host.install(scope=scope, project=str(project))

    assert report.settings_path == str(path)
    assert len(commands(path)) == len(ONCE)
    assert not host.settings.exists()
    assert {file.name for file in path.parent.iterdir()} == {FILES[scope]}
    assert host.install(scope=scope, project=str(project)).changed is False
    host.uninstall(scope=scope, project=str(project))
    assert sorted(project.rglob("*")) == listing
    assert before is None or path.read_text() == before
    assert not (host.folder / "commands").exists()


def test_backups_of_a_projects_settings_lie_in_the_state_folder(host: Host, project: Path) -> None:
    """As often as they change, at most five, private."""
    path = settings(project, "project")
    path.parent.mkdir()
    path.write_text(TEXT)
    for number in range(7):
        host.install(scope="project", project=str(project), python=f"/v{number}/bin/python")
    found = sorted((host.state / "backups").iterdir())

    assert len(found) == 5
    assert TEXT not in {file.read_text() for file in found}  # the two oldest are gone
    report = host.uninstall(scope="project", project=str(project))
    assert any("5 backups" in note for note in report.notes)


def test_several_scopes_and_projects_stand_beside_each_other(host: Host, tmp_path: Path) -> None:
    """Each is taken out alone; the slash commands go with the last."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    host.write(TEXT)
    places = [("user", ""), ("project", str(one)), ("local", str(one)), ("project", str(two))]
    for scope, project in places:
        host.install(scope=scope, project=project)
    paths = [
        host.settings,
        *(settings(one, scope) for scope in FILES),
        settings(two, "project"),
    ]
    command = host.folder / "commands" / "handoff.md"

    assert len(manifest.load_all(str(host.state))) == 4
    for number, (scope, project) in enumerate(places):
        assert all(len(commands(path)) == len(ONCE) for path in paths[number:])
        assert command.exists()
        report = host.uninstall(scope=scope, project=project)
        named = [note for note in report.notes if note.startswith("Left: what stands in")]
        assert len(named) == 3 - number
    assert not command.parent.exists()
    assert host.settings.read_text() == TEXT
    assert list(one.iterdir()) == list(two.iterdir()) == []


def test_values_are_kept_apart_by_scope(host: Host, project: Path) -> None:
    """An uninstall in one scope restores that one."""
    where = [
        place(scope, str(host.folder), str(host.state), str(project)) for scope in ("user", "local")
    ]
    host.write('{"env": {"A": "0"}}')
    for one, value in zip(where, "12", strict=True):
        settings_env.apply(
            {"A": value}, where=one, config_dir=str(host.folder), state=str(host.state)
        )
    host.uninstall()

    assert host.settings.read_text() == '{"env": {"A": "0"}}'
    assert json.loads(settings(project, "local").read_text()) == {"env": {"A": "2"}}
    host.uninstall(scope="local", project=str(project))
    assert list(project.iterdir()) == []


def test_a_purge_takes_ours_out_of_every_scope_first(host: Host, tmp_path: Path) -> None:
    """The records go with the state folder, so nothing of ours may stay behind; a project that is gone is no fault."""
    one, gone = tmp_path / "one", tmp_path / "gone"
    for folder in (one, gone):
        folder.mkdir()
        host.install(scope="local", project=str(folder))
    settings(gone, "local").unlink()
    settings(gone, "local").parent.rmdir()
    gone.rmdir()
    host.write(TEXT)
    host.install()
    host.uninstall(purge=True)

    assert list(one.iterdir()) == []
    assert not gone.exists()
    assert [path.name for path in host.folder.iterdir()] == ["settings.json"]
    assert host.settings.read_text() == TEXT


def test_a_purge_that_cannot_clean_one_settings_file_removes_nothing(
    host: Host, project: Path
) -> None:
    host.install()
    host.install(scope="project", project=str(project))
    settings(project, "project").write_text('{"a": 1,}')

    with pytest.raises(KeepthreadError, match="a comma before a closing bracket"):
        host.uninstall(purge=True)

    assert host.state.is_dir()


@pytest.mark.parametrize("kind", ["file", "relative", "folder", "dangling", "prefix"])
@pytest.mark.parametrize("scope", FILES)
def test_a_link_that_leaves_the_project_is_refused(
    host: Host, project: Path, scope: str, kind: str
) -> None:
    """S39: a cloned repository must not make us write to a file of its choice."""
    outside = project.parent / ("proj2" if kind == "prefix" else "outside")
    outside.mkdir()
    victim = outside / FILES[scope]
    if kind != "dangling":
        victim.write_text(TEXT)
    path = settings(project, scope)
    if kind == "folder":
        path.parent.symlink_to(outside)
    else:
        path.parent.mkdir()
        path.symlink_to(os.path.relpath(victim, path.parent) if kind == "relative" else victim)

    for call in (host.install, host.uninstall):
        with pytest.raises(KeepthreadError, match=r"leads (out of the project|nowhere)"):
            call(scope=scope, project=str(project))

    assert [file.name for file in outside.iterdir()] == ([victim.name] * (kind != "dangling"))
    assert kind == "dangling" or victim.read_text() == TEXT


@pytest.mark.parametrize("scope", FILES)
def test_a_link_within_the_project_is_followed(host: Host, project: Path, scope: str) -> None:
    """Some keep one settings file for several folders of a repository."""
    shared = project / "shared" / "settings.json"
    shared.parent.mkdir()
    shared.write_text(TEXT)
    path = settings(project, scope)
    path.parent.mkdir()
    path.symlink_to("../shared/settings.json")
    host.install(scope=scope, project=str(project))

    assert path.is_symlink()
    assert len(commands(shared)) == len(ONCE)
    host.uninstall(scope=scope, project=str(project))
    assert shared.read_text() == TEXT


def test_a_project_behind_a_link_is_edited(host: Host, project: Path, tmp_path: Path) -> None:
    """The project itself may be reached through one; that is the user's own."""
    link = tmp_path / "link"
    link.symlink_to(project)
    host.install(scope="project", project=str(link))

    assert len(commands(settings(project, "project"))) == len(ONCE)


def test_the_users_settings_are_not_taken_for_a_projects(host: Host) -> None:
    """A home folder is a project too when its user starts the host there."""
    with pytest.raises(KeepthreadError, match="are your user settings"):
        host.install(scope="project", project=str(host.root))
    with pytest.raises(KeepthreadError, match="no project"):
        host.install(scope="local")


@pytest.mark.parametrize(("scope", "bits"), [("project", 0o644), ("local", 0o600)])
def test_a_shared_file_is_made_readable_and_a_personal_one_private(
    host: Host, project: Path, scope: str, bits: int
) -> None:
    before = os.umask(0o022)
    try:
        host.install(scope=scope, project=str(project))
    finally:
        os.umask(before)

    assert settings(project, scope).stat().st_mode & 0o777 == bits


def test_in_project_scope_its_user_learns_that_the_hooks_are_for_this_machine(
    host: Host, project: Path
) -> None:
    notes = host.install(scope="project", project=str(project)).notes
    assert any("--scope local" in note for note in notes)

    notes = host.install(scope="local", project=str(project)).notes
    assert not any("--scope local" in note for note in notes)
    assert any("stand in" in note and FILES["project"] in note for note in notes)


def test_a_timeout_its_user_edited_is_kept_in_every_scope(host: Host, project: Path) -> None:
    """S36 with the record of the right file."""
    host.install()
    host.install(scope="local", project=str(project))
    path = settings(project, "local")
    path.write_text(path.read_text().replace('"timeout": 75', '"timeout": 33'))
    for scope in ("user", "local"):
        host.install(scope=scope, project=str(project), python="/new/bin/python")

    assert '"timeout": 33' in path.read_text()
    assert '"timeout": 75' in host.settings.read_text()


PLUGIN = '{"enabledPlugins": {"keepthread@market": true, "other@keepthread": true}}'


@pytest.mark.parametrize("scope", ["user", *FILES])
@pytest.mark.parametrize("place", ["user", *FILES])
def test_beside_the_plugin_no_hooks_are_written(
    host: Host, project: Path, scope: str, place: str
) -> None:
    """They would run twice. The plugin may be enabled in any of the files."""
    path = host.settings if place == "user" else settings(project, place)
    path.parent.mkdir(exist_ok=True)
    path.write_text(PLUGIN)

    with pytest.raises(KeepthreadError, match=r"as a plugin \(keepthread@market\)"):
        host.install(scope=scope, project=str(project))

    assert path.read_text() == PLUGIN


def test_hooks_that_stand_there_already_are_brought_up_to_date_with_a_warning(host: Host) -> None:
    """The plugin came later: an old entry must not stay behind for that."""
    host.install()
    host.write(host.settings.read_text().replace("{", PLUGIN[:-1] + ",", 1))
    report = host.install(python="/new/bin/python")

    assert any("remove one of the two" in note for note in report.notes)
    assert all(command.startswith("'/new/") for command in host.commands_of("PreCompact"))


@pytest.mark.parametrize(
    "text",
    [
        '{"enabledPlugins": {"keepthread@market": false}}',
        '{"enabledPlugins": {"keepthread-extras@market": true}}',
        '{"enabledPlugins": ["keepthread@market"]}',
        '{"enabledPlugins": null}',
    ],
)
def test_what_is_not_our_plugin_enabled_is_no_hindrance(host: Host, text: str) -> None:
    host.write(text)
    host.install()

    assert host.ours() == ONCE


def test_a_project_that_turns_the_plugin_off_is_taken_at_its_word(
    host: Host, project: Path
) -> None:
    """The nearer file decides, as in the host."""
    host.write(PLUGIN)
    path = settings(project, "local")
    path.parent.mkdir()
    path.write_text('{"enabledPlugins": {"keepthread@market": false}}')
    host.install(scope="local", project=str(project))

    assert len(commands(path)) == len(ONCE)


@pytest.mark.parametrize("scope", ["project", "local"])
def test_the_root_of_the_file_system_is_no_project(scope: str) -> None:
    """Everything lies in it: what is written there would count for all."""
    with pytest.raises(KeepthreadError, match="is no project"):
        place(scope, "/home/ada/.claude", "/home/ada/.claude/keepthread", "/")

    assert here("/home/ada/.claude", "/") == ("user",)
