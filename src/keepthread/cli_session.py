"""`memory session`: the running memory of a session. Added to the `memory` commands."""

from __future__ import annotations

import os
from typing import Any

import click

from keepthread.cli_output import json_option, print_found


@click.group(short_help="Turn the running memory of sessions on or off.")
def session() -> None:
    """The running memory of a session: written while it goes on, so that a compaction finds it ready."""


@session.command(short_help="Keep it by a model, or with --facts without one.")
@click.option(
    "--facts", is_flag=True, help="Without a model: computed from the transcript, for nothing."
)
@json_option
def on(facts: bool, as_json: bool) -> None:
    """Let a model keep the memory of every session; it costs money, and this says how much at most."""
    _choose("facts" if facts else "model", as_json)


@session.command(short_help="Keep no memory of sessions.")
@json_option
def off(as_json: bool) -> None:
    """Keep no memory of sessions, not even of facts; what is stored stays until its session is removed."""
    _choose("off", as_json)


@session.command()
@json_option
def status(as_json: bool) -> None:
    """Say whether it is on, and when this session's was written."""
    from keepthread.memory.session.status import cost, standing, text

    found = standing(dict(os.environ), os.getcwd())
    print_found(found, f"{text(found)}\n{cost(dict(os.environ))}", as_json)


def _choose(form: str, as_json: bool) -> None:
    from keepthread.memory.session.status import choose, cost, standing, text

    env: dict[str, Any] = dict(os.environ)
    path = choose(form, env)
    found = standing(env, os.getcwd())
    told = cost(env) if form == "model" else ""
    lines = (text(found), told, f"Written to {path}")
    print_found(found, "\n".join(line for line in lines if line), as_json)
