"""The memory commands as their user sees them."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from keepthread import cli, cli_memory
from keepthread.host.sessions import sanitised
from keepthread.memory.directory import Directory

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


class Ran(NamedTuple):
    """What a command left."""

    code: int
    out: str
    err: str

    def json(self):
        """Return what it printed as JSON."""
        return json.loads(self.out)


@pytest.fixture
def project(tmp_path: Path, monkeypatch) -> Path:
    """Stand in a project."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    for name in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"):
        monkeypatch.setenv(name, os.devnull)
    return folder


@pytest.fixture
def run(project):
    """Return a function that runs `keepthread memory` with arguments."""

    def go(*arguments: str, typed: str | bytes = "", code: int = 0) -> Ran:
        runner = CliRunner()
        found = {}

        def invoke() -> None:
            found["code"] = cli.run(
                lambda **_: cli.cli.main(["memory", *arguments], standalone_mode=False)
            )

        with runner.isolation(input=typed) as streams:
            invoke()
            ran = Ran(found["code"], streams[0].getvalue().decode(), streams[1].getvalue().decode())
        assert ran.code == code, ran
        return ran

    return go


@pytest.fixture
def editor(tmp_path, monkeypatch):
    """Return a function that sets what an editor does with its file."""

    def use(code: str) -> None:
        script = tmp_path / "editor.py"
        script.write_text(f"import sys\npath = sys.argv[-1]\ntext = open(path).read()\n{code}\n")
        monkeypatch.setattr(cli_memory, "_is_terminal", lambda: True)
        monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")

    return use


def test_the_life_of_an_entry(run, project):
    """Set up, add, list, show, edit, move, search, remove."""
    assert run("init").out == f"The team's memory is {project}/.claude/team-memory\n"
    assert (
        run("add", "http/client.md", "Use", "httpie.", "--type", "project").out
        == "Added http/client.md (team)\n"
    )
    assert run("list", "--json").json() == [
        {
            "key": "http/client.md",
            "type": "project",
            "description": "Use httpie.",
            "scope": "team",
            "expires": "",
        }
    ]
    shown = run("show", "http/client.md", "--json").json()
    assert shown["text"].endswith("---\nUse httpie.\n")
    assert (
        run("edit", "http/client.md", typed="Use httpie 3.\n").out
        == "Changed http/client.md (team)\n"
    )
    assert "type: project" in run("show", "http/client.md").out
    assert run("mv", "http/client.md", "client.md").out == "Moved http/client.md to client.md\n"
    assert run("search", "httpie").out == "client.md (team)\n    Use httpie 3.\n"
    assert run("check").out == "Nothing to complain about.\n"
    assert run("rm", "client.md").out == "Deleted client.md (team)\n"
    assert (
        run("list").out
        == "No entries yet. Write one: keepthread memory add KEY.md TEXT --type project\n"
    )


def test_what_is_written_is_private_and_kept_out_of_git_where_it_is_made_anew(run, project):
    """Folders 0700, files 0600; MEMORY.md and the lock are not shared."""
    run("init")
    run("add", "a.md", "x", "--type", "project")
    folder = project / ".claude" / "team-memory"

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert {"/.lock", "/MEMORY.md"} <= set((folder / ".gitignore").read_text().splitlines())


def test_private_types_go_to_the_user_s_own_folder(run, project, home):
    """user and feedback; a feedback may be shared on purpose, a user entry never."""
    run("add", "me.md", "I am Ada.", "--type", "user")
    run("add", "tone.md", "Be brief.", "--type", "feedback")
    assert not (project / ".claude").exists()
    assert run("add", "p.md", "x", "--type", "project", code=1).err.endswith(
        "Set it up: keepthread memory init\n"
    )
    run("init")
    run("add", "lint.md", "Run ruff.", "--type", "feedback", "--scope", "team")
    refused = run("add", "me2.md", "I am Bob.", "--type", "user", "--scope", "team", code=1)

    assert "is private and not shared" in refused.err
    rows = {row["key"]: row["scope"] for row in run("list", "--json").json()}
    assert rows == {"me.md": "private", "tone.md": "private", "lint.md": "team"}
    assert len([*(home / ".claude" / "keepthread" / "memory").glob("*/me.md")]) == 1
    assert [row["key"] for row in run("list", "--scope", "team", "--json").json()] == ["lint.md"]


