"""The repository's state: bounded in time, and nothing that the repository configures is run."""

from __future__ import annotations

import os

from keepthread.handoff.facts.text import lazy
from keepthread.handoff.model import Git

MOST_DIRTY = 50
_LONGEST = 300
_HEAD_REF = lazy(r"ref: refs/heads/(\S+)")
_HASH = lazy(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# What a repository's own configuration could make git run.
_SAFE = (
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat", "-c", "diff.external=",
    "-c", "core.untrackedCache=false", "-c", "core.sshCommand=false", "-c", "protocol.allow=never",
    "-c", "core.quotePath=false", "-c", "status.submoduleSummary=false", "-c", "submodule.recurse=false",
)  # fmt: skip


def git_state(root: str, *, timeout: float = 1.0) -> Git:
    """Return branch, head and changed files of the repository that holds `root`.

    Branch and head come from git's own files, so they are known even where git is missing or slow; the list of changed
    files (as `git status --short` writes them, at most 50) is empty when git does not answer in `timeout` seconds.
    """
    folder = _git_folder(root)
    if not folder:
        return {"branch": "", "head": "", "dirty": []}
    branch, head = _head(folder)
    return {"branch": branch, "head": head, "dirty": _dirty(root, timeout)}


def _git_folder(root: str) -> str:
    """Return the git folder above `root`, through the pointer file of a worktree; "" outside a repository."""
    place = os.path.abspath(root) if root and "\0" not in root else ""
    while place:
        candidate = os.path.join(place, ".git")
        if os.path.isdir(candidate):
            return candidate
        pointer = _read(candidate)
        if pointer.startswith("gitdir:"):
            return os.path.normpath(os.path.join(place, pointer[7:].strip()))
        parent = os.path.dirname(place)
        place = parent if parent != place else ""
    return ""


def _head(folder: str) -> tuple[str, str]:
    text = _read(os.path.join(folder, "HEAD")).strip()
    match = _HEAD_REF.fullmatch(text)
    if not match:
        return "", text if _HASH.fullmatch(text) else ""
    return match[1][:_LONGEST], _resolve(folder, f"refs/heads/{match[1]}")


def _resolve(folder: str, ref: str) -> str:
    shared = _read(os.path.join(folder, "commondir")).strip()
    common = os.path.normpath(os.path.join(folder, shared)) if shared else folder
    for place in (folder, common):
        value = _read(os.path.join(place, *ref.split("/"))).strip()
        if _HASH.fullmatch(value):
            return value
    for line in _read(os.path.join(common, "packed-refs"), limit=1 << 20).splitlines():
        value, _, name = line.partition(" ")
        if name == ref and _HASH.fullmatch(value):
            return value
    return ""


def _read(path: str, limit: int = 4096) -> str:
    try:
        if not os.path.isfile(path):
            return ""  # a named pipe would hang the reader
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(limit)
    except OSError:
        return ""  # missing or unreadable: the state is told without it


def _dirty(root: str, timeout: float) -> list[str]:
    import subprocess

    command = [
        "git",
        *_SAFE,
        "status",
        "--porcelain=v1",
        "--no-renames",
        "--ignore-submodules=all",
        "--untracked-files=normal",
    ]
    environment = {
        **os.environ,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "LC_ALL": "C",
    }
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_EXTERNAL_DIFF"):
        environment.pop(name, None)
    try:
        done = subprocess.run(
            command,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return []  # no git, no folder, or too slow: branch and head are told all the same
    if done.returncode != 0:
        return []
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    shown = [line[:_LONGEST] for line in lines[:MOST_DIRTY] if line.strip()]
    return (
        [*shown[: MOST_DIRTY - 1], f"… {len(lines) - MOST_DIRTY + 1} more"]
        if len(lines) > MOST_DIRTY
        else shown
    )
