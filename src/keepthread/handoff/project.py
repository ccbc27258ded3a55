"""Which project a folder belongs to, as a name for files of the state folder."""

from __future__ import annotations

import os
import sys

from keepthread import platforms
from keepthread.handoff.exclude import common_folder
from keepthread.host.locations import git_root


def project_key(project: str) -> str:
    """Return the name under which what belongs to a project is kept: 32 hex digits, "" without a project.

    The repository counts, not the folder: sub-directories, worktrees and other paths to it lead to one key. A `.git`
    that points at a repository which does not point back is a project of its own.
    """
    if not project:
        return ""
    top = git_root(project) or project
    place = platforms.real_place(common_folder(top) or top)
    place = os.path.dirname(place) if os.path.basename(place) == ".git" else place
    return sha256_hex(place.encode("utf-8", "surrogatepass"))[:32]


def sha256_hex(data: bytes) -> str:
    """Return the digest, from the interpreter's own module: hashlib loads OpenSSL, which costs more than the rest."""
    name = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
    try:
        return str(__import__(name).sha256(data).hexdigest())
    except (ImportError, AttributeError):  # an interpreter built without it
        import hashlib

        return hashlib.sha256(data).hexdigest()
