"""Sync of a folder in the project's own repository: its paths are committed, and nothing else is touched."""

from __future__ import annotations

import os

import pytest

from keepthread.errors import KeepthreadError
from keepthread.memory.entries import Entry
from keepthread.memory.places import init, open_memory, place_of
from keepthread.memory.sync import sync
from keepthread.memory.sync_report import as_text
from tests.support.team_clones import bare, git

TEAM = ".claude/team-memory"


class Project:
    """A project with a team's folder in it."""

    def __init__(self, base, root=None):
        self.root = root or base / "proj"
        self.root.mkdir(exist_ok=True)
        self.env = {"HOME": str(base), "CLAUDE_PROJECT_DIR": str(self.root)}

    @property
    def place(self):
        """Return where the memories lie."""
        return place_of(self.env, str(self.root))

    def git(self, *arguments, **more):
        """Run git in it."""
        return git(self.root, *arguments, **more)

    def add(self, key, body="text"):
        """Add an entry."""
        with open_memory(self.place, "team") as memory:
            memory.add(key, Entry(body=f"{body}\n", type="project"))

    def sync(self, **options):
        """Sync it."""
        return sync(self.place, **options)

    def write(self, path, text):
        """Write a file of the project's."""
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def status(self):
        """Return what git says of it, line by line."""
        return self.git("status", "--porcelain", "--untracked-files=all").splitlines()


@pytest.fixture
def project(tmp_path):
    """Make a project with a first commit."""
    made = Project(tmp_path)
    made.git("init", "-q", "-b", "main")
    made.git("config", "user.name", "Ada")
    made.git("config", "user.email", "ada@example.org")
    made.write("src/app.py", "one\n")
    made.write("src/deep/er.py", "one\n")
    made.write(".claude/settings.json", "{}\n")
    os.utime(
        made.root / "src" / "app.py", (4e9, 4e9)
    )  # git looks into it whenever it writes an index
    made.git("add", "-A")
    made.git("commit", "-q", "-m", "start")
    init(made.place)
    return made


def test_only_the_folders_paths_are_committed_and_the_rest_is_as_it_was(project):
    """Staged, changed, deleted and unknown files of the project keep their state to the letter."""
    project.write("src/app.py", "staged\n")
    project.git("add", "src/app.py")
    project.write("src/app.py", "staged and changed\n")
    (project.root / "src" / "deep" / "er.py").unlink()
    project.write("new.py", "staged\n")
    project.git("add", "new.py")
    project.write("unknown.py", "unknown\n")
    before = project.status()
    staged = project.git("diff", "--cached")
    project.add("http/client.md")
    project.add("plain.md")
    report = project.sync()

    assert (report.kind, report.outcome) == ("project", "committed")
    assert project.status() == [line for line in before if TEAM not in line]
    assert project.git("diff", "--cached") == staged
    assert project.git("show", "--format=%an %s", "--name-status", "HEAD").splitlines() == [
        "Ada Team memory: 2 added",
        "",
        f"A\t{TEAM}/.gitignore",
        f"A\t{TEAM}/http/client.md",
        f"A\t{TEAM}/plain.md",
    ]
    assert project.git("fsck", "--strict") == ""
    assert project.sync().outcome == "unchanged"


def test_changes_and_deletions_follow(project):
    """A folder that becomes empty goes."""
    project.add("a/b.md")
    project.add("c.md", "old")
    project.sync()
    with open_memory(project.place, "team") as memory:
        memory.rm("a/b.md")
        memory.edit("c.md", Entry(body="new\n", type="project"), memory.show("c.md").version)
    report = project.sync()

    assert (report.sent.changed, report.sent.deleted) == (["c.md"], ["a/b.md"])
    assert project.status() == []
    assert "b.md" not in project.git("ls-tree", "-r", "--name-only", "HEAD")


def test_what_was_staged_of_the_folder_is_committed_as_the_folder_has_it(project):
    """As `git commit -- PATHS` does."""
    project.add("a.md", "first")
    project.git("add", TEAM)
    with open_memory(project.place, "team") as memory:
        memory.edit("a.md", Entry(body="second\n", type="project"), memory.show("a.md").version)
    project.sync()

    assert project.status() == []
    assert "second" in project.git("show", f"HEAD:{TEAM}/a.md")


def test_neither_pulled_nor_pushed(tmp_path, project):
    """The project's remote is its user's affair; hooks of the project are not run."""
    remote = bare(tmp_path / "remote.git")
    project.git("remote", "add", "origin", str(remote))
    project.git("push", "-q", "-u", "origin", "main")
    hook = project.root / ".git" / "hooks" / "pre-commit"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/trace\nexit 1\n")
    hook.chmod(0o755)
    for name in ("reference-transaction", "post-index-change", "commit-msg"):
        hook.with_name(name).write_bytes(hook.read_bytes())
        hook.with_name(name).chmod(0o755)
    project.git("config", "core.fsmonitor", str(hook))
    project.git("config", "core.sshCommand", str(hook))
    project.git("config", "filter.x.clean", str(hook))
    project.write(".gitattributes", "* filter=x\n")
    before = git(remote, "rev-parse", "main")
    project.add("a.md")

    assert project.sync().outcome == "committed"
    assert git(remote, "rev-parse", "main") == before
    assert not (tmp_path / "trace").exists()


