"""Keeps a file out of git through the repository's own `.git/info/exclude`, in clones, worktrees and submodules.

The repository is not trusted: a `.git` that points at a folder which does not point back is not written to, and
neither is anything behind a link.
"""

from __future__ import annotations

import errno
import os
import stat

from keepthread import files
from keepthread.host.locations import git_root

_LIMIT = 1024 * 1024  # bytes; git's own sample has 240
_POINTER = 4096  # bytes of a file that holds one path
_SPECIAL = frozenset("\\*?[] ")
_LINE_ENDS = ("\n", "\r", "\0")


def add(path: str) -> bool:
    """Add the file to the exclude file of the repository around it, once; outside git do nothing.

    Return whether it is named there now or needs not be; no line can name a path with a line end in it.

    Raises:
        OSError: the exclude file cannot be read or written, or is a link.
    """
    exclude, line = _place(path)
    if not exclude:
        return not git_root(os.path.dirname(path))
    before = _read(exclude)
    if line not in _lines(before):
        joint = b"" if not before or before.endswith(b"\n") else b"\n"
        _write(exclude, before + joint + line + b"\n")
    return True


def holds(path: str) -> bool:
    """Return whether the file's line stands in the exclude file; not when that cannot be read."""
    try:
        exclude, line = _place(path)
        return bool(exclude) and line in _lines(_read(exclude))
    except OSError:
        return False


def remove(path: str) -> bool:
    """Take the file's line out again; return whether it was there.

    Raises:
        OSError: the exclude file cannot be read or written, or is a link.
    """
    exclude, line = _place(path)
    before = _read(exclude) if exclude else b""
    after = b"".join(part for part in _kept_ends(before) if part.rstrip(b"\r\n") != line)
    if after == before:
        return False
    _write(exclude, after)
    return True


def _place(path: str) -> tuple[str, bytes]:
    """Return the exclude file, "" outside git, and the line that names `path` in it."""
    top = git_root(os.path.dirname(path))
    common = common_folder(top) if top else ""
    if not common:
        return "", b""
    inside = os.path.relpath(path, top).replace(os.sep, "/")
    if any(end in inside for end in _LINE_ENDS):
        return "", b""
    line = "/" + "".join(f"\\{c}" if c in _SPECIAL else c for c in inside)
    return os.path.join(common, "info", "exclude"), os.fsencode(line)


def common_folder(top: str) -> str:
    """Return the git folder that the work tree at `top` shares with the repository's other ones, or "".

    A `.git` that points at a folder which does not point back has none.
    """
    git = os.path.join(top, ".git")
    if os.path.islink(git):
        return ""
    if os.path.isdir(git):
        return git
    named = _pointer(git).partition("gitdir:")[2].strip()
    folder = os.path.normpath(os.path.join(top, named)) if named else ""
    if not folder or not os.path.isfile(os.path.join(folder, "HEAD")):
        return ""
    if (shared := _pointer(os.path.join(folder, "commondir")).strip()) and _points_back(
        folder, git
    ):
        return os.path.normpath(os.path.join(folder, shared))
    return folder if _is_module(folder, top) else ""


def _points_back(folder: str, git: str) -> bool:
    # A worktree's folder in the main repository names the worktree's .git file.
    back = _pointer(os.path.join(folder, "gitdir")).strip()
    try:
        return bool(back) and os.path.samefile(os.path.join(folder, back), git)
    except OSError:
        return False  # the worktree was moved without git


def _is_module(folder: str, top: str) -> bool:
    # A submodule's folder lies in the one of a repository around it.
    around = git_root(os.path.dirname(top))
    modules = os.path.realpath(os.path.join(common_folder(around), "modules")) if around else ""
    return bool(around) and os.path.realpath(folder).startswith(modules + os.sep)


def _pointer(path: str) -> str:
    try:
        return os.fsdecode(files.read_regular(path, _POINTER))
    except OSError:
        return ""  # absent: not this kind of repository


def _read(exclude: str) -> bytes:
    if os.path.islink(os.path.dirname(exclude)):
        raise OSError(errno.ELOOP, "a link where a folder is expected", os.path.dirname(exclude))
    try:
        return files.read_regular(exclude, _LIMIT)
    except FileNotFoundError:
        return b""


def _write(exclude: str, data: bytes) -> None:
    folder = os.path.dirname(exclude)
    if not os.path.isdir(folder):
        os.mkdir(folder)
    files.write_private(exclude, data, mode=_mode(exclude))


def _mode(exclude: str) -> int:
    try:
        return stat.S_IMODE(os.lstat(exclude).st_mode)
    except FileNotFoundError:
        return files.PRIVATE_FILE


def _lines(data: bytes) -> list[bytes]:
    return [line.rstrip(b"\r") for line in data.split(b"\n")]


def _kept_ends(data: bytes) -> list[bytes]:
    # Not splitlines: it also breaks at form feeds and lone carriage returns.
    return [part + b"\n" for part in data.split(b"\n")[:-1]] + [data.split(b"\n")[-1]]
