"""The commands about the context: where it is compacted, and the host's status line."""

from __future__ import annotations

import os

import click

from keepthread.cli_output import dry_option, json_option, print_found, print_report, say


@click.command(short_help="Say at how many tokens the host compacts, and why.")
@click.option(
    "--model", default="", metavar="M", help="The model; by default that of the newest session."
)
@json_option
def thresholds(model: str, as_json: bool) -> None:
    """Say at how many tokens the host compacts here, and what decides it."""
    from keepthread.economy.forecast import forecast, told

    found = forecast(dict(os.environ), os.getcwd(), model)
    print_found(found.shape, told(found), as_json)


@click.command(short_help="Print keepthread's status line, or register it.")
@click.option(
    "--snippet", is_flag=True, help="Print what belongs into the host's settings to show the line."
)
@click.option("--install", is_flag=True, help="Make it the host's status line.")
@click.option("--remove", is_flag=True, help="Take it out of the host's settings again.")
@click.option(
    "--scope",
    type=click.Choice(["user", "project", "local"]),
    default=None,
    help="Whose settings file is edited; user by default.",
)
@dry_option
@json_option
def statusline(
    snippet: bool, install: bool, remove: bool, scope: str | None, dry_run: bool, as_json: bool
) -> None:
    """Print the line that the host's status line would show for the session at hand, or register it."""
    if snippet + install + remove > 1:
        raise click.UsageError("--snippet, --install and --remove exclude one another.")
    if not (install or remove) and (scope or dry_run or as_json):
        raise click.UsageError("--scope, --dry-run and --json belong to --install and --remove.")
    env, cwd = dict(os.environ), os.getcwd()
    if install or remove:
        from keepthread.installing import register_line, remove_line

        change = register_line if install else remove_line
        print_report(change(env, cwd, scope=scope or "user", dry_run=dry_run), as_json)
    elif snippet:
        from keepthread.host.status_line_entry import snippet as text

        say(text())
    else:
        from keepthread.diagnose.line import line_here

        say(line_here(env, cwd))
