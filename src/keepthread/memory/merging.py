"""Merges what two sides made of a memory since they last agreed. Pure: it knows names of texts, not the texts.

Each side maps keys to names of texts (git's, so equal texts have equal names). A key that only one side touched is as
that side has it. One that both changed stays as it is here, and the other version is kept beside it under a key made
of its own key, author and text, so that every clone gives it the same one. A change outlives a deletion.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from keepthread.memory import keys

_STEM_BYTES = 110
_AUTHOR = 24  # characters


class Local(NamedTuple):
    """The entries here. `same` holds the name of a text with other line ends, `closed` why a path cannot be read."""

    texts: Mapping[str, str]
    same: Mapping[str, str]
    closed: Mapping[str, str]

    def name(self, key: str, *known: str | None) -> str | None:
        """Return the name of a key's text; line ends alone are no difference from a text that is known."""
        alike = self.same.get(key)
        return alike if alike is not None and alike in known else self.texts.get(key)


class Conflict(NamedTuple):
    """Both sides touched a key. `kept_as` is the key of the other version, "" when one side deleted it."""

    key: str
    kept_as: str
    detail: str


class Skip(NamedTuple):
    """What was left alone: its path, on which side ("here" or "remote"), and why."""

    path: str
    side: str
    reason: str


class Plan(NamedTuple):
    """What has to happen. Nothing is done for keys that are not named.

    `write` and `delete` are for the folder here, `tree` for the remote's tree (None deletes), `base` is what both
    sides agree on once the former is done, `agreed` once the latter is done too.
    """

    write: dict[str, str]
    delete: list[str]
    tree: dict[str, str | None]
    base: dict[str, str]
    agreed: dict[str, str]
    conflicts: list[Conflict]
    skipped: list[Skip]


class Judge(NamedTuple):
    """Says why a text may not be taken from the remote, or be shared, "" when it may; and who changed a key there."""

    theirs: Callable[[str, str], str]
    ours: Callable[[str], str]
    author: Callable[[str], str]


def differing(base: Mapping[str, str], local: Local, remote: Mapping[str, str]) -> dict[str, str]:
    """Return the remote's texts by key that a merge has to look into."""
    return {
        key: name for key, name in remote.items() if local.name(key, name) != name != base.get(key)
    }


def merge(
    base: Mapping[str, str],
    local: Local,
    remote: Mapping[str, str],
    judge: Judge,
    others: Iterable[str] = (),
) -> Plan:
    """Return what brings both sides together.

    Args:
        base: what they last agreed on.
        local: the entries here.
        remote: the entries there that could be entries by their place and size.
        judge: says of texts that differ whether they may be taken or shared.
        others: the paths there that hold no entry; they stay.
    """
    merger = _Merger(base, local, remote, judge, others)
    for key in sorted({*base, *local.texts, *remote}):
        merger.decide(key)
    return merger.plan()


