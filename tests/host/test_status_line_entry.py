"""Our line as the host's status line: registered, brought up to date, taken out to the byte; no other is touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from keepthread.errors import KeepthreadError
from keepthread.host import entries, manifest, status_line_entry
from keepthread.host.plan import Report
from keepthread.host.scopes import place
from tests.support.cli import Person

from .conftest import ONCE, Host
from .test_settings_env import ORIGINALS
from .test_settings_faults import ROOT, after_each_fault, after_each_kill

HOOKS = "/opt/keepthread/venv/lib/python3.11/site-packages/keepthread/hooks"
OURS = f"'/opt/keepthread/venv/bin/python' -I '{HOOKS}/status_line.py' || exit 0"
# As another installation would have written it.
OLD = f"'/old/bin/python3' -I '{HOOKS}/status_line.py' || exit 0"
THEIRS = '{"type": "command", "command": "~/bin/my line.sh --token", "padding": 0}'
ORDERS = list(permutations(["hooks", "values", "line"]))
TEXTS = {
    **ORIGINALS,
    "escaped neighbours": '{"a\\u0062": 1, "statusLin": {"command": "x"}}',
    "a line of its own": '{\n  "a": {\n    "statusLine": {"command": "x"}\n  }\n}\n',
}


def apply(host: Host, command: str = OURS, *, dry_run: bool = False, **scope: str) -> Report:
    where = place(
        scope.get("scope", "user"), str(host.folder), str(host.state), scope.get("project", "")
    )
    return status_line_entry.apply(
        command, where=where, config_dir=str(host.folder), state=str(host.state), dry_run=dry_run
    )


def line(host: Host) -> Any:
    return host.read().get("statusLine")


def do(host: Host, step: str) -> None:
    """Do one of the three things that stand in the settings, twice."""
    for _ in range(2):
        if step == "hooks":
            host.install()
        elif step == "values":
            host.put_values(A="2", MAX_MCP_OUTPUT_TOKENS="9")
        else:
            apply(host)


def undo(host: Host, step: str) -> None:
    if step == "values":
        host.put_values()
    else:
        apply(host, "")


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_it_is_put_in_and_taken_out_to_the_byte(host: Host, text: str) -> None:
    """Without hooks, done twice each; by --remove and by an uninstall."""
    before = host.write(text)
    for out in (lambda: apply(host, ""), host.uninstall):
        assert apply(host).changed
        assert not apply(host).changed
        assert line(host) == {"type": "command", "command": OURS}
        assert out().changed
        assert not out().changed

        assert host.settings.read_bytes() == before
        assert manifest.load(str(host.state)) is None


@pytest.mark.parametrize("order", [ORDERS[0], *ORDERS[4:]])
@pytest.mark.parametrize("text", ORIGINALS.values(), ids=ORIGINALS.keys())
def test_beside_hooks_and_values_it_goes_to_the_byte(
    host: Host, text: str, order: tuple[str, ...]
) -> None:
    """Put in in any order; taken out alone or all at once."""
    before = host.write(text)
    for step in order:
        do(host, step)
    assert host.ours() == ONCE
    assert line(host)["command"] == OURS
    assert host.read()["env"]["A"] == "2"
    host.uninstall()
    assert host.settings.read_bytes() == before

    for step in order:
        do(host, step)
    for step in order:
        if step != "hooks":
            undo(host, step)
    assert host.ours() == ONCE
    assert line(host) is None
    host.uninstall()
    assert host.settings.read_bytes() == before


@pytest.mark.parametrize("order", ORDERS)
def test_a_file_made_for_it_goes_with_the_last_of_it(host: Host, order: tuple[str, ...]) -> None:
    """Private while it is there."""
    for step in order:
        do(host, step)
        assert host.settings.stat().st_mode & 0o777 == 0o600
    undo(host, "values")
    assert host.settings.exists()
    host.uninstall()

    assert not host.settings.exists()


@pytest.mark.parametrize(
    "theirs", [THEIRS, '{"type": "static", "text": "x"}', "null", "[]", '"x"', "{}"]
)
def test_a_status_line_of_the_users_own_is_never_overwritten(host: Host, theirs: str) -> None:
    """Nor taken out, nor brought up to date; what is refused is named, with the way to have both."""
    before = host.write('{"b": 1, "statusLine": ' + theirs + ', "a": 1}')
    with pytest.raises(KeepthreadError, match="a status line of your own") as refused:
        apply(host)
    assert "--snippet" in refused.value.hint
    assert ("my line.sh" in refused.value.message) == (theirs == THEIRS)
    assert host.settings.read_bytes() == before
    assert host.backups() == []

    assert not apply(host, "").changed
    host.install()
    assert host.settings.read_text().count(theirs) == before.decode().count(theirs)
    host.uninstall()
    assert host.settings.read_bytes() == before


def test_a_refusal_shows_no_control_characters_and_is_bounded(host: Host) -> None:
    """In a project the line may be a stranger's."""
    command = "\x1b[2J\n" + "x" * 5_000
    host.write(json.dumps({"statusLine": {"type": "command", "command": command}}))
    with pytest.raises(KeepthreadError) as refused:
        apply(host)

    assert refused.value.message.isprintable()
    assert len(refused.value.message) < 400


