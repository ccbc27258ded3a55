"""Family G: the installer and settings.json, with the program as its user runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keepthread.host.entries import ENTRIES
from tests.support.machine import Machine, interpreter

EVENTS = [entry.event for entry in ENTRIES]
GUARD = {"type": "command", "command": "/opt/guard.sh --strict", "timeout": 5}
THEIRS: dict[str, Any] = {
    "permissions": {"deny": ["Read(./.env)"], "allow": []},
    "hooks": {
        "PreCompact": [{"matcher": "auto", "hooks": [GUARD]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [GUARD]}],
    },
    "model": "opus",
}


@pytest.fixture
def machine(tmp_path: Path, home: Path) -> Machine:
    """A home without settings."""
    return Machine(home, tmp_path / "proj")


BROKEN: dict[str, tuple[str | bytes, str]] = {
    "comment and trailing comma": (
        '{"permissions":{"deny":["Read(./.env)"]}, // note\n"x":"https://a//b", "hooks":{},}',
        ":1:43: a comment",
    ),
    "trailing comma": ('{"x": "https://a//b", "hooks": {},}', "a comma before a closing bracket"),
    "empty": ("", "empty"),
    "list": ("[]", "top level"),
    "truncated": ('{"model": "opus",\n  "hooks": {', "ends"),
    "hooks is a list": ('{"hooks": []}', "hooks should be an object"),
    "event is an object": ('{"hooks": {"PreCompact": {}}}', "hooks.PreCompact should be a list"),
    "key twice": ('{"model": "a", "model": "b"}', "model is there twice"),
    "UTF-16": ('{"model": "opus"}'.encode("utf-16"), ""),
    "not UTF-8": (b'{"model": "\xe9"}', ""),
}


OTHERS = [("uninstall",), ("profile", "apply", "tuned")]


@pytest.mark.parametrize(
    ("name", "words"),
    [*((name, ("install",)) for name in BROKEN), *(("trailing comma", words) for words in OTHERS)],
)
def test_g1_what_is_no_strict_json_is_refused_and_left(
    name: str, words: tuple[str, ...], machine: Machine
) -> None:
    """No reader of ours takes a fault for an empty file; the place is named."""
    text, reason = BROKEN[name]
    before = machine.write(text)
    said = machine.refused(*words)

    assert machine.settings.read_bytes() == before
    assert str(machine.settings) in said
    assert reason in said
    assert list(machine.config.glob("settings.json*")) == [machine.settings]
    assert not (machine.config / "commands").exists()


def test_g1_a_backup_holds_what_was_there_before_a_change(machine: Machine) -> None:
    """Byte for byte, and no wider open than the settings."""
    before = machine.write(json.dumps(THEIRS, indent=3))
    machine.settings.chmod(0o640)
    machine.ok("install")
    (backup,) = machine.config.glob("settings.json.keepthread-*.bak")

    assert backup.read_bytes() == before
    assert backup.stat().st_mode & 0o777 == 0o640


STYLES = {
    "indent 2": json.dumps(THEIRS, indent=2) + "\n",
    "tabs and CRLF": json.dumps(THEIRS, indent="\t").replace("\n", "\r\n"),
    "one line": json.dumps(THEIRS, separators=(",", ":")),
    "odd": '{ "a\\/b" : 1.10,"n":1E2,\n\n"big":12345678901234567890123 ,"hooks" : { } }\n\n',
    "nothing": "{}",
}


@pytest.mark.parametrize(
    ("style", "scope"),
    [*((style, "user") for style in STYLES), ("tabs and CRLF", "project"), ("odd", "local")],
)
def test_g2_install_a_profile_and_uninstall_give_back_every_byte(
    style: str, scope: str, machine: Machine
) -> None:
    """In every scope, whatever the file looks like; foreign hooks keep their place meanwhile."""
    path = machine.settings
    if scope != "user":
        name = "settings.json" if scope == "project" else "settings.local.json"
        path = machine.project / ".claude" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(STYLES[style].encode())
    machine.ok("install", "--scope", scope)
    machine.ok("profile", "apply", "tuned", "--scope", scope)
    document = json.loads(path.read_bytes())
    foreign = [one.handler for one in machine.registered(path) if one.handler == GUARD]

    assert len(machine.ours(path)) == len(ENTRIES)
    assert document["env"]["CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"] == "80"
    assert len(foreign) == STYLES[style].count("guard.sh")
    machine.ok("profile", "clear", "--scope", scope)
    machine.ok("uninstall", "--scope", scope)
    assert path.read_bytes() == STYLES[style].encode()


@pytest.mark.parametrize("target", ["../dot/settings.json", "absolute", "chain"])
def test_g3_a_link_among_the_dotfiles_stays_a_link(target: str, machine: Machine) -> None:
    """Its target is edited in its own folder and keeps its mode."""
    real = machine.home / "dot" / "settings.json"
    real.parent.mkdir()
    machine.config.mkdir()
    real.write_text("{}", encoding="utf-8")
    real.chmod(0o640)
    if target == "chain":
        (machine.home / "dot" / "link").symlink_to("settings.json")
    names = {"absolute": str(real), "chain": "../dot/link"}
    machine.settings.symlink_to(names.get(target, target))
    machine.ok("install")

    assert machine.settings.is_symlink()
    assert len(machine.ours(real)) == len(ENTRIES)
    assert real.stat().st_mode & 0o777 == 0o640
    machine.ok("uninstall")
    assert (machine.settings.is_symlink(), real.read_text(encoding="utf-8")) == (True, "{}")


def test_g3_a_configuration_folder_that_is_a_link_stays_one(machine: Machine) -> None:
    """Dotfiles managers link the whole folder."""
    (machine.home / "dot" / "claude").mkdir(parents=True)
    machine.config.symlink_to("dot/claude")
    machine.ok("install")

    assert machine.config.is_symlink()
    assert len(machine.ours()) == len(ENTRIES)
    machine.ok("uninstall", "--purge")
    assert list((machine.home / "dot" / "claude").iterdir()) == []


def test_g3_a_link_that_leads_nowhere_is_refused(machine: Machine) -> None:
    """Neither the link is replaced nor its target made."""
    machine.config.mkdir()
    machine.settings.symlink_to("../dot/settings.json")
    said = machine.refused("install")

    assert "leads nowhere" in said
    assert machine.settings.is_symlink()
    assert not (machine.home / "dot").exists()


def test_g3_a_project_s_link_out_of_it_is_refused(machine: Machine) -> None:
    """A clone may bring one to any file of its user's."""
    victim = machine.home / ".bashrc"
    victim.write_text("{}", encoding="utf-8")
    (machine.project / ".claude").mkdir()
    (machine.project / ".claude" / "settings.json").symlink_to(victim)
    said = machine.refused("install", "--scope", "project")

    assert "leads out of the project" in said
    assert victim.read_text(encoding="utf-8") == "{}"


