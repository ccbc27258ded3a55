"""Takes over what the host's own auto memory noted for its user."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from keepthread.errors import KeepthreadError
from keepthread.memory import entries
from keepthread.memory.directory import Directory
from keepthread.memory.directory_by_name import open_root
from keepthread.memory.entries import Entry
from keepthread.memory.errors import Conflict, MemoryProblem, SecretFound
from keepthread.memory.index import MEMORY_MD
from keepthread.memory.store import Memory, find_secret, utc_now


class Imported(NamedTuple):
    """What became of a file: its key, "added", "known" or "refused", its memory's scope and why."""

    key: str
    result: str
    scope: str
    reason: str


def import_from(
    folder: str, home: Callable[[Entry], str], memory: Callable[[str], Memory], author: str = ""
) -> list[Imported]:
    """Add every entry of the host's folder that is not there yet; its files stay as they are.

    Args:
        folder: the host's auto memory.
        home: says which scope an entry belongs to.
        memory: returns the opened memory of a scope.
        author: of entries that name none.

    Raises:
        KeepthreadError: there is no such folder, or a memory cannot be opened.
    """
    try:
        source = open_root(folder)
    except (FileNotFoundError, NotADirectoryError):
        raise KeepthreadError(
            f"The host has no auto memory here: {folder}", "Name its folder: --from FOLDER"
        ) from None
    with source:
        found = source.listing()
        skipped = [Imported(path, "refused", "", why) for path, why in found.skipped]
        return skipped + [
            _imported(source, key, home, memory, author)
            for key, _ in found.files
            if key.endswith(".md") and key != MEMORY_MD
        ]


def _imported(
    source: Directory,
    key: str,
    home: Callable[[Entry], str],
    memory: Callable[[str], Memory],
    author: str,
) -> Imported:
    try:
        data = source.read(key)
    except PermissionError:
        return Imported(key, "refused", "", "it may not be read")
    except MemoryProblem as problem:
        return Imported(key, "refused", "", problem.message)
    scope = ""
    try:
        entry = entries.decoded(data, key)
        scope = home(entry)
        # By the line of the file, which its user knows, and not of what is made of it.
        if secret := find_secret(data.decode(), memory(scope).secrets):
            raise SecretFound(*secret)
        entry = entry._replace(scope="", author=entry.author or author, updated=_modified(entry))
        memory(scope).add(key, entry)
    except Conflict:
        stored = memory(scope).text(key)[0]
        return Imported(key, *_compared(stored, entry, scope))
    except MemoryProblem as problem:
        return Imported(key, "refused", scope, problem.message)
    return Imported(key, "added", scope, "")


def _compared(stored: str, entry: Entry, scope: str) -> tuple[str, str, str]:
    try:
        same = entries.parse(stored).body.strip() == entry.body.strip()
    except MemoryProblem:
        same = False
    if same:
        return ("known", scope, "")
    return ("refused", scope, "there is another entry of this key")


def _modified(entry: Entry) -> str:
    """Return when the host last changed an entry: it writes `modified` where we write `updated`."""
    for line in entry.other:
        name, _, value = line.strip().partition(":")
        if name == "modified" and not entry.updated:
            try:
                moment = entries.when(value.strip().strip("\"'"))
            except MemoryProblem:
                continue
            return moment.isoformat() if moment <= utc_now() else ""
    return entry.updated
