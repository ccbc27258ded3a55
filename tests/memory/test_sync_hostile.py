"""Remotes, repositories and environments made to run a program, to write elsewhere, or to stop everybody else."""

from __future__ import annotations

import os
import stat

import pytest

from keepthread.errors import KeepthreadError
from keepthread.memory import repository
from keepthread.memory.git import Git
from tests.support.team_clones import Clone, bare, blob, git, plant, texts

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
GOOD = b"---\ntype: project\n---\ngood\n"
HOOKS = (
    *("pre-receive", "update", "post-receive", "post-update", "reference-transaction"),
    *("proc-receive", "push-to-checkout", "pre-push", "post-checkout", "post-merge", "pre-auto-gc"),
    *("post-index-change", "pre-commit", "post-commit", "commit-msg", "fsmonitor-watchman"),
)


@pytest.fixture
def remote(tmp_path):
    """Make an empty remote."""
    return bare(tmp_path / "remote.git")


@pytest.fixture
def ada(tmp_path, remote):
    """Make one member, who has shared an entry."""
    made = Clone(tmp_path, "ada", remote)
    made.add("first.md", "The first")
    made.sync()
    return made


@pytest.fixture
def trap(tmp_path):
    """Make a program that leaves a trace when it is run, and see at the end that it was not."""
    made = tmp_path / "trap"
    trace = tmp_path / "trace"
    made.write_text(f"#!/bin/sh\ntouch {trace}\nexit 1\n")
    made.chmod(0o755)
    yield made

    assert not trace.exists()


def tree(remote, *rows):
    """Write a tree of (mode, object, name) and return it."""
    kinds = {"160000": "commit", "040000": "tree"}
    given = b"".join(
        f"{mode} {kinds.get(mode, 'blob')} {oid}\t".encode() + os.fsencode(name) + b"\0"
        for mode, oid, name in rows
    )
    return git(remote, "mktree", "-z", "--missing", given=given)


def hostile(remote):
    """Return by name what a tree may hold: mode, object and the reason for which it is left out, "" for none."""
    good = blob(remote, GOOD)
    evil = blob(remote, b"* filter=evil\n")
    head = git(remote, "rev-parse", "main")
    return {
        "sound.md": ("100755", good, ""),
        "folder": ("040000", tree(remote, ("100755", good, "deep.md")), ""),
        "link.md": ("120000", blob(remote, b"/etc/passwd"), "a link"),
        "dirlink": ("120000", blob(remote, b"/tmp"), "no .md file"),
        "module.md": ("160000", head, "submodule"),
        "module": ("160000", head, "no .md file"),
        ".gitattributes": ("100644", evil, "bad first char"),
        ".gitmodules": ("100644", evil, "bad first char"),
        ".hidden.md": ("100644", good, "bad first char"),
        "CON.md": ("100644", good, "device name"),
        "a\\b.md": ("100644", good, "backslash"),
        "CLAUDE.md": ("100644", good, "instructions"),
        "cafe\u0301.md": ("100644", good, "not NFC"),
        "bad\udcff.md": ("100644", good, "surrogate"),
        "esc\x1b[2J.md": ("100644", good, "control"),
        "-rf.md": ("100644", good, "bad first char"),
        "program.sh": ("100755", good, "no .md file"),
        "huge.md": ("100644", blob(remote, b"x" * 70_000), "longer than"),
        "secret.md": ("100644", blob(remote, f"{TOKEN}\n".encode()), "secret"),
        "binary.md": ("100644", blob(remote, b"\xff\xfe"), "UTF-8"),
        "broken.md": ("100644", blob(remote, b"---\ntype: nonsense\n---\n"), "type"),
        "user.md": ("100644", blob(remote, b"---\ntype: user\n---\nme\n"), "private"),
        "Twin.md": ("100644", good, ""),
        "twin.md": ("100644", blob(remote, GOOD + b"other\n"), "for one"),
        "MEMORY.md": ("100644", blob(remote, b"injected\n"), ""),
    }


def planted(remote):
    """Put a hostile tree beside the first entry; return what `hostile` says of it."""
    rows = hostile(remote)
    first = ("100644", git(remote, "rev-parse", "main:first.md"), "first.md")
    plant(remote, [first, *((mode, oid, name) for name, (mode, oid, _) in rows.items())])
    return rows


