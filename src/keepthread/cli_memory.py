"""The `memory` commands. Like all commands, each reads its options, calls one function and prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from keepthread.cli_output import json_option, print_found, say, say_waiting
from keepthread.cli_session import session
from keepthread.cli_team import sync
from keepthread.cli_trust import trust
from keepthread.errors import KeepthreadError

if TYPE_CHECKING:
    from keepthread.memory.desk import Desk

_TYPES = ["feedback", "project", "reference", "user"]
_scope = click.option(
    "--scope",
    type=click.Choice(["team", "private"]),
    callback=lambda _context, _option, value: value or "",
    help="Only the team's memory, or only your own.",
)


_trusted = click.option(
    "--trusted",
    is_flag=True,
    help="For a session to read: no team memory that you do not trust, the first 100, exit code 0.",
)
_FOR_SESSION = 100  # entries
_MOST_TYPED = 1 << 20  # bytes of standard input: more than any entry may have


@click.group(short_help="Keep what a project's team has learned, and your own notes.")
def memory() -> None:
    """Keep what a project's team has learned: entries shared through git, and your own."""


memory.add_command(trust)
memory.add_command(sync)
memory.add_command(session)


@memory.command()
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False),
    default="",
    metavar="FOLDER",
    help="Another folder than .claude/team-memory in the project; remembered for you alone.",
)
@json_option
def init(folder: str, as_json: bool) -> None:
    """Set up the team's memory: a folder in the project.

    In a repository, sessions are shown it after `keepthread memory trust`.
    """
    from keepthread.memory.places import init as set_up

    made = set_up(_place(), os.path.abspath(folder) if folder else "")
    print_found({"folder": made}, f"The team's memory is {made}", as_json)


@memory.command(short_help="Write a new entry.")
@click.argument("key", metavar="KEY")
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@click.option(
    "--type", "kind", type=click.Choice(_TYPES), default=None,
    help="What the entry is about; needed, unless the text says it in a head.",
)  # fmt: skip
@click.option("--name", default="", metavar="NAME", help="Its short name.")
@click.option("--description", default="", metavar="LINE", help="What it says, in one line.")
@click.option("--expires", default="", metavar="DATE", help="Until when it holds: 2027-01-31.")
@_scope
@json_option
def add(
    key: str,
    text: tuple[str, ...],
    kind: str | None,
    name: str,
    description: str,
    expires: str,
    scope: str,
    as_json: bool,
) -> None:
    """Write a new entry: TEXT, or what comes on standard input, or what you type in $EDITOR."""
    from keepthread.memory import desk
    from keepthread.memory.entry_keys import check_key

    with _desk(scope) as at:
        said = desk.Said(name, description, kind or "", expires, desk.author_of(at.place.project))
        typed = _given(text)
        if not typed:
            check_key(key)  # before it is written at length
            typed = _edited(desk.template(said))
        with _kept(at, key, typed):
            where, stored = at.add(key, desk.entry_of(typed, said))
        print_found(desk.stored_json(where, stored), f"Added {key} ({where})", as_json)


@memory.command(name="list")
@_trusted
@_scope
@json_option
def list_(trusted: bool, scope: str, as_json: bool) -> None:
    """List the entries, the most relevant first."""
    from keepthread.memory import desk

    with _desk(scope, trusted=trusted) as at:
        rows = at.listed()
    if trusted:
        rows = rows[:_FOR_SESSION]
    print_found([desk.as_json(row) for row in rows], desk.list_text(rows), as_json)


@memory.command()
@click.argument("key", metavar="KEY")
@_scope
@json_option
def show(key: str, scope: str, as_json: bool) -> None:
    """Print an entry."""
    from keepthread.memory import desk
    from keepthread.memory.words import visible

    with _desk(scope) as at:
        held = at.holder(key)
        if as_json:
            print_found(desk.stored_json(held.scope, held.show(key)), "", as_json)
        else:
            say(visible(held.text(key)[0]))


@memory.command(short_help="Change an entry.")
@click.argument("key", metavar="KEY")
@click.argument("text", nargs=-1, metavar="[TEXT]...")
@click.option(
    "--base",
    default="",
    metavar="VERSION",
    help="Only if it is still this version, as `show --json` names it.",
)
@_scope
@json_option
def edit(key: str, text: tuple[str, ...], base: str, scope: str, as_json: bool) -> None:
    """Change an entry: to TEXT, or to standard input, or in $EDITOR. Text without a head keeps the head it has.

    An entry that somebody else changed meanwhile is refused with the difference, and what you typed is kept.
    """
    from keepthread.memory import desk

    with _desk(scope) as at:
        before, current = at.holder(key).text(key)
        typed = _given(text) or _edited(before)
        with _kept(at, key, typed):
            where, stored = at.edit(key, typed, base or current)
        print_found(desk.stored_json(where, stored), f"Changed {key} ({where})", as_json)


