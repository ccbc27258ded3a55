from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from keepthread.handoff.facts.git import MOST_DIRTY, git_state


def git(folder: Path, *arguments: str) -> str:
    options = ("-c", "user.name=T", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *options, *arguments], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "feature/größe")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_branch_head_and_changed_files_are_told(repository: Path):
    (repository / "a.txt").write_text("two\n")
    (repository / "neu ü.txt").write_text("x")

    state = git_state(str(repository))

    assert state["branch"] == "feature/größe"
    assert state["head"] == git(repository, "rev-parse", "HEAD")
    assert [line[3:].strip('"') for line in state["dirty"]] == ["a.txt", "neu ü.txt"]


def test_it_works_from_a_folder_below_and_in_a_worktree(repository: Path, tmp_path: Path):
    (repository / "src").mkdir()
    other = tmp_path / "other"
    git(repository, "worktree", "add", "-q", "-b", "side", str(other))

    assert git_state(str(repository / "src"))["branch"] == "feature/größe"
    assert git_state(str(other))["branch"] == "side"
    assert git_state(str(other))["head"] == git(repository, "rev-parse", "HEAD")


def test_packed_refs_and_a_detached_head_are_read(repository: Path):
    head = git(repository, "rev-parse", "HEAD")
    git(repository, "pack-refs", "--all")

    assert git_state(str(repository))["head"] == head

    git(repository, "checkout", "-q", "--detach")

    assert (git_state(str(repository))["branch"], git_state(str(repository))["head"]) == ("", head)


@pytest.mark.parametrize("root", ["", "/nonexistent/folder", "\0"])
def test_outside_a_repository_there_is_no_state(root: str):
    assert git_state(root) == {"branch": "", "head": "", "dirty": []}


def test_without_git_branch_and_head_are_known_all_the_same(
    repository: Path, monkeypatch, tmp_path: Path
):
    head = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))

    assert git_state(str(repository)) == {"branch": "feature/größe", "head": head, "dirty": []}


def test_a_slow_git_is_not_waited_for(repository: Path, monkeypatch, tmp_path: Path):
    programs = tmp_path / "bin"
    programs.mkdir()
    slow = programs / "git"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    state = git_state(str(repository), timeout=0.05)

    assert (state["branch"], state["dirty"]) == ("feature/größe", [])


def test_nothing_the_repository_configures_is_run(repository: Path, tmp_path: Path):
    trap = tmp_path / "ran"
    script = tmp_path / "trap.sh"
    script.write_text(f"#!/bin/sh\ntouch '{trap}'\n")
    script.chmod(0o755)
    for name in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "core.sshCommand",
        "diff.t.textconv",
        "filter.t.clean",
    ):
        git(repository, "config", name, str(script))
    hooks = repository / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "fsmonitor-watchman"):
        (hooks / hook).write_text(script.read_text())
        (hooks / hook).chmod(0o755)
    trap.unlink(missing_ok=True)
    (repository / "a.txt").write_text("changed\n")

    assert git_state(str(repository))["dirty"] == [" M a.txt"]
    assert not trap.exists()


def test_the_list_of_changed_files_is_bounded(repository: Path):
    for number in range(MOST_DIRTY + 20):
        (repository / f"f{number:03}.txt").write_text("x")

    dirty = git_state(str(repository))["dirty"]

    assert len(dirty) == MOST_DIRTY
    assert dirty[-1] == "… 21 more"


def test_a_head_that_is_a_named_pipe_does_not_hang(tmp_path: Path):
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")

    assert git_state(str(tmp_path), timeout=0.5)["head"] == ""


def leaves_a_mark(folder: Path, name: str) -> tuple[str, Path]:
    """Return a shell command that leaves a file behind, and that file."""
    mark = folder / f"ran-{name}"
    return f"touch '{mark}'; cat", mark


@pytest.mark.parametrize("kind", ["clean", "smudge", "process"])
@pytest.mark.parametrize("name", ["evil", "Ünï.dotted", "a=b", ""])
def test_no_content_filter_is_run(repository: Path, tmp_path: Path, kind: str, name: str):
    (repository / ".gitattributes").write_text(f"* filter={name}\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "attributes")
    command, mark = leaves_a_mark(tmp_path, kind)
    with (repository / ".git" / "config").open("a") as file:
        file.write(f'[filter "{name}"]\n\t{kind} = "{command}"\n\trequired = true\n')
    (repository / "a.txt").write_text("two\n")

    dirty = git_state(str(repository))["dirty"]

    assert not mark.exists()
    assert dirty == ([] if "=" in name else [" M a.txt"])


def test_filters_of_included_files_and_of_worktrees_are_not_run(repository: Path, tmp_path: Path):
    (repository / ".gitattributes").write_text("* filter=one\n*.txt filter=two\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "attributes")
    one, first = leaves_a_mark(tmp_path, "one")
    two, second = leaves_a_mark(tmp_path, "two")
    (repository / ".git" / "more").write_text(f'[filter "one"]\n\tclean = "{one}"\n')
    git(repository, "config", "include.path", "more")
    git(repository, "config", "extensions.worktreeConfig", "true")
    (repository / ".git" / "config.worktree").write_text(f'[filter "two"]\n\tclean = "{two}"\n')
    (repository / "a.txt").write_text("two\n")
    (repository / ".gitattributes").write_text("* filter=one\n*.txt  filter=two\n")

    dirty = git_state(str(repository))["dirty"]

    assert (first.exists(), second.exists()) == (False, False)
    assert dirty == [" M .gitattributes", " M a.txt"]


def test_nothing_in_the_environment_steers_git(repository: Path, tmp_path: Path, monkeypatch):
    (repository / ".gitattributes").write_text("* filter=evil\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "attributes")
    (repository / "a.txt").write_text("two\n")
    command, mark = leaves_a_mark(tmp_path, "environment")
    trace = tmp_path / "trace"
    for name, value in {
        "GIT_TRACE": str(trace),
        "GIT_TRACE2_EVENT": str(trace),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "filter.evil.clean",
        "GIT_CONFIG_VALUE_0": command,
        "GIT_DIR": str(tmp_path / "nowhere"),
    }.items():
        monkeypatch.setenv(name, value)

    assert git_state(str(repository))["dirty"] == [" M a.txt"]
    assert (mark.exists(), trace.exists()) == (False, False)


@pytest.mark.parametrize("path", ["", ".", ":", "bin:."])
def test_a_git_of_the_projects_own_is_never_run(
    repository: Path, tmp_path: Path, monkeypatch, path: str
):
    command, mark = leaves_a_mark(tmp_path, "own")
    for folder in (repository, repository / "bin"):
        folder.mkdir(exist_ok=True)
        (folder / "git").write_text(f"#!/bin/sh\n{command}\n")
        (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", path)

    assert git_state(str(repository))["branch"] == "feature/größe"
    assert not mark.exists()


def test_what_a_slow_git_started_ends_with_it(repository: Path, tmp_path: Path, monkeypatch):
    programs = tmp_path / "bin"
    programs.mkdir()
    pids = tmp_path / "pids"
    slow = programs / "git"
    slow.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > '{pids}'\nwait\n")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")

    assert git_state(str(repository), timeout=0.5)["dirty"] == []
    assert ended(int(pids.read_text()))


def ended(pid: int) -> bool:
    """Return whether a process ends soon."""
    for _ in range(200):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False
