"""The objects and lists of a settings file that are there only for what is ours in them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from keepthread.host.settings_splice import Listing, Part, Style


@dataclass(frozen=True, slots=True)
class Containers:
    """Which objects and lists are there only for us; the paths are "", "env", "hooks" and "hooks/<event>".

    `created` were not there before; `empty` were there without content, and their former text is kept.
    """

    created: frozenset[str] = frozenset()
    empty: Mapping[str, str] = field(default_factory=dict)

    def only(self, paths: Collection[str]) -> Containers:
        """Return what is known of these paths."""
        return Containers(
            frozenset(self.created & set(paths)),
            {path: text for path, text in self.empty.items() if path in paths},
        )


class Keeper:
    """Provides the containers that an edit needs, drops those that are of no use any more, and keeps the record."""

    def __init__(self, known: Containers, style: Style) -> None:
        self.style = style
        self._created = set(known.created)
        self._empty = dict(known.empty)

    @property
    def containers(self) -> Containers:
        """The record after the edit."""
        return Containers(frozenset(self._created), self._empty)

    def provide(self, listing: Listing, parent: str, key: str, value: Any, base: str) -> None:
        """See that a container is there, and note whether it, or its parent's content, is our doing."""
        path = f"{parent}/{key}".lstrip("/")
        part = listing.find(key)
        if part is None:
            self.add(listing, parent, key, value, base)
            self._created.add(path)
        elif path not in self._created and not Listing.of(part.value).parts:
            self._empty.setdefault(path, part.value)

    def add(self, listing: Listing, parent: str, key: str, value: Any, base: str) -> None:
        """Append a member; the text of a parent that was empty is noted."""
        if not listing.parts and parent not in self._created:
            self._empty.setdefault(parent, listing.text())
        listing.append(key, value, base, self.style)

    def drop_if_idle(self, listing: Listing, part: Part, path: str) -> None:
        """Remove a container of ours that holds nothing any more; one that was empty gets its text back."""
        if Listing.of(part.value).parts:
            return
        if path in self._created:
            listing.remove(listing.parts.index(part))
            self._created.discard(path)
        elif path in self._empty:
            part.value = self._empty.pop(path)

    def top(self, listing: Listing, *, had: bool) -> str:
        """Return the text of the whole document; one that was empty before us gets its text back."""
        if had and not listing.parts:
            return self._empty.pop("", listing.text())
        return listing.text()
