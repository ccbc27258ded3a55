"""How commands print."""

from __future__ import annotations

import os
import sys

import click

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def say(text: str) -> None:
    """Print text, ending with one line break at least."""
    try:
        click.echo(text, nl=not text.endswith("\n"))
    except BrokenPipeError:
        # `keepthread logs | head`: the reader has had enough. Python would complain once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
