"""The profile commands as their user sees them."""

from __future__ import annotations

import json
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Person

PCT, BASH, MCP = (
    "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
    "BASH_MAX_OUTPUT_LENGTH",
    "MAX_MCP_OUTPUT_TOKENS",
)
SETTINGS = [
    None,
    b"{}",
    b"{}\n",
    b'{\n\t"model": "opus",\n\t"env": {}\n}',
    b'{"env":{"AWS_PROFILE":"work","BASH_MAX_OUTPUT_LENGTH":"20000"},"n":1.10}\n',
    b'{\r\n  "env": {\r\n    "A": "1",\r\n    "B": "2"\r\n  }\r\n}\r\n',
    b'\xef\xbb\xbf{"permissions": {"deny": ["Read(./.env)"]}}',
]


@pytest.fixture
def person(person: Person, monkeypatch: pytest.MonkeyPatch) -> Person:
    """Give the test somebody at a terminal, in a repository."""
    for name in (PCT, BASH, MCP):
        monkeypatch.delenv(name, raising=False)
    (person.project / ".git").mkdir()
    person.config.mkdir(mode=0o700)
    return person


def block(path: Path) -> dict[str, Any]:
    """Return the `env` block of a settings file."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8-sig")).get("env", {})
    return found


def write(path: Path, **env: Any) -> bytes:
    """Write settings with an `env` block and return their bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"env": env}, indent=4))
    return path.read_bytes()


def test_list_names_every_profile_and_where_one_is_applied(person):
    person.ok("profile", "apply", "tuned")
    rows = {row["name"]: row for row in person.json("profile", "list", "--json")}

    assert list(rows) == ["aggressive", "default", "frugal", "long-context", "tuned"]
    assert rows["tuned"]["applied"] == [str(person.config / "settings.json")]
    assert rows["aggressive"]["applied"] == []
    assert "(applied: " in person.ok("profile", "list")


def test_show_says_of_each_value_what_it_does_and_whether_this_client_heeds_it(person):
    person.has_claude()
    text = person.ok("profile", "show", "aggressive")
    shape = person.json("profile", "show", "long-context", "--json")

    assert f"{PCT}=50" in text
    assert "range: 1 to 100 %" in text
    assert "claude-sonnet-4-6 compacts at 90,000 tokens" in text
    cache = next(row for row in shape["values"] if row["name"] == "ENABLE_PROMPT_CACHING_1H")
    assert (cache["since"], cache["default"]) == ("2.1.108", "0")
    assert shape["compacts_at"] == {"claude-sonnet-4-6": 167_000, "claude-opus-5-5": 967_000}


@pytest.mark.parametrize(("version", "effect"), [("2.1.100", "none: "), ("2.1.332", "yes, ")])
def test_show_asks_the_installed_client_for_its_version(person, version, effect):
    program = person.home / "bin" / "claude"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{version} (Claude Code)"\n')
    program.chmod(0o755)
    person.set(PATH=f"{program.parent}:/usr/bin:/bin")

    shape = person.json("profile", "show", "long-context", "--json")

    assert shape["client"] == version
    row = next(row for row in shape["values"] if row["name"] == "ENABLE_PROMPT_CACHING_1H")
    assert row["effect"].startswith(effect)


@pytest.mark.parametrize("before", SETTINGS, ids=repr)
def test_install_apply_switch_and_uninstall_leave_the_settings_as_they_were(person, before):
    path = person.config / "settings.json"
    if before is not None:
        path.write_bytes(before)

    person.ok("install")
    person.ok("profile", "apply", "aggressive", "--force")
    assert block(path)[PCT] == "50"
    once = path.read_bytes()
    person.ok("profile", "apply", "aggressive")
    assert path.read_bytes() == once
    person.ok("profile", "apply", "tuned")
    assert block(path)[PCT] == "80"
    assert "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS" not in block(path)
    person.ok("uninstall")

    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("before", SETTINGS, ids=repr)
