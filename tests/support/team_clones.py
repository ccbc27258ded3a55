"""Members of a team, each with a project, a state folder and a clone of one bare remote; and remotes made by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path

from keepthread.memory.entries import Entry
from keepthread.memory.places import Place, init, open_memory, place_of
from keepthread.memory.store import Memory
from keepthread.memory.sync import sync
from keepthread.memory.sync_report import Report

SOURCE = Path(__file__).parents[2] / "src"
MAIN = "refs/heads/main"
SYNC = """
import json, os, sys
from keepthread.memory.places import place_of
from keepthread.memory.sync import sync
from keepthread.memory.sync_report import as_json
print(json.dumps(as_json(sync(place_of(dict(os.environ), sys.argv[1])))))
"""


def git(folder: Path, *arguments: str, given: bytes = b"", check: bool = True) -> str:
    """Run the git of this machine as its user would, and return what it prints. Traps are not for us."""
    who = (
        *("-c", "user.name=Eve", "-c", "user.email=eve@example.org"),
        *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    )
    run = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments],
        input=given,
        capture_output=True,
        check=check,
        timeout=60,
    )
    return run.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


def bare(folder: Path) -> Path:
    """Make an empty remote."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(folder)], check=True)
    return folder


def blob(remote: Path, text: bytes) -> str:
    """Write a blob into a remote."""
    return git(remote, "hash-object", "-w", "--stdin", given=text)


def plant(remote: Path, lines: Iterable[tuple[str, str, str]], branch: str = MAIN) -> str:
    """Commit a tree of (mode, object, name) lines as nobody's git would, on top of a branch; return the commit."""
    kinds = {"160000": "commit", "040000": "tree"}
    rows = [f"{mode} {kinds.get(mode, 'blob')} {oid}\t{name}" for mode, oid, name in lines]
    given = b"".join(os.fsencode(row) + b"\0" for row in rows)
    tree = git(remote, "mktree", "-z", "--missing", given=given)
    old = git(remote, "rev-parse", "--verify", "-q", branch, check=False)
    parents = ["-p", old] if old else []
    commit = git(remote, "commit-tree", tree, *parents, "-m", "planted")
    git(remote, "update-ref", branch, commit)
    return commit


def texts(remote: Path, branch: str = MAIN) -> dict[str, bytes]:
    """Return the entries that a remote holds, by key."""
    rows = git(remote, "ls-tree", "-r", "-z", branch, check=False).split("\0")
    named = [row.split(None, 3) for row in rows if row.endswith(".md")]
    return {
        name: subprocess.run(
            ["git", "-C", str(remote), "cat-file", "blob", oid], capture_output=True, check=True
        ).stdout
        for mode, _, oid, name in named
        if mode.startswith("100")
    }


class Clone:
    """One member. `team` is the folder, a clone of the remote."""

    def __init__(self, base: Path, name: str, remote: Path | str, *, clone: bool = True) -> None:
        self.name = name
        self.base = base / name
        self.project = self.base / "proj"
        self.team = self.project / ".claude" / "team-memory"
        self.team.parent.mkdir(parents=True)
        git(self.project, "init", "-q", "-b", "main")
        if clone:
            git(self.base, "clone", "-q", str(remote), str(self.team))
        else:
            self.team.mkdir()
            git(self.team, "init", "-q", "-b", "main")
            git(self.team, "remote", "add", "origin", str(remote))
        self.identify(self.team)
        init(self.place)

    def identify(self, folder: Path) -> None:
        """Tell git in a folder who this is."""
        git(folder, "config", "user.name", self.name)
        git(folder, "config", "user.email", f"{self.name}@example.org")

    @property
    def env(self) -> dict[str, str]:
        """Return the environment of this member's commands."""
        return {"HOME": str(self.base), "PATH": os.environ["PATH"]}

    @property
    def place(self) -> Place:
        """Return where the memories lie."""
        return place_of(self.env, str(self.project))

    def memory(self) -> AbstractContextManager[Memory]:
        """Open the team's memory."""
        return open_memory(self.place, "team")

    def add(self, key: str, body: str) -> None:
        """Add an entry."""
        with self.memory() as memory:
            memory.add(key, Entry(body=f"{body}\n", type="project", author=self.name))

    def edit(self, key: str, body: str) -> None:
        """Change an entry."""
        with self.memory() as memory:
            now = memory.show(key)
            memory.edit(key, now.entry._replace(body=f"{body}\n"), now.version)

    def rm(self, key: str) -> None:
        """Delete an entry."""
        with self.memory() as memory:
            memory.rm(key)

    def sync(self, *, trial: bool = False, allow_deletions: bool = False) -> Report:
        """Sync in this process."""
        return sync(self.place, trial=trial, allow_deletions=allow_deletions)

    def start(self) -> subprocess.Popen[str]:
        """Start a sync as a process of its own."""
        return subprocess.Popen(
            [sys.executable, "-c", SYNC, str(self.project)],
            cwd=self.project,
            env={**self.env, "PYTHONPATH": os.pathsep.join([str(SOURCE), *sys.path])},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def texts(self) -> dict[str, bytes]:
        """Return the entries in the folder, by key."""
        return {
            str(path.relative_to(self.team)): path.read_bytes()
            for path in sorted(self.team.rglob("*.md"))
            if path.name != "MEMORY.md" and ".git" not in path.parts[len(self.team.parts) :]
        }

    def bodies(self) -> dict[str, str]:
        """Return what the entries in the folder say, by key."""
        with self.memory() as memory:
            return {key: memory.show(key).entry.body.strip() for key in self.texts()}

    def status(self) -> str:
        """Return what git says of the folder."""
        return git(self.team, "status", "--porcelain")


def settle(clones: list[Clone], rounds: int = 3) -> None:
    """Sync everybody until nobody has anything new."""
    for _ in range(rounds):
        for clone in clones:
            clone.sync()
