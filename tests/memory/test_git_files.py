"""What a repository's files say, read as data: never an error for odd ones, never a process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from keepthread.memory.git_files import branch_of, remotes_around


def git(folder: Path, *arguments: str) -> None:
    """Run git with no configuration but the repository's."""
    env = {"PATH": os.defpath, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    names = ["-c", "user.name=Ada", "-c", "user.email=a@b.c"]
    subprocess.run(
        ["git", *names, *arguments], cwd=folder, env=env, check=True, capture_output=True
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository with one commit."""
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")
    return folder


def config(folder: Path, text: str | bytes) -> None:
    """Write a repository's configuration."""
    data = text.encode() if isinstance(text, str) else text
    (folder / ".git" / "config").write_bytes(data)


@pytest.mark.parametrize(
    ("text", "urls"),
    [
        ("", []),
        ('[remote "origin"]\n\turl = https://h.example/a.git\n', ["https://h.example/a.git"]),
        ('[remote "o"] url = git@h.example:a.git ; comment\n', ["git@h.example:a.git"]),
        ('[REMOTE "o"]\nURL="https://h.example/a b#c" # x\n', ["https://h.example/a b#c"]),
        ("[remote.o]\nurl=u1\npushurl=u2\n", ["u1", "u2"]),
        ('[remote "a"]\nurl=u2\n[remote "b"]\nurl=u1\n[core]\nurl=no\n', ["u1", "u2"]),
        ('[remote "o"]\nurl = https://ada:token@h.example/a\n', ["https://h.example/a"]),
        ('[remote "o"]\nurl = https://h.exa\\\nmple/a\n', ["https://h.example/a"]),
        ('[branch "main"]\nremote = x\nurl = no\n', []),
        ('[remote "o\\"]"]\nurl = u\n', ["u"]),
        ('[include]\npath = elsewhere\n[remotes]\nurl = no\n[remote "x"]\nfetch = no\n', []),
        ('[remote "o"]\nurl = "open\nurl =\nurl\n= u\n[\n]\n[]\n', ["open"]),
        ('[remote "o"]\nurl = a\x1b[2Jb\n', ["a[2Jb"]),
    ],
)
def test_the_urls_of_all_remotes_are_read_as_git_writes_them(repository, text, urls):
    """And nothing else is taken for one."""
    config(repository, text)

    assert remotes_around(str(repository)) == urls


def test_what_git_itself_wrote_is_read(repository, tmp_path):
    """In a folder of the repository, in a linked work tree, in a submodule, and outside of any."""
    git(repository, "remote", "add", "origin", "https://h.example/a;b.git")
    git(repository, "remote", "add", "other", 'ssh://git@h.example/quote".git')
    git(repository, "worktree", "add", "-q", "-b", "feature/Tide-Gauge", str(tmp_path / "tree"))
    (repository / "deep" / "er").mkdir(parents=True)
    urls = ["https://h.example/a;b.git", 'ssh://h.example/quote".git']

    assert remotes_around(str(repository / "deep" / "er")) == urls
    assert remotes_around(str(tmp_path / "tree")) == urls
    assert remotes_around(str(tmp_path)) is None
    assert branch_of(str(tmp_path / "tree")) == "feature/Tide-Gauge"
    assert branch_of(str(repository / "deep")) == "main"
    git(repository, "checkout", "-q", "--detach")
    assert (branch_of(str(repository)), branch_of(str(tmp_path))) == ("", "")


def test_a_configuration_that_cannot_be_read_is_told_from_an_empty_one(repository):
    """Nobody knows then where the content comes from."""
    for data in (
        b"\0" * 100,
        b"\xff\xfe[remote",
        b"[" * 100_000,
        b'[remote "o"]\nurl=' + b"x" * 9999,
    ):
        config(repository, data)
        assert all(len(url) <= 500 for url in remotes_around(str(repository)) or [])
    config(repository, b"x" * (2 << 20))
    with pytest.raises(OSError):
        remotes_around(str(repository))
    (repository / ".git" / "config").unlink()
    os.mkfifo(repository / ".git" / "config")
    with pytest.raises(OSError):
        remotes_around(str(repository))


@pytest.mark.parametrize("pointer", ["", "gitdir:", "gitdir: /nowhere", "gitdir: \0", "x" * 9000])
def test_a_pointer_that_leads_nowhere_is_a_repository_of_which_nothing_is_known(tmp_path, pointer):
    """As a work tree whose repository is gone."""
    (tmp_path / ".git").write_text(pointer)

    with pytest.raises(OSError):
        remotes_around(str(tmp_path))
    assert branch_of(str(tmp_path)) == ""
