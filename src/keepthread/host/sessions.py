"""Which file is this session's transcript. Standard library only."""

from __future__ import annotations

import os
import stat

from keepthread.host.locations import session_key


def find_transcript(named: str, session_id: str, config_dir: str) -> str:
    """Return the path of the session's transcript, or "" when there is none.

    The host's `transcript_path` when it is a readable regular file and no newer file of this session lies beside it
    (hosts were seen handing out "", a path with a tilde, a folder, or the frozen file of an earlier session after a
    compaction); else the file named after the session id in any project folder.
    """
    path = os.path.expanduser(named) if named.startswith("~") else named
    own = f"{session_id}.jsonl"
    usable = _is_file(path)
    if usable and os.path.basename(path) == own:
        return path
    beside = os.path.join(os.path.dirname(path), own) if os.path.isabs(path) else ""
    if session_key(session_id) != session_id:
        return path if usable else ""  # the id is no UUID, so it must not become part of a path
    if beside and _is_file(beside) and (not usable or _newer(beside, path)):
        return beside
    return path if usable else _by_session(own, config_dir)


def newest_session(config_dir: str, project: str) -> str:
    """Return the path of the project's newest transcript, or ""."""
    folder = os.path.join(config_dir, "projects", _sanitised(project))
    newest, when = "", -1.0
    for entry in _entries(folder):
        if entry.name.endswith(".jsonl") and not entry.name.startswith("agent-"):
            changed = _mtime(entry.path)
            if changed > when and _is_file(entry.path):
                newest, when = entry.path, changed
    return newest


def _sanitised(path: str) -> str:
    """Return the folder name the host gives to a project: every other character becomes "-", long ones are hashed."""
    name = "".join(c if c.isascii() and c.isalnum() else "-" for c in path)
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


def _by_session(name: str, config_dir: str) -> str:
    found = ""
    for folder in _entries(os.path.join(config_dir, "projects")):
        path = os.path.join(folder.path, name)
        if _is_file(path) and (not found or _newer(path, found)):
            found = path
    return found


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            return list(listing)
    except OSError:
        return []


def _is_file(path: str) -> bool:
    try:
        return bool(path) and stat.S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return False


def _mtime(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


def _newer(path: str, other: str) -> bool:
    return _mtime(path) > _mtime(other)
