"""Looks through memories for what is broken, dangerous, or no longer helps."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from keepthread.memory import entries, index
from keepthread.memory.entries import Entry
from keepthread.memory.entry_keys import check_key
from keepthread.memory.errors import BadEntry, NotFound, PathRejected, Unsafe
from keepthread.memory.index import MEMORY_MD, MOST_SHOWN, Row
from keepthread.memory.store import Memory, find_secret
from keepthread.memory.words import one_line

LONG = 8 * 1024  # bytes: longer ones cost more of a context than they help
ERRORS = frozenset(("malformed", "secret", "skipped", "key", "misplaced", "oversized", "too many"))
_LINK = re.compile(r"\[\[([^\[\]\n]{1,200})\]\]")
_MARKDOWN_LINK = re.compile(r"\]\(([^()\s]{1,300}\.md)\)")
_AGAINST = frozenset(
    (
        "never",
        "not",
        "no",
        "don't",
        "dont",
        "avoid",
        "without",
        "cannot",
        "can't",
        "stop",
        "forbidden",
    )
)
_FILLING = frozenset(
    (
        *(
            "always",
            "must",
            "should",
            "do",
            "use",
            "please",
            "to",
            "the",
            "a",
            "an",
            "is",
            "are",
            "be",
            "we",
            "you",
            "it",
        ),
        *("in", "of", "for", "with"),
    )
)
_LEAST_WORDS = 2  # of a sentence, for it to contradict another


class Finding(NamedTuple):
    """What is wrong with an entry: one of the kinds below, its key, its memory's scope and a sentence.

    Errors: malformed, secret, skipped, key, misplaced, oversized, "too many".
    Remarks: permissions, expired, duplicate, contradiction, long, unreachable, "broken link", behind (MEMORY.md).
    """

    kind: str
    key: str
    scope: str
    detail: str

    @property
    def is_error(self) -> bool:
        """Return whether it has to be mended."""
        return self.kind in ERRORS


class _One(NamedTuple):
    key: str
    scope: str
    entry: Entry
    size: int


def check(memories: Sequence[Memory], held_back: Container[tuple[str, str]] = ()) -> list[Finding]:
    """Return what is wrong in some memories, taken together, in order of their keys.

    Args:
        memories: the opened memories.
        held_back: scope and key of entries that nothing is told of.
    """
    found: list[Finding] = []
    read: list[_One] = []
    for memory in memories:
        rows = memory.rows()
        found += _of_rows(memory, rows)
        seen = set()
        for key, data, _ in memory.directory.read_all():
            seen.add(key)
            if not key.endswith(".md") or key == MEMORY_MD:
                continue
            found += _of_bytes(memory, key, data)
            try:
                read.append(_One(key, memory.scope, entries.decoded(data, key), len(data)))
            except BadEntry:
                continue  # told of by its row
        found += _unreadable(memory, [row for row in rows.rows if row.key not in seen])
        found += _unreachable(memory, rows.rows, [one for one in read if one.scope == memory.scope])
    read = [one for one in read if (one.scope, one.key) not in held_back]
    found += [*_duplicates(read), *_contradictions(read), *_broken_links(read)]
    found = [one for one in found if (one.scope, one.key) not in held_back]
    return sorted(found, key=lambda one: (one.key, one.scope, one.kind, one.detail))


def _of_rows(memory: Memory, found: index.Rows) -> Iterator[Finding]:
    for path, reason in found.skipped:
        yield Finding("skipped", path, memory.scope, reason)
    if found.cut:
        yield Finding("too many", "", memory.scope, "there are more entries than are ever read")
    if index.is_behind(memory.directory, found.rows, memory.now()):
        yield Finding("behind", MEMORY_MD, memory.scope, "it does not list what is there")
    if reason := memory.directory.loose():
        yield Finding("permissions", "", memory.scope, reason)
    now = memory.now()
    for row in found.rows:
        if row.problem:
            kind = "oversized" if "longer than" in row.problem else "malformed"
            yield Finding(kind, row.key, memory.scope, row.problem)
        elif index.is_over(row, now):
            yield Finding("expired", row.key, memory.scope, f"since {row.expires}")
        if memory.scope == "team" and row.type in entries.ALWAYS_PRIVATE:
            yield Finding("misplaced", row.key, "team", f"the type {row.type} is private")
        elif row.scope and memory.scope and row.scope != memory.scope:
            yield Finding(
                "misplaced", row.key, memory.scope, f"its scope is {row.scope}, its place is not"
            )


def _unreadable(memory: Memory, rows: Sequence[Row]) -> Iterator[Finding]:
    """Yield those of some rows whose files cannot be read now, though they could be when the rows were made."""
    for row in rows:
        try:
            memory.directory.read(row.key)
        except NotFound:
            continue  # deleted this instant
        except Unsafe as problem:
            reason = problem.rule
        except OSError as problem:
            reason = problem.strerror or "it cannot be read"
        else:
            continue
        if not row.problem:
            yield Finding("skipped", row.key, memory.scope, reason)


def _of_bytes(memory: Memory, key: str, data: bytes) -> Iterator[Finding]:
    try:
        check_key(key)
    except PathRejected as problem:
        yield Finding("key", key, memory.scope, problem.rule)
    secret = find_secret(data.decode("utf-8", "replace"), memory.secrets)
    if secret:
        yield Finding("secret", key, memory.scope, f"in line {secret[1]} (rule {secret[0]})")
    if len(data) > LONG:
        yield Finding("long", key, memory.scope, f"{len(data)} bytes; split it, or keep its core")


def _unreachable(memory: Memory, rows: Sequence[Row], read: Sequence[_One]) -> Iterator[Finding]:
    """Yield the entries that MEMORY.md does not list and that no other entry links to."""
    ranked = index.by_relevance([row for row in rows if not row.problem], memory.now())
    if len(ranked) <= MOST_SHOWN:
        return
    targets = {target for one in read for target in _links(one.entry.body)}
    for row in ranked[MOST_SHOWN:]:
        if not targets & _names(row.key, row.name):
            detail = f"not among the {MOST_SHOWN} of {MEMORY_MD}, and no entry links to it"
            yield Finding("unreachable", row.key, memory.scope, detail)


def _links(body: str) -> set[str]:
    return {*_LINK.findall(body), *_MARKDOWN_LINK.findall(body)}


def _names(key: str, name: str) -> set[str]:
    last = key.rpartition("/")[2]
    stems = {text.removesuffix(".md") for text in (key, last)}
    return {key, last, *stems} | ({name} if name else set())


def _broken_links(read: Sequence[_One]) -> Iterator[Finding]:
    known = {name for one in read for name in _names(one.key, one.entry.name)}
    for one in read:
        for target in sorted(set(_LINK.findall(one.entry.body)) - known):
            yield Finding(
                "broken link", one.key, one.scope, f"[[{one_line(target, 60)}]] leads nowhere"
            )


def _duplicates(read: Sequence[_One]) -> Iterator[Finding]:
    """Yield the entries that say the same as an earlier one, or bear its name."""
    for what, form in (("text", _said), ("name", lambda entry: entry.name.casefold())):
        first: dict[str, _One] = {}
        for one in sorted(read, key=lambda one: (one.key, one.scope)):
            said = form(one.entry)
            if said and (other := first.setdefault(said, one)) is not one:
                yield Finding(
                    "duplicate", one.key, one.scope, f"the same {what} as {_place(other)}"
                )


def _place(one: _One) -> str:
    return f"{one.key} ({one.scope})" if one.scope else one.key


def _said(entry: Entry) -> str:
    words = re.findall(r"\w+", (entry.body if entry.body.strip() else entry.description).casefold())
    return " ".join(words)


def _contradictions(read: Sequence[_One]) -> Iterator[Finding]:
    """Yield pairs of entries of which one forbids in the same words what the other asks for."""
    stands: dict[frozenset[str], dict[bool, _One]] = defaultdict(dict)
    for one in sorted(read, key=lambda one: (one.key, one.scope)):
        told = set()
        for sentence in _sentences(one.entry):
            words = re.findall(r"[\w'-]+", sentence.casefold().replace("’", "'"))
            core = frozenset(words) - _AGAINST - _FILLING
            if len(core) < _LEAST_WORDS:
                continue
            against = not _AGAINST.isdisjoint(words)
            other = stands[core].get(not against)
            stands[core].setdefault(against, one)
            if other is not None and other.key != one.key and other not in told:
                told.add(other)
                detail = f"says the contrary of {_place(other)}: {one_line(sentence, 80)}"
                yield Finding("contradiction", one.key, one.scope, detail)


def _sentences(entry: Entry) -> Iterator[str]:
    yield entry.description
    for line in entry.body[: 64 * 1024].split("\n"):
        yield from re.split(r"(?<=[.!?;])\s", line)
