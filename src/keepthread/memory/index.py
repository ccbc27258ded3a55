"""What the entries are about: rows kept in a cache beside the state, and MEMORY.md made of them.

The cache lies outside the directory, where nobody else writes. Each row holds the state of the file it was read
from, so only files that changed are read again.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

from keepthread import files
from keepthread.memory import entries
from keepthread.memory.directory import Directory
from keepthread.memory.errors import BadEntry, NotFound, Unsafe
from keepthread.memory.listing import Skipped, Stat
from keepthread.memory.words import one_line

MEMORY_MD = "MEMORY.md"
MOST_SHOWN = 150  # entries in MEMORY.md
MOST_BYTES = 25_000  # the host loads 200 lines or 25 KB of it
_LINE = 160  # characters of one line of it
_MARK = "Made by keepthread of the entries in this folder; what is written here by hand is lost."
_SHAPE = 1  # of the cache; another number is another version's and made anew
_MOST_CACHED = 64 << 20  # bytes
_FLAGS = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_WEIGHT = {"feedback": 0, "project": 1, "user": 2, "reference": 3}


class Row(NamedTuple):
    """An entry without its body. `problem` says why it could not be read, "" when it could."""

    key: str
    stat: Stat
    name: str = ""
    description: str = ""
    type: str = ""
    scope: str = ""
    author: str = ""
    updated: str = ""
    expires: str = ""
    problem: str = ""


class Rows(NamedTuple):
    """All entries by key, what in the directory is none, and whether there were too many to list."""

    rows: list[Row]
    skipped: list[Skipped]
    cut: bool


def row_of(key: str, data: bytes, stat: Stat) -> Row:
    """Return the row of a file's bytes."""
    try:
        entry = entries.decoded(data, key)
    except BadEntry as problem:
        where = f" (line {problem.line})" if problem.line else ""
        return Row(key, stat, problem=problem.reason + where)
    if entries.says_nothing(entry):
        return Row(key, stat, problem="it says nothing")
    return Row(
        key,
        stat,
        entry.name,
        entry.description or _first_words(entry.body),
        entry.type,
        entry.scope,
        entry.author,
        entry.updated,
        entry.expires,
    )


def _first_words(body: str) -> str:
    lines = (line.strip("#*->` \t") for line in body[:2000].split("\n"))
    return next((line for line in lines if line), "")[: entries.LONGEST_FIELD]


def refreshed(directory: Directory, known: Mapping[str, Row]) -> Rows:
    """Return the rows of a directory, those of unchanged files as they are known."""
    found = directory.listing()
    rows = []
    for key, stat in found.files:
        if not key.endswith(".md") or key == MEMORY_MD:
            continue
        row = known.get(key)
        if row is None or row.stat != stat:
            row = _read(directory, key, stat)
        if row is not None:
            rows.append(row)
    other = [Skipped(key, "no .md file") for key, _ in found.files if not key.endswith(".md")]
    return Rows(rows, sorted([*found.skipped, *other]), found.cut)


def _read(directory: Directory, key: str, stat: Stat) -> Row | None:
    try:
        return row_of(key, *directory.read_with_stat(key))
    except NotFound:
        return None  # deleted since it was listed
    except Unsafe as problem:
        return Row(key, stat, problem=problem.rule)
    except OSError as problem:
        return Row(key, stat, problem=problem.strerror or "it cannot be read")


def load(cache: str) -> dict[str, Row]:
    """Return the rows of a cache by key; none when there is no cache of this version."""
    try:
        found = json.loads(files.read_regular(cache, _MOST_CACHED))
        if found["shape"] != _SHAPE:
            return {}
        return {row[0]: _row(row) for row in found["rows"]}
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        return {}  # absent, or not ours: it is made anew


def _row(fields: Sequence[Any]) -> Row:
    key, stat, *texts = fields
    if not all(isinstance(text, str) for text in (key, *texts)):
        raise TypeError("no row of ours")
    return Row(key, Stat(*map(int, stat)), *texts)


