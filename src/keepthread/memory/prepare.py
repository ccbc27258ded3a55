"""Prepares what session starts show of a memory: see `memory.digest` for the file.

It is made after each change by a command, and before a session start that finds files added, removed or replaced. Only
what changed is read and redacted again.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from keepthread import detached, files, redact
from keepthread.errors import KeepthreadError
from keepthread.handoff import frame
from keepthread.memory import entries, index
from keepthread.memory.digest import LIMIT, LONGEST_HEAD, SHAPE, Digest, Row, load
from keepthread.memory.errors import MemoryProblem
from keepthread.memory.git_files import branch_of
from keepthread.memory.index import Row as IndexRow
from keepthread.memory.places import Place, open_memory, place_of
from keepthread.memory.recall import words_of
from keepthread.memory.store import Memory
from keepthread.memory.words import one_line, visible

AT_ONCE = 2_000  # entries that a session start waits for; more are prepared beside it
_WITH_TEXT = 150  # entries whose bodies are prepared: more than any budget shows
_MOST_MATCHING = 40  # beyond them, of those that fit the branch
_BODY = 1_500  # characters of a body
_READ = 8_000  # characters of it that are looked at
_AT_ONCE_BYTES = 4 << 20  # of all entries together, as far as they are looked at
_LINE = 160
_MOST_AUTHORS = 500
_MOST_FOLDERS = 500
_DAY = 86_400  # seconds
_GRAIN = 0.012  # seconds: what changes twice within it may bear one time


def digest_path(place: Place, scope: str) -> str:
    """Return where the digest of a scope lies."""
    return place.beside(f".{scope}.digest")


def prepare(place: Place, memory: Memory, most: int = 0, *, again: bool = False) -> bool:
    """Bring a memory's digest up to date; return whether it is.

    Args:
        place: the project's places.
        memory: the opened memory.
        most: give up when there are more files than that, or too long ones for a start to wait; 0 for no limit.
        again: also when no file was added, removed or replaced: one was changed in place.

    Raises:
        OSError: the memory or the state folder cannot be used.
    """
    path, root = digest_path(place, memory.scope), os.path.realpath(memory.directory.path)
    known = load(path, memory.scope)
    if known is not None and known.is_fresh(root) and not again:
        return True
    if most and _takes_long(memory, most):
        return False
    time.sleep(2 * _GRAIN)
    started = time.time_ns()
    rows = [row for row in memory.rows().rows if not row.problem]
    ranked = index.by_relevance(rows, memory.now())
    folders = _folders(root, rows, started)
    lines = _lines(place, memory, ranked, known)
    authors = Counter(author_name(row.author) for row in rows).most_common(_MOST_AUTHORS)
    data = _head(root, len(ranked), authors, folders)
    data += b"".join(_json(one) + b"\n" for one in lines)
    files.make_private(os.path.dirname(path))
    index.replace(path, data[: data.rfind(b"\n", 0, LIMIT) + 1])
    return True


def _takes_long(memory: Memory, most: int) -> bool:
    found = memory.directory.listing(most)
    return found.cut or sum(min(stat.size, _READ) for _, stat in found.files) > _AT_ONCE_BYTES


def _head(root: str, count: int, authors: list[tuple[str, int]], folders: list[list[Any]]) -> bytes:
    """Return the first line; where names are long, with fewer of them."""
    while True:
        head = {"shape": SHAPE, "root": root, "count": count}
        line = _json({**head, "authors": dict(authors), "folders": folders}) + b"\n"
        if len(line) <= LONGEST_HEAD or len(authors) + len(folders) <= 2:
            return line
        authors, folders = authors[: len(authors) // 2], folders[: (len(folders) + 1) // 2]


@lru_cache(4096)
def author_name(written: str) -> str:
    """Return an author as shown and known: of a long name the beginning counts."""
    return redact.text(one_line(frame.one_line(redact.text(written)), 80))


def _folders(root: str, rows: Sequence[IndexRow], started: int) -> list[list[Any]]:
    """Return the folders that entries lie in with their times of change; 0 when they changed while they were listed."""
    paths = {""}
    for row in rows:
        parts = row.key.split("/")[:-1]
        paths |= {"/".join(parts[: n + 1]) for n in range(len(parts))}
    found = []
    for path in sorted(paths, key=lambda path: (path.count("/"), path))[:_MOST_FOLDERS]:
        try:
            changed = os.lstat(os.path.join(root, path) if path else root).st_mtime_ns
        except OSError:
            changed = 0  # gone meanwhile
        found.append([path, changed if changed < started - _GRAIN * 1e9 else 0])
    return found


def _lines(
    place: Place, memory: Memory, ranked: Sequence[IndexRow], known: Digest | None
) -> list[list[Any]]:
    before: dict[str, Row] = {}
    if known is not None:
        before = {row.key: row for row in known.all_rows()}
    words = words_of(branch_of(place.project))
    lines, matching = [], 0
    for number, row in enumerate(ranked):
        fits = bool(words) and any(word in f"{row.key} {row.name}".casefold() for word in words)
        matching += fits
        wanted = number < _WITH_TEXT or (fits and matching <= _MOST_MATCHING)
        old = before.get(row.key)
        if old is None or old.stat != row.stat:
            old = None
        told = old.told if old else _told(row, place.secrets)
        text = ""
        if wanted and not index.is_over(row, memory.now()):
            text = (old.text if old else "") or _text(memory, row, place.secrets)
        author = old.author if old else author_name(row.author)
        lines.append(
            [row.key, row.type, author, int(index.changed(row)), _end(row), row.stat, told, text]
        )
    return lines


def _told(row: IndexRow, secrets: Sequence[str]) -> str:
    """Return the entry's own line: its name where that says more than the key, and what it is about."""
    name = "" if row.name.casefold() in row.key.casefold() else f"{row.name}: "
    return _plain(name + row.description, _LINE, secrets)


