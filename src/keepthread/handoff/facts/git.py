"""The repository's state: bounded in time, and nothing that the repository configures is run."""

from __future__ import annotations

import os
import signal
import sys
import time

from keepthread import platforms
from keepthread.handoff.facts.text import lazy
from keepthread.handoff.model import Git

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess

MOST_DIRTY = 50
_LONGEST = 300
_HEAD_REF = lazy(r"ref: refs/heads/(\S+)")
_HASH = lazy(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
# What a repository's own configuration could make git run.
SAFE = (
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat", "-c", "diff.external=",
    "-c", "core.untrackedCache=false", "-c", "core.sshCommand=false", "-c", "protocol.allow=never",
    "-c", "core.quotePath=false", "-c", "status.submoduleSummary=false", "-c", "submodule.recurse=false",
    "-c", "safe.bareRepository=explicit",
)  # fmt: skip
_STATUS = (
    "status", "--porcelain=v1", "--no-renames", "--ignore-submodules=all", "--untracked-files=normal",
)  # fmt: skip
_MOST_FILTERS = 50


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
    deadline = time.monotonic() + timeout
    env = environment()
    filters = _filters(root, env, deadline)
    if filters is None:
        return []
    emptied = [part for name in filters for part in _emptied(name)]
    out = _output([*emptied, *_STATUS], root, env, deadline)
    lines = out.decode("utf-8", "replace").splitlines() if out else []
    shown = [line[:_LONGEST] for line in lines[:MOST_DIRTY] if line.strip()]
    return (
        [*shown[: MOST_DIRTY - 1], f"… {len(lines) - MOST_DIRTY + 1} more"]
        if len(lines) > MOST_DIRTY
        else shown
    )


def environment() -> dict[str, str]:
    """Return the environment for git: nothing that steers it, and no program found by way of the project's folder.

    A relative folder of PATH, which a repository's settings may have put there, would hold the repository's own git.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    places = kept.get("PATH", os.defpath).split(os.pathsep)
    return {
        **kept,
        "PATH": os.pathsep.join(place for place in places if os.path.isabs(place)),
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_PAGER": "cat",
        "LC_ALL": "C",
    }


def _filters(root: str, env: dict[str, str], deadline: float) -> set[str] | None:
    """Return the names of the content filters that any configuration defines, None when one cannot be switched off."""
    out = _output(["config", "--list", "--name-only", "-z"], root, env, deadline)
    if out is None:
        return None
    keys = [os.fsdecode(key) for key in out.split(b"\0")]
    names = {key[7:].rpartition(".")[0] for key in keys if key.startswith("filter.")}
    # `-c` takes what stands before the first "=" as the name.
    unnameable = any("=" in name or "\n" in name for name in names)
    return None if unnameable or len(names) > _MOST_FILTERS else names


def _emptied(name: str) -> list[str]:
    return [
        *("-c", f"filter.{name}.clean="),
        *("-c", f"filter.{name}.smudge="),
        *("-c", f"filter.{name}.process="),
        *("-c", f"filter.{name}.required=false"),
    ]


def _output(arguments: list[str], root: str, env: dict[str, str], deadline: float) -> bytes | None:
    """Return what git writes, or None when it fails or has not ended by the deadline, when its group is killed."""
    import subprocess

    if not env["PATH"]:
        return None
    try:
        process = subprocess.Popen(
            [platforms.started_as("git", env), *SAFE, *arguments],
            cwd=root,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None  # no git, or no such folder
    try:
        out, _ = process.communicate(timeout=max(deadline - time.monotonic(), 0.01))
        return out if process.returncode == 0 else None
    except subprocess.TimeoutExpired:
        return None  # too slow: branch and head are told all the same
    finally:
        _end_group(process)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the process with its children when it has not ended; the number of one that has may be another's by now."""
    if process.returncode is None:
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout:
        process.stdout.close()
