"""Markup that cannot be forgotten to escape: what is no Markup is text, and text is escaped when it is put in."""

from __future__ import annotations

import re
from html import escape

from keepthread.handoff.frame import defuse

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Markup(str):
    """HTML that was built by `element`, or that stands in this package."""

    __slots__ = ()


def safe(text: str) -> Markup:
    """Return a text as markup: defused, since models read pages too, without what shows nothing, and escaped."""
    return text if isinstance(text, Markup) else Markup(escape(_CONTROLS.sub("", defuse(text))))


def element(name: str, *children: str, **attributes: str | int | float | None) -> Markup:
    """Return an element with its children, everything escaped.

    Args:
        name: the element's name, never foreign text.
        children: Markup, and texts, which are escaped.
        attributes: "_" stands for "-", one at the end is dropped (`class_`); None leaves the attribute out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{safe(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{given}>{joined(*children)}</{name}>")


def joined(*parts: str) -> Markup:
    """Return parts one after the other, texts escaped."""
    return Markup("".join(map(safe, parts)))
