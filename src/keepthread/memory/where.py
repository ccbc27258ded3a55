"""Where a project's memories lie, in a few calls: the hook that reads them pays for each module.

`memory.places` has the same for commands, which open them.
"""

from __future__ import annotations

import json
import os

from keepthread.files import read_regular
from keepthread.handoff.project import project_key
from keepthread.host.locations import project_root, state_dir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

TEAM_FOLDER = ".claude/team-memory"
INDEX_FILE = "MEMORY.md"
_LIMIT = 64 * 1024  # bytes


class Where:
    """A project's folders. `team` is "" for the default one in the project."""

    __slots__ = ("key", "project", "state", "team")

    def __init__(self, state: str, project: str) -> None:
        self.state = state
        self.project = project
        self.key = project_key(project)
        self.team = named_team(os.path.join(state, "memory", f"{self.key}.json"))

    @property
    def private_path(self) -> str:
        """Return the user's own folder."""
        return os.path.join(self.state, "memory", self.key)

    def beside(self, suffix: str) -> str:
        """Return the path of one of our files beside the user's own folder."""
        return f"{self.private_path}{suffix}"

    def team_root(self) -> str:
        """Return the real path of the team's folder; "" where there is none, or a link in the project leads to it."""
        if self.team:
            path = self.team
            real = os.path.realpath(path)
        else:
            path = os.path.join(os.path.realpath(self.project), *TEAM_FOLDER.split("/"))
            real = os.path.realpath(path)
            if real != path:
                return ""
        return real if os.path.isdir(real) else ""


def project_of(env: Mapping[str, str], cwd: str) -> str:
    """Return the project around `cwd`, which may be its team's folder and so a repository of its own; "" for none."""
    project = project_root(env, cwd)
    folder = os.path.join(os.sep, *TEAM_FOLDER.split("/"), "")
    above, found, _ = f"{project}{os.sep}".rpartition(folder)
    return project_root(env, above) if found else project


def where(env: Mapping[str, str], cwd: str) -> Where | None:
    """Return the places of the project around `cwd`, None without a project.

    Raises:
        KeepthreadError: there is no home folder.
    """
    project = project_of(env, cwd)
    return Where(state_dir(env), project) if project else None


def named_team(path: str) -> str:
    """Return the folder that its user chose for the team's memory, "" when none was."""
    try:
        found = json.loads(read_regular(path, _LIMIT))
    except (OSError, ValueError, RecursionError):
        return ""
    team = found.get("team") if isinstance(found, dict) else None
    return team if isinstance(team, str) and os.path.isabs(team) else ""


def holds_something(root: str) -> bool:
    """Return whether a folder holds what may be an entry."""
    try:
        with os.scandir(root) as names:
            return any(one.name[:1] != "." and one.name != INDEX_FILE for one in names)
    except OSError:
        return False  # gone, or not to be read