def test_g4_three_installs_over_two_old_copies_leave_one_entry_of_each(
    machine: Machine, tmp_path: Path
) -> None:
    """The third with another interpreter; an uninstall leaves what others wrote."""
    other = Machine(machine.home, machine.project, interpreter(tmp_path / "other venv"))
    old = [f"/{name}/keepthread/hooks/pre_compact.py" for name in ("old", "older")]
    copies = [
        {"hooks": [{"type": "command", "command": f"'/old/bin/python' -I '{path}' || exit 0"}]}
        for path in old
    ]
    theirs = {"hooks": {"PreCompact": [{"hooks": [GUARD]}, *copies]}, "model": "opus"}
    machine.write(json.dumps(theirs, indent=2))
    machine.ok("install")
    machine.ok("install")
    first = machine.ours()
    other.ok("install")

    assert [one.event for one in first] == EVENTS
    assert [one.event for one in machine.ours()] == EVENTS
    assert all(str(tmp_path / "other venv") in one.command for one in machine.ours())
    machine.ok("uninstall")
    assert json.loads(machine.settings.read_bytes()) == {
        "hooks": {"PreCompact": [{"hooks": [GUARD]}]}, "model": "opus",
    }  # fmt: skip


def test_g4_a_second_install_says_so_and_writes_nothing(machine: Machine) -> None:
    """No new backup, no other time of change."""
    machine.ok("install")
    before = {path: path.stat().st_mtime_ns for path in machine.config.glob("settings.json*")}
    said = machine.ok("install")

    assert {p: p.stat().st_mtime_ns for p in machine.config.glob("settings.json*")} == before
    assert "Nothing to do" in said or "already" in said