def test_of_a_hostile_tree_only_sound_entries_are_taken_and_the_rest_is_named(
    tmp_path, remote, ada
):
    """Nothing is written elsewhere."""
    rows = planted(remote)
    before = sorted(str(path) for path in tmp_path.rglob("*") if ".git" not in str(path))
    reasons = {one.path: one.reason for one in ada.sync().skipped}
    after = sorted(str(path) for path in tmp_path.rglob("*") if ".git" not in str(path))

    assert set(ada.texts()) == {"first.md", "sound.md", "folder/deep.md", "Twin.md"}
    assert {name for name, row in rows.items() if row[2]} == set(reasons)
    for name, (_, _, reason) in rows.items():
        assert reason in reasons.get(name, ""), name
    new = {path for path in after if path not in before and "/.claude/keepthread" not in path}
    assert {path.removeprefix(f"{ada.team}/") for path in new} == {
        *("sound.md", "folder", "folder/deep.md", "Twin.md")
    }
    assert b"injected" not in (ada.team / "MEMORY.md").read_bytes()
    assert stat.S_IMODE((ada.team / "sound.md").stat().st_mode) == 0o600


def test_what_is_left_out_of_a_hostile_tree_stays_in_it_and_the_team_goes_on(remote, ada):
    """Another's commit is built upon, not mended."""
    rows = planted(remote)
    ada.sync()
    ada.add("ada.md", "goes on")
    ada.sync()

    assert "ada.md" in texts(remote)
    kept = git(remote, "ls-tree", "-r", "-z", "main").split("\0")
    assert f"120000 blob {rows['link.md'][1]}\tlink.md" in kept
    assert f"160000 commit {rows['module'][1]}\tmodule" in kept


@pytest.mark.parametrize("name", [".git", "..", "../out.md", "/abs.md", ".GIT", "git~1"])
def test_a_tree_with_names_that_no_git_writes_goes_nowhere(tmp_path, remote, ada, name):
    """A path upwards, or into git's own folder."""
    good = blob(remote, GOOD)
    hooks = tree(remote, ("100755", good, "post-checkout.md"))
    body = f"040000 {name}".encode() if name.strip("./") != name or "/" not in name else b""
    rows = [
        (b"100644 sound.md", good),
        (body or f"100644 {name}".encode(), hooks if body else good),
    ]
    rows.sort(key=lambda row: row[0].partition(b" ")[2])
    raw = b"".join(head + b"\0" + bytes.fromhex(oid) for head, oid in rows)
    made = git(remote, "hash-object", "-t", "tree", "-w", "--literally", "--stdin", given=raw)
    old = git(remote, "rev-parse", "main")
    commit = git(remote, "commit-tree", made, "-p", old, "-m", "evil")
    git(remote, "update-ref", "refs/heads/main", commit)
    git_before = sorted(os.listdir(ada.team / ".git" / "hooks"))

    assert ada.sync().received.added == ["sound.md"]
    assert sorted(os.listdir(ada.team / ".git" / "hooks")) == git_before
    assert not (ada.team.parent / "out.md").exists()
    assert not list(tmp_path.rglob("post-checkout.md"))


def test_a_tree_that_unfolds_without_end_is_given_up(remote, ada):
    """Ten names at each of nine levels: a milliard paths in a few hundred bytes."""
    below = tree(remote, *(("100644", blob(remote, GOOD), f"{n}.md") for n in range(10)))
    for _ in range(8):
        below = tree(remote, *(("040000", below, str(n)) for n in range(10)))
    plant(remote, [("040000", below, "bomb")])

    with pytest.raises(KeepthreadError, match=r"wrote more than|too many files"):
        ada.sync()
    assert list(ada.texts()) == ["first.md"]


def test_a_link_in_the_place_of_a_known_entry_neither_deletes_nor_replaces_it(remote, ada):
    """It is named each time; a change here waits for it to be mended."""
    link = blob(remote, b"/etc/passwd")
    plant(remote, [("120000", link, "first.md")])
    assert [(one.path, one.side) for one in ada.sync().skipped] == [("first.md", "remote")]
    assert ada.bodies() == {"first.md": "The first"}
    ada.edit("first.md", "mine")
    ada.sync()
    assert ada.bodies() == {"first.md": "mine"}
    plant(remote, [("100644", blob(remote, GOOD), "first.md")])
    ada.sync()

    assert sorted(ada.bodies().values()) == ["good", "mine"]


def test_a_link_here_in_the_place_of_an_entry_is_no_deletion(tmp_path, remote, ada):
    """Nor is it followed."""
    outside = tmp_path / "outside.md"
    outside.write_bytes(GOOD)
    (ada.team / "first.md").unlink()
    (ada.team / "first.md").symlink_to(outside)
    plant(remote, [("100644", blob(remote, GOOD + b"newer\n"), "first.md")])
    report = ada.sync()

    assert [(one.path, one.side) for one in report.skipped] == [("first.md", "here")]
    assert outside.read_bytes() == GOOD
    assert set(texts(remote)) == {"first.md"}


