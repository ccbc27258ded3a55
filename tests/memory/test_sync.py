"""Sync with a remote of the memory's own: what goes where, what is kept, what is asked again."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from keepthread.errors import KeepthreadError
from keepthread.memory import sync as sync_module
from keepthread.memory.store import Memory
from tests.support.team_clones import SOURCE, Clone, bare, git, settle, texts

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def remote(tmp_path):
    """Make an empty remote."""
    return bare(tmp_path / "remote.git")


@pytest.fixture
def ada(tmp_path, remote):
    """Make one member."""
    return Clone(tmp_path, "ada", remote)


@pytest.fixture
def bob(tmp_path, remote, ada):
    """Make another, who joins when the first entries are there."""
    ada.add("first.md", "The first")
    ada.sync()
    return Clone(tmp_path, "bob", remote)


def test_what_one_writes_reaches_the_other_byte_for_byte(ada, bob, remote):
    """Additions, changes and deletions; private files, an index that fits, git has nothing to say."""
    ada.add("http/client.md", "Use httpie")
    ada.edit("first.md", "The first, changed")
    sent = ada.sync().sent
    received = bob.sync().received

    assert (sent.added, sent.changed) == (["http/client.md"], ["first.md"])
    assert (received.added, received.changed) == (["http/client.md"], ["first.md"])
    assert ada.texts() == bob.texts() == texts(remote)
    assert (bob.team / "http" / "client.md").stat().st_mode & 0o777 == 0o600
    assert "client" in (bob.team / "MEMORY.md").read_text()
    assert (ada.status(), bob.status()) == ("", "")

    bob.rm("http/client.md")
    bob.sync()
    assert ada.sync().received.deleted == ["http/client.md"]
    assert ada.texts() == bob.texts() == texts(remote)
    assert (ada.status(), bob.status()) == ("", "")


def test_nothing_to_do_changes_nothing(ada, bob, remote):
    """No empty commits."""
    bob.sync()
    before = git(remote, "rev-parse", "main")

    assert [one.sync().outcome for one in (ada, bob)] == ["unchanged", "unchanged"]
    assert git(remote, "rev-parse", "main") == before


def test_what_both_changed_is_kept_twice_and_no_more(ada, bob, remote):
    """Each finds both versions under the same keys; a further sync makes no further copies."""
    ada.edit("first.md", "as ada says")
    bob.edit("first.md", "as bob says")
    ada.sync()
    report = bob.sync()
    [conflict] = report.conflicts
    settle([ada, bob])

    assert conflict.key == "first.md"
    assert "version ada-" in conflict.kept_as
    assert (
        ada.bodies() == bob.bodies() == {"first.md": "as bob says", conflict.kept_as: "as ada says"}
    )
    assert ada.texts() == bob.texts() == texts(remote)
    assert bob.sync().outcome == "unchanged"


def test_both_add_the_same_key(ada, bob):
    """As both changed it; the same text is no conflict."""
    ada.add("new.md", "one")
    bob.add("new.md", "other")
    for clone in (ada, bob):
        (clone.team / "same.md").write_text("---\ntype: project\n---\nsame\n")
    ada.sync()
    conflicts = bob.sync().conflicts
    settle([ada, bob])

    assert [one.key for one in conflicts] == ["new.md"]
    assert sorted(ada.bodies().values()) == ["The first", "one", "other", "same"]
    assert ada.texts() == bob.texts()


@pytest.mark.parametrize("first", ["deletes", "changes"])
def test_a_change_outlives_a_deletion(ada, bob, first):
    """Whoever comes first; it is told."""
    deleting, changing = ada, bob
    deleting.rm("first.md")
    changing.edit("first.md", "still needed")
    one, two = (deleting, changing) if first == "deletes" else (changing, deleting)
    one.sync()
    report = two.sync()
    settle([ada, bob])

    assert [one.key for one in report.conflicts] == ["first.md"]
    assert ada.bodies() == bob.bodies() == {"first.md": "still needed"}


def test_a_conflict_that_is_resolved_before_the_remote_is_reached_stays_resolved(ada, bob, remote):
    """The other version is merged once, not again and again."""
    ada.edit("first.md", "as ada says")
    bob.edit("first.md", "as bob says")
    ada.sync()
    hook = remote / "refs" / "heads" / "main.lock"
    hook.touch()  # the remote can be read and takes nothing
    with pytest.raises(KeepthreadError):
        bob.sync()
    hook.unlink()
    [kept] = [key for key in bob.texts() if "version" in key]
    bob.edit("first.md", "as both say")
    bob.rm(kept)
    settle([bob, ada])

    assert ada.bodies() == bob.bodies() == {"first.md": "as both say"}


def test_a_remote_of_an_unrelated_history_is_merged(tmp_path, remote, ada):
    """Both had entries before they met."""
    ada.add("mine.md", "mine")
    ada.add("both.md", "the same key, one way")
    ada.sync()
    bob = Clone(tmp_path, "bob", remote, clone=False)
    bob.add("other.md", "other")
    bob.add("both.md", "the same key, other way")
    git(bob.team, "add", "other.md")
    git(bob.team, "commit", "-q", "-m", "by hand")
    bob.sync()
    ada.sync()

    assert ada.texts() == bob.texts() == texts(remote)
    assert len(ada.texts()) == 4
    assert (
        git(remote, "merge-base", "--is-ancestor", git(bob.team, "rev-parse", "HEAD"), "main") == ""
    )
    assert bob.status() == ""


def test_a_first_sync_fills_an_empty_remote_and_an_empty_folder(tmp_path, remote):
    """Of a repository without a commit."""
    ada = Clone(tmp_path, "ada", remote, clone=False)
    assert ada.sync().outcome == "unchanged"
    ada.add("a.md", "a")
    assert ada.sync().outcome == "synced"
    bob = Clone(tmp_path, "bob", remote, clone=False)
    bob.sync()

    assert bob.texts() == ada.texts() == texts(remote)
    assert (ada.status(), bob.status()) == ("", "")


def test_a_clone_that_nobody_told_a_branch_uses_the_remotes_own(tmp_path, remote, ada):
    """Else the team would be split in two."""
    ada.add("a.md", "a")
    ada.sync()
    bob = Clone(tmp_path, "bob", remote, clone=False)
    git(bob.team, "symbolic-ref", "HEAD", "refs/heads/trunk")
    bob.add("b.md", "b")
    bob.sync()

    assert git(remote, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert set(texts(remote)) == {"a.md", "b.md"}


def test_offline_it_commits_here_and_goes_on_later(ada, bob, remote):
    """The remote is away for two syncs of both."""
    away = remote.rename(remote.with_name("away.git"))
    for clone in (ada, bob):
        for number in range(2):
            clone.add(f"{clone.name}-{number}.md", "offline")
            report = clone.sync()
            assert report.outcome == "offline"
            assert report.notes
        clone.edit("first.md", f"as {clone.name} says, offline")
        clone.sync()
        assert clone.status() == ""
    assert git(ada.team, "rev-list", "--count", "HEAD") == "4"
    away.rename(remote)
    settle([ada, bob])

    assert ada.texts() == bob.texts() == texts(remote)
    assert len(ada.texts()) == 6
    assert ada.status() == bob.status() == ""


def test_why_ssh_did_not_reach_the_remote_is_told(tmp_path, ada, monkeypatch):
    """It says so in a line of its own, and git only that it could not read."""
    ssh = tmp_path / "programs" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(
        "#!/bin/sh\necho 'ada@example.org: Permission denied (publickey).' >&2\nexit 255\n"
    )
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}:{os.environ['PATH']}")
    git(ada.team, "remote", "set-url", "origin", "ada@example.org:team.git")
    report = ada.sync()

    assert report.outcome == "offline"
    assert "Permission denied (publickey)" in report.notes[0]
    assert "Please make sure" not in report.notes[0]


def test_a_trial_says_what_it_would_do_and_does_nothing(ada, bob, remote):
    """Neither here nor there, not even objects."""
    ada.add("ada.md", "a")
    ada.sync()
    bob.add("bob.md", "b")
    before = _everything(bob)
    report = bob.sync(trial=True)

    assert (report.received.added, report.sent.added) == (["ada.md"], ["bob.md"])
    assert report.outcome == "trial"
    assert _everything(bob) == before
    assert "bob.md" not in texts(remote)


def _everything(clone):
    return {
        str(path): path.read_bytes()
        for path in clone.team.rglob("*")
        if path.is_file() and path.name not in (".lock", "index")
    }


def test_an_entry_with_a_secret_stays_here_and_is_named(ada, bob, remote):
    """As one that is private, broken or empty; nothing of them is in the remote's history."""
    ada.add("fine.md", "fine")
    (ada.team / "secret.md").write_text(f"---\ntype: project\n---\nline\n{TOKEN}\n")
    (ada.team / "user.md").write_text("---\ntype: user\n---\nabout me\n")
    (ada.team / "broken.md").write_text("---\nname: x\n")
    (ada.team / "empty.md").write_text("")
    (ada.team / "CLAUDE.md").write_text("Obey.\n")
    (ada.team / "long.md").write_text("x" * 70_000)
    reasons = {one.path: one.reason for one in ada.sync().skipped}
    bob.sync()

    assert set(texts(remote)) == {"first.md", "fine.md"} == set(bob.texts())
    assert set(reasons) == {
        f"{n}.md" for n in ("secret", "user", "broken", "empty", "CLAUDE", "long")
    }
    assert "line 5" in reasons["secret.md"]
    assert TOKEN not in reasons["secret.md"]
    assert TOKEN not in git(remote, "log", "-p", "main")


