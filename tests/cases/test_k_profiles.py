"""Family K: environment profiles, with the program as its user runs it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.support.machine import Machine

TUNED = ["BASH_MAX_OUTPUT_LENGTH", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "MAX_MCP_OUTPUT_TOKENS"]
NAME = "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"


@pytest.fixture
def machine(tmp_path: Path, home: Path) -> Machine:
    """A home without settings."""
    return Machine(home, tmp_path / "proj")


def env_of(machine: Machine) -> dict[str, str]:
    """Return the settings' env block."""
    return dict(json.loads(machine.settings.read_bytes()).get("env", {}))


def test_k1_what_is_written_is_not_said_to_be_verified(machine: Machine) -> None:
    """Both ways are shown, settings and shell, and how to measure."""
    said = machine.ok("profile", "apply", "tuned")
    shown = machine.ok("profile", "show", "tuned")

    assert sorted(env_of(machine)) == TUNED
    assert "not verified" in said
    assert "keepthread thresholds" in said
    assert "settings" in shown
    assert "exported by your shell" in shown
    assert "keepthread thresholds" in shown


def test_k1_where_each_value_comes_from_is_told(machine: Machine) -> None:
    """The settings go before what a shell exports, as the client has it."""
    machine.ok("profile", "apply", "tuned")
    shown = machine.run("profile", "diff", "aggressive", "--json", **{NAME: "90"}).stdout
    (told,) = [one for one in json.loads(shown) if NAME in one.values()]

    assert json.dumps(told).count(str(machine.settings)) >= 1
    assert "80" in json.dumps(told)
    assert "50" in json.dumps(told)


def test_k2_a_value_of_its_user_s_own_stays_unless_forced_and_comes_back(machine: Machine) -> None:
    """Nothing is overwritten without a word, and nothing is lost by an attempt."""
    before = machine.write(json.dumps({"env": {NAME: "77", "MINE": "1"}}, indent=2))
    machine.run("profile", "apply", "tuned")
    assert env_of(machine)[NAME] == "77"
    machine.ok("profile", "clear")
    assert machine.settings.read_bytes() == before
    machine.ok("profile", "apply", "tuned", "--force")
    assert env_of(machine)[NAME] == "80"
    machine.ok("profile", "clear")

    assert machine.settings.read_bytes() == before


def test_k2_another_profile_takes_the_place_of_the_first(machine: Machine) -> None:
    """What the second does not set goes; default takes everything out."""
    before = machine.write("{}")
    machine.ok("profile", "apply", "frugal")
    machine.ok("profile", "apply", "tuned")
    assert sorted(env_of(machine)) == TUNED
    machine.ok("profile", "apply", "default")

    assert machine.settings.read_bytes() == before


def test_k2_a_value_that_its_user_changed_is_left_and_named(machine: Machine) -> None:
    """It is the user's from then on."""
    machine.ok("profile", "apply", "tuned")
    document = json.loads(machine.settings.read_bytes())
    document["env"][NAME] = "61"
    machine.write(json.dumps(document, indent=2))
    said = machine.ok("profile", "clear")

    assert env_of(machine) == {NAME: "61"}
    assert NAME in said


ENV_FILE = (
    b"# mine, in my order\r\n"
    b"A=1\r\nA=2\r\n"
    b"export B='two words'\n"
    b"PASS='my$ecret#1 now'\n"
    b'  QUOTED="a\\nb" # why\n'
    b"EMPTY=\n\n\n"
    b"LAST=no newline"
)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\n\n"], ids=repr)
def test_k3_an_env_file_keeps_every_byte_through_two_writes_and_a_removal(
    end: bytes, machine: Machine
) -> None:
    """Comments, order, double keys, quotes, CRLF, a last line without an end, and the mode."""
    path = machine.home / "my.env"
    path.write_bytes(ENV_FILE + end)
    path.chmod(0o600)
    machine.ok("profile", "apply", "tuned", "--env-file", str(path))
    once = path.read_bytes()
    machine.ok("profile", "apply", "tuned", "--env-file", str(path))

    assert path.read_bytes() == once
    assert once.startswith(ENV_FILE + end)
    assert path.stat().st_mode & 0o777 == 0o600
    machine.ok("profile", "clear", "--env-file", str(path))
    assert path.read_bytes() == ENV_FILE + end
    assert path.stat().st_mode & 0o777 == 0o600