@pytest.mark.parametrize("again", ["statusline", "install"])
def test_ours_is_brought_up_to_date_where_it_stands(host: Host, again: str) -> None:
    """By --install and by an install; its user's own fields, and how they are written, stay."""
    host.write('{"a": 1, "b": 2}')
    apply(host, "/elsewhere/python -I line.py")  # no form that was ever shipped: the manifest tells
    text = host.settings.read_text()
    named = json.dumps("/elsewhere/python -I line.py")
    host.write(text.replace(named, named + ',"padding": 1.0, "refreshInterval" : 5'))
    assert apply(host).changed if again == "statusline" else host.install().changed

    wanted = f'"command": {json.dumps(OURS)},"padding": 1.0, "refreshInterval" : 5}}'
    assert wanted in host.settings.read_text()
    host.uninstall()
    assert host.settings.read_text() == '{"a": 1, "b": 2}'


def test_without_a_manifest_a_shipped_form_is_ours(host: Host) -> None:
    """As it was pasted from --snippet, or after the state folder was deleted."""
    text = '{"statusLine": ' + json.dumps({"type": "command", "command": OLD}) + ', "a": 1}'
    host.write(text)
    host.install()
    assert line(host)["command"] == OURS
    host.uninstall()
    assert host.read() == {"a": 1}

    host.write(text)
    assert apply(host, "").changed
    assert host.settings.read_text() == '{"a": 1}'


@pytest.mark.parametrize(
    "command",
    [
        OURS + "; echo",
        OURS.replace(" || exit 0", ""),
        OURS.replace("status_line.py", "stop.py"),
        OURS.replace("/keepthread/hooks", "/mine/hooks"),
        OURS.replace("bin/python'", "bin/ruby'"),
        "cat | " + OURS,
        "'",
        "",
    ],
)
def test_what_only_resembles_ours_is_not(host: Host, command: str) -> None:
    """The whole command has to be ours, and its type."""
    before = host.write(json.dumps({"statusLine": {"type": "command", "command": command}}))
    assert not entries.is_line(command)
    with pytest.raises(KeepthreadError):
        apply(host)
    assert not apply(host, "").changed
    assert host.settings.read_bytes() == before


def test_both_shipped_forms_are_recognised() -> None:
    """That of POSIX with any path, that of Windows as Git Bash reads it."""
    folder = r"C:\Users\Ann O'Neil\venv\Lib\site-packages\keepthread\hooks"
    windows = entries.line_command(r"C:\Users\Ann\python.exe", folder, windows=True)
    posix = entries.line_command("/it's/python3.12", "/a b/keepthread/hooks")

    assert "\\Users" not in windows
    assert entries.is_line(windows)
    assert entries.is_line(posix)
    with pytest.raises(KeepthreadError, match="absolute"):
        entries.line_command("python3", "/keepthread/hooks")