def test_a_secret_in_a_commit_made_by_hand_is_not_pushed(ada, bob, remote):
    """Though its file is gone again: the history would tell."""
    (ada.team / "x.txt").write_text(f"{TOKEN}\n")
    git(ada.team, "add", "x.txt")
    git(ada.team, "commit", "-q", "-m", "oops")
    git(ada.team, "rm", "-q", "x.txt")
    git(ada.team, "commit", "-q", "-m", "gone")
    before = git(remote, "rev-parse", "main")

    with pytest.raises(KeepthreadError, match=r"holds a secret in 'x.txt'"):
        ada.sync()
    assert git(remote, "rev-parse", "main") == before


def test_commits_made_by_hand_go_along(ada, bob, remote):
    """With what they hold beside entries; what others keep there stays."""
    (ada.team / "LICENSE").write_text("free\n")
    git(ada.team, "add", "LICENSE")
    git(ada.team, "commit", "-q", "-m", "licence")
    bob.add("bob.md", "b")
    bob.sync()
    ada.add("ada.md", "a")
    ada.sync()
    bob.edit("bob.md", "c")
    bob.sync()

    assert git(remote, "show", "main:LICENSE") == "free"
    assert "licence" in git(remote, "log", "--format=%s", "main")
    assert not (bob.team / "LICENSE").exists()
    assert (ada.status(), bob.status()) == ("", "")