class _Merger:
    def __init__(
        self,
        base: Mapping[str, str],
        local: Local,
        remote: Mapping[str, str],
        judge: Judge,
        others: Iterable[str],
    ) -> None:
        self._base, self._local, self._remote = base, local, remote
        self._judge, self._others = judge, [*others]
        self._plan = Plan({}, [], {}, {}, {}, [], [])
        self._frozen: set[str] = set()
        self._spellings: dict[str, set[str]] = {}

    def decide(self, key: str) -> None:
        """Plan what becomes of one key on both sides."""
        old, theirs = self._base.get(key), self._remote.get(key)
        ours = self._local.name(key, old, theirs)
        if reason := self._closed(key):
            self._freeze(key, "here", reason)
        elif ours == theirs:
            return
        elif ours == old:
            self._take(key, theirs)
        elif theirs == old:
            self._give(key, ours)
        else:
            self._both(key, ours, theirs)

    def _closed(self, key: str) -> str:
        for path in (key, *_above(key)):
            if path in self._local.closed:
                return self._local.closed[path]
        return ""

    def _freeze(self, key: str, side: str, reason: str) -> None:
        self._frozen.add(key)
        self._plan.skipped.append(Skip(key, side, reason))

    def _hold_back(self, key: str, side: str, reason: str) -> None:
        told = [one for one in self._plan.conflicts if key != (one.kept_as or one.key)]
        self._plan.conflicts[:] = told
        self._freeze(key, side, reason)

    def _take(self, key: str, theirs: str | None) -> None:
        if theirs is None:
            self._plan.delete.append(key)
        elif reason := self._judge.theirs(key, theirs):
            self._freeze(key, "remote", reason)
        else:
            self._plan.write[key] = theirs

    def _give(self, key: str, ours: str | None) -> None:
        if ours is not None and (reason := self._judge.ours(key)):
            self._freeze(key, "here", reason)
        else:
            self._plan.tree[key] = ours

    def _both(self, key: str, ours: str | None, theirs: str | None) -> None:
        if ours is None:
            self._take(key, theirs)
            if key in self._plan.write:
                said = "deleted here and changed there: the change is kept"
                self._plan.conflicts.append(Conflict(key, "", said))
            return
        if reason := self._judge.ours(key):
            self._freeze(key, "here", reason)
        elif theirs is None:
            self._plan.tree[key] = ours
            said = "changed here and deleted there: the change is kept"
            self._plan.conflicts.append(Conflict(key, "", said))
        elif reason := self._judge.theirs(key, theirs):
            self._freeze(key, "remote", reason)
        else:
            self._keep_both(key, ours, theirs)

    def _keep_both(self, key: str, ours: str, theirs: str) -> None:
        author = self._judge.author(key)
        beside = self._known(key, theirs) or self._beside(key, theirs, author)
        self._plan.tree[key] = ours
        if self._remote.get(beside) != theirs:
            self._plan.tree[beside] = theirs
        if self._local.texts.get(beside) != theirs:
            self._plan.write[beside] = theirs
        whose = f" (by {author})" if author else ""
        said = f"changed here and there: yours stays, the other{whose} is kept as {beside}"
        self._plan.conflicts.append(Conflict(key, beside, said))

    def _known(self, key: str, theirs: str) -> str:
        """Return where this version is kept already, by a sync that was interrupted; "" for nowhere."""
        start = kept_name(key, "", "").partition("(version")[0]
        for name, text in self._local.texts.items():
            kept = name != key and name.startswith(f"{start}(version ")
            if kept and text == theirs and self._stays(name, theirs):
                return name
        return ""

    def _beside(self, key: str, theirs: str, author: str) -> str:
        """Return the first name of a version that is free on both sides, or holds this text and goes on to."""
        for digits in range(8, len(theirs) + 1, 4):
            name = kept_name(key, theirs[:digits], author)
            if self._spelt(name) <= {name} and self._stays(name, theirs):
                self._spelt(name).add(name)
                return name
        return kept_name(key, theirs, "")

    def _stays(self, name: str, text: str) -> bool:
        """Return whether a key may hold a text beside what happens to it otherwise."""
        ours, theirs = self._local.texts.get(name), self._remote.get(name)
        deleted = self._base.get(name) == text and None in (ours, theirs)
        return {ours, theirs} <= {None, text} and not deleted

    def _spelt(self, name: str) -> set[str]:
        """Return the keys of both sides that some system takes for this one."""
        if not self._spellings:
            for key in (*self._local.texts, *self._remote):
                self._spellings.setdefault(keys.folded(key), set()).add(key)
        return self._spellings.setdefault(keys.folded(name), set())

    def plan(self) -> Plan:
        """Return the plan, without what some file system could not hold beside the rest."""
        plan = self._plan
        self._refuse_twins_here()
        self._refuse_twins_there()
        here = {key: self._local.name(key, self._remote.get(key)) for key in self._local.texts}
        here = {**here, **plan.write}
        there = {**self._remote, **plan.tree}
        gone = set(plan.delete)
        for key in {*self._base, *here, *there}:
            ours = None if key in gone else here.get(key)
            merged = self._base.get(key) if key in self._frozen else self._remote.get(key)
            _put(plan.base, key, merged)
            agreed = there.get(key) if there.get(key) == ours else merged
            _put(plan.agreed, key, agreed)
        return plan

    def _refuse_twins_here(self) -> None:
        if not self._plan.write:
            return
        kept = [key for key in self._local.texts if key not in set(self._plan.delete)]
        names = _Names([*kept, *self._local.closed])
        for key in sorted(set(self._plan.write) - set(kept)):
            if twin := names.twin(key):
                del self._plan.write[key]
                self._hold_back(key, "remote", f"some systems take it and {twin!r} for one")

    def _refuse_twins_there(self) -> None:
        if not self._plan.tree:
            return
        gone = {key for key, text in self._plan.tree.items() if text is None}
        names = _Names([path for path in (*self._remote, *self._others) if path not in gone])
        for key in sorted(set(self._plan.tree) - gone - set(self._remote)):
            if twin := names.twin(key):
                del self._plan.tree[key]
                self._hold_back(key, "here", f"some systems take it and {twin!r} there for one")


def _put(into: dict[str, str], key: str, name: str | None) -> None:
    if name is not None:
        into[key] = name


class _Names:
    """The names that are taken, with those of the folders above them, as the least able system sees them."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._known: dict[str, set[tuple[str, bool]]] = {}
        for path in paths:
            self._add(path)

    def _add(self, path: str) -> None:
        for part in _parts(path):
            self._known.setdefault(keys.folded(part[0]), set()).add(part)

    def twin(self, path: str) -> str:
        """Return a name that cannot stand beside a path, "" when there is none; the path is taken from then on."""
        for part in _parts(path):
            known = self._known.get(keys.folded(part[0]), set())
            if known and part not in known:
                return min(known)[0]
        self._add(path)
        return ""


def _parts(path: str) -> list[tuple[str, bool]]:
    return [(path, True), *((above, False) for above in _above(path))]


def _above(path: str) -> list[str]:
    found = []
    while "/" in path:
        path = path.rpartition("/")[0]
        found.append(path)
    return found


def kept_name(key: str, digits: str, author: str) -> str:
    """Return the key under which another version of an entry is kept: whose it is and which."""
    folder, slash, name = key.rpartition("/")
    stem = name.removesuffix(".md").encode()[:_STEM_BYTES].decode("utf-8", "ignore").rstrip(" .")
    slug = re.sub(r"[^a-z0-9]+", "-", author.lower())[:_AUTHOR].strip("-")
    mark = f"{slug}-{digits}" if slug else digits
    made = f"{folder}{slash}{stem} (version {mark}).md"
    return made if not keys.broken_rule(made) else f"version {mark}.md"