@pytest.mark.parametrize(
    "setting",
    [
        "core.sshCommand",
        "core.gitProxy",
        "core.askPass",
        "core.fsmonitor",
        "core.alternateRefsCommand",
        "credential.helper",
        "credential.https://example.org.helper",
        "remote.origin.uploadpack",
        "remote.origin.receivepack",
        "remote.origin.proxy",
        "remote.origin.vcs",
        "url.ext::sh.insteadOf",
        "url.ext::sh.pushInsteadOf",
        "http.proxy",
        "http.https://example.org/.sslVerify",
        "include.path",
        "includeIf.gitdir:/.path",
        "gpg.program",
        "uploadpack.packObjectsHook",
        "extensions.partialClone",
    ],
)
def test_a_setting_of_the_repository_that_acts_is_named_and_nothing_is_run(ada, trap, setting):
    """Whose it is cannot be told; its user can move it."""
    before = ada.texts()
    if "include" in setting.lower():
        trap = trap.with_name("included")
        trap.write_text("[core]\n\tpager = cat\n")
    git(ada.team, "config", setting, str(trap))
    ada.add("ada.md", "a")

    with pytest.raises(KeepthreadError, match="run a program or lead elsewhere") as caught:
        ada.sync()
    assert setting.split(".")[0] in caught.value.message.lower().replace("includeif", "includeIf")
    assert "--global" in caught.value.hint
    assert set(ada.texts()) == {*before, "ada.md"}


def test_hooks_filters_and_whatever_else_a_repository_can_hold_are_not_run(ada, trap, remote):
    """In the clone, and in a remote that is a folder: on either side of a fetch and a push."""
    attributes = "* filter=evil diff=evil merge=evil ident text eol=crlf\n"
    (ada.team / ".gitattributes").write_text(attributes)
    (ada.team / ".git" / "info").mkdir(exist_ok=True)
    (ada.team / ".git" / "info" / "attributes").write_text(attributes)
    for folder in (ada.team / ".git", remote):
        (folder / "hooks").mkdir(exist_ok=True)
        for hook in HOOKS:
            (folder / "hooks" / hook).write_bytes(trap.read_bytes())
            (folder / "hooks" / hook).chmod(0o755)
    for name in (
        *("filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.textconv"),
        *("diff.external", "merge.evil.driver", "core.pager", "core.editor", "sequence.editor"),
        *("alias.fetch", "alias.push", "pager.log", "interactive.diffFilter", "core.hooksPath"),
    ):
        git(ada.team, "config", name, f"!{trap}" if name.startswith("alias") else str(trap))
    os.utime(ada.team / "first.md", (4e9, 4e9))  # looked into each time an index is written
    git(ada.team, "-c", "filter.evil.clean=", "-c", "filter.evil.process=", "add", "first.md")
    git(ada.team, "config", "commit.gpgSign", "true")
    git(ada.team, "config", "submodule.recurse", "true")
    for name in ("core.fsmonitor", "core.alternateRefsCommand", "uploadpack.packObjectsHook"):
        git(remote, "config", name, str(trap))
    (remote / "objects" / "info").mkdir(exist_ok=True)
    (remote / "objects" / "info" / "alternates").write_text(f"{ada.team}/.git/objects\n")
    ada.add("ada.md", "a")

    assert ada.sync().outcome == "synced"
    assert set(texts(remote)) == {"first.md", "ada.md"}
    plant(remote, [("100644", blob(remote, GOOD), "theirs.md")])
    assert ada.sync().received.added == ["theirs.md"]


def test_the_environment_steers_nothing(tmp_path, ada, trap, remote, monkeypatch):
    """Another's project can set the variables of whatever the host starts."""
    programs = ada.project / "bin"
    programs.mkdir()
    (programs / "git").write_bytes(trap.read_bytes())
    (programs / "git").chmod(0o755)
    config = ada.project / "config" / "git"
    config.mkdir(parents=True)
    (config / "config").write_text(f"[core]\n\tfsmonitor = {trap}\n\tsshCommand = {trap}\n")
    for name, value in {
        "PATH": f"{programs}:bin::{os.environ['PATH']}",
        "XDG_CONFIG_HOME": str(config.parent),
        "GIT_DIR": str(tmp_path / "elsewhere"),
        "GIT_WORK_TREE": str(tmp_path),
        "GIT_INDEX_FILE": str(tmp_path / "index"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "objects"),
        "GIT_SSH_COMMAND": str(trap),
        "GIT_EXTERNAL_DIFF": str(trap),
        "GIT_ASKPASS": str(trap),
        "SSH_ASKPASS": str(trap),
        "GIT_PROXY_COMMAND": str(trap),
        "GIT_TEMPLATE_DIR": str(tmp_path),
        "GIT_EXEC_PATH": str(programs),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(trap),
        "GIT_CONFIG_PARAMETERS": f"'core.fsmonitor={trap}'",
        "GIT_ALLOW_PROTOCOL": "ext",
    }.items():
        monkeypatch.setenv(name, value)
    ada.add("ada.md", "a")
    outcome = ada.sync().outcome
    monkeypatch.undo()

    assert outcome == "synced"
    assert "ada.md" in texts(remote)
    assert not (tmp_path / "index").exists()