def test_a_key_in_both_memories_has_to_be_told_apart(run):
    """Nothing is guessed."""
    run("init")
    run("add", "a.md", "team", "--type", "project")
    run("add", "a.md", "mine", "--type", "project", "--scope", "private")

    assert "--scope team or --scope private" in run("show", "a.md", code=1).err
    assert run("show", "a.md", "--scope", "private").out.endswith("mine\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("add", "../x.md", "x", "--type", "project"), "dot segment\n  This one would do: x.md"),
        (("add", "x", "x", "--type", "project"), "no .md file\n  This one would do: x.md"),
        (("add", "MEMORY.md", "x", "--type", "project"), "is generated"),
        (("add", "x.md", "x"), "An entry needs a type"),
        (
            ("add", "x.md", "x", "--type", "project", "--expires", "soon"),
            "'x.md': 'soon' is no date",
        ),
        (
            ("add", "--", "x.md", "---\nx\n---\ny"),
            "'x.md': no \"key: value\" (line 2)\n  A head is lines of",
        ),
        (("add", "x.md", " ", "--type", "project"), "it says nothing\n  Write a text"),
        (("add", "x.md", TOKEN, "--type", "project"), "rule github-token"),
        (("show", "no.md"), "There is no entry 'no.md'"),
        (("rm", "/"), "absolute"),
        (("rm", ""), "empty\n  Choose another, such as notes.md"),
        (("mv", "no.md", "x.md"), "There is no entry 'no.md'"),
        (("show", "a\x1b[2J.md"), "control/invisible char"),
    ],
)
def test_a_refusal_names_the_rule_and_shows_neither_secret_nor_control(run, arguments, told):
    """Exit code 1."""
    run("init")
    ran = run(*arguments, code=1)

    assert told in ran.err
    assert TOKEN not in ran.err + ran.out
    assert "\x1b" not in ran.err + ran.out
    assert run("list", "--json").json() == []


def test_text_may_come_with_its_own_head_on_standard_input(run):
    """What is given beside it counts more."""
    run("init")
    whole = "---\nname: n\ntype: reference\nauthor: Ada\n---\nbody\n"
    run("add", "a.md", "--type", "project", typed=whole)

    shown = run("show", "a.md", "--json").json()
    assert (shown["type"], shown["name"], shown["author"]) == ("project", "n", "Ada")


def test_standard_input_that_is_no_text_is_refused(run):
    """Not stored as marks of replacement."""
    run("init")

    assert "no UTF-8" in run("add", "a.md", "--type", "project", typed=b"\xff\xfe", code=1).err
    endless = run("add", "a.md", "--type", "project", typed=b"x" * (1 << 21), code=1)
    assert "Standard input is longer than" in endless.err


def test_an_entry_may_be_written_and_changed_in_an_editor(run, editor):
    """An editor that saves nothing changes nothing."""
    run("init")
    editor("open(path, 'w').write(text.replace('description:', 'description: short') + 'long\\n')")
    run("add", "a.md", "--type", "project")
    assert "description: short" in run("show", "a.md").out
    editor("open(path, 'w').write(text.replace('long', 'longer'))")
    run("edit", "a.md")
    assert run("show", "a.md").out.endswith("longer\n")
    editor("pass")

    assert "no change" in run("edit", "a.md", code=1).err