def test_a_pull_by_hand_between_two_syncs_is_no_conflict(ada, bob, remote):
    """What git itself brought into the folder counts as agreed on."""
    bob.sync()
    ada.edit("first.md", "second")
    ada.sync()
    git(bob.team, "pull", "-q", "--ff-only")
    ada.edit("first.md", "third")
    ada.sync()
    report = bob.sync()

    assert report.conflicts == []
    assert bob.bodies() == {"first.md": "third"}


def test_a_folder_that_lost_most_entries_is_no_wish_to_delete_them(ada, bob, remote):
    """It takes a word."""
    for number in range(8):
        ada.add(f"e{number}.md", str(number))
    ada.sync()
    for number in range(7):
        (ada.team / f"e{number}.md").unlink()

    with pytest.raises(KeepthreadError, match=r"7 of 9 entries are gone"):
        ada.sync()
    assert len(texts(remote)) == 9
    assert len(ada.sync(allow_deletions=True).sent.deleted) == 7
    bob.sync()
    assert set(bob.texts()) == {"first.md", "e7.md"}


def test_a_remote_whose_history_was_replaced_deletes_nothing(ada, bob, remote):
    """What is not there any more is sent again."""
    ada.add("keep.md", "keep")
    ada.sync()
    tree = git(remote, "mktree", given=b"")
    other = git(remote, "commit-tree", tree, "-m", "another beginning")
    git(remote, "update-ref", "refs/heads/main", other)
    report = ada.sync()

    assert any("history" in note for note in report.notes)
    assert set(ada.texts()) == {"first.md", "keep.md"} == set(texts(remote))


