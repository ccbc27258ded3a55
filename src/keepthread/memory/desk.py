"""What the commands do, in plain values, and how its results read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from keepthread import files, platforms, redact
from keepthread.errors import KeepthreadError
from keepthread.handoff import frame
from keepthread.memory import entries, keys, places, trust
from keepthread.memory.entries import Entry
from keepthread.memory.errors import MemoryProblem, SecretFound
from keepthread.memory.index import by_relevance, is_over
from keepthread.memory.places import Place
from keepthread.memory.search import MOST_HITS
from keepthread.memory.store import Memory, Stored, find_secret
from keepthread.memory.words import one_line, visible

if TYPE_CHECKING:
    from keepthread.memory.checks import Finding
    from keepthread.memory.importing import Imported

_PATIENCE = 2.0  # seconds for git
_MOST_UNSAVED = 50  # texts of one key that could not be stored


class Desk:
    """A project's memories, opened for one command. Use it in a `with` statement.

    Args:
        place: where they lie.
        scope: "team" or "private" to see only that one.
        waiting: called with whoever holds a memory that has to be waited for.
        trusted: leave out a team's memory that its user does not trust, and entries whose author was not known when
            it was trusted; what `listed` and `check` return is then fit for the model.
    """

    def __init__(
        self,
        place: Place,
        scope: str = "",
        waiting: Callable[[str], None] | None = None,
        *,
        trusted: bool = False,
    ) -> None:
        self.place = place
        self._trusted = trusted
        self._scope = scope
        self._waiting = waiting
        self._stack = ExitStack()
        self._opened: dict[str, Memory] = {}

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:
            for memory in self._opened.values():
                if memory.changed:
                    _prepare(self.place, memory)

    def memory(self, scope: str) -> Memory:
        """Return the memory of a scope, opened once."""
        if scope not in self._opened:
            opened = places.open_memory(self.place, scope, self._waiting)
            self._opened[scope] = self._stack.enter_context(opened)
        return self._opened[scope]

    def memories(self) -> list[Memory]:
        """Return the memories that are meant and that there are, the team's first."""
        if self._scope:
            return [self.memory(self._scope)]
        there = {"team": self.place.team_path, "private": self.place.private_path}
        if self._trusted and not self._trusts_team():
            del there["team"]
        return [self.memory(scope) for scope, path in there.items() if os.path.lexists(path)]

    def _trusts_team(self) -> bool:
        root = os.path.realpath(self.place.team_path)
        decisions = trust.read(self.place.private_path)
        return trust.standing_now(decisions, root) == trust.TRUSTED

    def _held_back(self, memory: Memory) -> set[str]:
        """Return the keys of a memory that no session is shown."""
        if not self._trusted or memory.scope != "team":
            return set()
        from keepthread.memory.prepare import author_name

        root = os.path.realpath(memory.directory.path)
        known = trust.known_authors(trust.read(self.place.private_path), root)
        if known is None:
            return set()
        return {row.key for row in memory.rows().rows if author_name(row.author) not in known}

    def _fit(self, text: str) -> str:
        """Return a text of others as it may be shown to whoever asked."""
        if not self._trusted:
            return text
        shown = frame.one_line(one_line(text, 8 * entries.LONGEST_FIELD))
        return redact.text(shown, self.place.secrets)

    def holder(self, key: str) -> Memory:
        """Return the memory that holds a key.

        Raises:
            PathRejected: it is no key.
            NotFound: none does.
            MemoryProblem: both do, and no scope was named.
        """
        keys.check(key)
        return places.holder_of(self.memories(), key)

    def add(self, key: str, entry: Entry) -> tuple[str, Stored]:
        """Store a new entry where it belongs; return its scope and what is stored.

        Raises:
            MemoryProblem: as Memory.add.
        """
        scope = self._scope or places.home_of(entry)
        return scope, self.memory(scope).add(key, entry._replace(scope=""))

    def edit(self, key: str, text: str, base: str) -> tuple[str, Stored]:
        """Replace an entry by what was typed: an entry with its head, or only what stands below it.

        Its author is whoever changes it, unless another was typed.

        Raises:
            MemoryProblem: as Memory.edit.
        """
        memory = self.holder(key)
        before, current = memory.text(key)
        entry, author = entries.parse(text), ""
        with suppress(MemoryProblem):  # one that cannot be read is being mended
            author = entries.parse(before).author
        if entry == Entry(body=entry.body):
            entry = entries.parse(before)._replace(body=entry.body)
        if entry.author in ("", author):
            entry = entry._replace(author=author_of(self.place.project) or author)
        return memory.scope, memory.edit(key, entry._replace(scope=""), base or current)

    def listed(self) -> list[dict[str, Any]]:
        """Return every entry, the most relevant first: key, type, description, scope, expires."""
        found = []
        for memory in self.memories():
            held_back = self._held_back(memory)
            for row in by_relevance(memory.rows().rows, memory.now()):
                if row.key in held_back:
                    continue
                told = f"(unreadable: {row.problem})" if row.problem else self._fit(row.description)
                found.append(
                    {
                        "key": row.key,
                        "type": row.type,
                        "description": told,
                        "scope": memory.scope,
                        "expires": row.expires,
                        "_over": is_over(row, memory.now()),
                    }
                )
        return found

    def search(self, words: str, limit: int = MOST_HITS) -> list[dict[str, Any]]:
        """Return what was found in all memories, the best first: key, scope, score, snippet."""
        hits = [
            {"key": hit.key, "scope": memory.scope, "score": hit.score, "snippet": hit.snippet}
            for memory in self.memories()
            for hit in memory.search(words, limit)
        ]
        return sorted(hits, key=lambda hit: -float(str(hit["score"])))[:limit]

    def check(self) -> list[Finding]:
        """Return what is wrong in the memories; a MEMORY.md that is behind its entries is made anew."""
        from keepthread.memory.checks import check

        memories = self.memories()
        found = check(
            memories, {(one.scope, key) for one in memories for key in self._held_back(one)}
        )
        behind = {one.scope for one in found if one.kind == "behind"}
        for memory in memories:
            if memory.scope in behind:
                with suppress(OSError, MemoryProblem):  # the next change makes it anew
                    memory.reindex()
                    found = [_mended(one, memory.scope) for one in found]
        return [one._replace(key=self._fit(one.key), detail=self._fit(one.detail)) for one in found]

    def take_over(self, folder: str, share: bool, author: str) -> list[Imported]:
        """Add what the host noted: to the user's own memory, or where it belongs by its type when `share` is set."""
        from keepthread.memory.importing import import_from

        home = places.home_of if share else lambda _: "private"
        return import_from(folder or self.place.host, home, self.memory, author)

    def refuse_secret(self, text: str) -> None:
        """Raise for a secret in what was typed, in the lines that its user knows.

        Raises:
            SecretFound: there is one.
        """
        if found := find_secret(text, self.place.secrets):
            raise SecretFound(*found)

    def keep_unsaved(self, key: str, text: str) -> str:
        """Write down what could not be stored, without the secrets in it; return where."""
        folder = os.path.join(self.place.state, "memory")
        files.make_private(folder)
        name = keys.repaired(key).replace("/", "-").encode()[:100].decode("utf-8", "ignore")
        if redact.text(key, self.place.secrets) != key or redact.text(name) != name:
            name = ""  # a secret in the key is kept no more than one in the text
        path = _free(os.path.join(folder, f"unsaved-{name or 'entry'}"))
        safe = redact.text(text, self.place.secrets).encode("utf-8", "replace")
        files.write_private(path, safe)
        return path


