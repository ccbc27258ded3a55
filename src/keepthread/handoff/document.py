"""The person-facing document in the project, docs/handoff-context.md: written, never read by a hook.

The project is not trusted: a link in it is not followed, and a file that git tracks or that is not ours is left alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

from keepthread import files, platforms
from keepthread.handoff import exclude
from keepthread.handoff.facts import git
from keepthread.host.locations import git_root

MARKER = b"<!-- keepthread handoff"
_MARKER_WITHIN = 300  # bytes
_PATIENCE = 1.0  # seconds for git
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
_HAS_DIR_FD = os.open in os.supports_dir_fd


class DocumentResult(NamedTuple):
    """What became of the document: its path, whether it was written, and why not ("" when it was)."""

    path: str
    written: bool
    why: str


class _LeftAloneError(Exception):
    """The document is not to be written; says why."""


def write_document(root: str, relative: str, markdown: str) -> DocumentResult:
    """Write the document and keep it out of git; never raises, whatever lies there.

    Args:
        root: the project's folder.
        relative: where in it, with "/" between the parts; an absolute path or one with ".." is refused.
        markdown: the rendered document, our marker within its first 300 bytes.
    """
    path = os.path.join(root, relative)
    try:
        parts = _parts(relative)
        with _folder(root, parts[:-1], create=True) as folder:
            _check(folder, parts[-1], root, relative)
            _keep_out_of_git(path, relative)  # first: what git shows is committed by accident
            _write(folder, parts[-1], markdown.encode("utf-8", "replace"))
    except _LeftAloneError as left:
        return DocumentResult(path, False, str(left))
    except (OSError, ValueError) as problem:
        return DocumentResult(path, False, f"{relative!r} cannot be written: {_reason(problem)}")
    return DocumentResult(path, True, "")


def why_left_alone(root: str, relative: str) -> str:
    """Return why the document would not be written now, or "". Never raises."""
    try:
        parts = _parts(relative)
        with _folder(root, parts[:-1], create=False) as folder:
            _check(folder, parts[-1], root, relative)
    except FileNotFoundError:
        return ""  # neither folder nor file yet
    except _LeftAloneError as left:
        return str(left)
    except (OSError, ValueError) as problem:
        return f"{relative!r} cannot be written: {_reason(problem)}"
    return ""


def traces(root: str, relative: str) -> tuple[bool, bool]:
    """Return whether a document of ours is there, and whether its line stands in the exclude file. Never raises."""
    try:
        parts = _parts(relative)
    except _LeftAloneError:
        return False, False  # no path of ours
    path, there = os.path.join(root, *parts), False
    absent = contextlib.suppress(_LeftAloneError, OSError, ValueError)  # or not ours
    with absent, _folder(root, parts[:-1], create=False) as folder:
        there = os.path.lexists(path) and MARKER in _head(folder, parts[-1], relative)
    return there, exclude.holds(path)


def forget_document(root: str, relative: str) -> bool:
    """Take our line out of the repository's exclude file; return whether it was there. Never raises."""
    try:
        return exclude.remove(os.path.join(root, *_parts(relative)))
    except (_LeftAloneError, OSError, ValueError):
        return False  # no path of ours, or a file that is not ours to change


def _parts(relative: str) -> list[str]:
    parts = relative.replace("\\", "/").split("/") if os.name == "nt" else relative.split("/")
    outward = os.path.isabs(relative) or any(part in ("", ".", "..") for part in parts)
    if outward or not relative.isprintable() or ".git" in (part.lower() for part in parts):
        raise _LeftAloneError(
            f"{relative!r} is no path inside the project; set KEEPTHREAD_DOCUMENT to one"
        )
    return parts


def _reason(problem: OSError | ValueError) -> str:
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    return "the system cannot hold such a path"


@contextlib.contextmanager
def _folder(root: str, parts: list[str], *, create: bool) -> Iterator[int | str]:
    """Give the document's folder as a descriptor, walked to without following a link; as a path on Windows."""
    if os.path.dirname(root) == root:  # a session that was started there has no project
        raise _LeftAloneError("the root of the file system is no project")
    if not _HAS_DIR_FD:
        yield _folder_by_name(root, parts, create=create)
        return
    current = os.open(root, _FOLDER)
    try:
        for part in parts:
            following = _step(current, part, create=create)
            os.close(current)
            current = following
        yield current
    finally:
        os.close(current)


