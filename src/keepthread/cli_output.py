"""How commands print."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from keepthread.host.plan import Report

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
dry_option = click.option(
    "--dry-run", is_flag=True, help="Print the change as a diff and write nothing."
)


def make_sturdy(stream: TextIOWrapper, env: Mapping[str, str], system: str = sys.platform) -> None:
    """Let a stream take every text: what its console cannot show becomes a question mark.

    On Windows a pipe or a file would get the code page of the console, and lose what that lacks; who reads it expects
    UTF-8, as from git.
    """
    piped = system == "win32" and not stream.isatty() and not env.get("PYTHONIOENCODING")
    stream.reconfigure(encoding="utf-8" if piped else None, errors="replace")


def open_missing() -> None:
    """Put the null device where a standard stream was closed before the start: nothing else gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(null, mode, encoding="utf-8"))


def say(text: str) -> None:
    """Print text, ending with one line break at least."""
    try:
        click.echo(text, nl=not text.endswith("\n"))
    except BrokenPipeError:  # `keepthread logs | head`: the reader has had enough
        drop_unprinted()
        raise SystemExit(0) from None


def print_found(value: Any, text: str, as_json: bool) -> None:
    """Print what a command came to: `value` as JSON, or the text for people."""
    say(json.dumps(value, indent=2) if as_json else text)


def print_report(report: Report, as_json: bool) -> None:
    """Print what was done to a settings file."""
    if as_json:
        say(json.dumps(report._asdict(), indent=2))
        return
    if report.diff:
        say(report.diff)
    for note in report.notes:
        say(note)


def say_waiting(holder: str) -> None:
    """Say on standard error whom this process waits for, which holds a lock."""
    click.echo(f"Waiting for {holder or 'another process'}", err=True)


def drop_unprinted() -> None:
    """Forget what cannot be printed.

    It is not to be tried again when Python ends: that would be its exit code, and a complaint of its own.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
