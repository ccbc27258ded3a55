"""What `doctor --fix` does: what is ours is put in order again. Nothing of its user's is touched, nothing asked."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from keepthread import files, redact
from keepthread.diagnose import checks_state, registered, secrets
from keepthread.diagnose.check import Place
from keepthread.diagnose.doctor import place_here
from keepthread.errors import KeepthreadError
from keepthread.handoff.alive import running
from keepthread.handoff.inject import read_json
from keepthread.handoff.lock import locked
from keepthread.host import doubles
from keepthread.installing import install_here
from keepthread.memory.checks import check as look_through
from keepthread.memory.places import open_all, place_of

_PATIENCE = 3600.0  # seconds; who asks for it waits


def mend(env: Mapping[str, str], cwd: str) -> list[str]:
    """Mend what can be mended without a question, and return one line for each thing done.

    Modes; entries in the settings that are missing, double or of an older form, and slash commands that are gone;
    temporary files and states of killed processes; a MEMORY.md that is behind its entries; secrets in what is stored.

    Raises:
        KeepthreadError: there is no configuration folder.
    """
    place = place_here(env, cwd)
    done = list(_reinstalled(place))
    done += [f"made private: {path}" for path in _tightened(place.state)] if os.name != "nt" else []
    done += _tidied(place)
    done += _listed(place)
    done += _redacted(place)
    return done


def _reinstalled(place: Place) -> Iterator[str]:
    """Install again where something of ours is, and is not as it should be; the plugin's own entries need nothing."""
    if doubles.plugins(place.folder, place.project):
        return
    for one in registered.read_all(place):
        ours = bool(one.entries or (one.known and one.known.hooks))
        if one.problem or not ours or not _is_faulty(one, place):
            continue
        try:
            install_here(place.env, place.cwd, scope=one.scope)
            yield f"registered again in {one.path}"
        except (KeepthreadError, OSError) as problem:
            why = problem.message if isinstance(problem, KeepthreadError) else problem.strerror
            yield f"could not be registered again in {one.path}: {why}"


def _is_faulty(one: registered.Settings, place: Place) -> bool:
    names = one.known.commands if one.known else ()
    commands = [os.path.join(place.folder, "commands", name) for name in names]
    named = [path for entry in one.entries for path in entry.named]
    gone = any(not os.path.isfile(path) for path in (*commands, *named))
    return gone or not one.known or registered.is_faulty(one, place)


def _tightened(state: str) -> Iterator[str]:
    """Yield each folder and file of the state that others could read, and take that away."""
    for folder, folders, names in os.walk(state):
        folders[:] = [
            name for name in folders if folder != state or name not in checks_state.NOT_OURS
        ]
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            if _tighten(path):
                yield path


def _tighten(path: str) -> bool:
    with suppress(OSError):  # gone, or another user's: the checks tell
        mode = os.lstat(path).st_mode
        private = files.PRIVATE_FOLDER if stat.S_ISDIR(mode) else files.PRIVATE_FILE
        if not stat.S_ISLNK(mode) and mode & 0o077:
            os.chmod(path, private)
            return True
    return False


def _tidied(place: Place) -> Iterator[str]:
    """Remove old temporary files, and let no state say that a process is at work which is gone."""
    found = checks_state.leftovers([place.state, *checks_state.newest_sessions(place.state)])
    for path in found.temps:
        with suppress(OSError):  # another process was faster
            os.unlink(path)
            yield f"removed: {path}"
    for path in found.dead:
        with suppress(OSError), locked(os.path.dirname(path)):
            state: dict[str, Any] = read_json(path) or {}
            if state.get("state") == "running" and not running(state):
                ended = {**state, "state": "failed", "result": "killed"}
                files.write_private(path, json.dumps(ended).encode() + b"\n")
                yield f"its process is gone: {path}"


def _listed(place: Place) -> Iterator[str]:
    """Make each MEMORY.md anew that does not list what is there."""
    if not place.project:
        return
    with suppress(KeepthreadError, OSError):  # doctor names what cannot be read
        for memory in open_all(place_of(place.env, place.cwd)):
            with memory:
                if any(one.kind == "behind" for one in look_through([memory])):
                    memory.reindex()
                    yield f"made anew: {os.path.join(memory.directory.path, 'MEMORY.md')}"


def _redacted(place: Place) -> Iterator[str]:
    known = redact.environment_secrets({**place.env, **place.config.user})
    leaks = secrets.search(place.state, known, seconds=_PATIENCE).leaks
    failed = secrets.mend(leaks, known)
    for leak in leaks:
        what = "could not be redacted" if leak.path in failed else "redacted"
        yield f"{what}: {', '.join(leak.rules)} in {leak.path}"
