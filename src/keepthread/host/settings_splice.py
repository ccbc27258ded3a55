"""One object or list of a JSON text as raw pieces: what is put back together without a change is the same text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from keepthread.host import settings_parse


@dataclass(frozen=True, slots=True)
class Style:
    """How a file is written: line ending, one step of indentation, `": "` or `":"`, on several lines or on one."""

    newline: str
    unit: str
    colon: str
    lines: bool

    @classmethod
    def of(cls, text: str) -> Style:
        """Return the style of a text that begins with an object."""
        start = settings_parse.skip(text, 0)
        first = next(settings_parse.children(text, start), None)
        cut = text.find("\n")
        newline = "\r\n" if cut > 0 and text[cut - 1] == "\r" else "\n"
        if first is None:
            return cls(newline, "  ", ": ", lines=True)
        lead = text[start + 1 : first.at]
        colon = text[first.at : first.start].rpartition('"')[2]
        lines = "\n" in lead
        unit = lead.rpartition("\n")[2] if lines else "  "
        return cls(newline, unit, colon if colon in (":", ": ") else ": ", lines)

    def render(self, value: Any, indent: str, *, lines: bool) -> str:
        """Return a value as text; all its lines but the first are indented by `indent` and their depth."""
        if not lines:
            comma = ", " if self.colon == ": " else ","
            return json.dumps(value, ensure_ascii=False, separators=(comma, self.colon))
        text = json.dumps(value, ensure_ascii=False, indent=self.unit, separators=(",", self.colon))
        return text.replace("\n", self.newline + indent)


@dataclass(slots=True)
class Part:
    """A child: the raw text before its value (`"key": `, nothing in lists) and the raw value."""

    key: str
    lead: str
    value: str


@dataclass(slots=True)
class Listing:
    """An object or list: bracket and space before the first child, children, what separates them, the rest."""

    head: str
    parts: list[Part]
    gaps: list[str]
    tail: str

    @classmethod
    def of(cls, text: str) -> Listing:
        """Take apart the text of one object or list, without space around it."""
        found = list(settings_parse.children(text, 0))
        if not found:
            return cls(text[0], [], [], text[1:])
        parts = [
            Part(child.key, text[child.at : child.start], text[child.start : child.end])
            for child in found
        ]
        gaps = [text[one.end : two.at] for one, two in pairwise(found)]
        return cls(text[: found[0].at], parts, gaps, text[found[-1].end :])

    def text(self) -> str:
        """Return the pieces as one text."""
        pieces = [self.head]
        for part, gap in zip(self.parts, [*self.gaps, ""], strict=False):
            pieces += (part.lead, part.value, gap)
        return "".join([*pieces, self.tail])

    def find(self, key: str) -> Part | None:
        """Return the member with this key."""
        return next((part for part in self.parts if part.key == key), None)

    def indent(self, base: str) -> str:
        """Return the indentation of the children, `base` being that of the line on which the whole begins."""
        return self.head.rpartition("\n")[2] if "\n" in self.head else base

    def remove(self, index: int) -> None:
        """Take out a child and the separator that came with it."""
        del self.parts[index]
        if not self.parts:
            self.head, self.tail = self.head[0], self.tail[-1]
        elif self.gaps:
            del self.gaps[max(index - 1, 0)]

    def append(self, key: str, value: Any, base: str, style: Style) -> None:
        """Add a child behind the others, written the way they are; `base` as for `indent`."""
        if self.parts:
            self.gaps.append(self.gaps[-1] if self.gaps else self._first_gap(style))
            lines = "\n" in self.gaps[-1]
        else:
            self._open(base, style)
            lines = style.lines
        lead = json.dumps(key, ensure_ascii=False) + style.colon if key else ""
        self.parts.append(Part(key, lead, style.render(value, self.indent(base), lines=lines)))

    def _open(self, base: str, style: Style) -> None:
        self.head, self.tail = self.head[0], self.tail[-1]
        if style.lines:
            self.head += style.newline + base + style.unit
            self.tail = style.newline + base + self.tail

    def _first_gap(self, style: Style) -> str:
        return "," + (self.head[1:] or style.colon[1:])