def test_apply_and_clear_without_an_installation_leave_them_too(person, before):
    path = person.config / "settings.json"
    if before is not None:
        path.write_bytes(before)

    person.ok("profile", "apply", "tuned", "--force")
    person.ok("profile", "clear")

    assert (path.read_bytes() if path.exists() else None) == before
    assert "Nothing to do" in person.ok("profile", "clear")


def test_default_takes_every_value_out_again(person):
    person.ok("profile", "apply", "aggressive")
    person.ok("profile", "apply", "default")

    assert not (person.config / "settings.json").exists()


@pytest.mark.parametrize("own", ["10000", 10000, True])
def test_a_value_of_the_user_s_own_is_refused_and_with_force_kept_for_clear(person, own):
    path = person.config / "settings.json"
    before = write(path, **{BASH: own, "A": "1"})

    ran = person.run("profile", "apply", "aggressive")
    assert (ran.code, BASH in ran.err, "--force" in ran.err) == (1, True, True)
    assert path.read_bytes() == before

    assert BASH in person.ok("profile", "apply", "aggressive", "--force")
    assert block(path)[BASH] == "12000"
    person.ok("profile", "clear")
    assert path.read_bytes() == before


def test_a_value_that_its_user_changed_afterwards_is_left_and_named(person):
    path = person.config / "settings.json"
    person.ok("profile", "apply", "tuned")
    path.write_text(path.read_text().replace('"20000"', '"25000"'))

    said = person.ok("profile", "clear")

    assert BASH in said
    assert block(path) == {BASH: "25000"}


@pytest.mark.parametrize(
    ("scope", "name"), [("project", "settings.json"), ("local", "settings.local.json")]
)
def test_a_scope_of_the_project_has_its_own_file(person, scope, name):
    person.ok("profile", "apply", "tuned", "--scope", scope)

    assert block(person.project / ".claude" / name)[PCT] == "80"
    assert not (person.config / "settings.json").exists()
    person.ok("profile", "clear")
    assert not (person.project / ".claude" / name).exists()


def test_apply_says_when_a_stronger_place_overrules_it(person):
    local = person.project / ".claude" / "settings.local.json"
    write(local, **{PCT: "70"})

    said = person.ok("profile", "apply", "tuned")

    assert f"{PCT} is 70 all the same: {local}" in said
    ran = person.run("profile", "lint")
    assert ran.code == 1
    assert "profile tuned" in ran.out


def test_a_dry_run_shows_the_change_and_writes_nothing(person):
    before = person.files()

    said = person.ok("profile", "apply", "tuned", "--dry-run")

    assert f'+    "{PCT}": "80"' in said
    assert person.files() == before


def test_an_env_file_gets_one_block_and_a_warning(person):
    path = person.home / ".bashrc"
    path.write_bytes(b"alias l=ls\nexport BASH_MAX_OUTPUT_LENGTH=1")

    said = person.ok("profile", "apply", "tuned", "--env-file", str(path))

    assert "does not read ~/.claude/.env" in said
    assert "set elsewhere" in said
    assert path.read_text().count("# >>> keepthread profile tuned") == 1
    person.ok("profile", "apply", "aggressive", "--env-file", str(path))
    assert path.read_text().count("# >>> keepthread") == 1
    assert "changed" in person.ok("profile", "clear")
    assert path.read_bytes() == b"alias l=ls\nexport BASH_MAX_OUTPUT_LENGTH=1"
    assert not (person.state / "env-files.json").exists()


def test_clear_of_one_scope_leaves_the_other_places(person):
    rc = person.home / ".profile"
    person.ok("profile", "apply", "tuned", "--env-file", str(rc))
    person.ok("profile", "apply", "tuned", "--scope", "local")
    person.ok("profile", "apply", "aggressive")

    person.ok("profile", "clear", "--scope", "local")

    assert block(person.config / "settings.json")[PCT] == "50"
    assert rc.exists()
    person.ok("profile", "clear")
    assert not rc.exists()
    assert not (person.config / "settings.json").exists()


