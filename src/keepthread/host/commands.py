"""Our slash commands in the host's commands folder. A name that its user has taken stays the user's."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from keepthread import files
from keepthread.errors import KeepthreadError

MARKER = "<!-- keepthread command: written by keepthread install, replaced when it is run again -->"
# What runs the program in the bundled texts: right as it stands in the plugin, whose folder the host puts in.
PROGRAM = '"${CLAUDE_PLUGIN_ROOT}/bin/keepthread"'
_LIMIT = 1 << 20
_PREFIX = "keepthread-"
_TEMP = re.compile(re.escape(files.TEMP_PREFIX) + "[0-9a-f]{24}")


@dataclass(frozen=True, slots=True)
class Change:
    """A file to write (`new` is its content) or to remove (`new` is None)."""

    path: str
    old: bytes | None
    new: bytes | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done, the sha256 of every command that then stands, and what its user should know.

    `folder_is_new` says that the commands folder has to be created.
    """

    folder_is_new: bool
    changes: list[Change] = field(default_factory=list)
    hashes: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def bundled(folder: str, python: str) -> dict[str, bytes]:
    """Return the commands that come with keepthread, by file name, made to run with this interpreter.

    It is isolated, as for the hooks: a repository's settings can set PYTHONPATH for a command too.

    Args:
        folder: the bundled texts; each holds our marker line.
        python: absolute path of the interpreter that has keepthread.

    Raises:
        OSError: the folder cannot be read.
    """
    # Git Bash, which runs them on Windows, takes a backslash for an escape.
    quoted = shlex.quote(python.replace("\\", "/"))
    run = f"{quoted} -I -m keepthread".encode()
    found = {}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".md"):
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read().replace(b"\r\n", b"\n").replace(PROGRAM.encode(), run)
    return found


def plan(config_dir: str, texts: Mapping[str, bytes], known: Mapping[str, str]) -> Plan:
    """Return how the commands folder comes to hold exactly these commands of ours.

    Args:
        config_dir: the host's configuration folder.
        texts: the commands by file name; none for an uninstall.
        known: file name -> sha256 of what was written before.

    Raises:
        KeepthreadError: something that is no folder stands in its place.
    """
    folder = os.path.join(config_dir, "commands")
    if texts and os.path.lexists(folder) and not os.path.isdir(folder):
        raise KeepthreadError(
            f"{folder} is no folder for slash commands, nor a link to one",
            "Move it away. Nothing was changed.",
        )
    done = Plan(folder_is_new=bool(texts) and not os.path.isdir(folder))
    for name, text in texts.items():
        _place(done, config_dir, name, text, known)
    for name in _listed(folder):
        data = _ours(os.path.join(folder, name), known.get(name, ""))
        if name not in done.hashes and data is not None:
            done.changes.append(Change(os.path.join(folder, name), data, None))
    return done


def apply(done: Plan) -> None:
    """Carry out a plan.

    Raises:
        KeepthreadError: a file cannot be written or removed.
    """
    for folder in {os.path.dirname(change.path) for change in done.changes}:
        _sweep(folder)
    for change in done.changes:
        _carry_out(change)


def _carry_out(change: Change) -> None:
    try:
        if change.new is None:
            with suppress(FileNotFoundError):  # its user was faster
                os.unlink(change.path)
        else:
            _make_folder(os.path.dirname(change.path))
            files.write_private(change.path, change.new)
    except OSError as error:
        raise KeepthreadError(
            f"The command {change.path} cannot be changed: {error.strerror}",
            "The settings are as they should be. When this is mended, run the same again.",
        ) from error


def _place(done: Plan, config_dir: str, name: str, text: bytes, known: Mapping[str, str]) -> None:
    for candidate in (name, _PREFIX + name):
        path = os.path.join(config_dir, "commands", candidate)
        old = _ours(path, known.get(candidate, ""))
        if _taken(config_dir, candidate) or (old is None and os.path.lexists(path)):
            continue
        done.hashes[candidate] = hashlib.sha256(text).hexdigest()
        if old != text:
            done.changes.append(Change(path, old, text))
        if candidate != name:
            done.notes.append(f"/{name[:-3]} is yours; ours is /{candidate[:-3]}")
        return
    done.notes.append(f"/{name[:-3]} and /{_PREFIX}{name[:-3]} are both yours; ours was left out")


def _taken(config_dir: str, name: str) -> bool:
    # A skill beats a command of the same name: ours would never run.
    return os.path.lexists(os.path.join(config_dir, "skills", name[:-3]))


def _ours(path: str, digest: str) -> bytes | None:
    """Return the file's bytes if it is a command of ours."""
    try:
        data = files.read_regular(path, _LIMIT)
    except OSError:
        return None  # absent, a link or something else that we never wrote
    ours = hashlib.sha256(data).hexdigest() == digest or _marked(data)
    return data if ours else None


def _marked(data: bytes) -> bool:
    return MARKER.encode() in data.splitlines()


def _listed(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    except OSError:
        return []


def remove_folder(config_dir: str) -> None:
    """Remove the commands folder if nothing is in it."""
    folder = os.path.join(config_dir, "commands")
    _sweep(folder)
    with suppress(OSError):  # something is in it, or it is gone
        os.rmdir(folder)


def _sweep(folder: str) -> None:
    """Remove what killed runs of ours left half written; no other run is at work, for the caller holds the lock."""
    with suppress(OSError):  # there is no such folder, or it cannot be written
        for name in os.listdir(folder):
            if _TEMP.fullmatch(name):
                os.unlink(os.path.join(folder, name))


def _make_folder(folder: str) -> None:
    if not os.path.isdir(folder):
        files.make_private(folder)