def test_k3_the_meaning_of_foreign_lines_stays_for_a_shell(machine: Machine) -> None:
    """A password with signs of the shell is the same before and after."""
    path = machine.home / "my.env"
    path.write_text("export PASS='my$ecret#1 now'\n", encoding="utf-8")
    machine.ok("profile", "apply", "tuned", "--env-file", str(path))
    code = f'. "{path}"; printf "%s|%s" "$PASS" "${NAME}"'
    done = subprocess.run(
        ["sh", "-c", code], env={"PATH": os.defpath}, capture_output=True, timeout=30
    )

    assert done.stdout == b"my$ecret#1 now|80"


def test_k3_a_file_that_is_a_link_stays_one_and_a_new_one_is_private(machine: Machine) -> None:
    """And a file of ours alone goes again."""
    real = machine.home / "dot.env"
    real.write_text("A=1\n", encoding="utf-8")
    (machine.home / "link.env").symlink_to("dot.env")
    machine.ok("profile", "apply", "tuned", "--env-file", str(machine.home / "link.env"))
    assert (machine.home / "link.env").is_symlink()
    assert NAME in real.read_text(encoding="utf-8")
    new = machine.home / "new.env"
    machine.ok("profile", "apply", "tuned", "--env-file", str(new))

    assert new.stat().st_mode & 0o777 == 0o600
    machine.ok("profile", "clear", "--env-file", str(new))
    assert not new.exists() or new.read_bytes() == b""


def test_k3_what_the_client_does_not_read_is_said(machine: Machine) -> None:
    """~/.claude/.env is no file of the client's: measured."""
    machine.config.mkdir()
    said = machine.ok("profile", "apply", "tuned", "--env-file", str(machine.config / ".env"))

    assert "does not read" in said


MISTAKES = {
    "CLAUDE_CODE_AUTO_COMPACT_WINDOW=500k": "500",
    f"{NAME}=0.8": NAME,
    f"{NAME}=150": NAME,
    "CLAUDE_CONTEXT_COLLAPSE=1": "CLAUDE_CONTEXT_COLLAPSE",
    f"DISABLE_COMPACT=1\n{NAME}=60": "DISABLE_COMPACT",
    "BASH_MAX_OUTPUT_LENGHT=9000": "BASH_MAX_OUTPUT_LENGTH",
}


@pytest.mark.parametrize("lines", MISTAKES)
def test_k4_a_value_that_does_not_do_what_was_meant_is_found(lines: str, machine: Machine) -> None:
    """With the name, and exit code 1; the same file without it is clean."""
    path = machine.home / "x.env"
    path.write_text("BASH_MAX_OUTPUT_LENGTH=20000\n" + lines + "\n", encoding="utf-8")
    done = machine.run("profile", "lint", str(path))
    assert done.returncode == 1
    assert MISTAKES[lines].encode() in done.stdout + done.stderr
    path.write_text("BASH_MAX_OUTPUT_LENGTH=20000\n", encoding="utf-8")

    assert machine.run("profile", "lint", str(path)).returncode == 0


def test_k4_our_own_profiles_hold_no_mistake(machine: Machine) -> None:
    """Each, once it is applied."""
    for one in json.loads(machine.ok("profile", "list", "--json")):
        machine.ok("profile", "apply", one["name"])
        assert machine.run("profile", "lint").returncode == 0, one["name"]


@pytest.mark.parametrize("name", ["nonesuch", "../../etc/passwd", "", "tuned.env", "TUNED\n"])
def test_k5_a_profile_that_is_not_there_changes_nothing(name: str, machine: Machine) -> None:
    """Its name leads nowhere else."""
    done = machine.run("profile", "apply", name)

    assert done.returncode in (1, 2)
    assert not machine.settings.exists()


def test_k5_install_with_a_profile_does_both_or_neither(machine: Machine) -> None:
    """And an uninstall takes out both."""
    before = machine.write('{"model": "opus"}')
    assert machine.run("install", "--profile", "nonesuch").returncode in (1, 2)
    assert machine.settings.read_bytes() == before
    machine.ok("install", "--profile", "tuned")
    assert sorted(env_of(machine)) == TUNED
    machine.ok("uninstall")

    assert machine.settings.read_bytes() == before
