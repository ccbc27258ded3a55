"""Puts our hook entries into the text of the host's settings, and takes them out; every foreign byte stays.

The document is taken apart only where our entries are. Afterwards both texts are parsed, and the edit counts only if
nothing but our entries differs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keepthread.host import settings_parse
from keepthread.host.entries import Wanted
from keepthread.host.settings_containers import Containers, Keeper
from keepthread.host.settings_splice import Listing, Part, Style

Owner = Callable[[Mapping[str, Any]], str]  # hook object -> the script of ours that it runs, or ""
_Places = Mapping[
    str, Mapping[int, bool]
]  # event -> groups with entries of ours -> all in it is ours
KeepsTimeout = Callable[
    [Mapping[str, Any]], bool
]  # hook of ours -> its user changed the time limit


@dataclass(frozen=True, slots=True)
class Edit:
    """The new text, what is known of the containers in it, and whether the settings switch all hooks off."""

    text: str
    containers: Containers
    hooks_disabled: bool


def edit(
    text: str,
    path: str,
    wanted: Sequence[Wanted],
    owner: Owner,
    keeps_timeout: KeepsTimeout,
    known: Containers | None,
    shared: Collection[str] = (),
) -> Edit:
    """Return the text with exactly the wanted entries of ours, in place where they already stand.

    Args:
        text: the settings, without a byte order mark.
        path: names the file in messages.
        wanted: all entries that shall stand in the file; none for an uninstall.
        owner: tells our hooks from foreign ones.
        keeps_timeout: whether a hook's time limit was set by its user and stays.
        known: the containers recorded when the entries were written; None without a record, and then what holds
            nothing but our entries counts as created for them.
        shared: containers that hold something else of ours, whose record stays.

    Raises:
        KeepthreadError: not strict JSON, or not the shape of settings.
    """
    try:
        return _edit(text, path, wanted, owner, keeps_timeout, known, shared)
    except RecursionError:  # fewer levels are left here than where the text was parsed
        settings_parse.refuse_depth(path)


def _edit(
    text: str,
    path: str,
    wanted: Sequence[Wanted],
    owner: Owner,
    keeps_timeout: KeepsTimeout,
    known: Containers | None,
    shared: Collection[str],
) -> Edit:
    document = settings_parse.parse(text, path)
    settings_parse.check_shape(document, path)
    start = settings_parse.skip(text, 0)
    end = len(text.rstrip(" \t\r\n"))
    places = _places(document, owner)
    keeper = Keeper(_occupied(document, places, known, shared), Style.of(text))
    job = _Job(wanted, owner, keeps_timeout, places, keeper)
    new = text[:start] + job.top(text[start:end]) + text[end:]
    _verify(document, settings_parse.parse(new, path), wanted, owner, path)
    return Edit(
        new,
        keeper.containers,
        hooks_disabled=document.get("disableAllHooks") is True,
    )


class _Job:
    """One edit: walks down to our entries and notes what becomes of the containers."""

    def __init__(
        self,
        wanted: Sequence[Wanted],
        owner: Owner,
        keeps_timeout: KeepsTimeout,
        places: _Places,
        keeper: Keeper,
    ) -> None:
        self.wanted = wanted
        self.owner = owner
        self.keeps_timeout = keeps_timeout
        self.places = places
        self.keeper = keeper
        self.style = keeper.style
        self.moved: dict[
            str, dict[str, Any]
        ] = {}  # script -> an entry of ours that stood elsewhere

    def top(self, text: str) -> str:
        """Return the text of the whole document, edited."""
        listing = Listing.of(text)
        had = bool(listing.parts)
        if self.wanted:
            self.keeper.provide(listing, "", "hooks", {}, "")
        part = listing.find("hooks")
        if part:
            part.value = self._hooks(part.value, listing.indent(""))
            self.keeper.drop_if_idle(listing, part, "hooks")
        return self.keeper.top(listing, had=had)

    def _hooks(self, text: str, base: str) -> str:
        listing = Listing.of(text)
        events = dict.fromkeys(entry.event for entry in self.wanted)
        for event in dict.fromkeys([*(part.key for part in listing.parts), *events]):
            if event in events:
                self.keeper.provide(listing, "hooks", event, [], base)
            part = listing.find(event)
            if part and (event in events or event in self.places):
                part.value = self._event(event, part.value, listing.indent(base))
                self.keeper.drop_if_idle(listing, part, f"hooks/{event}")
        return listing.text()

    def _event(self, event: str, text: str, base: str) -> str:
        groups = Listing.of(text)
        missing = [entry for entry in self.wanted if entry.event == event]
        ours = self.places.get(event, {})
        emptied = [index for index in ours if self._group(groups.parts[index], missing)]
        for index in reversed(emptied):
            groups.remove(index)
        for matcher in dict.fromkeys(entry.matcher for entry in missing):
            hooks = [
                self._handler(entry, self.moved.get(entry.script, {}))
                for entry in missing
                if entry.matcher == matcher
            ]
            group = {"hooks": hooks} if matcher is None else {"matcher": matcher, "hooks": hooks}
            groups.append("", group, base, self.style)
        return groups.text()

    def _group(self, part: Part, missing: list[Wanted]) -> bool:
        """Bring our entries in one group up to date; return whether the group has lost its last entry.

        Takes from `missing` what stands here. What is ours and does not belong here, copies too, is removed.
        """
        group = Listing.of(part.value)
        matcher, hooks = group.find("matcher"), group.find("hooks")
        if hooks is None:
            return False
        listing = Listing.of(hooks.value)
        surplus = []
        for index, item in enumerate(listing.parts):
            hook = _load(item.value)
            script = self.owner(hook)
            entry = _first(missing, script, _matcher(matcher))
            if entry:
                missing.remove(entry)
                item.value = self._updated(item.value, hook, entry)
            elif script:
                self.moved.setdefault(script, hook)
                surplus.append(index)
        for index in reversed(surplus):
            listing.remove(index)
        hooks.value = listing.text()
        part.value = group.text()
        return bool(surplus) and not listing.parts

    def _updated(self, text: str, hook: dict[str, Any], entry: Wanted) -> str:
        """Return the text of an entry of ours with the fields that differ changed."""
        listing = Listing.of(text)
        handler = self._handler(entry, hook)
        for index in range(len(listing.parts) - 1, -1, -1):
            if listing.parts[index].key not in handler:
                listing.remove(index)
        for key, value in handler.items():
            part = listing.find(key)
            if part is None:
                listing.append(key, value, "", self.style)
            elif hook[key] != value:
                part.value = json.dumps(value, ensure_ascii=False)
        return listing.text()

    def _handler(self, entry: Wanted, hook: dict[str, Any]) -> dict[str, Any]:
        """Return the wanted handler with the fields and the time limit that the user gave ours."""
        extra = {key: value for key, value in hook.items() if key != "args"}
        handler = {**extra, **entry.handler}
        if "timeout" in hook and self.keeps_timeout(hook):
            handler["timeout"] = hook["timeout"]
        return handler


def _load(text: str) -> dict[str, Any]:
    try:
        hook: dict[str, Any] = json.loads(text)
    except ValueError:
        return {}  # an integer beyond Python's limit of digits: nothing we ever wrote
    return hook


def _matcher(part: Part | None) -> Any:
    return _plain(json.loads(part.value) if part else None)


def _plain(matcher: Any) -> Any:
    return None if matcher in ("", "*") else matcher  # the host takes all three for "always"


def _first(missing: list[Wanted], script: str, matcher: Any) -> Wanted | None:
    return next((w for w in missing if w.script == script and w.matcher == matcher), None)


def _places(document: Any, owner: Owner) -> _Places:
    places: dict[str, dict[int, bool]] = {}
    for event, groups in document.get("hooks", {}).items():
        for index, group in enumerate(groups):
            ours = [bool(owner(hook)) for hook in group["hooks"]]
            if any(ours):
                places.setdefault(event, {})[index] = all(ours)
    return places


def _occupied(
    document: Any, places: _Places, known: Containers | None, shared: Collection[str]
) -> Containers:
    """Return what is known of the containers that hold something of ours now; a record of others is outdated."""
    if not places:
        return known.only(shared) if known else Containers()
    hooks = document["hooks"]
    if known is None:
        alone = [
            e for e, ours in places.items() if len(ours) == len(hooks[e]) and all(ours.values())
        ]
        created = {f"hooks/{event}" for event in alone}
        return Containers(frozenset(created | ({"hooks"} if len(alone) == len(hooks) else set())))
    return known.only({"", "hooks", *(f"hooks/{event}" for event in places), *shared})


def _verify(old: Any, new: Any, wanted: Sequence[Wanted], owner: Owner, path: str) -> None:
    """See that only our entries differ and that each is there once, whatever the splicing did.

    Raises:
        KeepthreadError: not so, which is a fault of ours; the file has not been touched.
    """
    expected = sorted((entry.event, entry.script, entry.matcher) for entry in wanted)
    if _without_ours(old, owner) != _without_ours(new, owner) or _ours(new, owner) != expected:
        settings_parse.refuse_edit(path)


def _ours(document: Any, owner: Owner) -> list[tuple[str, str, Any]]:
    return sorted(
        (
            (event, owner(hook), _plain(group.get("matcher")))
            for event, groups in document.get("hooks", {}).items()
            for group in groups
            for hook in group["hooks"]
            if owner(hook)
        ),
        key=lambda one: one[:2],
    )


def _without_ours(document: Any, owner: Owner) -> list[Any]:
    rest = [(key, value) for key, value in document.items() if key != "hooks"]
    events = []
    for event, groups in document.get("hooks", {}).items():
        kept = []
        for group in groups:
            hooks = [hook for hook in group["hooks"] if not owner(hook)]
            if hooks or not group["hooks"]:
                kept.append({**group, "hooks": hooks})
        if kept:
            events.append((event, kept))
    return [rest, events]
