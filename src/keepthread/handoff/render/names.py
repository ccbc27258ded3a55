"""Exact names beside the file or command they belong to, best first, one line a group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from keepthread.handoff.frame import defuse, one_line
from keepthread.handoff.model import FileTouched, Identifier
from keepthread.handoff.units import units

_LONGEST = 300  # units; a longer "name" is none
_LABEL = 80
_KINDS: Mapping[str, str] = {
    "path": "paths mentioned",
    "hash": "commits and hashes",
    "uuid": "ids",
    "issue": "issues",
    "url": "URLs",
    "number": "numbers",
    "flag": "flags",
    "name": "names used in several places",
}


def name_lines(
    identifiers: Iterable[Identifier],
    limit: int,
    label: Callable[[str], str],
    wanted: Callable[[str], bool],
) -> list[str]:
    """Return lines "place: name, name", together at most `limit` units with their line ends.

    Names are taken best first while they fit; a group stands where its best name puts it. `label` turns a place into
    what is printed for it, `wanted` says which names are to be printed at all.
    """
    groups: dict[str, list[str]] = {}
    room = limit
    taken: set[str] = set()
    for identifier in identifiers:
        name = identifier["text"]
        if name in taken or len(name) > _LONGEST or not wanted(name) or _broken(name):
            continue
        place = identifier["near"]
        key = label(place) if place else _KINDS.get(identifier["kind"], "names")
        cost = units(name) + 2 + (0 if key in groups else units(key) + 4)
        if cost > room:
            if room < 12:
                break
            continue
        groups.setdefault(key, []).append(name)
        taken.add(name)
        room -= cost
    return [f"- {key}: {', '.join(names)}" for key, names in groups.items()]


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
    """Return a printer of places that names a file by its last part, where no other file is called so."""
    paths = {file["path"] for file in files} | {each["near"] for each in identifiers}
    owners: dict[str, int] = {}
    for path in paths:
        owners[_last(path)] = owners.get(_last(path), 0) + 1

    def printed(place: str) -> str:
        if place in paths and _is_path(place) and owners.get(_last(place)) == 1:
            return one_line(_last(place)[:_LONGEST])
        return by_path(place)

    return printed


def _last(path: str) -> str:
    return path[max(path.rfind("/"), path.rfind("\\")) + 1 :]


def _is_path(place: str) -> bool:
    return " " not in place or ("/" in place.split(" ", 1)[0] and "." in _last(place))


def _head(command: str) -> str:
    return command if len(command) <= _LABEL else command[: _LABEL - 1] + "…"
