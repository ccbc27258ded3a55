"""Profiles as files: those that come with keepthread, and the user's own in `<state>/profiles/`.

A profile is a dotenv file. One of the user's with the name of a built-in one extends it: its values count before those
of the built-in, and an empty one takes a value out.
"""

from __future__ import annotations

import io
import os
import re
import shlex
from typing import NamedTuple

from keepthread import files, resources
from keepthread.errors import KeepthreadError

ENDING = ".env"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LIMIT = 1 << 20
_OURS = "KEEPTHREAD_"


class Profile(NamedTuple):
    """A profile: its name, its values, what it is for, and the files they come from, the built-in first."""

    name: str
    values: dict[str, str]
    purpose: str
    files: tuple[str, ...]


def is_own(file: str, state: str) -> bool:
    """Return whether a profile's file is the user's own; the program itself may be installed in the state folder."""
    return os.path.dirname(file) == _own(state)


def own_file(name: str, state: str) -> str:
    """Return where a profile of the user's own lies."""
    return _file(_own(state), name)


def names(state: str) -> list[str]:
    """Return the names of all profiles, sorted."""
    folders = filter(os.path.isdir, (_built_in(), _own(state)))
    found = {entry for folder in folders for entry in os.listdir(folder) if entry.endswith(ENDING)}
    return sorted(name for one in found if _NAME.fullmatch(name := one[: -len(ENDING)]))


def load(name: str, state: str) -> Profile:
    """Return a profile.

    Raises:
        KeepthreadError: there is none of this name, or a file of it cannot be used; names file and line.
    """
    if not _NAME.fullmatch(name):
        raise KeepthreadError(
            f"{name!r} is no name of a profile", "Small letters, digits, - and _ only."
        )
    values: dict[str, str] = {}
    purposes, used = [], []
    for path, own in ((_file(_built_in(), name), False), (own_file(name, state), True)):
        if not os.path.lexists(path):
            continue
        text = _text(path, own=own)
        values |= parse(text, path)
        purposes.append(_purpose(text))
        used.append(path)
    if not used:
        known = ", ".join(names(state))
        raise KeepthreadError(f"There is no profile {name!r}", f"There are: {known}.")
    values = {key: value for key, value in values.items() if value}
    return Profile(name, values, next((one for one in reversed(purposes) if one), ""), tuple(used))


def read_file(path: str) -> dict[str, str]:
    """Return the values of any dotenv file; links are followed, for it is the user who names it.

    Raises:
        KeepthreadError: it cannot be read; names file and line.
    """
    return parse(_text(os.path.realpath(path), own=False), path, every=True)


def parse(text: str, path: str, *, every: bool = False) -> dict[str, str]:
    """Return the values of a dotenv text. Nothing is interpolated: what stands there is what counts.

    Args:
        text: the file's text.
        path: names the file in messages.
        every: a foreign file, in which lines of other programs' making are passed over.

    Raises:
        KeepthreadError: a line is no assignment, or a value no environment can hold.
    """
    from dotenv.parser import parse_stream

    values: dict[str, str] = {}
    for binding in parse_stream(io.StringIO(text)):
        line = binding.original.line + (
            len(binding.original.string) - len(binding.original.string.lstrip("\r\n"))
        )
        if binding.error or (binding.key and binding.value is None):
            if every:
                continue
            raise _bad(path, line, "write it as NAME=value")
        if not binding.key or binding.value is None:
            continue  # a comment
        if not every:
            _check(binding.key, binding.value, path, line)
        values[binding.key] = binding.value
    return values


def _check(name: str, value: str, path: str, line: int) -> None:
    if not _VARIABLE.fullmatch(name):
        raise _bad(path, line, f"{name!r} is no name of a variable")
    if name.startswith(_OURS):
        raise _bad(
            path, line, f"{name} is a variable of keepthread's own, which a profile cannot set"
        )
    if value and not value.isprintable():
        raise _bad(path, line, f"the value of {name} holds a character that cannot stand there")


def _bad(path: str, line: int, reason: str) -> KeepthreadError:
    return KeepthreadError(f"{path}:{line}: {reason}")


def _text(path: str, *, own: bool) -> str:
    """Return a file's text; one of the user's own has to be a regular file that nobody else can write."""
    try:
        if own and os.path.islink(path):
            raise KeepthreadError(f"{path} is a link", "Put the file itself there.")
        if own and os.name != "nt" and os.lstat(path).st_mode & 0o022:
            raise KeepthreadError(
                f"{path} can be written by others",
                f"Run: chmod go-w {shlex.quote(path)}, and look what is in it.",
            )
        return files.read_regular(path, _LIMIT).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise KeepthreadError(f"{path} is not UTF-8", "Save it as UTF-8.") from problem
    except OSError as problem:
        raise KeepthreadError(f"{path} cannot be read: {problem.strerror}") from problem


def _purpose(text: str) -> str:
    """Return the first line of comment."""
    first = text.lstrip().partition("\n")[0]
    return first[1:].strip() if first.startswith("#") else ""


def _built_in() -> str:
    return os.path.join(resources.folder("templates"), "profiles")


def _own(state: str) -> str:
    return os.path.join(state, "profiles")


def _file(folder: str, name: str) -> str:
    return os.path.join(folder, name + ENDING)
