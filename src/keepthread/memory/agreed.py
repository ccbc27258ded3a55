"""What both sides of a sync last agreed on, kept in the state folder, where nobody else writes.

It holds for one folder, one remote and one branch. Without it the commits' own history has to do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from keepthread import files

_SHAPE = 1
_MOST = 64 << 20  # bytes


class Agreed(NamedTuple):
    """A commit of the remote, and the names of its texts by key as far as they are the same here."""

    commit: str
    texts: dict[str, str]


def load(path: str, bound: str) -> Agreed | None:
    """Return what was agreed on, None when nothing was for this folder and remote."""
    try:
        found = json.loads(files.read_regular(path, _MOST))
        if (found["shape"], found["bound"]) != (_SHAPE, bound):
            return None
        texts = {str(key): str(name) for key, name in found["texts"].items()}
        return Agreed(str(found["commit"]), texts)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None  # none yet, or not ours


def save(path: str, bound: str, commit: str, texts: Mapping[str, str]) -> None:
    """Remember what was agreed on, safely on the disk.

    Raises:
        OSError: the state folder cannot be written.
    """
    found = {"shape": _SHAPE, "bound": bound, "commit": commit, "texts": dict(texts)}
    files.write_private(path, json.dumps(found, separators=(",", ":")).encode())


def bound_to(*parts: str) -> str:
    """Return a name for a folder, remote and branch together; it gives nothing away of a login in a URL."""
    import hashlib

    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
