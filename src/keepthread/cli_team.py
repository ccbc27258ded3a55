"""`memory sync`: how a team shares its memory. Added to the `memory` commands."""

from __future__ import annotations

import os

import click

from keepthread.cli_output import json_option, print_found, say_waiting


@click.command(short_help="Share the team's memory through git.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@click.option(
    "--allow-deletions", is_flag=True, help="Share it also when most entries are gone here."
)
@json_option
def sync(dry_run: bool, allow_deletions: bool, as_json: bool) -> None:
    """Share the team's memory through git: fetch, merge by key, commit, push."""
    from keepthread.memory import sync_report
    from keepthread.memory.places import place_of
    from keepthread.memory.sync import sync as bring_together

    report = bring_together(
        place_of(dict(os.environ), os.getcwd()),
        trial=dry_run,
        allow_deletions=allow_deletions,
        waiting=say_waiting,
    )
    print_found(sync_report.as_json(report), sync_report.as_text(report), as_json)
