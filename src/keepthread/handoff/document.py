"""The person-facing document in the project, docs/handoff-context.md: written, never read by a hook.

The project is untrusted: a link in it is not followed, a file that git tracks or that is not ours is left alone.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

from keepthread.files import write_all

MARKER = b"<!-- keepthread handoff"
_MARKER_WITHIN = 300  # bytes
_PATIENCE = 1.0  # seconds for git
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NO_LINK
_HAS_DIR_FD = os.open in os.supports_dir_fd


class DocumentResult(NamedTuple):
    """What became of the document: its path, whether it was written, and why not ("" when it was)."""

    path: str
    written: bool
    why: str


class _LeftAloneError(Exception):
    """The document is not to be written; says why."""


def write_document(root: str, relative: str, markdown: str) -> DocumentResult:
    """Write the document at `relative` inside the project and keep it out of git; never raises for what lies there."""
    path = os.path.join(root, relative)
    try:
        parts = _parts(relative)
        with _folder(root, parts[:-1], create=True) as folder:
            _check(folder, parts[-1], root, relative)
            _exclude(root, "/".join(parts))
            _write(folder, parts[-1], markdown.encode("utf-8", "replace"))
    except _LeftAloneError as left:
        return DocumentResult(path, False, str(left))
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "the path cannot be used"
        return DocumentResult(path, False, f"{relative}: {reason}")
    return DocumentResult(path, True, "")


def why_left_alone(root: str, relative: str) -> str:
    """Return why the document would not be written now, or ""."""
    try:
        parts = _parts(relative)
        with _folder(root, parts[:-1], create=False) as folder:
            _check(folder, parts[-1], root, relative)
    except _LeftAloneError as left:
        return str(left)
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as problem:
        return f"{relative}: {problem}"
    return ""


def forget_document(root: str, relative: str) -> bool:
    """Take our line out of the project's .git/info/exclude; return whether it was there."""
    path = _exclude_file(root)
    line = _exclude_line("/".join(_parts(relative)))
    try:
        before = _read_exclude(path) if path else b""
    except OSError:
        return False
    after = b"".join(
        part for part in before.splitlines(keepends=True) if part.rstrip(b"\r\n") != line
    )
    if after == before:
        return False
    _rewrite(path, after)
    return True


def _parts(relative: str) -> list[str]:
    parts = relative.replace("\\", "/").split("/") if os.name == "nt" else relative.split("/")
    if (
        os.path.isabs(relative)
        or any(part in ("", ".", "..") for part in parts)
        or "\0" in relative
    ):
        raise _LeftAloneError(
            f"{relative!r} is no path inside the project; set KEEPTHREAD_DOCUMENT to one"
        )
    return parts


@contextlib.contextmanager
def _folder(root: str, parts: list[str], *, create: bool) -> Iterator[int | str]:
    """Give the document's folder as a descriptor, walked to without following a link; as a path on Windows."""
    if not _HAS_DIR_FD:
        yield _folder_by_name(root, parts, create=create)
        return
    current = os.open(
        root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0)
    )
    try:
        for part in parts:
            if create:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=current)
            following = os.open(part, _FOLDER, dir_fd=current)
            os.close(current)
            current = following
        yield current
    finally:
        os.close(current)


def _folder_by_name(root: str, parts: list[str], *, create: bool) -> str:
    folder = os.path.join(root, *parts)
    if create:
        os.makedirs(folder, exist_ok=True)
    if os.path.realpath(folder) != os.path.join(os.path.realpath(root), *parts):
        raise _LeftAloneError(f"{folder} leads out of the project through a link")
    return folder


def _check(folder: int | str, name: str, root: str, relative: str) -> None:
    """Raise when the file there is not ours to write."""
    try:
        descriptor = _open(folder, name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NO_LINK)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise _LeftAloneError(f"{relative} is a link or no file ({problem.strerror})") from problem
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _LeftAloneError(f"{relative} is no regular file")
        head = os.read(descriptor, _MARKER_WITHIN)
    finally:
        os.close(descriptor)
    if MARKER not in head:
        raise _LeftAloneError(
            f"{relative} is not keepthread's; move it, or set KEEPTHREAD_DOCUMENT"
        )
    if _tracked(root, relative):
        raise _LeftAloneError(
            f"{relative} is tracked by git; git rm --cached it, or set KEEPTHREAD_DOCUMENT"
        )


