"""Lets a branch, and git's index of the work tree, follow a commit that was made beside them."""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Mapping

from keepthread.errors import KeepthreadError
from keepthread.memory.bench import Bench, Item
from keepthread.memory.git import Git, GitFailed
from keepthread.memory.repository import Repository

_TRIES = 10
_MESSAGE = "keepthread memory sync"
# Paths that git takes into an index on every system.
_PLAIN = re.compile(r"(?!\.\.?\Z)(?!(?i:\.git|git~[0-9]+)\Z)[^\0-\x1f\x7f\\]+")


def changes(
    old: Mapping[str, Item], new: Mapping[str, Item], prefix: str = ""
) -> dict[str, Item | None]:
    """Return what differs between two trees by its path in the repository; None is gone."""
    paths = {path for path in {*old, *new} if _differ(old.get(path), new.get(path))}
    return {prefix + path: new.get(path) for path in sorted(paths)}


def _differ(one: Item | None, other: Item | None) -> bool:
    return (one and one[:2]) != (other and other[:2])


def enter(repository: Repository, changed: Mapping[str, Item | None]) -> None:
    """Put paths of a commit into the index, as `git commit -- PATHS` does; every other path stays as it is.

    Raises:
        KeepthreadError: another git process keeps the index.
    """
    nothing = "0" * (40 if repository.format == "sha1" else 64)
    lines = [
        f"{item.mode} {item.oid} 0\t".encode() + os.fsencode(path)
        if item
        else f"0 {nothing} 0\t".encode() + os.fsencode(path)
        for path, item in sorted(changed.items(), key=lambda pair: pair[1] is not None)
        if all(_PLAIN.fullmatch(part) for part in path.split("/"))
    ]
    given = b"".join(line + b"\0" for line in lines)
    _patiently(repository, given, "update-index", "-z", "--index-info")


def _without_filters(repository: Repository) -> Git:
    """Return what runs git with every content filter off.

    Whoever writes an index compares files that changed in the second of its last writing, through their filters.
    """
    out = repository.git.output("config", "--list", "--name-only", "--null")
    names = {
        os.fsdecode(key)[7:].rpartition(".")[0] for key in out.split(b"\0") if key[:7] == b"filter."
    }
    if any("=" in name or "\n" in name for name in names):  # `-c` cannot name it
        raise KeepthreadError(f"A filter in the configuration of {repository.top} has an odd name")
    settings = [
        f"filter.{name}.{setting}"
        for name in sorted(names)
        for setting in ("clean=", "smudge=", "process=", "required=false")
    ]
    return Git(repository.top, repository.git.project, settings=settings)


def _patiently(repository: Repository, given: bytes, *arguments: str) -> None:
    git = _without_filters(repository)
    for attempt in range(_TRIES):
        ran = git.run(*arguments, given=given)
        if not ran.code:
            return
        if "index.lock" not in ran.told:
            raise GitFailed(f"git {arguments[0]} failed: {ran.told}")
        time.sleep(random.uniform(0.02, 0.05 * (attempt + 1)))  # noqa: S311
    raise KeepthreadError(
        f"Another git process works in {repository.top}",
        f"Try again; if none does, remove {os.path.join(repository.folder, 'index.lock')}",
    )


def advance(repository: Repository, tip: str) -> bool:
    """Move the branch to a commit; return whether it still stood where it did."""
    old = repository.head or "0" * len(tip)
    return not repository.git.run("update-ref", "-m", _MESSAGE, repository.ref, tip, old).code


def follow(repository: Repository, bench: Bench, tip: str) -> list[str]:
    """Bring branch and index to a commit that contains the branch; return what could not be done, in sentences."""
    if tip == repository.head:
        return []
    old, new = bench.tree(repository.head), bench.tree(tip)
    changed = changes(old, new)
    try:
        enter(repository, changed)
        absent = [
            path for path, item in changed.items() if item and not _is_there(repository, path)
        ]
        _leave_out(repository, absent)
    except KeepthreadError as problem:
        return [f"git's index is behind ({problem.message}). Bring it up to date: git reset"]
    if not advance(repository, tip):
        return [f"The branch {repository.branch} moved meanwhile; the next sync takes it along"]
    return []


def _is_there(repository: Repository, path: str) -> bool:
    return os.path.lexists(os.path.join(repository.top, *path.split("/")))


def _leave_out(repository: Repository, paths: list[str]) -> None:
    """Tell git that some paths are not in the folder on purpose: they were not taken."""
    plain = [path for path in paths if all(_PLAIN.fullmatch(part) for part in path.split("/"))]
    if plain:
        given = b"".join(os.fsencode(path) + b"\0" for path in plain)
        _patiently(repository, given, "update-index", "-z", "--skip-worktree", "--stdin")


def left_out(
    repository: Repository, here: Mapping[str, str], base: Mapping[str, str]
) -> dict[str, str]:
    """Return the keys that are not in the folder because git was told to leave them out."""
    scope = ["--", repository.prefix] if repository.prefix else []
    out = repository.git.output("ls-files", "-t", "-z", *scope)
    found = {}
    for line in out.split(b"\0"):
        path = os.fsdecode(line[2:])
        key = path[len(repository.prefix) :]
        if line[:1] == b"S" and key in base and key not in here:
            found[key] = "git leaves it out of the folder (sparse checkout)"
    return found


def refuse_ignored(repository: Repository) -> None:
    """Raise when git ignores what is in the folder.

    Raises:
        KeepthreadError: it does; a commit of it would surprise its user.
    """
    path = f"./{repository.prefix}entry.md"
    plain = {"GIT_LITERAL_PATHSPECS": "0"}  # this command knows paths only
    asked = ("check-ignore", "--quiet", "--no-index", "--", path)
    if not repository.git.run(*asked, more=plain).code:
        raise KeepthreadError(
            f"git ignores {repository.prefix or repository.top}",
            "Take it out of .gitignore to share it with the project, or make the folder a repository of its own.",
        )