def test_install_adds_none_by_itself_and_none_again(host: Host) -> None:
    """There is only one, and its user may have taken it out on purpose."""
    host.write('{"a": 1}')
    host.install()
    assert line(host) is None
    apply(host)
    kept = host.read()
    del kept["statusLine"]
    host.write(json.dumps(kept))
    host.install()

    assert line(host) is None
    assert host.ours() == ONCE


@pytest.mark.parametrize("out", ["remove", "uninstall", "install"])
def test_one_that_its_user_changed_since_is_left_and_named(host: Host, out: str) -> None:
    """It is the user's now."""
    host.write('{"a": 1}')
    apply(host)
    changed = host.settings.read_text().replace(" || exit 0", " | tr a-z A-Z")
    host.write(changed)
    run = {"remove": lambda: apply(host, ""), "uninstall": host.uninstall, "install": host.install}
    report = run[out]()

    assert any("statusLine was changed" in note for note in report.notes)
    assert line(host) == json.loads(changed)["statusLine"]
    host.uninstall()
    assert host.settings.read_text() == changed


def test_a_dry_run_shows_the_difference_and_writes_nothing(host: Host) -> None:
    """No lock, no state folder."""
    before = host.write("{}\n")
    report = apply(host, dry_run=True)

    assert '+  "statusLine": {\n' in report.diff
    assert host.settings.read_bytes() == before
    assert not host.state.exists()


def test_where_the_host_shows_none_it_is_told(host: Host) -> None:
    """disableAllHooks stops the status line too."""
    host.write('{"disableAllHooks": true}')

    assert any("disableAllHooks" in note for note in apply(host).notes)


@pytest.mark.parametrize("scope", ["project", "local"])
@pytest.mark.parametrize("text", [None, "{ }", '{"a": 1}'])
def test_a_projects_settings_are_edited_and_given_back(
    host: Host, tmp_path: Path, scope: str, text: str | None
) -> None:
    """Each scope has its own; the folder goes when it was made for it."""
    project = tmp_path / "proj"
    name = {"project": "settings.json", "local": "settings.local.json"}[scope]
    file = project / ".claude" / name
    (file.parent if text else project).mkdir(parents=True)
    if text:
        file.write_text(text)
    apply(host)
    report = apply(host, scope=scope, project=str(project))
    assert any("this machine" in note for note in report.notes) == (scope == "project")
    assert json.loads(file.read_text())["statusLine"]["command"] == OURS
    host.uninstall(scope=scope, project=str(project))

    assert line(host)["command"] == OURS
    assert (file.read_text() if text else list(project.iterdir())) == (text or [])


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="links are needed")
def test_a_link_out_of_the_project_is_not_followed(host: Host, tmp_path: Path) -> None:
    """A repository must not have another file edited."""
    project, other = tmp_path / "proj", tmp_path / "other.json"
    (project / ".claude").mkdir(parents=True)
    other.write_text("{}")
    (project / ".claude" / "settings.json").symlink_to(other)
    with pytest.raises(KeepthreadError):
        apply(host, scope="project", project=str(project))

    assert other.read_text() == "{}"