def save(cache: str, rows: Iterable[Row]) -> None:
    """Write the cache. It does not wait for the disk: what a power cut spoils is made anew.

    Raises:
        OSError: its folder cannot be written.
    """
    data = json.dumps({"shape": _SHAPE, "rows": [*rows]}, ensure_ascii=False, separators=(",", ":"))
    replace(cache, data.encode("utf-8", "replace"))


def replace(cache: str, data: bytes) -> None:
    """Write a file that can be made anew, mode 0600; it does not wait for the disk.

    Raises:
        OSError: its folder cannot be written.
    """
    temp = os.path.join(os.path.dirname(cache), files.TEMP_PREFIX + os.urandom(12).hex())
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS, files.PRIVATE_FILE)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.replace(temp, cache)
    except BaseException:
        with suppress(OSError):  # the error that brought us here is the one to report
            os.unlink(temp)
        raise


def by_relevance(rows: Iterable[Row], now: datetime) -> list[Row]:
    """Return the rows with the most relevant first: valid before expired, newer months first, corrections first."""

    def place(row: Row) -> tuple[bool, bool, int, int, float, str]:
        since = min(changed(row), now.timestamp())  # what says it is of tomorrow is of today
        months = int((now.timestamp() - since) // (30 * 86400))
        weight = _WEIGHT.get(row.type, len(_WEIGHT))
        return (bool(row.problem), is_over(row, now), months, weight, -since, row.key)

    return sorted(rows, key=place)


def is_over(row: Row, now: datetime) -> bool:
    """Return whether a row's entry has expired."""
    return bool(row.expires) and entries.is_expired(entries.Entry(expires=row.expires), now)


def changed(row: Row) -> float:
    """Return when an entry was changed last, in seconds since 1970: as its head says, else as its file does."""
    return entries.when(row.updated).timestamp() if row.updated else row.stat.changed / 1e9


def markdown(rows: Sequence[Row], now: datetime) -> str:
    """Return the text of MEMORY.md: the most relevant entries, one a line, and a count of the rest."""
    text = f"# Memory\n\n{_MARK}\n\n"
    readable = [row for row in by_relevance(rows, now) if not row.problem]
    room = MOST_BYTES - len(text.encode()) - 200
    lines: list[str] = []
    for row in readable[:MOST_SHOWN]:
        line = _line(row, now)
        room -= len(line.encode())
        if room < 0:
            break
        lines.append(line)
    rest = len(readable) - len(lines)
    more = (
        f"\n{rest} more: `keepthread memory list`, `keepthread memory search WORDS`\n"
        if rest
        else ""
    )
    return text + "".join(lines) + more


def is_foreign(directory: Directory) -> bool:
    """Return whether MEMORY.md is somebody's own text and none that was made of entries."""
    try:
        there = directory.read(MEMORY_MD).decode("utf-8", "replace")
    except NotFound:
        return False
    except (Unsafe, OSError):
        return True  # a link, or too long: left alone in any case
    return bool(there.strip()) and _MARK not in there


def is_behind(directory: Directory, rows: Sequence[Row], now: datetime) -> bool:
    """Return whether MEMORY.md says something else than the entries; in which order, and what is over, is not asked.

    A process that is killed between an entry and MEMORY.md leaves it so. In a fresh clone there is none, and something
    that is no plain file in its place is not ours to judge.
    """
    try:
        there = directory.read(MEMORY_MD).decode("utf-8", "replace")
    except (NotFound, Unsafe, OSError):
        return False
    return _said(there) != _said(markdown(rows, now))


def _said(text: str) -> list[str]:
    return sorted(re.sub(r"(?:, |\()expired\)", ")", line, count=1) for line in text.split("\n"))


def _line(row: Row, now: datetime) -> str:
    title = one_line(row.name or row.key.removesuffix(".md"), 60).replace("<", "&lt;")
    for mark in "[]":
        title = title.replace(mark, "\\" + mark)
    link = "".join(f"%{ord(char):02X}" if char in "%# ()" else char for char in row.key)
    notes = [row.type] if row.type else []
    notes += ["expired"] if is_over(row, now) else []
    told = one_line(row.description, _LINE).replace("<", "&lt;")
    return f"- [{title}]({link}){' (' + ', '.join(notes) + ')' if notes else ''}: {told}\n"