def test_an_editor_that_fails_is_told_and_none_is_started_for_an_impossible_key(
    run, editor, tmp_path, monkeypatch
):
    """Nothing is typed in vain."""
    run("init")
    editor(f"open({str(tmp_path / 'ran')!r}, 'w'); sys.exit(1)")
    assert "dot segment" in run("add", "../a.md", "--type", "project", code=1).err
    assert not (tmp_path / "ran").exists()
    for program in (os.environ["VISUAL"], "/nowhere/editor"):
        monkeypatch.setenv("VISUAL", program)
        told = run("add", "a.md", "--type", "project", code=1).err
        assert told.startswith("keepthread: Nothing was written: the editor was not ended")
        assert "Set EDITOR" in told


def test_an_edit_that_comes_too_late_shows_the_difference_and_keeps_what_was_typed(
    run, project, editor
):
    """Somebody else's change while the editor was open."""
    run("init")
    run("add", "a.md", "one", "--type", "project")
    path = project / ".claude" / "team-memory" / "a.md"
    editor(
        f"there = {str(path)!r}\nother = open(there).read()\n"
        "open(there, 'w').write(other.replace('one', 'theirs'))\n"
        "open(path, 'w').write(text.replace('one', 'mine'))"
    )
    ran = run("edit", "a.md", code=1)

    assert "-theirs\n+mine\n" in ran.err
    kept = ran.err.partition("Your text is kept in ")[2].splitlines()[0]
    assert Path(kept).read_text().endswith("mine\n")
    assert path.read_text().endswith("theirs\n")


def test_a_version_given_with_an_edit_or_removal_guards_it(run):
    """As scripts and agents use it."""
    run("init")
    first = run("add", "a.md", "one", "--type", "project", "--json").json()["version"]
    second = run("edit", "a.md", "--base", first, typed="two\n").out
    assert second == "Changed a.md (team)\n"

    assert (
        "changed by somebody else"
        in run("edit", "a.md", "--base", first, typed="three\n", code=1).err
    )
    assert "changed by somebody else" in run("rm", "a.md", "--base", first, code=1).err
    assert run("show", "a.md").out.endswith("two\n")


def test_what_is_kept_of_a_refused_text_holds_no_secret(run, home):
    """Its user finds the rest of it."""
    run("init")
    ran = run("add", "a.md", f"long story {TOKEN}", "--type", "project", code=1)
    kept = Path(ran.err.partition("Your text is kept in ")[2].splitlines()[0])

    assert kept.read_text() == "long story [REDACTED:github-token]"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_who_changes_an_entry_is_its_author_from_then_on(run, home):
    """A member whom nobody knows yet does not speak under the name of one who is trusted."""
    run("add", "a.md", "--type", "feedback", typed="---\nauthor: Ada\n---\nhers")
    run("edit", "a.md", "still hers")
    assert "author: Ada" in run("show", "a.md").out
    (home / ".gitconfig").write_text("[user]\n\tname = Bob\n")
    run("edit", "a.md", "his")
    assert "author: Bob" in run("show", "a.md").out
    run("edit", "a.md", typed="---\ntype: feedback\nauthor: Eve\n---\nsaid by Eve")

    assert "author: Eve" in run("show", "a.md").out


def test_a_memory_md_of_somebody_s_own_is_not_replaced(run, project, tmp_path):
    """As the host's in its own folder; what was chosen before is still what counts."""
    (tmp_path / "MEMORY.md").write_text("by hand\n")
    refused = run("init", "--dir", str(tmp_path), code=1).err
    assert f"{tmp_path}/MEMORY.md is not of keepthread's making" in refused
    assert "Move it away" in refused
    assert (tmp_path / "MEMORY.md").read_text() == "by hand\n"
    assert run("init").out == f"The team's memory is {project}/.claude/team-memory\n"
    (tmp_path / "MEMORY.md").unlink()
    for _ in range(2):
        run("init", "--dir", str(tmp_path))


