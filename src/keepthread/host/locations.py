"""Where the host and keepthread keep things. Standard library only: SessionStart imports this module."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping

from keepthread import platforms
from keepthread.errors import KeepthreadError

_WILD = frozenset("*?[")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def config_dir(env: Mapping[str, str], system: str = sys.platform) -> str:
    """Return the host's configuration folder: CLAUDE_CONFIG_DIR, else ~/.claude.

    Raises:
        KeepthreadError: CLAUDE_CONFIG_DIR is relative, or there is no home folder; nobody makes one here.
    """
    named = env.get("CLAUDE_CONFIG_DIR", "")
    if named:
        if not os.path.isabs(named):
            raise KeepthreadError(
                f"CLAUDE_CONFIG_DIR is a relative path: {named!r}", "Set it to an absolute path."
            )
        return os.path.normpath(named)
    home = platforms.home(env, system) or home_of_user()
    if not os.path.isabs(home) or not os.path.isdir(home):
        raise KeepthreadError(
            f"There is no home folder {home!r}", "Set HOME or CLAUDE_CONFIG_DIR to a folder."
        )
    return os.path.join(home, ".claude")


def home_of_user() -> str:
    """Return the home folder that the system knows of this user, "" when it knows none."""
    # Not os.path.expanduser: an empty HOME makes "~" the root of the file system.
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):  # Windows, or a user that the system does not know
        return ""


def state_dir(env: Mapping[str, str]) -> str:
    """Return the folder that holds all state of keepthread."""
    return os.path.join(config_dir(env), "keepthread")


def session_key(session_id: str) -> str:
    """Return the folder name of a session: its UUID, or 32 hex digits of a digest when the id is anything else."""
    if _UUID.fullmatch(session_id):
        return session_id
    import hashlib  # only for foreign ids: loading OpenSSL costs more than the rest of this module

    return hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def session_dir(state: str, session_id: str) -> str:
    """Return the folder that holds one session's handoff."""
    return os.path.join(state, "sessions", session_key(session_id))


def project_root(env: Mapping[str, str], cwd: str, transcript_cwd: str = "") -> str:
    """Return the project's folder, or "" when none can be told.

    CLAUDE_PROJECT_DIR if it exists, else the nearest folder with a `.git` at or above `cwd`, else `cwd` itself,
    else the same for the transcript's last cwd.
    """
    named = env.get("CLAUDE_PROJECT_DIR", "")
    if named and os.path.isabs(named) and os.path.isdir(named):
        return os.path.normpath(named)
    for start in (cwd, transcript_cwd):
        if start and os.path.isabs(start) and os.path.isdir(start):
            return git_root(start) or os.path.normpath(start)
    return ""


def git_root(start: str) -> str:
    """Return the nearest folder at or above `start` that holds a `.git` (a folder, or a file in worktrees), or ""."""
    current = os.path.normpath(start)
    while True:
        if os.path.lexists(os.path.join(current, ".git")):
            return current
        parent = os.path.dirname(current)
        if parent == current:
            return ""
        current = parent


def inside_any(project: str, folders: Iterable[str]) -> bool:
    """Return whether the project's folder, as it is spelt or as it really lies, is one of `folders` or lies in one.

    "~" is expanded; `*`, `?` and `[...]` stand for a part of a name, `**` for any folders.
    """
    roots = [os.path.expanduser(folder) for folder in folders if folder]
    if not project or not roots:
        return False
    places = dict.fromkeys((platforms.real_place(project), os.path.normpath(project)))
    return any(_holds(root, place) for root in roots for place in places)


def _holds(root: str, real: str) -> bool:
    if not _WILD.intersection(root) or os.path.lexists(root):
        return platforms.is_within(real, platforms.real_place(root))
    # Links are followed up to the first name with a wildcard: what is behind it cannot be looked up.
    names = root.split(os.sep)
    first = next(n for n, name in enumerate(names) if _WILD.intersection(name))
    fixed = platforms.real_place(os.sep.join(names[:first]) or os.sep)
    if not platforms.is_within(real, fixed):
        return False
    rest = real[len(fixed.rstrip(os.sep)) :].strip(os.sep)
    return _leads(rest.split(os.sep), [name for name in names[first:] if name])


def _leads(path: list[str], pattern: list[str]) -> bool:
    """Return whether the pattern matches the beginning of a path, name by name."""
    from fnmatch import fnmatchcase  # only who uses wildcards pays for it

    if not pattern:
        return True
    if pattern[0] == "**":
        return any(_leads(path[n:], pattern[1:]) for n in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and _leads(path[1:], pattern[1:])


def happens_in(folders: Iterable[str], env: Mapping[str, str], cwd: str, project: str = "") -> bool:
    """Return whether what happens at `cwd` happens in one of `folders`: the project, that of `cwd`, or `cwd`.

    CLAUDE_PROJECT_DIR alone does not tell: a repository's own settings can set it.
    """
    named = list(folders)
    places = (project, project_root(env, cwd), project_root({}, cwd), cwd) if named else ()
    return any(inside_any(place, named) for place in dict.fromkeys(places) if os.path.isabs(place))


def user_file(config_dir: str) -> list[int] | None:
    """Return what tells one state of the user's own file of variables from another, None when there is no file."""
    try:
        status = os.stat(os.path.join(config_dir, ".env"))
    except OSError:
        return None
    return [status.st_mtime_ns, status.st_ctime_ns, status.st_size]
