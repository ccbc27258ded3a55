"""Whose settings file is edited: the user's, the project's, or the user's own for one project."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import NamedTuple

from keepthread import platforms
from keepthread.errors import KeepthreadError
from keepthread.host import locations

SCOPES = ("user", "project", "local")
_NAMES = {"user": "settings.json", "project": "settings.json", "local": "settings.local.json"}


class Place(NamedTuple):
    """One settings file.

    `root` is the project's folder, which no link may lead out of; "" in user scope, where links are the user's own.
    `backups` is the path that the backups' names begin with: beside the file in user scope, else in the state folder,
    for in a project they would be committed. `key` tells the manifest; "" in user scope.
    """

    scope: str
    path: str
    root: str
    backups: str
    key: str


def here(config_dir: str, project: str) -> tuple[str, ...]:
    """Return the scopes that `place` knows for a project; without one, or in the user's own folder, only the user's."""
    alone = not project or os.path.dirname(project) == project or _is_users(project, config_dir)
    return SCOPES[:1] if alone else SCOPES


def places_here(config_dir: str, state: str, project: str) -> list[Place]:
    """Return the settings files of a project that `place` knows, the user's first."""
    return [place(scope, config_dir, state, project) for scope in here(config_dir, project)]


def place(scope: str, config_dir: str, state: str, project: str = "") -> Place:
    """Return the settings file of a scope.

    Args:
        scope: user, project or local.
        config_dir: the host's configuration folder.
        state: keepthread's state folder.
        project: the project's folder; needed for project and local.

    Raises:
        KeepthreadError: there is no project, or its settings are the user's.
    """
    if scope == "user":
        path = os.path.join(config_dir, _NAMES[scope])
        return Place(scope, path, "", path, "")
    if not project:
        raise KeepthreadError(
            f"There is no project for scope {scope} here", "Go to the project's folder first."
        )
    if os.path.dirname(project) == project:
        raise KeepthreadError(
            f"{project} is no project: everything lies in it", "Go to the project's folder first."
        )
    folder = os.path.join(project, ".claude")
    if _is_users(project, config_dir):
        raise KeepthreadError(
            f"The settings of {project} are your user settings", "Use --scope user."
        )
    path = os.path.join(folder, _NAMES[scope])
    key = key_of(path)
    return Place(
        scope, path, project, os.path.join(state, "backups", f"{key}-{_NAMES[scope]}"), key
    )


def place_here(scope: str, env: Mapping[str, str], cwd: str) -> Place:
    """Return the settings file of a scope for the user whose environment this is, in the project around `cwd`.

    Raises:
        KeepthreadError: as `place`, or there is no configuration folder.
    """
    folder, state = locations.config_dir(env), locations.state_dir(env)
    return place(scope, folder, state, locations.project_root(env, cwd))


def _is_users(project: str, config_dir: str) -> bool:
    folder = os.path.join(project, ".claude")
    return platforms.real_place(folder) == platforms.real_place(config_dir)


def key_of(path: str) -> str:
    """Return 16 hex digits that stand for a settings file."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