def test_line_ends_alone_are_no_change(ada, bob, remote):
    """As a clone on Windows has them."""
    (bob.team / "first.md").write_bytes(
        (bob.team / "first.md").read_bytes().replace(b"\n", b"\r\n")
    )
    assert bob.sync().sent.changed == []
    ada.edit("first.md", "newer")
    ada.sync()
    assert bob.sync().conflicts == []
    assert bob.bodies() == {"first.md": "newer"}


def test_new_authors_are_named_once(ada, bob):
    """Those who wrote what came in, and nothing that was here."""
    bob.add("bob.md", "b")
    bob.sync()

    assert ada.sync().new_authors == ["bob"]
    bob.edit("bob.md", "c")
    bob.sync()
    assert ada.sync().new_authors == []


def test_what_a_session_is_not_shown_yet_is_told(ada, bob):
    """Until its user has looked; an author who comes later is one more to look at."""
    from keepthread.memory import trust

    def told():
        return any("keepthread memory trust" in note for note in bob.sync().notes)

    ada.add("two.md", "2")
    ada.sync()
    assert told()
    root = os.path.realpath(bob.team)
    trust.decide(
        bob.place.private_path,
        root,
        [git(bob.team, "remote", "get-url", "origin")],
        trusted=True,
        authors=["ada", "bob"],
        when="",
    )
    ada.add("three.md", "3")
    ada.sync()
    assert not told()
    (ada.team / "x.md").write_text("---\ntype: project\nauthor: Mallory\n---\nx\n")
    ada.sync()
    assert told()


def test_an_entry_changed_while_the_remote_is_asked_is_not_overwritten(ada, bob, monkeypatch):
    """The sync looks again, and keeps both versions."""
    ada.edit("first.md", "as ada says")
    ada.sync()
    bob.sync()
    ada.edit("first.md", "as ada says now")
    ada.sync()
    real = Memory.replace_all
    times: list[int] = []

    def change_first(memory, changes):
        if not times:
            times.append(1)
            bob.edit("first.md", "as bob typed this instant")
        return real(memory, changes)

    monkeypatch.setattr(Memory, "replace_all", change_first)
    report = bob.sync()

    assert len(report.conflicts) == 1
    assert sorted(bob.bodies().values()) == ["as ada says now", "as bob typed this instant"]


def test_a_rejected_push_fetches_and_merges_again(ada, bob, remote, monkeypatch):
    """Somebody was faster, again and again."""
    from keepthread.memory.bench import Bench

    real = Bench.push
    times: list[int] = []

    def overtaken(bench, *arguments):
        if len(times) < 3:
            times.append(1)
            monkeypatch.setattr(Bench, "push", real)
            ada.add(f"faster-{len(times)}.md", "faster")
            ada.sync()
            monkeypatch.setattr(Bench, "push", overtaken)
        return real(bench, *arguments)

    monkeypatch.setattr(Bench, "push", overtaken)
    bob.add("bob.md", "b")
    report = bob.sync()
    monkeypatch.setattr(Bench, "push", real)
    ada.sync()

    assert report.outcome == "synced"
    assert len(bob.texts()) == 5
    assert ada.texts() == bob.texts() == texts(remote)


def test_a_remote_that_refuses_is_told_and_the_commit_kept(tmp_path, ada, bob, remote):
    """As one whose branch is checked out, or protected; later it goes through."""
    git(remote, "config", "core.bare", "false")
    ada.add("ada.md", "a")
    with pytest.raises(KeepthreadError, match="refuses what is sent"):
        ada.sync()
    assert "ada.md" in git(ada.team, "ls-tree", "-r", "--name-only", "HEAD")
    git(remote, "config", "core.bare", "true")

    assert ada.sync().outcome == "synced"
    assert "ada.md" in texts(remote)


def test_a_remote_that_takes_nothing_is_given_up_in_the_end(ada, bob, remote, monkeypatch):
    """As one with the lock of a process that died."""
    monkeypatch.setattr(sync_module, "_TRIES", 2)
    (remote / "refs" / "heads" / "main.lock").touch()
    ada.add("ada.md", "a")

    with pytest.raises(KeepthreadError, match="Nothing could be sent in 2 tries"):
        ada.sync()


def test_a_relative_path_to_the_remote_counts_from_the_folder(ada, bob, remote):
    """As git itself takes it."""
    git(ada.team, "remote", "set-url", "origin", os.path.relpath(remote, ada.team))
    ada.add("ada.md", "a")

    assert ada.sync().outcome == "synced"
    assert "ada.md" in texts(remote)


