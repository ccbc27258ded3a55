"""A directory of entries that no key escapes, and what a team has learned in it. Usable by other tools:

    from keepthread.memory import Entry, Memory

    with Memory.open("team-memory", create=True) as memory:
        stored = memory.add("http/client.md", Entry(body="Use httpie, never curl.", type="project"))
        memory.edit("http/client.md", Entry(body="Use httpie 3."), base=stored.version)
        hits = memory.search("httpie")

Every error is a MemoryProblem with the fields that a caller may branch on; what the system refuses is an OSError.
`Directory` is the layer below: bytes by key, nothing else. `open_root` opens one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from keepthread.memory.checks import Finding, check
    from keepthread.memory.directory import Directory
    from keepthread.memory.directory_by_name import open_root
    from keepthread.memory.entries import Entry, parse, render
    from keepthread.memory.errors import (
        BadEntry,
        Conflict,
        LockTimeout,
        MemoryProblem,
        NotFound,
        PathRejected,
        SecretFound,
        Unsafe,
    )
    from keepthread.memory.index import Row, Rows
    from keepthread.memory.keys import check as check_key
    from keepthread.memory.listing import Listed, Listing, Skipped, Stat
    from keepthread.memory.lock import locked
    from keepthread.memory.search import Hit
    from keepthread.memory.store import Memory, Stored

__all__ = [
    "BadEntry",
    "Conflict",
    "Directory",
    "Entry",
    "Finding",
    "Hit",
    "Listed",
    "Listing",
    "LockTimeout",
    "Memory",
    "MemoryProblem",
    "NotFound",
    "PathRejected",
    "Row",
    "Rows",
    "SecretFound",
    "Skipped",
    "Stat",
    "Stored",
    "Unsafe",
    "check",
    "check_key",
    "locked",
    "open_root",
    "parse",
    "render",
]

# Loaded when they are asked for: a hook needs one module of this room, not all of them.
_HOMES = {
    "checks": "Finding check",
    "directory": "Directory",
    "directory_by_name": "open_root",
    "entries": "Entry parse render",
    "errors": "BadEntry Conflict LockTimeout MemoryProblem NotFound PathRejected SecretFound Unsafe",
    "index": "Row Rows",
    "keys": "check_key",
    "listing": "Listed Listing Skipped Stat",
    "lock": "locked",
    "search": "Hit",
    "store": "Memory Stored",
}
_RENAMED = {"check_key": "check"}


def __getattr__(name: str) -> object:
    home = next((home for home, names in _HOMES.items() if name in names.split()), "")
    if not home:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{home}"), _RENAMED.get(name, name))