def test_diff_shows_what_would_change_where_values_come_from_and_what_is_shadowed(person):
    path = person.config / "settings.json"
    write(path, **{PCT: "70"})
    (person.config / ".env").write_text(f"export {MCP}=5000\n")
    (person.home / ".zshrc").write_text(f"export {BASH}=12000\nexport CLAUDE_CODE_XYZZY=secret\n")
    person.set(**{PCT: "90"})

    rows = {row["name"]: row for row in person.json("profile", "diff", "aggressive", "--json")}
    text = person.ok("profile", "diff", "aggressive")

    assert (rows[PCT]["in_force"], rows[PCT]["profile"], rows[PCT]["from"]) == (
        "70",
        "50",
        str(path),
    )
    assert rows[PCT]["shadowed"] == [{"value": "90", "from": "environment"}]
    assert rows[BASH]["same"]
    assert rows[MCP]["unread"] == [str(person.config / ".env")]
    assert rows[MCP]["in_force"] is None
    assert "secret" not in json.dumps(rows) + text
    assert f"~ {PCT}: 70 -> 50" in text
    assert f"+ {MCP}: 10000" in text
    assert f"= {BASH}: 12000" in text


def test_lint_of_a_file_and_its_exit_codes(person):
    good, bad, noted = (person.home / name for name in ("good.env", "bad.env", "noted.env"))
    good.write_text(f"{PCT}=80\nexport PATH=$HOME/bin:$PATH\nsource other\n")
    bad.write_text(f"{BASH}=500k\nCLAUDE_CONTEXT_COLLAPSE=1\n")
    noted.write_text(f"{MCP}=25000\n")

    assert person.ok("profile", "lint", str(good)) == "Nothing found\n"
    assert person.ok("profile", "lint", str(noted)).startswith("note: ")
    ran = person.run("profile", "lint", str(bad), "--json")
    assert ran.code == 1
    assert [one["rule"] for one in json.loads(ran.out)] == ["unit", "retired"]


def test_lint_of_what_is_in_force_names_the_place(person):
    path = person.config / "settings.json"
    write(path, **{PCT: "0.5"})

    ran = person.run("profile", "lint")

    assert ran.code == 1
    assert f"({path})" in ran.out
    assert person.ok("profile", "apply", "tuned", "--force")
    assert person.run("profile", "lint").code == 0


def test_a_profile_of_the_user_s_own_is_used_and_a_bad_one_named(person):
    folder = person.state / "profiles"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "night.env").write_text(f"# Over night.\n{PCT}=90\n")
    (folder / "night.env").chmod(0o600)

    person.ok("profile", "apply", "night")
    assert block(person.config / "settings.json") == {PCT: "90"}
    assert "Over night. (applied" in person.ok("profile", "list")
    (folder / "night.env").write_text("oops\n")
    ran = person.run("profile", "apply", "night")
    assert (ran.code, "night.env:1" in ran.err) == (1, True)
    told = person.ok("profile", "list")
    assert "night.env:1: write it as NAME=value (yours)" in told and "tuned " in told


@pytest.mark.parametrize("name", ["../../etc/passwd", "nope", "tuned.env", ""])
def test_an_unknown_name_changes_nothing(person, name):
    before = person.files()

    for command in ("show", "apply", "diff"):
        assert person.run("profile", command, name).code == 1
    assert person.files() == before


def test_scope_and_env_file_exclude_one_another(person):
    rc = str(person.home / "rc")

    for command in (("apply", "tuned"), ("clear",)):
        assert person.run("profile", *command, "--scope", "user", "--env-file", rc).code == 2


def test_broken_settings_are_refused_and_stay(person):
    path = person.config / "settings.json"
    path.write_text('{"env": {"A": "1",}}')

    assert person.run("profile", "apply", "tuned").code == 1
    assert path.read_text() == '{"env": {"A": "1",}}'