def test_an_entry_that_goes_while_it_is_read_is_looked_at_again(ada, bob, remote, monkeypatch):
    """Online and offline."""
    from keepthread.memory import sides

    real = sides.there

    def gone(items):
        (ada.team / "gone.md").unlink(missing_ok=True)
        return real(items)

    monkeypatch.setattr(sides, "there", gone)
    for away in (False, True):
        ada.add("gone.md", "a")
        if away:
            remote.rename(remote.with_name("away.git"))
        assert ada.sync().outcome == ("offline" if away else "unchanged")


def test_a_clone_that_was_never_set_up_keeps_its_own_files_out_of_sight(tmp_path, ada, bob, remote):
    """Lock and index are nothing to share."""
    (bob.team / ".gitignore").unlink(missing_ok=True)
    ada.add("ada.md", "a")
    ada.sync()
    bob.sync()

    assert bob.status() == ""


@pytest.mark.parametrize(
    ("break_it", "said"),
    [
        (lambda team: git(team, "checkout", "-q", "--detach"), "on no branch"),
        (lambda team: (team / ".git" / "MERGE_HEAD").write_text("x"), "a merge is under way"),
        (lambda team: (team / ".git" / "rebase-merge").mkdir(), "a rebase is under way"),
        (lambda team: git(team, "remote", "set-url", "origin", "ext::sh -c x"), "helper program"),
        (lambda team: git(team, "remote", "set-url", "origin", "foo://host/x"), "helper program"),
        (lambda team: git(team, "config", "remote.origin.url", "-oProxyCommand=x"), "no URL"),
        (lambda team: git(team, "config", "remote.origin.url", "ssh://-oProxy/x"), "an option"),
        (lambda team: git(team, "config", "branch.main.merge", "refs/heads/-x"), "no branch"),
        (lambda team: git(team, "config", "user.name", ""), "your name"),
    ],
)
def test_what_cannot_be_synced_is_refused_with_the_reason(ada, bob, break_it, said):
    """Before anything is changed."""
    ada.add("ada.md", "a")
    break_it(ada.team)

    with pytest.raises(KeepthreadError, match=said):
        ada.sync()


def test_no_repository_and_no_git_are_named(tmp_path, ada, monkeypatch):
    """With the remedy."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(KeepthreadError, match="no program named git"):
        ada.sync()
    monkeypatch.undo()
    subprocess.run(["rm", "-rf", str(ada.team / ".git"), str(ada.project / ".git")], check=True)
    env = {"HOME": str(ada.base), "CLAUDE_PROJECT_DIR": str(ada.project)}
    from keepthread.memory.places import place_of
    from keepthread.memory.sync import sync

    with pytest.raises(KeepthreadError, match="lies in no git repository"):
        sync(place_of(env, str(ada.project)))


def test_a_repository_without_a_remote_keeps_a_history(tmp_path):
    """And says that there is nobody to share with."""
    ada = Clone(tmp_path, "ada", "nowhere", clone=False)
    git(ada.team, "remote", "remove", "origin")
    ada.add("a.md", "a")
    report = ada.sync()

    assert report.outcome == "committed"
    assert any("no remote" in note for note in report.notes)
    assert ada.sync().outcome == "unchanged"
    assert ada.status() == ""


def test_the_command_prints_for_people_and_as_json(ada, bob, remote):
    """Text of others cannot move the cursor."""
    (bob.team / "x.md").write_text('---\ntype: project\nauthor: "\\u001b[31mMallory"\n---\nx\n')
    bob.sync()
    env = {**ada.env, "PYTHONPATH": os.pathsep.join([str(SOURCE), *sys.path])}
    command = [sys.executable, "-m", "keepthread", "memory", "sync"]
    run = subprocess.run(command, cwd=ada.project, env=env, capture_output=True, text=True)
    again = subprocess.run([*command, "--json"], cwd=ada.project, env=env, capture_output=True)

    assert run.returncode == again.returncode == 0, run.stderr
    assert "received: added x.md" in run.stdout
    assert "\x1b" not in run.stdout
    assert "Mallory" in run.stdout
    assert b'"outcome": "unchanged"' in again.stdout
