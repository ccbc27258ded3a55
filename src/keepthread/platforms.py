"""What differs between systems: where a home is, how programs are found, how paths are spelt and compared.

`system` is a value of sys.platform, so that every branch can be run anywhere. What is done for win32 and darwin follows
their documentation and is unverified there: docs/platforms.md. Standard library only, and light: every hook imports it.
"""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from collections.abc import Iterable, Mapping

# What Windows takes for a program when no ending is named, in this order; the two last ones are run by cmd.exe.
_ENDINGS = (".exe", ".com", ".cmd", ".bat")
_LONGEST = 248  # characters: 260 with a NUL, and a folder leaves room for a name of 8.3


def speak_utf8(system: str = sys.platform) -> None:
    """Start this process again in Python's UTF-8 mode where the locale is another: the host speaks UTF-8.

    Else a file that is named in an event would not be found, and a path of this process would be written down garbled.
    Streams of a terminal keep the locale's encoding.
    """
    if sys.getfilesystemencoding() == "utf-8" or not sys.executable or system == "win32":
        return  # Windows replaces no process: whoever waits for this one would not wait for the other
    env = {"PYTHONIOENCODING": sys.stdout.encoding if sys.stdout else "utf-8", **os.environ}
    command = [sys.executable, "-X", "utf8", *sys.orig_argv[1:]]
    try:
        os.execve(sys.executable, command, env)  # noqa: S606 - this very interpreter
    except OSError:
        return  # it goes on as it is


def home(env: Mapping[str, str], system: str = sys.platform) -> str:
    """Return the home folder that the variables name, "" when they name none.

    On Windows the host asks for USERPROFILE alone; HOME may be a drive of the network there, or a Git Bash spelling.
    """
    names = ("USERPROFILE", "HOME") if system == "win32" else ("HOME", "USERPROFILE")
    return env.get(names[0]) or env.get(names[1]) or ""


def which(name: str, folders: Iterable[str], system: str = sys.platform) -> str:
    """Return the absolute path of a program, "" when none of the folders has it; relative folders are skipped.

    Not shutil.which, and never a bare name for the system to look up: on Windows both begin in the current folder,
    which is the repository at work.
    """
    for folder in folders:
        if not os.path.isabs(folder):
            continue
        for spelt in _spellings(name, system):
            path = os.path.join(folder, spelt)
            if os.path.isfile(path) and os.access(path, os.X_OK):
                return path
    return ""


def started_as(name: str, env: Mapping[str, str], system: str = sys.platform) -> str:
    """Return the word by which a program on PATH is started without the one of the repository at work.

    Its name, where the system looks at PATH alone; on Windows its path.

    Raises:
        FileNotFoundError: it is not on PATH.
    """
    if system != "win32":
        return name
    found = which(f"{name}.exe", env.get("PATH", "").split(os.pathsep), system)
    if not found:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    return found


def _spellings(name: str, system: str) -> tuple[str, ...]:
    if system != "win32" or name.lower().endswith(_ENDINGS):
        return (name,)
    return tuple(name + ending for ending in _ENDINGS)


def extended(path: str, system: str = sys.platform) -> str:
    r"""Return the path in the form that Windows opens whatever its length: `\\?\C:\...`; as it is elsewhere.

    The host writes such paths: the folder of a project's transcripts alone may have a name of 200 characters.
    """
    if system != "win32" or len(path) < _LONGEST or path.startswith(("\\\\?\\", "\\\\.\\")):
        return path
    import ntpath

    if not ntpath.splitdrive(path)[0] or not ntpath.isabs(path):
        return path  # the form takes absolute paths only
    plain = ntpath.normpath(path)
    return "\\\\?\\UNC" + plain[1:] if plain.startswith("\\\\") else "\\\\?\\" + plain


def real_place(path: str, system: str = sys.platform) -> str:
    r"""Return one spelling for all spellings of a place: links followed, and the case that does not count made equal.

    `C:\x` and `c:\x` are one place on Windows; on macOS the disk says how it spells a path. Case counts on Linux.
    """
    real = os.path.realpath(path)
    if system == "darwin":
        return _as_spelt_by_disk(real)
    if system == "win32":
        import ntpath

        return ntpath.normcase(real)
    return real


def _as_spelt_by_disk(path: str) -> str:
    try:
        import fcntl

        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe has no writer
    except (ImportError, OSError):
        return path  # it is not there, or may not be read: as it was spelt
    try:
        spelt: bytes = fcntl.fcntl(fd, getattr(fcntl, "F_GETPATH", 50), bytes(1024))
    except OSError:
        return path  # a file system that does not tell
    finally:
        os.close(fd)
    return os.fsdecode(spelt.partition(b"\0")[0]) or path


def is_within(path: str, folder: str) -> bool:
    """Return whether a path is the folder or lies in it; both as `real_place` spells them."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def managed_settings(env: Mapping[str, str], system: str = sys.platform) -> str:
    """Return where an administrator's settings of the host lie, as it documents it; "" when that cannot be told."""
    if system == "win32":
        folder = env.get("PROGRAMFILES", "")
        return os.path.join(folder, "ClaudeCode", "managed-settings.json") if folder else ""
    if system == "darwin":
        return "/Library/Application Support/ClaudeCode/managed-settings.json"
    return "/etc/claude-code/managed-settings.json"