def _plain(text: str, limit: int, secrets: Sequence[str]) -> str:
    # Once more at the end: what is taken out as invisible may have split a secret.
    shown = frame.one_line(one_line(redact.text(text, secrets), limit))
    return redact.text(shown, secrets)


def _text(memory: Memory, row: IndexRow, secrets: Sequence[str]) -> str:
    """Return the body as it may be shown; "" when it cannot be read, or is another's by now."""
    try:
        data, stat = memory.directory.read_with_stat(row.key)
        if stat != row.stat:
            return ""
        body = entries.decoded(data, row.key).body
    except (OSError, MemoryProblem):
        return ""  # gone since it was listed
    seen = visible(redact.text(body[:_READ], secrets))[: 4 * _BODY]
    body = redact.text(seen, secrets).strip()
    lines = [line.rstrip() for line in body.split("\n")]
    whole = "\n".join(line for n, line in enumerate(lines) if line or (n and lines[n - 1]))
    cut = whole if len(whole) <= _BODY else whole[:_BODY].rpartition(" ")[0].rstrip() + " …"
    return frame.defuse(cut)


def _end(row: IndexRow) -> int:
    """Return the second after which an entry is over, 0 when it never is."""
    if not row.expires:
        return 0
    end = int(entries.when(row.expires).timestamp())
    if (
        len(row.expires) == 10
    ):  # a date lasts until its end; the calendar's last one has no day behind it
        end += _DAY
    return max(1, end)


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def here(env: dict[str, str], cwd: str, scope: str, most: int = 0) -> bool:
    """Prepare the memory of a scope again for the starts of a project; return whether its digest is up to date."""
    try:
        place = place_of(env, cwd)
        with open_memory(place, scope) as memory:
            return prepare(place, memory, most, again=True)
    except (OSError, KeepthreadError):
        return False  # whoever uses the memory is told why


def main(cwd: str, scope: str) -> None:
    """Do the same as a process of its own."""
    here(dict(os.environ), cwd, scope)


def beside(env: dict[str, str], cwd: str, scope: str, state: str) -> None:
    """Start that process; it outlives this one."""
    with suppress(OSError, ValueError):  # the next command prepares it
        detached.start("memory.prepare", [cwd, scope], env=env, cwd=state, yields=True)