@pytest.mark.parametrize("inside", ["", "http"])
def test_in_the_team_s_own_folder_the_project_is_the_one_around_it(
    run, project, monkeypatch, inside
):
    """Also when the folder is a repository of its own, as a clone is."""
    run("init")
    run("add", "http/a.md", "x", "--type", "project")
    folder = project / ".claude" / "team-memory"
    (folder / ".git").mkdir()
    monkeypatch.chdir(folder / inside)

    assert run("list").out.startswith("http/a.md")
    assert run("init").out == f"The team's memory is {folder}\n"


def test_check_ends_with_1_when_there_is_an_error(run, project):
    """And prints them as JSON."""
    run("init")
    run("add", "a.md", "x", "--type", "project")
    (project / ".claude" / "team-memory" / "out.md").symlink_to("/etc/passwd")

    assert run("check", code=1).out.startswith("error: out.md (team): skipped: a link")
    assert run("check", "--json", code=1).json()[0]["error"] is True


def test_another_folder_is_remembered_for_its_user_and_may_be_a_link(run, project, tmp_path):
    """Nothing in the repository can choose it."""
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    run("init", "--dir", str(tmp_path / "link"))
    run("add", "a.md", "x", "--type", "project")

    assert (real / "a.md").exists()
    assert not (project / ".claude").exists()


@pytest.mark.parametrize("at", [".claude", ".claude/team-memory"])
def test_a_link_of_the_repository_s_making_is_not_followed(run, project, tmp_path, at):
    """Neither by init nor by anything else."""
    out = tmp_path / "out" / "team-memory"
    out.mkdir(parents=True)
    (out / "x.md").write_text("outside\n")
    (project / at).parent.mkdir(exist_ok=True)
    (project / at).symlink_to(out if at.endswith("memory") else out.parent)

    for arguments in (
        ("init",),
        ("list",),
        ("show", "x.md"),
        ("rm", "x.md"),
        ("search", "outside"),
    ):
        assert "--dir FOLDER" in run(*arguments, code=1).err
    assert sorted(path.name for path in out.iterdir()) == ["x.md"]


def test_what_the_host_noted_is_taken_over_once(run, project, home):
    """Into the user's own memory; secrets and links stay behind, and are named."""
    folder = home / ".claude" / "projects" / sanitised(str(project)) / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("- [a](a.md)\n")
    (folder / "a.md").write_text(
        "---\nname: a\ndescription: d\nmetadata:\n  type: project\nmodified: 2026-01-02T03:04:05Z\n---\nbody\n"
    )
    (folder / "b.md").write_text(f"---\ntype: user\n---\n{TOKEN}\n")
    (folder / "l.md").symlink_to("/etc/passwd")
    ran = run("import")
    assert ran.out.splitlines()[-1] == "1 added, 0 known, 2 refused"
    assert TOKEN not in ran.out
    assert run("import").out.splitlines()[-1] == "0 added, 1 known, 2 refused"
    shown = run("show", "a.md", "--json").json()

    assert (shown["scope"], shown["updated"]) == ("private", "2026-01-02T03:04:05+00:00")
    run("init")
    results = run("import", "--share", "--json").json()
    assert {one["key"]: one["result"] for one in results} == {
        "a.md": "added",
        "b.md": "refused",
        "l.md": "refused",
    }


