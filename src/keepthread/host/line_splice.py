"""Puts our status line into a settings text and takes it out again; every foreign byte stays.

The host has one status line. One that is not ours is never touched.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from keepthread.errors import KeepthreadError
from keepthread.host import entries, settings_parse
from keepthread.host.settings_containers import Containers, Keeper
from keepthread.host.settings_splice import Listing, Style

KEY = "statusLine"
_SHOWN = 200  # characters of a foreign command in a message


class LineEdit(NamedTuple):
    """The new text, the command of ours that is in it ("" for none), the containers, and what a user should know."""

    text: str
    command: str
    containers: Containers
    notes: list[str]


def ours(document: Mapping[str, Any], known: Collection[str]) -> str:
    """Return the command of the status line in a parsed document if it is ours, else "".

    It is when it equals a command that was written, or has a form that we ever shipped.
    """
    line = document.get(KEY)
    if not isinstance(line, dict) or line.get("type") != "command":
        return ""
    command = line.get("command")
    known_one = isinstance(command, str) and (command in known or entries.is_line(command))
    return str(command) if known_one else ""


def edit(
    text: str,
    path: str,
    command: str,
    known: Sequence[str],
    containers: Containers | None,
    shared: Collection[str] = (),
    *,
    adds: bool = True,
) -> LineEdit:
    """Return the text with this command as its status line, in place where ours already stands.

    Args:
        text: the settings, without a byte order mark.
        path: names the file in messages.
        command: what the host shall run; "" to take ours out.
        known: the commands written before.
        containers: those recorded when ours were written.
        shared: containers that hold something else of ours, whose record stays.
        adds: put it there when no status line of ours is there; otherwise only one of ours is brought up to date.

    Raises:
        KeepthreadError: not strict JSON, not the shape of settings, or a status line of the user's own is there, and
            `adds` asks for ours.
    """
    try:
        return _edit(text, path, command, known, containers, shared, adds)
    except RecursionError:  # fewer levels are left here than where the text was parsed
        settings_parse.refuse_depth(path)


def _edit(
    text: str,
    path: str,
    command: str,
    known: Sequence[str],
    containers: Containers | None,
    shared: Collection[str],
    adds: bool,
) -> LineEdit:
    document = settings_parse.parse(text, path)
    settings_parse.check_shape(document, path)
    mine = ours(document, [*known, command])
    foreign = KEY in document and not mine
    if foreign and command and adds:
        _refuse(document[KEY], path)
    target = command if mine or (adds and not foreign) else ""
    keeper = Keeper(
        (containers or Containers()).only({*shared, ""} if mine else shared), Style.of(text)
    )
    notes = [f"{KEY} was changed since keepthread wrote it: left as it is"] * bool(
        foreign and known
    )
    if not mine and not target:
        return LineEdit(text, "", keeper.containers, notes)
    start, end = settings_parse.skip(text, 0), len(text.rstrip(" \t\r\n"))
    new = text[:start] + _top(text[start:end], target, keeper) + text[end:]
    _verify(document, settings_parse.parse(new, path), target, path)
    if target and document.get("disableAllHooks") is True:
        notes.append("disableAllHooks is true: the host shows no status line")
    return LineEdit(new, target, keeper.containers, notes)


def _refuse(line: Any, path: str) -> None:
    """Name the status line that is there.

    Raises:
        KeepthreadError: always.
    """
    command = line.get("command") if isinstance(line, dict) else None
    told = command if isinstance(command, str) else type(line).__name__
    shown = "".join(sign if sign.isprintable() else " " for sign in told[: _SHOWN + 1])
    shown = shown[:_SHOWN] + "..." if len(shown) > _SHOWN else shown
    raise KeepthreadError(
        f"{path} has a status line of your own ({shown}); nothing was changed",
        "To have keepthread's instead, remove yours; to have both, let yours run what "
        "`keepthread statusline --snippet` prints.",
    )


def _top(text: str, command: str, keeper: Keeper) -> str:
    listing = Listing.of(text)
    had = bool(listing.parts)
    part = listing.find(KEY)
    if part is None:
        keeper.add(listing, "", KEY, {"type": "command", "command": command}, "")
    elif command:
        part.value = _updated(part.value, command)
    else:
        listing.remove(listing.parts.index(part))
    return keeper.top(listing, had=had)


def _updated(text: str, command: str) -> str:
    """Return a status line of ours with another command; what its user added to it stays."""
    listing = Listing.of(text)
    part = listing.find("command")
    if part is not None and json.loads(part.value) != command:
        part.value = json.dumps(command, ensure_ascii=False)
    return listing.text()


def _verify(old: Any, new: Any, command: str, path: str) -> None:
    """See that nothing but our status line differs, whatever the splicing did.

    Raises:
        KeepthreadError: not so, which is a fault of ours; the file has not been touched.
    """
    wanted = {**old.get(KEY, {"type": "command"}), "command": command} if command else None
    foreign = [[(key, one[key]) for key in one if key != KEY] for one in (old, new)]
    if foreign[0] != foreign[1] or new.get(KEY) != wanted:
        settings_parse.refuse_edit(path)