def _free(path: str) -> str:
    """Return the first name beside a path that is not taken, the last one when all are."""
    for number in range(1, _MOST_UNSAVED + 1):
        name = path if number == 1 else f"{path}.{number}"
        if not os.path.lexists(name):
            break
    return name


def _mended(one: Finding, scope: str) -> Finding:
    if (one.kind, one.scope) != ("behind", scope):
        return one
    return one._replace(detail="it did not list what is there, and was made anew")


def _prepare(place: Place, memory: Memory) -> None:
    """Bring what session starts show up to date; where that fails, they do it."""
    from keepthread.memory.prepare import prepare

    with suppress(OSError, MemoryProblem):
        prepare(place, memory)


class Said(NamedTuple):
    """What was given for a new entry beside its text; "" where nothing was."""

    name: str = ""
    description: str = ""
    type: str = ""
    expires: str = ""
    author: str = ""


def entry_of(text: str, said: Said) -> Entry:
    """Return the entry of a text, with what was given beside it in place of what its head says.

    Raises:
        BadEntry: the head is malformed.
        KeepthreadError: there is no type, or an unknown one.
    """
    entry = entries.parse(text)
    given = {name: value for name, value in said._asdict().items() if value and name != "author"}
    entry = entry._replace(**given)
    if not entry.type:
        raise KeepthreadError(
            "An entry needs a type", f"Say which: --type {'|'.join(entries.TYPES)}"
        )
    if not entry.body.endswith("\n"):
        entry = entry._replace(body=f"{entry.body}\n")
    return entry._replace(author=entry.author or said.author)


