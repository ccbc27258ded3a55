"""Which names are the host's: what it knows, what is only like it, and what is none of our business."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from difflib import get_close_matches
from functools import cache

from keepthread import resources
from keepthread.host.profiles.catalogue import CATALOGUE, RETIRED

# Every name that begins so is the client's; other programs use CLAUDE_ and the plain words for themselves.
NAMESPACE = "CLAUDE_CODE_"
_OWN = "CLAUDE_"
_LIKE, _MORE_LIKE = 0.8, 0.9  # how alike names must be in the namespace, and outside of it
_LARGEST = 1 << 30  # bytes of a program that is searched

Knows = Callable[[str], bool]


@cache
def listed() -> frozenset[str]:
    """Return the names that stand in the program of the client the catalogue was checked on."""
    return frozenset(resources.read("templates", "client-names.txt").split())


def is_known(name: str, knows: Knows | None = None) -> bool:
    """Return whether the host knows a name, by the list or by `knows`, which asks the installed client."""
    return name in CATALOGUE or name in listed() or bool(knows and knows(name))


def meant(name: str) -> str:
    """Return the name of the catalogue, or one the client knows, that a wrong name stands for, "" when none does.

    Outside of the host's namespace only what one slip of the fingers makes counts: the names of other programs are
    often alike.
    """
    upper = name.upper()
    if name != upper and upper in CATALOGUE:
        return upper
    if name.startswith(_OWN):
        pool = [*(sorted(listed()) if name.startswith(NAMESPACE) else ()), *CATALOGUE]
        known = {_rest(one): one for one in pool if one.startswith(_OWN)}
        cutoff = _LIKE if name.startswith(NAMESPACE) else _MORE_LIKE
        return next((known[one] for one in get_close_matches(_rest(name), known, 1, cutoff)), "")
    return next((known for known in CATALOGUE if _one_slip(name, known)), "")


def concerns(name: str) -> bool:
    """Return whether a name is one this package speaks about: known to the catalogue, or meant to be the client's."""
    if name in CATALOGUE or name in RETIRED or name.startswith(NAMESPACE):
        return True
    return name not in listed() and bool(meant(name))


def program_knows(path: str) -> Knows | None:
    """Return a function that looks for a name in the text of a client's program, None when there is none to read."""
    try:
        with open(path, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):  # absent, or an empty file
        return None
    if len(data) > _LARGEST:
        return None
    return lambda name: data.find(name.encode()) >= 0


def _rest(name: str) -> str:
    """Return a name without the beginning that it shares with hundreds of others."""
    return name.removeprefix(NAMESPACE).removeprefix(_OWN)


def _one_slip(name: str, known: str) -> bool:
    """Return whether one letter more, less, other, or two letters swapped make one name of the other."""
    short, long = sorted((name, known), key=len)
    if len(long) - len(short) > 1 or len(short) < 10 or name == known:
        return False
    start = 0
    while start < len(short) and short[start] == long[start]:
        start += 1
    rest, other = short[start:], long[start:]
    if len(short) < len(long):
        return rest == other[1:]
    swapped = rest[:2] == other[1::-1] and rest[2:] == other[2:]
    return rest[1:] == other[1:] or swapped