def test_what_of_the_host_s_notes_is_not_taken_over_is_named(run, project, home, tmp_path):
    """Also what is too long to be read; a secret by the line of its file."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "big.md").write_text("x" * 300_000)
    (folder / "secret.md").write_text(f"---\ntype: project\n---\none\n{TOKEN}\n")
    told = run("import", "--from", str(folder)).out

    assert "refused: big.md ('big.md' is left alone: it is longer than" in told
    assert "in line 5 (rule github-token)" in told
    assert TOKEN not in told


def test_without_the_host_s_memory_the_import_says_where_it_looked(run, home):
    """And how to name another folder."""
    ran = run("import", code=1)

    assert str(home) in ran.err
    assert "--from FOLDER" in ran.err


def test_what_others_wrote_cannot_move_the_cursor(run, project):
    """In listings, entries and findings."""
    run("init")
    folder = project / ".claude" / "team-memory"
    (folder / "a.md").write_text(
        '---\ndescription: "x\\u001b[2J"\ntype: project\n---\ny\x1b[2J\u202e\n'
    )

    for arguments in (("list",), ("show", "a.md"), ("search", "y"), ("check",)):
        out = run(*arguments).out
        assert "\x1b" not in out
        assert "\u202e" not in out


def test_without_a_terminal_no_editor_is_started(run, monkeypatch):
    """It would wait for ever."""
    monkeypatch.setenv("VISUAL", "false")
    run("init")
    run("add", "a.md", "x", "--type", "project")

    for arguments in (("add", "b.md", "--type", "project"), ("edit", "a.md")):
        assert "There is no text" in run(*arguments, code=1).err


def test_what_was_typed_is_kept_when_the_disk_is_full(run, monkeypatch):
    """That of the memory; the state folder may lie on another."""

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "a.md")

    run("init")
    run("add", "b.md", "x", "--type", "project")
    monkeypatch.setattr(Directory, "write", full)
    for arguments in (("add", "a.md", "--type", "project"), ("edit", "b.md")):
        ran = run(*arguments, typed="long story", code=1)
        kept = Path(ran.err.partition("Your text is kept in ")[2].splitlines()[0])
        assert kept.read_text() == "long story"
        assert "No space left" in ran.err


def test_what_was_typed_for_an_impossible_key_is_kept_too(run):
    """Under a name that every system takes."""
    run("init")
    for key in ("../" * 200 + "x.md", "\x1b[2J.md", "日本語" * 60, "..", "CON"):
        ran = run("add", key, "long story", "--type", "project", code=1)
        kept = Path(ran.err.partition("Your text is kept in ")[2].splitlines()[0])
        assert kept.name.startswith("unsaved-")
        assert kept.name.isprintable()
        assert kept.read_text() == "long story"


def test_what_was_typed_twice_for_one_key_is_kept_twice_and_a_secret_key_nowhere(run):
    """A second refusal does not cost the first text; the name of the file gives nothing away."""
    run("init")
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    told = [run("add", "CON", text, "--type", "project", code=1).err for text in ("one", "two")]
    kept = [Path(one.partition("Your text is kept in ")[2].splitlines()[0]) for one in told]

    assert [path.read_text() for path in kept] == ["one", "two"]
    assert token not in run("add", f"{token}.md", "x", "--type", "project", code=1).err


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="no /proc here")
def test_a_folder_where_none_can_be_made_is_refused_in_words(run):
    """There are folders in which nothing can be made though they are there."""
    assert "bug" not in run("init", "--dir", "/proc/team", code=1).err


@pytest.mark.parametrize("relative", [".", "", "tools"])
def test_a_git_of_the_project_is_not_asked_for_the_author(
    run, project, tmp_path, monkeypatch, relative
):
    """A repository's settings may put a relative folder on PATH."""
    mark = tmp_path / "mark"
    for folder in (project, project / "tools"):
        folder.mkdir(exist_ok=True)
        (folder / "git").write_text(f"#!/bin/sh\n: >'{mark}'\n")
        (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{relative}:{os.environ['PATH']}")
    run("add", "a.md", "whose?", "--type", "feedback")

    assert not mark.exists()


def test_a_secret_is_named_by_the_line_that_its_user_typed(run):
    """Not by one of the head that keepthread would have put above it."""
    run("init")
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    run("add", "a.md", "x", "--type", "project")
    for arguments in (("add", "b.md", "--type", "project"), ("edit", "a.md")):
        told = run(*arguments, f"first\nsecond {token}", code=1).err
        assert "in line 2 (rule github-token)" in told
        assert token not in told