@pytest.mark.parametrize("fault", ["killed", "EDQUOT"])
def test_a_fault_in_any_call_leaves_the_old_bytes_or_the_new(
    host: Host, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """Whichever it is, what stands there is known as ours: the removal gives back the first bytes."""
    before = host.write('{ "a": 1 }')
    old_command = "/elsewhere/python -I line.py"
    apply(host, old_command)
    old = host.settings.read_bytes()
    new = old.replace(json.dumps(old_command).encode(), json.dumps(OURS).encode())
    states = (
        after_each_kill(host, monkeypatch, lambda: apply(host))
        if fault == "killed"
        else after_each_fault(host, monkeypatch, fault, lambda: apply(host))
    )
    seen = set()
    for content in states:
        seen.add(content)
        assert content in (old, new)
        apply(host, "")
        assert host.settings.read_bytes() == before
        apply(host, old_command)
        assert host.litter() == []
    assert seen == {old, new}


def test_a_removal_killed_in_any_call_is_completed_by_the_next(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was recorded is not forgotten before the settings are as they were."""
    before = host.write("{ }")
    apply(host, "/elsewhere/python -I line.py")
    after = host.settings.read_bytes()
    seen = set()
    for content in after_each_kill(host, monkeypatch, lambda: apply(host, "")):
        seen.add(content)
        assert content in (before, after)
        apply(host, "")
        assert host.settings.read_bytes() == before
        apply(host, "/elsewhere/python -I line.py")
    assert seen == {before, after}


def test_twenty_at_once_leave_one_and_the_first_bytes_come_back(host: Host) -> None:
    """Each from an interpreter of its own."""
    before = host.write('{\n  "a": 1\n}\n')
    code = (
        "import sys; from keepthread.host import status_line_entry; from keepthread.host.scopes import place;"
        f"folder, state = {str(host.folder)!r}, {str(host.state)!r};"
        "status_line_entry.apply(sys.argv[1], where=place('user', folder, state), config_dir=folder, state=state)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    wanted = [f"/v{number}/python -I line.py" for number in range(20)]
    children = [
        subprocess.Popen([sys.executable, "-c", code, command], env=env) for command in wanted
    ]

    assert [child.wait(timeout=120) for child in children] == [0] * 20
    assert line(host)["command"] in wanted
    assert host.settings.read_text().count("statusLine") == 1
    host.uninstall()
    assert host.settings.read_bytes() == before


def test_a_manifest_of_an_earlier_version_knows_no_line(host: Host) -> None:
    """It is read all the same."""
    host.install()
    path = host.state / "manifest.json"
    raw = json.loads(path.read_text())
    del raw["lines"]
    path.write_text(json.dumps(raw))
    apply(host)
    host.uninstall()

    assert not host.settings.exists()


def test_the_command_registers_and_removes_it(person: Person) -> None:
    """What is registered is what the snippet shows; an uninstall leaves nothing."""
    settings = person.config / "settings.json"
    assert "+++" in person.ok("statusline", "--install", "--dry-run")
    assert "+++" in json.loads(person.ok("statusline", "--install", "--dry-run", "--json"))["diff"]
    assert not person.config.exists()
    assert "The status line is in" in person.ok("statusline", "--install")
    assert json.loads(settings.read_text()) == json.loads(person.ok("statusline", "--snippet"))
    person.ok("install")
    assert "No status line" in person.ok("statusline", "--remove")
    person.ok("uninstall")

    assert not settings.exists()


def test_settings_made_for_one_person_are_kept_out_of_git_as_long_as_they_are_there(
    person: Person,
) -> None:
    """In local scope, as with hooks."""
    subprocess.run(["git", "init", "-q", str(person.project)], check=True)
    exclude = person.project / ".git" / "info" / "exclude"
    before = exclude.read_text()
    person.ok("statusline", "--install", "--scope", "local")
    assert "settings.local.json" in exclude.read_text()
    person.ok("statusline", "--remove", "--scope", "local")

    assert exclude.read_text() == before
    assert not (person.project / ".claude").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["--install", "--remove"],
        ["--snippet", "--remove"],
        ["--scope", "user"],
        ["--dry-run"],
        ["--json"],
    ],
)
def test_what_does_not_go_together_is_a_usage_error(person: Person, words: list[str]) -> None:
    assert person.run("statusline", *words).code == 2
    assert not person.config.exists()
