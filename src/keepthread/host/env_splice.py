"""Puts values into the `env` block of a settings text and takes them out again; every foreign byte stays."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from keepthread.errors import KeepthreadError
from keepthread.host import settings_parse
from keepthread.host.settings_containers import Containers, Keeper
from keepthread.host.settings_splice import Listing, Style

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class EnvValue(NamedTuple):
    """One value that we wrote, and the JSON text that stood there before; None when the name was not there."""

    name: str
    value: str
    before: str | None


class EnvEdit(NamedTuple):
    """The new text, what of ours is in it, the containers, and what a user should know."""

    text: str
    written: tuple[EnvValue, ...]
    containers: Containers
    notes: list[str]


def ours(document: Mapping[str, Any], known: Sequence[EnvValue]) -> dict[str, EnvValue]:
    """Return the values in a parsed document that stand as we wrote them, by name."""
    block = document.get("env")
    current = block if isinstance(block, dict) else {}
    return {one.name: one for one in known if current.get(one.name) == one.value}


def edit(
    text: str,
    path: str,
    values: Mapping[str, str],
    known: Sequence[EnvValue],
    containers: Containers | None,
    shared: Collection[str] = (),
) -> EnvEdit:
    """Return the text with exactly these values of ours in its `env` block.

    What we wrote before and is not among them gets back what stood there; what its user has changed since is left.

    Args:
        text: the settings, without a byte order mark.
        path: names the file in messages.
        values: name -> value; none to take all of ours out.
        known: the values written before.
        containers: those recorded when values were written.
        shared: containers that hold something else of ours, whose record stays.

    Raises:
        KeepthreadError: not strict JSON, not the shape of settings, or a name or value no environment can hold.
    """
    _check(values)
    document = settings_parse.parse(text, path)
    settings_parse.check_shape(document, path)
    settings_parse.check_env(document, path)
    mine = ours(document, known)
    wider = {"", "env", *shared} if mine else set(shared)
    keeper = Keeper((containers or Containers()).only(wider), Style.of(text))
    start, end = settings_parse.skip(text, 0), len(text.rstrip(" \t\r\n"))
    top, written = _top(text[start:end], values, mine, keeper)
    new = text[:start] + top + text[end:]
    touched = {*values, *mine}
    _verify(document, settings_parse.parse(new, path), touched, values, path)
    notes = _notes(document.get("env", {}), values, known, mine)
    return EnvEdit(new, tuple(written), keeper.containers, notes)


def _check(values: Mapping[str, str]) -> None:
    for name, value in values.items():
        if not _NAME.fullmatch(name):
            raise KeepthreadError(f"{name!r} is no name of an environment variable")
        if "\0" in value or not value.isprintable():
            raise KeepthreadError(f"The value of {name} holds a character that cannot stand there")


def _top(
    text: str, values: Mapping[str, str], mine: Mapping[str, EnvValue], keeper: Keeper
) -> tuple[str, list[EnvValue]]:
    listing = Listing.of(text)
    had = bool(listing.parts)
    if values:
        keeper.provide(listing, "", "env", {}, "")
    part = listing.find("env")
    if part is None:
        return text, []
    block = Listing.of(part.value)
    filled = bool(block.parts)
    written = _block(block, values, mine, listing.indent(""), keeper.style)
    part.value = block.text()
    if filled and not block.parts:
        keeper.drop_if_idle(listing, part, "env")
    return keeper.top(listing, had=had), written


def _block(
    block: Listing, values: Mapping[str, str], mine: Mapping[str, EnvValue], base: str, style: Style
) -> list[EnvValue]:
    for name, one in mine.items():
        if name not in values:
            _put_back(block, name, one.before)
    written = []
    for name, value in values.items():
        part = block.find(name)
        before = mine[name].before if name in mine else part.value if part else None
        if before is not None and json.loads(before, parse_int=str.encode) == value:
            _put_back(block, name, before)  # its user's own value: nothing of ours
            continue
        written.append(EnvValue(name, value, before))
        if part is None:
            block.append(name, value, base, style)
        elif name not in mine or mine[name].value != value:
            part.value = json.dumps(value, ensure_ascii=False)
    return written


def _put_back(block: Listing, name: str, before: str | None) -> None:
    part = block.find(name)
    if part is None:
        return
    if before is None:
        block.remove(block.parts.index(part))
    else:
        part.value = before


def _verify(
    old: Any, new: Any, touched: Collection[str], values: Mapping[str, str], path: str
) -> None:
    """See that nothing but the values of ours differs, whatever the splicing did.

    Raises:
        KeepthreadError: not so, which is a fault of ours; the file has not been touched.
    """
    block = new.get("env", {})
    right = all(block.get(name) == value for name, value in values.items())
    if not right or _foreign(old, touched) != _foreign(new, touched):
        settings_parse.refuse_edit(path)


def _foreign(document: Mapping[str, Any], touched: Collection[str]) -> list[Any]:
    rest = [(key, value) for key, value in document.items() if key != "env"]
    block = document.get("env", {})
    return [rest, [(name, value) for name, value in block.items() if name not in touched]]


def _notes(
    current: Mapping[str, Any],
    values: Mapping[str, str],
    known: Sequence[EnvValue],
    mine: Mapping[str, EnvValue],
) -> list[str]:
    changed = dict.fromkeys(
        one.name for one in known if one.name in current and one.name not in mine
    )
    return [
        f"env.{name} was changed since keepthread wrote it: "
        + ("your value comes back when ours goes" if name in values else "left as it is")
        for name in changed
    ]