@memory.command()
@click.argument("old", metavar="KEY")
@click.argument("new", metavar="NEW")
@_scope
@json_option
def mv(old: str, new: str, scope: str, as_json: bool) -> None:
    """Give an entry another key."""
    with _desk(scope) as at:
        held = at.holder(old)
        held.mv(old, new)
    print_found({"key": new, "scope": held.scope}, f"Moved {old} to {new}", as_json)


@memory.command()
@click.argument("key", metavar="KEY")
@click.option("--base", default="", metavar="VERSION", help="Only if it is still this version.")
@_scope
@json_option
def rm(key: str, base: str, scope: str, as_json: bool) -> None:
    """Delete an entry."""
    with _desk(scope) as at:
        held = at.holder(key)
        held.rm(key, base)
    print_found({"key": key, "scope": held.scope}, f"Deleted {key} ({held.scope})", as_json)


@memory.command()
@click.argument("words", nargs=-1, required=True, metavar="WORDS...")
@click.option(
    "--limit",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    metavar="N",
    help="The most that are shown.",
)
@_scope
@json_option
def search(words: tuple[str, ...], limit: int, scope: str, as_json: bool) -> None:
    """Find entries by words, the best first."""
    from keepthread.memory import desk

    with _desk(scope) as at:
        hits = at.search(" ".join(words), limit)
    print_found(hits, desk.hits_text(hits), as_json)


@memory.command(short_help="Look for entries that are broken, expired or contradicting.")
@_trusted
@_scope
@json_option
def check(trusted: bool, scope: str, as_json: bool) -> None:
    """Look for entries that are broken, dangerous, expired, double, contradicting or out of reach."""
    from keepthread.memory import desk

    with _desk(scope, trusted=trusted) as at:
        found = at.check()
    rows = [{**one._asdict(), "error": one.is_error} for one in found]
    print_found(rows, desk.findings_text(found), as_json)
    if not trusted and any(one.is_error for one in found):
        raise SystemExit(1)


@memory.command(name="import", short_help="Take over what the host's own auto memory noted.")
@click.option(
    "--from",
    "folder",
    type=click.Path(file_okay=False),
    default="",
    metavar="FOLDER",
    help="Another folder than the host's auto memory of this project.",
)
@click.option("--share", is_flag=True, help="Put project and reference entries into the team's.")
@json_option
def import_(folder: str, share: bool, as_json: bool) -> None:
    """Take over what the host's own auto memory noted; into your own memory, unless told to share."""
    from keepthread.memory import desk

    with _desk("") as at:
        results = at.take_over(folder, share, desk.author_of(at.place.project))
    print_found([one._asdict() for one in results], desk.imported_text(results), as_json)


def _place() -> Any:
    from keepthread.memory.places import place_of

    return place_of(dict(os.environ), os.getcwd())


def _desk(scope: str, *, trusted: bool = False) -> Desk:
    from keepthread.memory.desk import Desk

    return Desk(_place(), scope, say_waiting, trusted=trusted)


def _given(text: tuple[str, ...]) -> str:
    """Return the text given as arguments or on standard input, "" when there is neither."""
    if text and text != ("-",):
        return " ".join(text)
    if _is_terminal():
        return ""
    data = sys.stdin.buffer.read(_MOST_TYPED + 1)
    if len(data) > _MOST_TYPED:
        raise KeepthreadError(
            f"Standard input is longer than {_MOST_TYPED} bytes", "An entry is a few sentences."
        )
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise KeepthreadError(
            "Standard input is no UTF-8 text", "Convert it: iconv -t utf-8"
        ) from None


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _edited(text: str) -> str:
    """Return what its user made of a text in an editor."""
    if not _is_terminal():  # an editor would wait for keys that nobody can press
        raise KeepthreadError("There is no text", "Give it after the key, or on standard input.")
    try:
        typed = click.edit(text, extension=".md", require_save=True)
    except click.ClickException as problem:
        raise KeepthreadError(
            f"Nothing was written: the editor was not ended as it should ({problem.message})",
            "Set EDITOR to one that there is, or give the text after the key, or on standard input.",
        ) from problem
    if typed is None or typed == text:
        raise KeepthreadError("Nothing was written: the editor saved no change")
    return typed


@contextmanager
def _kept(at: Desk, key: str, typed: str) -> Iterator[None]:
    """Write down what its user typed when it cannot be stored, and show the difference that stands against it."""
    from keepthread.memory.errors import BadEntry, Conflict
    from keepthread.memory.words import visible

    try:
        at.refuse_secret(typed)
        yield
    except (KeepthreadError, OSError) as problem:
        if isinstance(problem, Conflict) and problem.diff:
            click.echo(visible(problem.diff), err=True, nl=False)
        with suppress(OSError):  # the state folder may be on the disk that is full
            click.echo(f"Your text is kept in {at.keep_unsaved(key, typed)}", err=True)
        if isinstance(problem, BadEntry) and not problem.key:
            raise BadEntry(problem.reason, problem.line, key, problem.hint) from None
        raise
