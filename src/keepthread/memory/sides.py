"""The two sides of a sync: the entries of the folder here, and those of a commit's tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from keepthread.errors import KeepthreadError
from keepthread.memory import entries
from keepthread.memory.bench import FILES, Bench, Item, object_name
from keepthread.memory.entry_keys import check_key
from keepthread.memory.errors import Conflict, MemoryProblem, NotFound, Unsafe
from keepthread.memory.index import MEMORY_MD
from keepthread.memory.lock import WAIT, locked
from keepthread.memory.merging import Judge, Local, Skip
from keepthread.memory.store import MAX_ENTRY, Memory, find_secret, version

IGNORE = ".gitignore"
_KINDS = {"120000": "a link", "160000": "a repository of its own (submodule)"}
_EXPECTED = frozenset((IGNORE, MEMORY_MD))


class Here(NamedTuple):
    """The entries of the folder: their names, the versions by key, and the way to read one (Conflict if it changed)."""

    local: Local
    versions: dict[str, str]
    read: Callable[[str], bytes]


class There(NamedTuple):
    """What a tree holds under keys, all that it holds by path, and what in it is no entry."""

    texts: dict[str, str]
    items: dict[str, Item]
    refused: dict[str, str]

    @property
    def others(self) -> list[str]:
        """Return the paths that are no keys of entries."""
        return [path for path in self.items if path not in self.texts]

    def skips(self) -> list[Skip]:
        """Return what in the tree can be no entry wherever it stood."""
        others = self.others
        return [Skip(path, "remote", self.refused[path]) for path in others if path in self.refused]


def here(
    memory: Memory, hashes: str, waiting: Callable[[str], None] | None = None, wait: float = WAIT
) -> Here:
    """Read the folder, while no other process changes it.

    Raises:
        KeepthreadError: it holds more files than are ever read.
        LockTimeout: another process keeps it.
    """
    texts, same, versions = {}, {}, {}
    with locked(memory.directory, wait, waiting):
        found = memory.directory.listing()
        if found.cut:
            raise KeepthreadError("The team's folder holds more files than are ever read")
        closed = dict(found.skipped)
        for key, _ in found.files:
            if not key.endswith(".md") or key == MEMORY_MD:
                continue
            data, reason = _read(memory, key)
            if reason:
                closed[key] = reason
            if data is None:
                continue
            texts[key], versions[key] = object_name(b"blob", data, hashes), version(data)
            if b"\r\n" in data:
                same[key] = object_name(b"blob", data.replace(b"\r\n", b"\n"), hashes)

    def read(key: str) -> bytes:
        try:
            data = memory.directory.read(key)
        except (NotFound, Unsafe):
            raise Conflict(key, "") from None
        if version(data) != versions[key]:
            raise Conflict(key, "")
        return data

    return Here(Local(texts, same, closed), versions, read)


def _read(memory: Memory, key: str) -> tuple[bytes | None, str]:
    """Return a file's bytes, None when it cannot be read, and why."""
    try:
        return memory.directory.read(key), ""
    except NotFound:
        return None, ""  # deleted by hand this instant
    except Unsafe as problem:
        return None, problem.rule
    except OSError as problem:
        return None, problem.strerror or "it cannot be read"


def there(items: Mapping[str, Item]) -> There:
    """Sort what a tree holds. What has the place of an entry and cannot be one bears its mode in its name."""
    texts, refused = {}, {}
    for path, item in items.items():
        reason = _out_of_place(path)
        if not reason:
            texts[path] = item.oid if item.mode in FILES else f"{item.mode} {item.oid}"
        if path not in _EXPECTED:
            reason = reason or _unfit(item)
            if reason:
                refused[path] = reason
    return There(texts, dict(items), refused)


def _out_of_place(path: str) -> str:
    try:
        check_key(path)
    except MemoryProblem as problem:
        return str(getattr(problem, "rule", problem.message))
    return ""


def _unfit(item: Item) -> str:
    if item.mode not in FILES:
        return _KINDS.get(item.mode, f"no regular file (mode {item.mode})")
    return f"it is longer than {MAX_ENTRY} bytes" if item.size > MAX_ENTRY else ""


def refusal(key: str, data: bytes, secrets: Sequence[str] = ()) -> str:
    """Return why a text may not be shared under a key, nor be taken from another, "" when it may."""
    try:
        check_key(key)
        if len(data) > MAX_ENTRY:
            return f"it is longer than {MAX_ENTRY} bytes"
        entry = entries.decoded(data)
    except MemoryProblem as problem:
        return str(getattr(problem, "rule", "")) or problem.message
    if entries.says_nothing(entry):
        return "it says nothing"
    if entry.type in entries.ALWAYS_PRIVATE or entry.scope == "private":
        return "it is private by its type" if entry.scope != "private" else "its scope is private"
    for text, where in ((key, "its key"), (data.decode(), "line {}")):
        if found := find_secret(text, secrets):
            return f"it holds a secret in {where.format(found[1])} (rule {found[0]})"
    return ""


class Judged:
    """Looks into the texts that differ, once. `given` holds those from here that may be shared, by name."""

    def __init__(
        self,
        bench: Bench,
        mine: Here,
        yours: There,
        hashes: str,
        secrets: Sequence[str],
        commit: str,
    ) -> None:
        self._bench = bench
        self._mine = mine
        self._yours = yours
        self._hashes = hashes
        self._secrets = secrets
        self._commit = commit
        self._texts: dict[str, bytes] = {}
        self.given: dict[str, bytes] = {}

    def load(self, theirs: Mapping[str, str]) -> None:
        """Read the remote's texts that will be asked for."""
        wanted = [name for key, name in theirs.items() if key not in self._yours.refused]
        self._texts = dict(self._bench.blobs(wanted))

    def judge(self) -> Judge:
        """Return what a merge asks."""
        return Judge(self._theirs, self._ours, self._changer)

    def text(self, name: str) -> bytes:
        """Return a text of the remote's."""
        return self._texts[name]

    def writer(self, name: str) -> str:
        """Return who a text of the remote's says that wrote it."""
        return entries.decoded(self._texts[name]).author

    def _changer(self, key: str) -> str:
        return self._bench.last_author(self._commit, key)

    def _theirs(self, key: str, name: str) -> str:
        reason = self._yours.refused.get(key)
        return reason or refusal(key, self._texts[name], self._secrets)

    def _ours(self, key: str) -> str:
        data = self._mine.read(key)
        reason = refusal(key, data, self._secrets)
        if not reason:
            self.given[object_name(b"blob", data, self._hashes)] = data
        return reason


def secret_in(bench: Bench, new: str, known: str, secrets: Sequence[str]) -> tuple[str, str] | None:
    """Return path and rule of the first secret in a file that a commit brings and another does not hold.

    What was deleted again is shared too, in the history.
    """
    paths = dict(bench.introduced(new, known))
    sizes = bench.sizes([*paths])
    small = [name for name, size in sizes.items() if size <= MAX_ENTRY]
    for name, data in bench.blobs(small):
        if found := find_secret(data.decode("utf-8", "replace"), secrets):
            return paths[name], found[0]
    return None
