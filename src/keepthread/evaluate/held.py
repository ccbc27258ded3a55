"""Whether a text holds a thing whole, so that a reader of the text could write it down."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from keepthread.evaluate.names import Unit

_INSIDE_NAME = re.compile(r"[\w$]")
_INSIDE_PATH = re.compile(r"[\w-]")
_GROUPED = re.compile(r"\S*/(?=:? )")


class Holder:
    """A text, asked what it holds.

    name, identifier, url   as a whole token
    command                 whole, whatever blanks part its words
    path                    whole as written or relative to the project; or the last two parts of three or more, when no
                            other path in `among` ends so; or its folder and, later on the same line, its name
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._slashed = text.replace("\\", "/")
        self._spaced = " ".join(text.replace("⏎", " ").split())
        self._folders = _grouped(self._slashed)

    def holds(self, unit: Unit, among: Collection[Unit] = ()) -> bool:
        """Return whether the text holds the unit. `among` are the units that could be taken for it."""
        if unit.kind == "path":
            return self._path(unit, among)
        if unit.kind == "command":
            return unit.text in self._spaced
        return _stands(
            unit.text, self._text, _INSIDE_PATH if unit.text[:1] == "-" else _INSIDE_NAME
        )

    def says(self, words: str) -> bool:
        """Return whether the text says this word for word, whatever blanks part the words."""
        return " ".join(words.split()) in self._spaced

    def count(self, units: Collection[Unit]) -> int:
        """Return how many of the units the text holds."""
        return sum(self.holds(unit, units) for unit in units)

    def _path(self, unit: Unit, among: Collection[Unit]) -> bool:
        if _stands(unit.text, self._slashed, _INSIDE_PATH):
            return True
        folder, _, name = unit.text.rpartition("/")
        if not folder:
            return False
        if any(_stands(name, rest, _INSIDE_PATH) for rest in self._folders.get(f"{folder}/", ())):
            return True
        parts = unit.text.split("/")
        ending = "/".join(parts[-2:])
        return (
            len(parts) > 2
            and not _is_shared(ending, among)
            and _stands(ending, self._slashed, _INSIDE_PATH)
        )


def _is_shared(ending: str, among: Iterable[Unit]) -> bool:
    """Whether more than one path ends so."""
    return (
        sum(
            unit.kind == "path" and (unit.text == ending or unit.text.endswith(f"/{ending}"))
            for unit in among
        )
        > 1
    )


def _grouped(text: str) -> dict[str, list[str]]:
    """Return what stands on a line after a folder's name, by folder."""
    found: dict[str, list[str]] = {}
    for line in text.split("\n"):
        if "/:" in line or "/ " in line:
            for match in _GROUPED.finditer(line[:2_000]):
                found.setdefault(match[0].lstrip("`("), []).append(line[match.end() :])
    return found


def _stands(token: str, text: str, inside: re.Pattern[str]) -> bool:
    """Whether the token stands in the text and no word goes on over its ends."""
    at = text.find(token)
    while at >= 0:
        end = at + len(token)
        before, after = text[at - 1 : at] if at else "", text[end : end + 1]
        if not inside.match(before) and not inside.match(after):
            return True
        at = text.find(token, at + 1)
    return False
