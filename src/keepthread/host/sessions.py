"""Which file is this session's transcript. Standard library only."""

from __future__ import annotations

import os
import stat

from keepthread import platforms
from keepthread.host.locations import session_key

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from collections.abc import Callable


def find_transcript(
    named: str,
    session_id: str,
    config_dir: str,
    belongs: Callable[[str, str], bool] | None = None,
) -> str:
    """Return the path of the session's transcript, or "" when there is none.

    The host's `transcript_path`, unless a newer file of this session lies beside it or in another project folder
    (hosts were seen handing out "", a path with a tilde, a folder, or the frozen file of an earlier session after a
    compaction). Such a file bears the session's id as its name, and `belongs` says whether its records do too; it
    also goes before one that is empty or whose records are another session's.
    """
    path = os.path.expanduser(named) if named.startswith("~") else named
    usable = os.path.isabs(path) and _is_file(path)
    if session_key(session_id) != session_id:
        return path if usable else ""  # the id is no UUID, so it must not become part of a path
    found = path if usable else ""
    for other in _named_after(session_id, os.path.dirname(path), config_dir):
        if not found or (other != found and _goes_before(other, found, session_id, belongs)):
            found = other
    return found


def _goes_before(
    other: str, found: str, session_id: str, belongs: Callable[[str, str], bool] | None
) -> bool:
    """Return whether the other file is this session's, and the one found is older, empty or another session's."""
    if belongs is None:
        return _newer(other, found)
    return belongs(other, session_id) and (_newer(other, found) or not belongs(found, session_id))


def _named_after(session_id: str, beside: str, config_dir: str) -> list[str]:
    """Return the files that bear the session's id as their name: in a folder, and in every project's folder."""
    folders = [entry.path for entry in _entries(os.path.join(config_dir, "projects"))]
    if os.path.isabs(beside) and beside not in folders:
        folders.append(beside)
    return [
        path for folder in folders if _is_file(path := os.path.join(folder, f"{session_id}.jsonl"))
    ]


def newest_session(config_dir: str, project: str) -> str:
    """Return the path of the project's newest transcript, or ""."""
    return next(iter(project_sessions(config_dir, project)), "")


def project_sessions(config_dir: str, project: str) -> list[str]:
    """Return the paths of the project's transcripts, the one changed last first; subagents' files are none."""
    folder = os.path.join(config_dir, "projects", sanitised(project))
    found = [
        (_mtime(entry.path), entry.path)
        for entry in _entries(folder)
        if entry.name.endswith(".jsonl") and not entry.name.startswith("agent-")
        if _is_file(entry.path)
    ]
    return [path for _, path in sorted(found, key=lambda one: one[0], reverse=True)]


def sanitised(path: str) -> str:
    """Return the folder name the host gives to a project: every other UTF-16 unit becomes "-", long ones are hashed."""
    name = "".join(
        c if c.isascii() and c.isalnum() else "-" if c <= "\uffff" else "--" for c in path
    )
    if len(name) <= 200:
        return name
    number = 0
    units = path.encode("utf-16-le", "surrogatepass")
    for at in range(0, len(units), 2):
        number = (
            (number << 5) - number + int.from_bytes(units[at : at + 2], "little")
        ) & 0xFFFFFFFF
    signed = abs(number - (1 << 32) if number >= 1 << 31 else number)
    return f"{name[:200]}-{_base36(signed)}"


def _base36(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(platforms.extended(folder)) as listing:
            return list(listing)
    except OSError:
        return []


def _is_file(path: str) -> bool:
    try:
        return bool(path) and stat.S_ISREG(os.stat(platforms.extended(path)).st_mode)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return False


def _mtime(path: str) -> float:
    try:
        return os.stat(platforms.extended(path)).st_mtime
    except OSError:
        return 0.0


def _newer(path: str, other: str) -> bool:
    return _mtime(path) > _mtime(other)
