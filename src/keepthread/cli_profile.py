"""The `profile` commands. Like all commands, each reads its options, calls one function and prints."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from keepthread.cli_output import dry_option, json_option, print_found, print_report, say

if TYPE_CHECKING:
    from keepthread.host.plan import Report
    from keepthread.host.profiles.applying import Where
    from keepthread.host.profiles.lint import Client

_SCOPES = click.Choice(["user", "project", "local"])
_env_file = click.option(
    "--env-file",
    type=click.Path(dir_okay=False),
    default="",
    metavar="FILE",
    help="One marked block in this file instead of the host's settings.",
)
_name = click.argument("name", metavar="NAME")


@click.group(short_help="Set the host's variables that decide when it compacts.")
def profile() -> None:
    """Set the host's variables: when it compacts, and how much output enters the context."""


@profile.command(name="list")
@json_option
def list_(as_json: bool) -> None:
    """List the profiles, and where one is applied."""
    from keepthread.host.profiles import views

    rows = views.listing(_where())
    print_found(rows, views.listing_text(rows), as_json)


@profile.command(short_help="Say what each value of a profile does.")
@_name
@json_option
def show(name: str, as_json: bool) -> None:
    """Say of each value what it does, its default and range, and whether this client heeds it."""
    from keepthread.host.profiles import reading, views

    where = _where()
    shape = views.shown(reading.load(name, where.state), _client(where))
    print_found(shape, views.shown_text(shape), as_json)


@profile.command(short_help="Put a profile's values into the host's settings.")
@_name
@click.option("--scope", type=_SCOPES, default=None, help="Whose settings; user by default.")
@_env_file
@click.option(
    "--force", is_flag=True, help="Put it over values of your own; `clear` gives those back."
)
@dry_option
@json_option
def apply(
    name: str, scope: str | None, env_file: str, force: bool, dry_run: bool, as_json: bool
) -> None:
    """Put a profile's values into the host's settings, in the place of an earlier profile's."""
    from keepthread.host.profiles import applying
    from keepthread.installing import apply_profile

    where = _where()
    _one_place(scope, env_file)
    if env_file:
        report = applying.apply_file(name, env_file, where.state, dry_run=dry_run)
    else:
        report = apply_profile(name, where, scope=scope or "user", force=force, dry_run=dry_run)
    _print([report], as_json)


@profile.command(short_help="Compare a profile with what is in force.")
@_name
@json_option
def diff(name: str, as_json: bool) -> None:
    """Compare a profile with what is in force, and say where each value comes from."""
    from keepthread.host.profiles import reading, views

    where = _where()
    rows = views.difference(reading.load(name, where.state), where)
    print_found(rows, views.difference_text(rows), as_json)


@profile.command(short_help="Look for values that do nothing or contradict each other.")
@click.argument("file", required=False, type=click.Path(dir_okay=False), metavar="[FILE]")
@json_option
def lint(file: str | None, as_json: bool) -> None:
    """Look for values that do nothing, contradict each other, or are not what was meant; in force, or in FILE."""
    from keepthread.host.profiles import reading, views
    from keepthread.host.profiles.lint import lint_values

    where = _where()
    client = _client(where)
    own = lint_values(reading.read_file(file), client) if file else None
    found = views.lint_in_force(where, client) if own is None else own
    print_found([one._asdict() for one in found], views.lint_text(found), as_json)
    if any(one.level == "fault" for one in found):
        raise SystemExit(1)


@profile.command(short_help="Take all values of profiles out again.")
@click.option("--scope", type=_SCOPES, default=None, help="Only in these settings.")
@_env_file
@dry_option
@json_option
def clear(scope: str | None, env_file: str, dry_run: bool, as_json: bool) -> None:
    """Take all values of profiles out again, wherever they were put, and nothing else."""
    from keepthread.host.profiles import applying
    from keepthread.installing import clear_profiles

    where = _where()
    _one_place(scope, env_file)
    if env_file:
        _print([applying.clear_file(env_file, where.state, dry_run=dry_run)], as_json)
    else:
        _print(clear_profiles(where, scope=scope or "", dry_run=dry_run), as_json)


def _one_place(scope: str | None, env_file: str) -> None:
    if scope and env_file:
        raise click.UsageError("--scope and --env-file exclude one another.")


def _where() -> Where:
    from keepthread.host.profiles.applying import Where

    return Where(dict(os.environ), os.getcwd())


def _client(where: Where) -> Client:
    """Return the installed client, looked for as the engines do."""
    from keepthread.engines.claude_program import launched, program
    from keepthread.host.profiles.client import version_of
    from keepthread.host.profiles.lint import Client
    from keepthread.host.profiles.names import program_knows

    found = program(where.env, where.project)
    if not found:
        return Client()
    version = version_of(launched(found, where.env, where.project), where.env)
    return Client(version, program_knows(found) if version else None)


def _print(reports: list[Report], as_json: bool) -> None:
    if as_json and len(reports) != 1:
        say(json.dumps([report._asdict() for report in reports], indent=2))
        return
    for report in reports:
        print_report(report, as_json)