def _open(folder: int | str, name: str, flags: int, mode: int = 0o600) -> int:
    if isinstance(folder, int):
        return os.open(name, flags, mode, dir_fd=folder)
    return os.open(os.path.join(folder, name), flags, mode)


def _write(folder: int | str, name: str, data: bytes) -> None:
    temp = f".tmp-{os.urandom(12).hex()}"
    descriptor = _open(folder, temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK)
    try:
        try:
            write_all(descriptor, data)
        finally:
            os.close(descriptor)
        if isinstance(folder, int):
            os.replace(temp, name, src_dir_fd=folder, dst_dir_fd=folder)
        else:
            os.replace(os.path.join(folder, temp), os.path.join(folder, name))
    except BaseException:
        with contextlib.suppress(OSError):
            if isinstance(folder, int):
                os.unlink(temp, dir_fd=folder)
            else:
                os.unlink(os.path.join(folder, temp))
        raise


def _tracked(root: str, relative: str) -> bool:
    """Return whether git tracks the file; a git that is missing or slow counts as no."""
    quiet = [
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.hooksPath=/dev/null",
    ]  # nothing of the repository's runs
    command = ["git", *quiet, "ls-files", "--error-unmatch", "--", f":(literal){relative}"]
    try:
        run = subprocess.run(
            command,
            cwd=root,
            env={**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return run.returncode == 0


def _exclude_line(relative: str) -> bytes:
    return ("/" + "".join(f"\\{c}" if c in "*?[\\ " else c for c in relative)).encode()


def _exclude(root: str, relative: str) -> None:
    """Add the document to the repository's own exclude file, once; outside git there is none."""
    path = _exclude_file(root)
    if not path:
        return
    top = _top(root)
    inside = os.path.relpath(os.path.join(root, relative), top).replace(os.sep, "/")
    line = _exclude_line(inside)
    before = _read_exclude(path)
    if line in (part.rstrip(b"\r") for part in before.split(b"\n")):
        return
    joint = b"" if not before or before.endswith(b"\n") else b"\n"
    _rewrite(path, before + joint + line + b"\n")


def _top(root: str) -> str:
    current = os.path.normpath(root)
    while not os.path.lexists(os.path.join(current, ".git")):
        parent = os.path.dirname(current)
        if parent == current:
            return root
        current = parent
    return current


def _exclude_file(root: str) -> str:
    """Return the path of info/exclude: in worktrees it lies in the main repository's folder; "" outside git."""
    git = os.path.join(_top(root), ".git")
    if os.path.isfile(git):
        with open(git, encoding="utf-8", errors="replace") as file:
            named = file.read(4_096).partition("gitdir:")[2].strip()
        git = os.path.normpath(os.path.join(_top(root), named)) if named else ""
        git = _common(git)
    return os.path.join(git, "info", "exclude") if git and os.path.isdir(git) else ""


def _common(git: str) -> str:
    try:
        with open(os.path.join(git, "commondir"), encoding="utf-8", errors="replace") as file:
            return os.path.normpath(os.path.join(git, file.read(4_096).strip()))
    except OSError:
        return git  # a submodule, which has a folder of its own


def _read_exclude(path: str) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _NO_LINK)
    except FileNotFoundError:
        return b""
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is no regular file")
        return file.read()


def _rewrite(path: str, data: bytes) -> None:
    """Replace the exclude file as a whole; a folder that is a link is not followed."""
    info = os.path.dirname(path)
    if os.path.islink(info):
        raise _LeftAloneError(f"{info} is a link")
    os.makedirs(info, exist_ok=True)
    temp = f"{path}.{os.urandom(8).hex()}"
    mode = stat.S_IMODE(os.stat(path).st_mode) if os.path.exists(path) else 0o644
    descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(temp, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temp)
        raise
