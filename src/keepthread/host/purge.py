"""What an uninstall leaves, and the removal of keepthread's own folder and of the backups."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Sequence
from contextlib import suppress

from keepthread.errors import KeepthreadError
from keepthread.host import settings_file

_TRIES, _PAUSE = 10, 0.1  # seconds
_OF_INSTALLS = {"install.lock", "settings.json"}  # the lock, and the values that the hooks went by


def tidy(state: str) -> None:
    """Remove what lies in the state folder only for installs, and the folder itself when nothing else is in it."""
    for name in ("manifests", "backups"):
        with suppress(OSError):  # it is needed, or not there
            os.rmdir(os.path.join(state, name))
    if not _is_bare(state):
        return
    with suppress(KeepthreadError), settings_file.locked(state):  # nobody may be at work there
        if _is_bare(state):
            for name in _OF_INSTALLS:
                with suppress(OSError):  # absent; on Windows the lock file goes by itself
                    os.unlink(os.path.join(state, name))
            with suppress(OSError):
                os.rmdir(state)
    with suppress(OSError):  # gone; on Windows only now
        os.rmdir(state)


def _is_bare(state: str) -> bool:
    try:
        return set(os.listdir(state)) <= _OF_INSTALLS
    except OSError:
        return False


def kept(state: str, backups: Sequence[str]) -> list[str]:
    """Return in words what an uninstall leaves and why.

    Args:
        state: keepthread's state folder.
        backups: what the backups' names begin with (`Place.backups`), for each settings file.
    """
    notes = []
    if os.path.isdir(state):
        full = any(os.path.lexists(os.path.join(state, name)) for name in ("sessions", "log.jsonl"))
        what = ", with handoffs and log" if full else ""
        notes.append(f"{state} is kept{what}; --purge removes it")
    counts = [(len(settings_file.backups(base)), base) for base in backups]
    notes += [
        f"1 backup {base}.keepthread-* is kept; --purge removes it"
        if count == 1
        else f"{count} backups {base}.keepthread-* are kept; --purge removes them"
        for count, base in counts
        if count
    ]
    return notes


def check(state: str) -> None:
    """See that the state folder is one that keepthread made.

    Raises:
        KeepthreadError: it is a link, or has another name.
    """
    if os.path.basename(state) != "keepthread" or os.path.islink(state):
        raise KeepthreadError(f"{state} is not a folder that keepthread made", "Remove it by hand.")


def purged(state: str, backups: Sequence[str]) -> list[str]:
    """Return in words what a purge takes away; the arguments are those of `kept`."""
    found = []
    if os.path.isdir(state):
        found = [
            f"{state}, with all handoffs, pins, private memories, the log and the virtual environment,"
        ]
    counts = [(len(settings_file.backups(base)), base) for base in backups]
    return found + [f"{count} of {base}.keepthread-*" for count, base in counts if count]


def purge(state: str, backups: Sequence[str]) -> None:
    """Remove the state folder and the backups; the arguments are those of `kept`.

    Raises:
        KeepthreadError: the system refuses.
    """
    try:
        for base in backups:
            for backup in settings_file.backups(base):
                os.unlink(backup)
        _remove(state)
    except OSError as error:
        raise KeepthreadError(f"{error.filename} cannot be removed: {error.strerror}") from error


def _remove(folder: str) -> None:
    """Remove the folder, also from under a process that has not ended yet and still puts files into it."""
    for _ in range(_TRIES):
        if not os.path.isdir(folder):
            return
        with suppress(OSError):
            shutil.rmtree(folder)
            continue
        time.sleep(_PAUSE)
    if os.path.isdir(folder):
        shutil.rmtree(folder)
