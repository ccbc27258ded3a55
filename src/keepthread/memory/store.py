"""A memory: the entries of one directory, changed by one process at a time and never on a false assumption."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from types import TracebackType
from typing import NamedTuple

from keepthread import redact
from keepthread.memory import entries, index, texts
from keepthread.memory.directory import Directory
from keepthread.memory.directory_by_name import open_root
from keepthread.memory.entries import Entry
from keepthread.memory.entry_keys import check_key, refuse_generated
from keepthread.memory.errors import BadEntry, Conflict, NotFound, SecretFound, Unsafe
from keepthread.memory.index import MEMORY_MD, Row, Rows
from keepthread.memory.lock import WAIT, locked
from keepthread.memory.search import MOST_HITS, Hit, search, terms_of

MAX_ENTRY = 64 * 1024  # bytes
_FEW = 50  # files, each of which may wait for the disk


class Stored(NamedTuple):
    """An entry as it is stored. `version` names this state of it; give it back with a change."""

    key: str
    entry: Entry
    text: str
    version: str


def utc_now() -> datetime:
    """Return the time in UTC, to the second."""
    return datetime.now(timezone.utc).replace(microsecond=0)


class Change(NamedTuple):
    """What a file is to become, None for gone; `base` is the version that it has now, "" for none."""

    key: str
    data: bytes | None
    base: str


class Memory:
    """The entries of one directory. Close it, or use it in a `with` statement.

    Every method that takes a key raises PathRejected, Unsafe and NotFound as Directory does; every one that changes
    something raises LockTimeout too, and stores nothing when it raises anything.

    Args:
        directory: the opened root; closing the memory closes it.
        scope: "team" or "private" when the directory has one of these homes, "" when it has none.
        cache: path of a file for the index, outside the directory; "" for none.
        secrets: texts that are not to be stored, beside what looks like a secret.
        wait: seconds to wait for another process.
        waiting: called once with that process's description when there is one.
        now: returns the time.
    """

    def __init__(
        self,
        directory: Directory,
        *,
        scope: str = "",
        cache: str = "",
        secrets: Sequence[str] = (),
        wait: float = WAIT,
        waiting: Callable[[str], None] | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self.directory = directory
        self.scope = scope
        self.now = now
        self._cache = cache
        self.secrets = secrets
        self._wait = wait
        self._waiting = waiting
        self._known: dict[str, Row] | None = None
        self.changed = False  # whether anything was stored or removed through this object

    @classmethod
    def open(cls, root: str, *, create: bool = False, scope: str = "", cache: str = "") -> Memory:
        """Open a folder as a memory.

        Raises:
            OSError: it is absent, no folder, or cannot be created.
        """
        return cls(open_root(root, create=create), scope=scope, cache=cache)

    def close(self) -> None:
        """Let go of the directory."""
        self.directory.close()

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def show(self, key: str) -> Stored:
        """Return an entry.

        Raises:
            BadEntry: the file is none; `text` returns it all the same.
        """
        data = self.directory.read(key)
        return Stored(key, entries.decoded(data, key), data.decode(), version(data))

    def text(self, key: str) -> tuple[str, str]:
        """Return the text of a file, and its version, also when it is no valid entry."""
        data = self.directory.read(key)
        return data.decode("utf-8", "replace"), version(data)

    def add(self, key: str, entry: Entry) -> Stored:
        """Store a new entry; its scope and times are filled in where they are empty.

        Raises:
            Conflict: there is one of this key; with the difference.
            SecretFound: it holds a secret.
            BadEntry: it is malformed, too long, empty, or private by its type and this memory is shared.
        """
        check_key(key)
        now = _stamp(self.now())
        entry = entry._replace(created=entry.created or now, updated=entry.updated or now)
        data = self._checked(key, entry)
        with self._changing():
            with suppress(NotFound):
                self._refuse_existing(key, data)
            self.directory.write(key, data)
        return self._stored(key, data)

    def edit(self, key: str, entry: Entry, base: str) -> Stored:
        """Replace an entry; `updated` becomes now, and an empty `created` or `author` keeps what it was.

        Args:
            key: which.
            entry: what it is to say.
            base: the version that the change was made for.

        Raises:
            Conflict: it is another version by now; with the difference from that one to `entry`.
            SecretFound: the new one holds a secret.
            BadEntry: the new one is malformed, too long, empty, or private by its type and this memory is shared.
        """
        check_key(key)
        entry = entry._replace(updated=_stamp(self.now()))
        with self._changing():
            before = self.directory.read(key)
            with suppress(BadEntry):
                old = entries.decoded(before, key)
                entry = entry._replace(
                    created=entry.created or old.created, author=entry.author or old.author
                )
            data = self._checked(key, entry)
            if version(before) != base:
                raise Conflict(key, _diff(key, before, data))
            self.directory.write(key, data)
        return self._stored(key, data)

    def rm(self, key: str, base: str = "") -> None:
        """Delete an entry, if it is still the version `base` when one is named.

        Raises:
            Conflict: it is another version by now; with what would have been deleted.
        """
        refuse_generated(key)
        with self._changing():
            before = self.directory.read(key) if base else b""
            if base and version(before) != base:
                raise Conflict(key, _diff(key, before, b""))
            self.directory.delete(key)

    def mv(self, old: str, new: str) -> None:
        """Give an entry another key.

        Raises:
            Conflict: the new key is taken.
        """
        refuse_generated(old)
        check_key(new)
        self._refuse_secret(new, "")
        with self._changing():
            try:
                self.directory.rename(old, new)
            except FileExistsError:
                raise Conflict(
                    new, "", f"There is an entry {new!r} already", "Choose another key, or rm it."
                ) from None

    def replace_all(self, changes: Sequence[Change]) -> dict[str, str]:
        """Bring files in line with another copy of the memory, byte for byte; what they say is the caller's to check.

        Deletions come first. Return the keys that were left alone, with why: a link or a twin stands there.

        Raises:
            Conflict: a file is another version by now; nothing is written.
        """
        refused = {}
        together = len(changes) > _FEW and hasattr(os, "sync")
        with self._changing():
            for one in changes:
                if self._version(one.key) not in (one.base, None):
                    raise Conflict(one.key, "")
            with self.directory.many():
                for one in sorted(changes, key=lambda one: one.data is not None):
                    if reason := self._replace(one, durable=not together):
                        refused[one.key] = reason
            if together:
                os.sync()  # one wait for the disk in place of one for each
        return refused

    def _replace(self, change: Change, *, durable: bool) -> str:
        """Return why a file was left alone, "" when it is as the change says."""
        try:
            if change.data is None:
                self.directory.delete(change.key)
            elif self._version(change.key) is None:
                self.directory.read(change.key)  # tells why it cannot be read
            else:
                self.directory.write(change.key, change.data, durable=durable)
        except Unsafe as problem:
            return problem.rule
        return ""

    def _version(self, key: str) -> str | None:
        """Return the version of a file, "" when there is none, None when it cannot be read."""
        try:
            return version(self.directory.read(key))
        except NotFound:
            return ""
        except Unsafe:
            return None

    def rows(self) -> Rows:
        """Return all entries without their bodies, in order of their keys."""
        if self._known is None:
            self._known = index.load(self._cache) if self._cache else {}
        found = index.refreshed(self.directory, self._known)
        if self._cache and found.rows != [*self._known.values()]:
            with suppress(OSError):  # a cache that cannot be written costs time only
                index.save(self._cache, found.rows)
        self._known = {row.key: row for row in found.rows}
        return found

    def search(self, words: str, limit: int = MOST_HITS) -> list[Hit]:
        """Return the entries that hold words, the best first, with a line of each."""
        return search(self._texts(words), words, limit)

    def _texts(self, words: str) -> Iterator[tuple[str, bytes]]:
        """Yield key and bytes of every entry that may hold one of the words."""
        if self._cache:
            path = f"{self._cache.removesuffix('.json')}.texts"
            found = texts.candidates(self.directory, path, terms_of(words))
        else:
            found = ((key, data) for key, data, _ in self.directory.read_all())
        for key, data in found:
            if key.endswith(".md") and key != MEMORY_MD:
                yield key, data

    def reindex(self) -> None:
        """Bring MEMORY.md and the cache up to date, after files were changed by other means."""
        with self._changing():
            pass

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock, and leave an index that fits."""
        with locked(self.directory, self._wait, self._waiting):
            yield
            self.changed = True
            self._write_index(self.rows().rows)

    def _write_index(self, rows: Sequence[Row]) -> None:
        data = index.markdown(rows, self.now()).encode("utf-8", "replace")
        # It is made of the entries, so a link in its place or a full disk is for `check` to tell, not for a
        # change that has been made already.
        with suppress(OSError, Unsafe, NotFound):
            if self.directory.read(MEMORY_MD) == data:
                return
        with suppress(OSError, Unsafe):
            self.directory.write(MEMORY_MD, data, durable=False)

    def _refuse_existing(self, key: str, data: bytes) -> None:
        import shlex  # only here, as difflib

        before = self.directory.read(key)
        raise Conflict(
            key,
            _diff(key, before, data),
            f"There is an entry {key!r} already; nothing is written",
            f"Change it with: keepthread memory edit {shlex.quote(key)}",
        )

    def _checked(self, key: str, entry: Entry) -> bytes:
        if entries.says_nothing(entry):
            raise BadEntry("it says nothing", 0, key, "Write a text, or a description.")
        if self.scope == "team" and entry.type in entries.ALWAYS_PRIVATE:
            reason = f"an entry of type {entry.type} is private and not shared"
            raise BadEntry(reason, 0, key, "Leave the scope out, or choose another type.")
        text = entries.render(entry._replace(scope=self.scope or entry.scope))
        self._refuse_secret(key, text)
        try:
            data = text.encode()
        except UnicodeEncodeError:
            raise BadEntry("it holds half a character (a lone surrogate)", key=key) from None
        if len(data) > MAX_ENTRY:
            reason = f"it is longer than {MAX_ENTRY} bytes"
            raise BadEntry(reason, 0, key, "Keep its core, or make several of it.")
        return data

    def _refuse_secret(self, key: str, text: str) -> None:
        for value, first in ((key, 0), (text, 1)):
            if found := find_secret(value, self.secrets):
                raise SecretFound(found[0], found[1] if first else 0)

    def _stored(self, key: str, data: bytes) -> Stored:
        return Stored(key, entries.decoded(data, key), data.decode(), version(data))


def find_secret(text: str, secrets: Sequence[str] = ()) -> tuple[str, int] | None:
    """Return the rule and the line, counted from 1, of the first secret in a text."""
    found = [(one.start, one.rule) for one in redact.scan(text)]
    found += [
        (at, "environment") for secret in secrets if secret and (at := text.find(secret)) >= 0
    ]
    if not found:
        return None
    start, rule = min(found)
    return rule, text.count("\n", 0, start) + 1


def version(data: bytes) -> str:
    """Return the name of this state of a file."""
    import hashlib  # only here: a search needs no versions

    return hashlib.sha256(data).hexdigest()


def _diff(key: str, before: bytes, after: bytes) -> str:
    import difflib  # only here: most changes meet no conflict

    old, new = (
        data.decode("utf-8", "replace").splitlines(keepends=True) for data in (before, after)
    )
    lines = difflib.unified_diff(old, new, f"{key} (stored)", f"{key} (yours)")
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _stamp(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
