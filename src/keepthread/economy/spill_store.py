"""Where long results lie: one file each, 0600, in the session's folder; and how much one turn has taken in.

Standard library only: a hot hook imports this module.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress

from keepthread import files
from keepthread.host.locations import session_dir

FOLDER = "outputs"
MOST_FILES = 300  # of one session
MOST_BYTES = 64 * 1024 * 1024
MOST_DAYS = 30
_TURN = "turn-"
_TURN_LIMIT = 256 * 1024  # bytes: some five thousand results of one turn
_ENDLESS = 1 << 40  # characters
_DAY = 86_400
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


def keep(state: str, session: str, call: str, text: str) -> str:
    """Store a result and return the file's path. The same call with the same text is the same file.

    Args:
        state: the state folder.
        session: the session's id.
        call: the id of the tool call.
        text: the result, secrets taken out.

    Raises:
        OSError: the disk is full, the folder cannot be written.
    """
    folder = os.path.join(session_dir(state, session), FOLDER)
    data = text.encode("utf-8", "surrogatepass")
    path = os.path.join(folder, f"{_plain(call)}.txt")
    if _held(path, len(data)) == data:
        return path
    files.make_private(folder)
    path = _written(path, data)
    with suppress(OSError):  # the session is as young as its newest result
        os.utime(os.path.dirname(folder))
    _prune(folder, path, time.time())
    return path


def _written(path: str, data: bytes) -> str:
    """Write a result to `path`; where another one lies or comes at the same moment, to a path of its own.

    That one's path is in the context already, so it is never replaced.
    """
    own = path[:-4] + f"-{_sum(data)}.txt"
    files.write_private(own, data)
    try:
        os.link(own, path)  # in one step: of several processes one gets the name
    except OSError:  # taken, or this file system has no links
        if _held(path, len(data)) != data:
            return own
    drop(own)
    return path


def drop(path: str) -> None:
    """Remove a stored result whose short form the host did not take."""
    with suppress(OSError):  # pruned already
        os.unlink(path)


def taken_in(state: str, session: str, turn: str, call: str, size: int) -> int:
    """Note that a call's result brings `size` characters into this turn; return what all of the turn's bring.

    Each process appends a line of its own, and a later line of the same call stands for the earlier one; so calls that
    run side by side see one another, and none is counted twice. A turn that cannot be noted is 0 long; one with more
    lines than are read is longer than any limit.
    """
    folder = os.path.join(session_dir(state, session), FOLDER)
    path = os.path.join(folder, _TURN + _plain(turn))
    line = f"{_plain(call)} {size}\n".encode()
    try:
        if not os.path.lexists(path):
            files.make_private(folder)
            _forget_turns(folder, os.path.basename(path))
        files.append_line(path, line, rotate_at=_TURN_LIMIT * 2)
        noted = files.read_regular(path, _TURN_LIMIT)
    except OSError as problem:
        return _ENDLESS if problem.errno == errno.EFBIG else 0
    return sum(_sizes(noted).values())


def _sizes(noted: bytes) -> dict[str, int]:
    sizes = {}
    for line in noted.decode("ascii", "replace").split("\n"):
        call, _, size = line.partition(" ")
        if size.isdecimal() and len(size) < 12:
            sizes[call] = int(size)
    return sizes


def _forget_turns(folder: str, spare: str) -> None:
    for name in os.listdir(folder):
        if name.startswith(_TURN) and name != spare:
            with suppress(OSError):  # another call of this turn does the same
                os.unlink(os.path.join(folder, name))


def _prune(folder: str, spare: str, now: float) -> None:
    """Remove the oldest results beyond the bounds; `spare` is the one just written."""
    files.remove_stale_temps(folder)
    found = []
    with suppress(OSError), os.scandir(folder) as listing:
        for entry in listing:
            if entry.name.endswith(".txt") and entry.path != spare:
                status = entry.stat(follow_symlinks=False)
                found.append((status.st_mtime, status.st_size, entry.path))
    count, total = 1, 0
    for changed, size, path in sorted(found, reverse=True):
        count, total = count + 1, total + size
        if count > MOST_FILES or total > MOST_BYTES or now - changed > MOST_DAYS * _DAY:
            drop(path)


def _held(path: str, size: int) -> bytes | None:
    """Return what lies there, None when nothing does; of another size than `size` its bytes do not matter."""
    try:
        return files.read_regular(path, size)
    except FileNotFoundError:
        return None
    except OSError:
        return b"\0"


def _plain(name: str) -> str:
    """Return a file name for an id of the host's; of a strange one its checksum."""
    if 0 < len(name) <= 80 and _SAFE.issuperset(name):
        return name
    return "call-" + _sum(name.encode("utf-8", "surrogatepass"))


def _sum(data: bytes) -> str:
    import zlib  # not hashlib: loading OpenSSL costs more than all the rest

    return f"{zlib.crc32(data):08x}{len(data):x}"