def test_what_is_written_is_private(person):
    person.ok("profile", "apply", "tuned", "--env-file", str(person.home / "rc"))

    for path in (person.home / "rc", person.state / "env-files.json"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("before", SETTINGS, ids=repr)
def test_install_with_a_profile_and_uninstall_leave_the_settings_as_they_were(person, before):
    path = person.config / "settings.json"
    if before is not None:
        path.write_bytes(before)

    person.ok("install", "--profile", "tuned")
    assert block(path)[PCT] == "80"
    assert "hooks" in json.loads(path.read_text(encoding="utf-8-sig"))
    person.ok("uninstall")

    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("name", ["nope", "tuned"])
def test_install_with_a_profile_that_cannot_be_put_in_force_does_nothing(person, name):
    write(person.config / "settings.json", **{PCT: "70"})
    before = person.files()

    assert person.run("install", "--profile", name).code == 1
    assert person.files() == before


def test_install_with_a_profile_dry_writes_nothing(person):
    before = person.files()

    said = person.ok("install", "--profile", "tuned", "--dry-run")

    assert f'+    "{PCT}": "80"' in said
    assert "pre_compact.py" in said
    assert person.files() == before


def test_uninstall_takes_the_blocks_in_files_out_and_leaves_half_of_one(person):
    rc, other = person.home / ".bashrc", person.home / ".zshrc"
    rc.write_bytes(b"A=1")
    person.ok("install")
    person.ok("profile", "apply", "tuned", "--env-file", str(rc))
    person.ok("profile", "apply", "tuned", "--env-file", str(other))
    other.write_text(other.read_text().replace("# <<< keepthread profile <<<", ""))

    assert "would go" in person.ok("uninstall", "--dry-run")
    assert b"tuned" in rc.read_bytes()
    said = person.ok("uninstall")

    assert f"is gone from {rc}" in said
    assert f"Left: the profile's block in {other}" in said
    assert rc.read_bytes() == b"A=1"


def test_what_a_session_s_environment_holds_besides_is_not_listed(person):
    person.set(CLAUDE_CODE_SESSION_ID="x", CLAUDE_CODE_ENTRYPOINT="cli", CLAUDE_CODE_XYZZY="1")

    rows = person.json("profile", "diff", "default", "--json")

    assert [row["name"] for row in rows] == ["CLAUDE_CODE_XYZZY"]


def test_settings_that_a_profile_makes_for_one_person_are_kept_out_of_git(person):
    subprocess.run(["git", "init", "-q", str(person.project)], check=True)
    exclude = person.project / ".git" / "info" / "exclude"
    before = exclude.read_bytes()
    status = ["git", "-C", str(person.project), "status", "--porcelain"]

    person.ok("profile", "apply", "tuned", "--scope", "local")
    assert (person.project / ".claude" / "settings.local.json").exists()
    assert subprocess.run(status, check=True, capture_output=True).stdout == b""
    person.ok("profile", "clear")

    assert exclude.read_bytes() == before
    assert not (person.project / ".claude" / "settings.local.json").exists()


@pytest.mark.parametrize("command", [("list",), ("lint",), ("diff", "tuned"), ("clear",)])
def test_in_the_home_folder_whose_settings_are_the_user_s_the_commands_work_too(person, command):
    person.ok("profile", "apply", "tuned")
    (person.home / ".git").mkdir()  # dotfiles under git
    person.go(person.home)

    person.ok("profile", *command)


def test_blocks_put_into_many_files_at_once_are_all_found_again(person):
    files = [person.project / f"rc{number}" for number in range(6)]
    running = [person.start("profile", "apply", "tuned", "--env-file", str(file)) for file in files]
    for one in running:
        one.communicate()
    assert all(file.exists() for file in files)

    person.ok("profile", "clear")

    assert [file for file in files if file.exists()] == []
