"""Which project a folder belongs to, as a name for files of the state folder."""

from __future__ import annotations

import os

from keepthread.handoff.exclude import common_folder
from keepthread.host.locations import git_root


def project_key(project: str) -> str:
    """Return the name under which what belongs to a project is kept: 32 hex digits, "" without a project.

    The repository counts, not the folder: sub-directories, worktrees and other paths to it lead to one key. A `.git`
    that points at a repository which does not point back is a project of its own.
    """
    if not project:
        return ""
    import hashlib  # only here: loading OpenSSL costs more than the rest

    top = git_root(project) or project
    place = os.path.realpath(common_folder(top) or top)
    place = os.path.dirname(place) if os.path.basename(place) == ".git" else place
    return hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()[:32]