def author_of(project: str) -> str:
    """Return the name that git knows its user by in a project, "" when it knows none."""
    import subprocess  # only here: it takes as long to load as the rest

    from keepthread.memory.git import environment

    env = environment(os.environ, project)
    try:
        run = subprocess.run(
            [platforms.started_as("git", env), "config", "--get", "user.name"],
            cwd=project,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""  # no git: an entry without an author is one all the same
    return one_line(run.stdout.decode("utf-8", "replace"), 80)


TEMPLATE = """---
name:
description:
type: {type}
expires:
---

"""


def template(said: Said) -> str:
    """Return what an editor starts with for a new entry."""
    return TEMPLATE.format(type=said.type or "project")


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row without what only people are shown."""
    return {name: value for name, value in row.items() if not name.startswith("_")}


def list_text(rows: Sequence[dict[str, Any]]) -> str:
    """Return a listing for people, one entry a line."""
    if not rows:
        return "No entries yet. Write one: keepthread memory add KEY.md TEXT --type project"
    width = min(48, max(len(visible(row["key"])) for row in rows))
    lines = []
    for row in rows:
        kind = f"{row['scope']}/{row['type'] or '-'}"
        over = " (expired)" if row.get("_over") else ""
        lines.append(
            f"{one_line(row['key'], 200):{width}}  {kind:17}  {one_line(row['description'], 100)}{over}"
        )
    return "\n".join(lines)


def hits_text(hits: Sequence[dict[str, Any]]) -> str:
    """Return what was found for people: each key with a line of its text below."""
    if not hits:
        return "Nothing found."
    return "\n".join(
        f"{one_line(hit['key'], 200)} ({hit['scope']})\n    {hit['snippet']}" for hit in hits
    )


def findings_text(findings: Sequence[Finding]) -> str:
    """Return what is wrong, for people, errors first."""
    if not findings:
        return "Nothing to complain about."
    ordered = sorted(findings, key=lambda one: not one.is_error)
    return "\n".join(
        f"{'error' if one.is_error else 'remark'}: {one_line(one.key, 200) or '-'} ({one.scope}): "
        f"{one.kind}: {one_line(one.detail, 200)}"
        for one in ordered
    )


def imported_text(results: Sequence[Imported]) -> str:
    """Return what became of each file, for people, and the sums."""
    lines = [
        f"{one.result}: {one_line(one.key, 200)}" + (f" ({one.reason})" if one.reason else "")
        for one in results
        if one.result != "known"
    ]
    sums = {
        name: sum(one.result == name for one in results) for name in ("added", "known", "refused")
    }
    return "\n".join([*lines, ", ".join(f"{number} {name}" for name, number in sums.items())])


def stored_json(scope: str, stored: Stored) -> dict[str, Any]:
    """Return an entry as JSON: key, scope, version, text, and the fields of its head."""
    head = {name: getattr(stored.entry, name) for name in entries.FIELDS if name != "scope"}
    return {
        "key": stored.key,
        "scope": scope,
        "version": stored.version,
        "text": stored.text,
        **head,
    }