def test_g5_what_its_user_added_meanwhile_survives_an_uninstall(machine: Machine) -> None:
    """Ours goes out of the current file; no backup comes back; a guard in our own group stays."""
    machine.write('{"model": "opus"}')
    machine.ok("install")
    document = json.loads(machine.settings.read_bytes())
    document["hooks"]["PreCompact"][0]["hooks"].append(GUARD)
    document["hooks"]["PreCompact"][0]["hooks"].append(
        {"type": "command", "command": "echo keepthread/hooks/pre_compact.py"}
    )
    document["permissions"] = {"allow": ["WebFetch"]}
    machine.write(json.dumps(document, indent=2))
    machine.ok("uninstall")
    left = json.loads(machine.settings.read_bytes())

    assert [hook["command"] for hook in left["hooks"]["PreCompact"][0]["hooks"]] == [
        GUARD["command"],
        "echo keepthread/hooks/pre_compact.py",
    ]
    assert set(left["hooks"]) == {"PreCompact"}
    assert left["permissions"] == {"allow": ["WebFetch"]}


def test_g5_uninstalling_twice_is_uninstalling_once(machine: Machine) -> None:
    """And without an installation it changes nothing."""
    before = machine.write(json.dumps(THEIRS))
    machine.ok("uninstall")
    assert machine.settings.read_bytes() == before
    machine.ok("install")
    machine.ok("uninstall")
    machine.ok("uninstall")

    assert machine.settings.read_bytes() == before


def test_g6_a_byte_order_mark_crlf_and_chinese_paths_stay(machine: Machine) -> None:
    """Our own files never begin with a mark."""
    text = '{\r\n  "statusLine": {"command": "C:\\\\项目管理\\\\h.py"}\r\n}\r\n'
    before = machine.write(b"\xef\xbb\xbf" + text.encode())
    machine.ok("install")
    after = machine.settings.read_bytes()

    assert after.startswith(b"\xef\xbb\xbf{\r\n")
    assert "C:\\\\项目管理\\\\h.py" in after.decode("utf-8-sig")
    assert after.count(b"\n") == after.count(b"\r\n") > 10
    for path in machine.state.rglob("*.json"):
        assert not path.read_bytes().startswith(b"\xef\xbb\xbf")
    machine.ok("uninstall")
    assert machine.settings.read_bytes() == before


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o660])
def test_g7_the_mode_stays_and_a_new_file_is_private(mode: int, machine: Machine) -> None:
    """An editor's 0644 is its user's wish; what did not exist is 0600 from the first byte."""
    machine.write("{}")
    machine.settings.chmod(mode)
    machine.ok("install")
    assert machine.settings.stat().st_mode & 0o777 == mode
    machine.ok("uninstall")
    machine.settings.unlink()
    machine.ok("install")

    assert machine.settings.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_g7_a_read_only_file_is_refused(machine: Machine) -> None:
    """It is its user's word."""
    before = machine.write("{}")
    machine.settings.chmod(0o400)
    machine.refused("install")

    assert machine.settings.read_bytes() == before


def test_g8_eight_installs_and_uninstalls_at_once_leave_a_whole_file(machine: Machine) -> None:
    """And one more install leaves one entry of each."""
    machine.write(json.dumps(THEIRS, indent=2))
    words = ["install", "uninstall"] * 4
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "keepthread", word],
            env=machine.env(),
            cwd=machine.project,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        for word in words
    ]
    ended = [(process.communicate(timeout=120)[1], process.returncode) for process in running]

    assert all(code == 0 for _, code in ended), ended
    machine.ok("install")
    assert [one.event for one in machine.ours()] == EVENTS
    machine.ok("uninstall")
    assert json.loads(machine.settings.read_bytes()) == THEIRS


def test_g9_the_registered_command_is_absolute_and_runs_from_anywhere(machine: Machine) -> None:
    """Relative paths die after a cd; the limits are seconds."""
    machine.ok("install")
    file = machine.session()
    file.user("Mend the importer, and never touch data/raw.")
    file.assistant("I will.")
    for one in machine.ours():
        interpreter_, _, script = one.command.partition("' -I '")
        assert os.path.isabs(interpreter_.lstrip("'"))
        assert os.path.isabs(script)
        assert 0 < one.handler["timeout"] <= 75
    machine.fire("PreCompact", {"trigger": "auto"})
    context = "".join(machine.fire("SessionStart", {"source": "compact"}))

    assert "never touch data/raw" in context


def test_g9_a_shell_variable_for_the_path_is_not_relied_on(machine: Machine) -> None:
    """stdin is where the host says it."""
    machine.ok("install")
    machine.session().user("Mend the importer.")
    machine.fire("PreCompact", {"trigger": "auto"}, TRANSCRIPT_PATH="/nonexistent")

    assert [line["outcome"] for line in machine.log() if line["event"] == "pre_compact"] == [
        "partial"
    ]


