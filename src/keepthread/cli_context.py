"""The commands about the context: where it is compacted, and the line for the host's status line."""

from __future__ import annotations

import json
import os

import click

from keepthread.cli_output import json_option, say


@click.command()
@click.option(
    "--model", default="", metavar="M", help="The model; by default that of the newest session."
)
@json_option
def thresholds(model: str, as_json: bool) -> None:
    """Say at how many tokens the host compacts here, and what decides it."""
    from keepthread.economy.forecast import forecast, told

    found = forecast(dict(os.environ), os.getcwd(), model)
    say(json.dumps(found.shape, indent=2) if as_json else told(found))


@click.command()
@click.option(
    "--snippet", is_flag=True, help="Print what belongs into the host's settings to show the line."
)
def statusline(snippet: bool) -> None:
    """Print the line that the host's status line would show for the session at hand."""
    from keepthread.diagnose.line import line_here, settings_snippet

    say(settings_snippet() if snippet else line_here(dict(os.environ), os.getcwd()))
