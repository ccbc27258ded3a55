"""Which file is started when `claude` is asked: its user's own, and none that a repository brings along."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping

from keepthread import platforms
from keepthread.host.locations import git_root
from keepthread.platforms import is_within as _is_within

_BIN = os.path.join("node_modules", ".bin")


def program(env: Mapping[str, str], project: str, platform: str = sys.platform) -> str:
    """Return the absolute path of `claude`, or "": on PATH, else where its own installer puts it.

    Only absolute PATH entries outside the repository at work count: it must not bring its own `claude`.
    """
    names = ("claude.exe", "claude.cmd") if platform == "win32" else ("claude",)
    home = platforms.home(env, platform)
    own = os.path.join(home, ".local", "bin")
    for found in programs(names, [*env.get("PATH", "").split(os.pathsep), own], env, project):
        started = _behind_shim(found)
        if started:
            return started
    return ""


def launched(found: str, env: Mapping[str, str], project: str = "") -> list[str]:
    """Return how the program is started: older ones behind a shim are scripts for node, which is held to the same."""
    if not found.lower().endswith(".js"):
        return [found]
    folders = env.get("PATH", "").split(os.pathsep)
    return [next(programs(("node",), folders, env, project), "node"), found]


def programs(
    names: tuple[str, ...], folders: list[str], env: Mapping[str, str], project: str
) -> Iterator[str]:
    """Yield the programs of these names in the folders, in their order, without those of the repository at work.

    A relative folder is anybody's. `project` may be ""; CLAUDE_PROJECT_DIR and PWD of `env` count as well.
    """
    starts = list(dict.fromkeys(filter(os.path.isabs, _at_work(env, project))))
    roots = _roots(starts, platforms.home(env))
    for folder in filter(os.path.isabs, folders):
        for name in names if not _is_bin_above(folder, starts) else ():
            found = platforms.which(name, [folder])
            if found and not _inside(found, roots):
                yield found


def _at_work(env: Mapping[str, str], project: str) -> Iterator[str]:
    """Yield the folders the session works in, as they are spelt and where they really are.

    CLAUDE_PROJECT_DIR may be a package deep in the repository, and PWD is where the event took place.
    """
    for folder in (project, env.get("CLAUDE_PROJECT_DIR", ""), env.get("PWD", "")):
        if folder:
            yield os.path.normpath(folder)
            yield platforms.real_place(folder)


def _roots(starts: list[str], home: str) -> set[str]:
    """Return the real folders in which no program is run: those at work, and their repositories.

    The home folder may be a repository, or a place to work in; its programs are its user's all the same.
    """
    named = [folder for start in starts for folder in (start, git_root(start)) if folder]
    roots = {platforms.real_place(folder) for folder in named}
    kept = platforms.real_place(home) if home else ""
    return {root for root in roots if not kept or not _is_within(kept, root)}


def _is_bin_above(folder: str, starts: list[str]) -> bool:
    """Return whether this is the node_modules/.bin of a folder at or above one at work, as npm puts them on PATH."""
    for spelt in (os.path.normpath(folder), platforms.real_place(folder)):
        owner = spelt[: -len(_BIN)].rstrip(os.sep) or os.sep
        if spelt.endswith(os.sep + _BIN) and any(_is_within(start, owner) for start in starts):
            return True
    return False


def _inside(path: str, roots: set[str]) -> bool:
    spelt = os.path.normpath(path)
    placed = os.path.join(platforms.real_place(os.path.dirname(spelt)), os.path.basename(spelt))
    return any(
        _is_within(here, root)
        for here in (spelt, placed, platforms.real_place(path))
        for root in roots
    )


def _behind_shim(found: str) -> str:
    """Return what npm's Windows shim starts, "" when it is not where npm puts it.

    A .cmd file is run by a shell, whatever its caller does, and that shell reads quotes and percent signs in arguments.
    """
    if not found.lower().endswith(".cmd"):
        return found
    package = os.path.join(os.path.dirname(found), "node_modules", "@anthropic-ai", "claude-code")
    inner = (os.path.join(package, "bin", "claude.exe"), os.path.join(package, "cli.js"))
    return next((path for path in inner if os.path.isfile(path)), "")
