"""Family M: git hygiene and its user's own files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from keepthread.host.commands import MARKER
from tests.support.machine import Machine

OWN = "---\ndescription: my own\n---\nHand over to Grace.\n"


@pytest.fixture
def machine(tmp_path: Path, home: Path) -> Machine:
    """A home without settings."""
    return Machine(home, tmp_path / "proj")


def git(machine: Machine, *words: str) -> str:
    """Run git in the project."""
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    done = subprocess.run(
        ["git", "-C", str(machine.project), *who, *words],
        capture_output=True, env=machine.env(), timeout=60, check=True,
    )  # fmt: skip
    return done.stdout.decode()


def compaction(machine: Machine) -> None:
    """Let the hooks run once."""
    file = machine.session()
    file.user("Mend the importer, and never touch data/raw.")
    file.assistant("I will.")
    machine.fire("PreCompact", {"trigger": "auto"})
    machine.fire("SessionStart", {"source": "compact"})


def test_m1_after_a_compaction_git_sees_nothing_new(machine: Machine) -> None:
    """The document is kept out by .git/info/exclude; .gitignore is the team's and stays."""
    (machine.project / ".gitignore").write_text("build/\n", encoding="utf-8")
    git(machine, "add", ".")
    git(machine, "commit", "-qm", "first")
    machine.ok("install")
    compaction(machine)

    assert (machine.project / "docs" / "handoff-context.md").is_file()
    assert git(machine, "status", "--porcelain", "-uall") == ""
    assert (machine.project / ".gitignore").read_text(encoding="utf-8") == "build/\n"
    ignored = git(machine, "status", "--porcelain", "-uall", "--ignored").splitlines()
    assert ignored == ["!! docs/handoff-context.md"]


def test_m1_an_uninstall_takes_the_line_out_of_a_file_with_crlf(machine: Machine) -> None:
    """And leaves every other byte."""
    exclude = machine.project / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_bytes(b"# mine\r\n*.log\r\n")
    machine.ok("install")
    compaction(machine)
    assert exclude.read_bytes().startswith(b"# mine\r\n*.log\r\n/docs/handoff-context.md")
    machine.ok("uninstall")

    assert exclude.read_bytes() == b"# mine\r\n*.log\r\n"


@pytest.mark.parametrize("tracked", [True, False])
def test_m1_a_document_of_that_name_which_is_not_ours_is_left_alone(
    tracked: bool, machine: Machine
) -> None:
    """The handoff is given back all the same, and status says why there is no document."""
    document = machine.project / "docs" / "handoff-context.md"
    document.parent.mkdir()
    document.write_text("# Handing over\n", encoding="utf-8")
    if tracked:
        git(machine, "add", ".")
        git(machine, "commit", "-qm", "first")
    machine.ok("install")
    compaction(machine)

    assert document.read_text(encoding="utf-8") == "# Handing over\n"
    assert "docs/handoff-context.md" in machine.ok("status")
    assert "never touch data/raw" in machine.ok("show")


def place(machine: Machine, kind: str) -> Path:
    """Put a command or a skill of its user's own where ours would stand."""
    path = machine.config / "commands" / "handoff.md"
    if kind == "skill":
        path = machine.config / "skills" / "handoff" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(OWN, encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", ["command", "skill"])
def test_m2_a_command_or_skill_of_that_name_stays_its_user_s(kind: str, machine: Machine) -> None:
    """Through an install, an upgrade and an uninstall; ours steps aside and says so."""
    own = place(machine, kind)
    ours = machine.config / "commands" / "keepthread-handoff.md"
    said = machine.ok("install")
    machine.ok("install")

    assert "/keepthread-handoff" in said
    assert own.read_text(encoding="utf-8") == OWN
    assert MARKER in ours.read_text(encoding="utf-8")
    machine.ok("uninstall")
    assert own.read_text(encoding="utf-8") == OWN
    assert not ours.exists()
    assert sorted(path.name for path in own.parent.iterdir()) == [own.name]


def test_m2_both_at_once_and_the_second_name_taken_too(machine: Machine) -> None:
    """Ours is left out and that is said; nothing of its user's is touched."""
    own = [place(machine, "command"), place(machine, "skill")]
    second = machine.config / "commands" / "keepthread-handoff.md"
    second.write_text(OWN, encoding="utf-8")
    said = machine.ok("install")
    machine.ok("uninstall", "--purge")

    assert "left out" in said
    assert {path.read_text(encoding="utf-8") for path in (*own, second)} == {OWN}


@pytest.mark.parametrize("kind", ["file", "link"])
def test_m2_what_stands_where_the_commands_belong_is_named_before_anything_is_written(
    kind: str, machine: Machine
) -> None:
    """A file, or a link that leads nowhere: hooks without their commands would be half an installation."""
    machine.config.mkdir()
    commands = machine.config / "commands"
    if kind == "file":
        commands.write_text(OWN, encoding="utf-8")
    else:
        commands.symlink_to(machine.config / "nowhere")

    assert f"{commands} is no folder" in machine.refused("install")
    assert not (machine.config / "settings.json").exists()
    commands.unlink()
    machine.ok("install")


def test_m2_a_command_of_ours_that_its_user_made_her_own_is_hers(machine: Machine) -> None:
    """Without our marker it is replaced and removed no more."""
    machine.ok("install")
    path = machine.config / "commands" / "handoff.md"
    hers = path.read_text(encoding="utf-8").replace(MARKER, "") + "Be brief.\n"
    path.write_text(hers, encoding="utf-8")
    machine.ok("install")
    assert path.read_text(encoding="utf-8") == hers
    machine.ok("uninstall")

    assert path.read_text(encoding="utf-8") == hers


def test_m2_an_upgrade_replaces_ours_and_restores_one_that_was_deleted(machine: Machine) -> None:
    """By the marker, whatever stands in it."""
    machine.ok("install")
    path = machine.config / "commands" / "handoff.md"
    fresh = path.read_bytes()
    path.write_text(f"{MARKER}\nan older text\n", encoding="utf-8")
    machine.ok("install")
    assert path.read_bytes() == fresh
    path.unlink()
    machine.ok("install")

    assert path.read_bytes() == fresh


def test_m3_nothing_else_of_home_or_project_is_touched(machine: Machine) -> None:
    """Memory files, plugins, projects' settings: bytes and times, through the whole life of an installation."""
    kept = [
        machine.config / "CLAUDE.md",
        machine.config / "plugins" / "config.json",
        machine.config / "agents" / "reviewer.md",
        machine.home / ".claude.json",
        machine.home / ".bashrc",
        machine.project / "CLAUDE.md",
        machine.project / ".claude" / "settings.json",
        machine.project / ".git" / "config",
    ]
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text("{}\n", encoding="utf-8")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in kept}
    machine.ok("install", "--profile", "tuned")
    compaction(machine)
    transcript = (machine.transcript.read_bytes(), machine.transcript.stat().st_mtime_ns)
    compaction_again(machine)
    machine.ok("status")
    machine.run("doctor", "--fix")
    machine.ok("uninstall", "--purge")

    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in kept} == before
    now = (machine.transcript.read_bytes(), machine.transcript.stat().st_mtime_ns)
    assert now == transcript


def compaction_again(machine: Machine) -> None:
    """Let the hooks run once more on the same session."""
    machine.fire("PreCompact", {"trigger": "manual"})
    machine.fire("SessionStart", {"source": "resume"})