def test_a_branch_without_a_commit_gets_its_first(tmp_path):
    """What was staged stays staged."""
    project = Project(tmp_path)
    project.git("init", "-q", "-b", "main")
    project.git("config", "user.name", "Ada")
    project.git("config", "user.email", "ada@example.org")
    init(project.place)
    project.write("app.py", "x\n")
    project.git("add", "app.py")
    project.add("a.md")
    project.sync()

    assert project.status() == ["A  app.py"]
    assert project.git("ls-tree", "-r", "--name-only", "HEAD").splitlines() == [
        f"{TEAM}/.gitignore",
        f"{TEAM}/a.md",
    ]


def test_in_a_linked_work_tree_its_own_branch_moves(tmp_path, project):
    """And not the one of the main one."""
    project.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    main = project.git("rev-parse", "main")
    tree = Project(tmp_path, tmp_path / "tree")
    init(tree.place)
    tree.add("a.md")
    tree.sync()

    assert tree.git("log", "-1", "--format=%s", "other") == "Team memory: 1 added"
    assert project.git("rev-parse", "main") == main
    assert tree.status() == project.status() == [] or tree.status() == []


@pytest.mark.parametrize(
    ("begin", "said"),
    [
        (lambda p: p.git("merge", "side", check=False), "a merge is under way"),
        (lambda p: p.git("rebase", "side", check=False), "a rebase is under way"),
        (lambda p: p.git("cherry-pick", "side", check=False), "a cherry-pick is under way"),
        (lambda p: p.git("revert", "--no-edit", "HEAD~1", check=False), "a revert is under way"),
        (lambda p: p.git("checkout", "-q", "--detach"), "on no branch"),
    ],
    ids=["merge", "rebase", "cherry-pick", "revert", "detached"],
)
def test_while_something_is_under_way_nothing_is_committed(project, begin, said):
    """The commit would get into the middle of it."""
    project.git("checkout", "-q", "-b", "side")
    project.write("src/app.py", "side\n")
    project.git("commit", "-q", "-a", "-m", "side")
    project.git("checkout", "-q", "main")
    project.write("src/app.py", "two\n")
    project.git("commit", "-q", "-a", "-m", "two")
    project.write("src/app.py", "three\n")
    project.git("commit", "-q", "-a", "-m", "three")
    begin(project)
    project.add("a.md")
    before = (project.status(), project.git("rev-parse", "HEAD"))

    with pytest.raises(KeepthreadError, match=said):
        project.sync()
    assert (project.status(), project.git("rev-parse", "HEAD")) == before


def test_a_folder_that_git_ignores_is_not_forced_in(project):
    """Its user said so."""
    project.write(".gitignore", ".claude/\n")
    project.add("a.md")

    with pytest.raises(KeepthreadError, match="git ignores"):
        project.sync()


def test_what_a_sparse_checkout_leaves_out_is_not_deleted(project):
    """It is in git's index, and not in the folder on purpose."""
    project.add("a.md")
    project.add("b.md")
    project.sync()
    project.git("update-index", "--skip-worktree", f"{TEAM}/a.md")
    (project.root / TEAM / "a.md").unlink()
    report = project.sync()

    assert [(one.path, one.side) for one in report.skipped] == [("a.md", "here")]
    assert f"{TEAM}/a.md" in project.git("ls-tree", "-r", "--name-only", "HEAD")


def test_another_git_process_that_keeps_the_index_is_named(project, monkeypatch):
    """The branch does not move."""
    from keepthread.memory import index_file

    monkeypatch.setattr(index_file, "_TRIES", 2)
    project.add("a.md")
    before = project.git("rev-parse", "HEAD")
    (project.root / ".git" / "index.lock").touch()

    with pytest.raises(KeepthreadError, match="Another git process") as caught:
        project.sync()
    assert "index.lock" in caught.value.hint
    assert project.git("rev-parse", "HEAD") == before
    (project.root / ".git" / "index.lock").unlink()
    assert project.sync().outcome == "committed"
    assert project.status() == []


def test_a_trial_commits_nothing(project):
    """Nor does it write objects."""
    project.add("a.md")
    objects = sorted(os.listdir(project.root / ".git" / "objects"))
    report = project.sync(trial=True)

    assert report.sent.added == ["a.md"]
    assert sorted(os.listdir(project.root / ".git" / "objects")) == objects
    project.sync()
    assert as_text(project.sync(trial=True)) == "A trial: there is nothing to share on main"


def test_a_link_on_the_way_in_the_last_commit_is_refused(tmp_path, project):
    """The folder is another than the one that git knows."""
    project.git("rm", "-rq", "--cached", ".claude")
    link = git(project.root, "hash-object", "-w", "--stdin", given=b"/tmp")
    project.git("update-index", "--add", "--cacheinfo", f"120000,{link},.claude")
    project.git("commit", "-q", "-m", "link")
    project.add("a.md")

    with pytest.raises(KeepthreadError, match="no folder in the last commit"):
        project.sync()


def test_hashes_of_the_newer_kind_work_too(tmp_path):
    """Where git has them."""
    project = Project(tmp_path)
    project.git("init", "-q", "-b", "main", "--object-format=sha256")
    project.git("config", "user.name", "Ada")
    project.git("config", "user.email", "ada@example.org")
    init(project.place)
    project.add("a.md")

    assert len(project.sync().commit) == 64
    assert project.status() == []
    assert project.git("fsck", "--strict") == ""