def test_g10_a_dry_run_writes_nothing_at_all(machine: Machine) -> None:
    """Of an install, an uninstall, and a profile."""
    machine.write("{}")
    machine.ok("install", "--dry-run")
    assert [path.name for path in machine.config.iterdir()] == ["settings.json"]
    machine.ok("install")
    before = {p: p.read_bytes() for p in machine.config.rglob("*") if p.is_file()}
    assert "-" in machine.ok("uninstall", "--dry-run")
    machine.ok("uninstall", "--dry-run", "--purge")
    machine.ok("profile", "apply", "tuned", "--dry-run")

    after = {p: p.read_bytes() for p in machine.config.rglob("*") if p.is_file()}
    assert {p: d for p, d in after.items() if p.name != "log.jsonl"} == {
        p: d for p, d in before.items() if p.name != "log.jsonl"
    }


def test_g11_a_configuration_folder_elsewhere_is_the_only_one_that_changes(
    machine: Machine, tmp_path: Path
) -> None:
    """Install, the hooks themselves, and doctor's checks agree about it."""
    other = tmp_path / "alt"
    machine.ok("install", CLAUDE_CONFIG_DIR=str(other))
    checked = json.loads(machine.run("doctor", "--json", CLAUDE_CONFIG_DIR=str(other)).stdout)
    named = " ".join(check["detail"] for check in checked["checks"])

    assert list(machine.home.iterdir()) == []
    assert len(machine.ours(other / "settings.json")) == len(ENTRIES)
    assert str(other) in named
    assert str(machine.config) not in named


def test_g11_an_empty_one_is_the_default_and_a_relative_one_an_error(machine: Machine) -> None:
    """Set but empty counts as not set."""
    machine.ok("install", CLAUDE_CONFIG_DIR=" ")
    assert len(machine.ours()) == len(ENTRIES)

    said = machine.refused("install", CLAUDE_CONFIG_DIR="rel/ative")
    assert "CLAUDE_CONFIG_DIR is a relative path" in said
    assert not (machine.project / "rel").exists()


def test_g12_nothing_is_left_after_a_purge(machine: Machine) -> None:
    """A home without settings is a home without settings again."""
    machine.ok("install")
    machine.ok("profile", "apply", "tuned")
    machine.session().user("Mend the importer.")
    machine.fire("PreCompact", {"trigger": "auto"})
    machine.ok("uninstall", "--purge")
    left = [path for path in machine.config.rglob("*") if path.is_file()]

    assert left == [machine.transcript]


def test_g13_the_doctor_names_what_was_broken_behind_its_back(
    machine: Machine, tmp_path: Path
) -> None:
    """Entries that vanished, and an interpreter that is gone; each with the command that mends it."""
    moved = Machine(machine.home, machine.project, interpreter(tmp_path / "venv"))
    moved.ok("install")
    (tmp_path / "venv").rename(tmp_path / "moved")
    faults = doctor(machine)
    assert any("missing:" in one["detail"] and one["fix"] for one in faults)
    machine.ok("install")
    document = json.loads(machine.settings.read_bytes())
    del document["hooks"]["PreCompact"]
    machine.write(json.dumps(document))
    faults = doctor(machine)

    assert any("pre_compact.py" in one["detail"] and one["fix"] for one in faults)


def doctor(machine: Machine) -> list[dict[str, Any]]:
    """Return the checks that failed."""
    checks = json.loads(machine.run("doctor", "--json").stdout)["checks"]
    return [check for check in checks if not check["ok"]]


def test_g13_hooks_of_a_deleted_installation_do_nothing_and_end_well(
    machine: Machine, tmp_path: Path
) -> None:
    """`python gone.py` exits 2, which the host takes as an order to block the compaction."""
    moved = Machine(machine.home, machine.project, interpreter(tmp_path / "venv"))
    moved.ok("install")
    package = next((tmp_path / "venv").glob("lib/*/site-packages/keepthread"))
    shutil.rmtree(package / "hooks")
    assert "".join(shown(machine)) == ""
    shutil.rmtree(tmp_path / "venv")

    assert "".join(shown(machine)) == ""


def shown(machine: Machine) -> list[str]:
    """Run every registered command with whatever is left; return what each printed."""
    found = []
    for hook in machine.ours():
        done = subprocess.run(
            ["sh", "-c", hook.command], input=b"{}", env=machine.env(), capture_output=True
        )
        assert done.returncode == 0
        found.append(done.stdout.decode())
    return found
