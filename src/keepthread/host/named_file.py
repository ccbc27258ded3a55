"""The file that a user names for a text, behind its links."""

from __future__ import annotations

import os

from keepthread import platforms
from keepthread.errors import KeepthreadError


def behind_links(path: str, project: str) -> str:
    """Return the file that a name of the user's leads to.

    A user's own links are followed. Nobody vouches for those in a project, which may be a clone: `notes.md` there may
    lead to the user's shell start file.

    Args:
        path: as it was typed; a relative one is one of the current folder.
        project: the project's folder, "" for none.

    Raises:
        KeepthreadError: a link in the project leads out of it.
    """
    target = os.path.realpath(path)
    if not project or _lies_in(target, project):
        return target
    named = os.path.abspath(path)
    spelt = os.path.normcase(named), os.path.normcase(os.path.abspath(project))
    if _lies_in(named, project) or platforms.is_within(*spelt):
        raise KeepthreadError(
            f"{path!r} is a link in the project that leads out of it, to {target}",
            "If that is where it shall go, name that file.",
        )
    return target


def _lies_in(path: str, project: str) -> bool:
    """Return whether a name, itself not followed, really stands in the project."""
    folder, name = os.path.split(path)
    place = os.path.join(platforms.real_place(folder), name)
    return platforms.is_within(place, platforms.real_place(project))