def _step(current: int, part: str, *, create: bool) -> int:
    if create:
        with contextlib.suppress(FileExistsError):  # whether it is a folder shows when it is opened
            os.mkdir(part, 0o755, dir_fd=current)  # the project's own folder, not ours
    try:
        return os.open(part, _FOLDER | _NO_LINK, dir_fd=current)
    except FileNotFoundError:
        raise
    except OSError as problem:
        raise _LeftAloneError(
            f"{part!r} in the project is a link or no folder ({problem.strerror})"
        ) from problem


def _folder_by_name(root: str, parts: list[str], *, create: bool) -> str:
    folder = os.path.join(root, *parts)
    if create:
        os.makedirs(folder, exist_ok=True)
    expected = os.path.join(os.path.realpath(root), *parts)
    if os.path.normcase(os.path.realpath(folder)) != os.path.normcase(expected):
        raise _LeftAloneError(f"{folder} leads out of the project through a link")
    return folder


def _check(folder: int | str, name: str, root: str, relative: str) -> None:
    """Raise when the file there is not ours to write."""
    if MARKER not in _head(folder, name, relative):
        raise _LeftAloneError(
            f"{relative} is not keepthread's; move it, or set KEEPTHREAD_DOCUMENT"
        )
    if _tracked(os.path.join(root, relative)):
        raise _LeftAloneError(
            f"{relative} is tracked by git; git rm --cached it, or set KEEPTHREAD_DOCUMENT"
        )


def _head(folder: int | str, name: str, relative: str) -> bytes:
    """Return the first bytes of the file, or the marker when there is no file."""
    try:
        fd = _open(folder, name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NO_LINK)
    except FileNotFoundError:
        return MARKER
    except OSError as problem:
        raise _LeftAloneError(f"{relative} is a link or no file ({problem.strerror})") from problem
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise _LeftAloneError(f"{relative} is no regular file")
        return os.read(fd, _MARKER_WITHIN)
    finally:
        os.close(fd)


def _open(folder: int | str, name: str, flags: int) -> int:
    if isinstance(folder, int):
        return os.open(name, flags, files.PRIVATE_FILE, dir_fd=folder)
    return os.open(os.path.join(folder, name), flags, files.PRIVATE_FILE)


def _write(folder: int | str, name: str, data: bytes) -> None:
    if isinstance(folder, str):
        files.write_private(os.path.join(folder, name), data)
        return
    temp = files.TEMP_PREFIX + os.urandom(12).hex()
    fd = _open(folder, temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK)
    try:
        try:
            files.write_all(fd, data)
            # No fsync: it is a copy of handoff.md in the state folder, written again at the next compaction.
        finally:
            os.close(fd)
        os.replace(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        _unlink_quietly(temp, folder)
        raise


def _unlink_quietly(name: str, folder: int) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        return  # the error that brought us here is the one to report


def _keep_out_of_git(path: str, relative: str) -> None:
    """Name the document in the repository's exclude file; raise when git would show it all the same."""
    named = exclude.add(path)
    ignored = _git(path, "check-ignore", "-q") if git_root(os.path.dirname(path)) else True
    if named if ignored is None else ignored:
        return
    if named:
        exclude.remove(path)  # it is of no use there
    raise _LeftAloneError(
        f"git would show {relative}: a rule of the project overrides .git/info/exclude, or that file is not to be "
        "found from here; ignore it in .gitignore, or set KEEPTHREAD_DOCUMENT"
    )


def _tracked(path: str) -> bool:
    """Return whether git tracks the file, even if it is deleted; a git that is missing or slow counts as no."""
    if not git_root(os.path.dirname(path)):
        return False
    return _git(path, "--literal-pathspecs", "ls-files", "--error-unmatch") is True


def _git(path: str, *arguments: str) -> bool | None:
    """Return what git answers about the file, None when it has no answer: missing, slow, or not willing."""
    # Not in the file's own folder, which may pose as a repository: git would follow the configuration in it.
    folder = git_root(os.path.dirname(path))
    name = os.path.relpath(path, folder)
    env = git.environment()
    try:
        run = subprocess.run(
            [platforms.started_as("git", env), *git.SAFE, *arguments, "--", name],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return None
    return {0: True, 1: False}.get(run.returncode)