def test_a_folder_made_up_as_a_bare_repository_is_none(tmp_path, trap, monkeypatch):
    """Its configuration would count for whatever git is started in it."""
    made = Clone(tmp_path, "ada", tmp_path / "nowhere", clone=False)
    folder = bare(tmp_path / "planted")
    git(folder, "config", "core.fsmonitor", str(trap))
    git(folder, "config", "core.hooksPath", str(tmp_path))
    for path in folder.iterdir():
        path.rename(made.team / path.name)
    (made.team / ".git").rename(tmp_path / "moved")
    made.add("ada.md", "a")

    with pytest.raises(KeepthreadError, match=r"cannot be used|no git repository"):
        made.sync()


def test_a_pointer_to_another_git_folder_is_not_followed(tmp_path, ada, trap):
    """It may be one that its author prepared, or another repository of the user's own."""
    planted = tmp_path / "planted"
    (ada.team / ".git").rename(planted)
    for hook in HOOKS:
        (planted / "hooks" / hook).write_bytes(trap.read_bytes())
        (planted / "hooks" / hook).chmod(0o755)
    git(planted, "config", "core.sshCommand", str(trap))
    (ada.team / ".git").write_text(f"gitdir: {planted}\n")
    with pytest.raises(KeepthreadError, match="does not know this folder"):
        ada.sync()
    (ada.team / ".git").unlink()
    (ada.team / ".git").symlink_to(planted)
    with pytest.raises(KeepthreadError, match="does not know this folder"):
        ada.sync()


@pytest.mark.parametrize(
    "name",
    [
        *("index", "HEAD", "config", "objects", "objects/??", "objects/pack", "logs"),
        *(
            "refs",
            "refs/heads",
            "refs/heads/main",
            "refs/remotes/origin",
            "refs/remotes/origin/main",
        ),
        *("logs/refs/heads/main", "logs/refs/remotes/origin", "logs/refs/remotes/origin/main"),
    ],
)
def test_a_link_in_gits_folder_is_not_written_through(tmp_path, ada, name):
    """As an index that leads to a file which a shell reads."""
    path, outside = next((ada.team / ".git").glob(name)), tmp_path / "outside"
    path.rename(outside)
    path.symlink_to(outside)
    ada.add("ada.md", "a")
    before = outside.read_bytes() if outside.is_file() else sorted(outside.rglob("*"))

    with pytest.raises(KeepthreadError, match=r"git would write through|no repository"):
        ada.sync()
    assert before == (outside.read_bytes() if outside.is_file() else sorted(outside.rglob("*")))


def test_a_work_tree_elsewhere_is_not_believed(tmp_path, ada):
    """The configuration would move the paths of the commit."""
    git(ada.team, "config", "core.worktree", str(tmp_path))

    with pytest.raises(KeepthreadError, match=r"no repository that git can use"):
        ada.sync()


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("/srv/team.git", True),
        ("../team.git", True),
        ("file:///srv/team.git", True),
        ("./a:b/team.git", True),
        ("host:team.git", False),
        ("git@host:team.git", False),
        ("ssh://host/team.git", False),
        ("https://user:pass@host/team.git", False),
    ],
)
def test_a_remote_that_is_a_folder_is_told_from_one_elsewhere(url, local):
    """Only there are the programs of the other side ours to choose."""
    assert repository.is_local(url) == local
    assert "pass" not in repository.redacted(url)


def test_git_that_hangs_or_never_stops_writing_is_ended(tmp_path, home):
    """With what it started; an alias of the user's own stands for a server."""
    (home / ".gitconfig").write_text('[alias]\n\thang = "!sleep 600"\n\tflood = "!yes"\n')
    runner = Git(str(tmp_path))

    with pytest.raises(KeepthreadError, match="took longer than"):
        runner.run("hang", seconds=0.5)
    with pytest.raises(KeepthreadError, match="wrote more than 1000 bytes"):
        runner.run("flood", limit=1000)
