"""The earlier handoffs of a session: each stays beside the one that took its place, the newest so many of them.

    <state>/sessions/<key>/earlier/<ordinal>-<size>-<status>.json

The file is the very one that was stored: it is linked there before a newer one takes its name, and nothing is copied.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from keepthread import files

if TYPE_CHECKING:
    from keepthread.handoff.model import Handoff

FOLDER = "earlier"
KEPT = 20  # handoffs; the session of a long day compacts about as often
_LIMIT = 8 * 1024 * 1024  # bytes
_NAME = re.compile(r"(\d{1,9})-(\d{1,18})-(?:complete|partial)\.json")


def keep(folder: str, path: str, stored: Handoff, new: Handoff) -> None:
    """Keep the stored handoff of a session when the new one was taken at another place. Never raises OSError.

    Args:
        folder: the session's folder.
        path: the file of the stored handoff.
        stored: what it holds.
        new: the handoff that is about to take its place.
    """
    if _place(stored) == _place(new):
        return  # the same handoff, upgraded
    earlier = os.path.join(folder, FOLDER)
    ordinal, size = _place(stored)
    name = f"{ordinal}-{size}-{stored['meta']['status']}.json"
    with suppress(OSError):  # history is worth less than the handoff that is about to be stored
        files.make_private(earlier)
        _link(path, os.path.join(earlier, name))
        for old in _names(earlier)[:-KEPT]:
            os.unlink(os.path.join(earlier, old))


def _link(path: str, target: str) -> None:
    try:
        os.link(path, target)
    except FileExistsError:
        pass  # a run that was killed got so far
    except OSError:  # this file system has no links
        files.write_private(target, files.read_regular(path, _LIMIT))


def earlier(folder: str) -> list[Handoff]:
    """Return the earlier handoffs in a session's folder, the oldest first; one that cannot be read is left out."""
    found = []
    place = os.path.join(folder, FOLDER)
    for name in _names(place):
        with suppress(OSError, ValueError, RecursionError):
            value = json.loads(files.read_regular(os.path.join(place, name), _LIMIT))
            if isinstance(value, dict) and isinstance(value.get("meta"), dict):
                found.append(cast("Handoff", value))
    return found


def _place(handoff: Handoff) -> tuple[int, int]:
    meta = handoff["meta"]
    return meta["ordinal"], meta["transcript"]["size"]


def _names(folder: str) -> list[str]:
    """Return the files of a history, the oldest first."""
    try:
        found = [match for name in os.listdir(folder) if (match := _NAME.fullmatch(name))]
    except OSError:
        return []  # nothing was replaced yet
    return [m[0] for m in sorted(found, key=lambda m: (int(m[1]), int(m[2]), m[0]))]
