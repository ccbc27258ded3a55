"""Exact names beside the file or command they belong to, best first, one line a group."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from keepthread.handoff.frame import defuse, one_line
from keepthread.handoff.model import FileTouched, Identifier
from keepthread.handoff.units import units

_LONGEST = 300  # units; a longer "name" is none
_LABEL = 80
_PARTS = 3  # of a path, to tell it from others
_LONG_LABEL = 30  # units; a command longer than this is no label for a single name
_SMALLEST = 6  # units; with less room than this no name fits
_WORD = re.compile(r"\w+")
_KINDS: Mapping[str, str] = {
    "path": "paths mentioned",
    "hash": "commits and hashes",
    "uuid": "ids",
    "issue": "issues",
    "url": "URLs",
    "number": "numbers",
    "flag": "flags",
    "name": "other names",
}


def name_lines(
    identifiers: Iterable[Identifier],
    limit: int,
    label: Callable[[str], str],
    wanted: Callable[[str], bool],
) -> list[str]:
    """Return lines "place: name, name", together at most `limit` units with their line ends.

    Names are taken best first while they fit; a group stands where its best name puts it. A name that is part of a
    longer one, as `refund` is of `ledger.refund`, is not printed beside it. `label` turns a place into what is printed
    for it, `wanted` says which names are to be printed at all.
    """
    gathered = _Gathered(limit)
    for identifier in identifiers:
        name, place = identifier["text"], identifier["near"]
        if len(name) <= _LONGEST and wanted(name) and not _broken(name):
            gathered.add(
                name, label(place) if place else "", _KINDS.get(identifier["kind"], "names")
            )
        if gathered.room < _SMALLEST:
            break
    return [f"- {key}: {', '.join(names)}" for key, names in gathered.lines().items() if names]


class _Gathered:
    """Names by group, and the room that is left for more."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.groups: dict[str, list[str]] = {}
        self._kinds: dict[str, str] = {}
        self._words: set[str] = set()  # of every name taken
        self._compounds: list[str] = []

    def lines(self) -> dict[str, list[str]]:
        """Return the groups; a name alone under a long command stands with its kind instead."""
        merged: dict[str, list[str]] = {}
        for key, names in self.groups.items():
            alone = len(names) == 1 and key.startswith("`") and len(key) > _LONG_LABEL
            merged.setdefault(self._kinds[names[0]] if alone else key, []).extend(names)
        return merged

    def add(self, name: str, label: str, kind: str) -> None:
        """Take a name if it says something new and fits: below its place's label, without one below its kind."""
        key = label or kind
        words = _WORD.findall(name)
        plain = len(words) == 1 and words[0] == name
        if name in self._words if plain else any(_part(name, other) for other in self._compounds):
            return
        group = self.groups.get(key, [])
        within = [other for other in group if not plain and _part(other, name)]
        cost = units(name) + 2 - sum(units(other) + 2 for other in within)
        if key not in self.groups:
            cost += units(key) + 4
        if cost > self.room:
            return
        self.groups[key] = [other for other in group if other not in within] + [name]
        self.room -= cost
        self._kinds[name] = kind
        self._words.update(words)
        if not plain:
            self._compounds.append(name)


def _part(name: str, whole: str) -> bool:
    """Whether `name` stands within `whole` as one or several whole words of it."""
    at = whole.find(name)
    if at < 0:
        return False
    end = at + len(name)
    inside_start = at > 0 and _WORD.fullmatch(whole[at - 1 : at + 1])
    inside_end = end < len(whole) and _WORD.fullmatch(whole[end - 1 : end + 1])
    return not inside_start and not inside_end


def _broken(name: str) -> bool:
    """Whether a name would not stand exactly as it is; half a name is worse than none."""
    return not name.strip() or "\n" in name or defuse(name) != name


def by_path(place: str) -> str:
    """Print a place in full: a path as it is, a command in backquotes."""
    line = one_line(place[: 4 * _LONGEST])
    return line if _is_path(line) else f"`{_head(line)}`"


def by_name(
    files: Iterable[FileTouched], identifiers: Iterable[Identifier]
) -> Callable[[str], str]:
    """Return a printer of places that names a file by as few of its last parts as tell it from the others."""
    paths = {file["path"] for file in files}
    paths |= {each["near"] for each in identifiers if _is_path(each["near"])}
    owners: dict[str, set[str]] = {}
    for path in paths:
        for ending in _endings(path):
            owners.setdefault(ending, set()).add(path)

    def printed(place: str) -> str:
        if place in paths:
            for ending in _endings(place):
                if len(owners[ending]) == 1:
                    return one_line(ending[:_LONGEST])
        return by_path(place)

    return printed


def _endings(path: str) -> Iterator[str]:
    """Yield the last part of a path, its last two parts, its last three."""
    at = len(path)
    for _ in range(_PARTS):
        at = max(path.rfind("/", 0, at), path.rfind("\\", 0, at))
        if at < 0:
            return
        yield path[at + 1 :]


def _last(path: str) -> str:
    return path[max(path.rfind("/"), path.rfind("\\")) + 1 :]


def _is_path(place: str) -> bool:
    return " " not in place or ("/" in place.split(" ", 1)[0] and "." in _last(place))


def _head(command: str) -> str:
    return command if len(command) <= _LABEL else command[: _LABEL - 1] + "…"
