"""The commands about handoffs: taking one, showing it, comparing two, carrying one elsewhere."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, cast

import click

from keepthread.cli_output import say

if TYPE_CHECKING:
    from keepthread.ondemand import Format, Wish

session_option = click.option(
    "--session", default="", metavar="ID", help="The session; by default this project's newest."
)


def _filled(_context: click.Context, _option: click.Parameter, value: str | None) -> str:
    """Refuse an empty text: `--from "$UNSET"` is not meant as no --from, which asks a model and stores."""
    if value == "":
        raise click.BadParameter("it is empty.")
    return value or ""


_FORMATS = click.Choice(["md", "json", "context", "index"])
_FORMAT_HELP = "Markdown, JSON, or one of the two texts that are put back into the context"


@click.command()
@click.option(
    "--transcript",
    callback=_filled,
    metavar="FILE",
    help="Print this file's handoff and store nothing.",
)
@session_option
@click.option(
    "--engine", default="", metavar="NAME", help="Ask this engine instead of KEEPTHREAD_ENGINE."
)
@click.option(
    "--note", default="", metavar="TEXT", help="What the handoff should pay attention to."
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False),
    callback=_filled,
    metavar="FILE",
    help="Write it to FILE.",
)
@click.option(
    "--format", "form", type=_FORMATS, default=None,
    help=f"{_FORMAT_HELP}; by default md, and context with --from.",
)  # fmt: skip
@click.option(
    "--from", "source", callback=_filled, metavar="SESSION",
    help="Take what that session left (its id, or its first six characters or more), to go on with it here.",
)  # fmt: skip
@click.option(
    "--to",
    "target",
    callback=_filled,
    metavar="clipboard|FILE",
    help="Put it there instead of printing it.",
)
def handoff(
    transcript: str,
    session: str,
    engine: str,
    note: str,
    out: str,
    form: str | None,
    source: str,
    target: str,
) -> None:
    """Take a handoff now: store it, and print it. With --from: carry another session's work over."""
    from keepthread.carried import carry, put
    from keepthread.host.locations import project_root
    from keepthread.ondemand import Format, Wish, deliver

    env = dict(os.environ)
    if source and (transcript or session or engine or note):
        raise click.UsageError(
            "--from takes what is stored: it goes with --format, --out and --to."
        )
    if source:
        text = carry(source, env, os.getcwd(), cast(Format, form or "context"))
    else:
        text = _taken(Wish(transcript, session, engine, note), cast(Format, form or "md"), env)
    if not out and not target:
        say(text)
    if out:
        deliver(text, out, project_root(env, os.getcwd()))
        say(f"Written to {out}")
    if target:
        say(put(text, target, env, os.getcwd()))


def _taken(wish: Wish, form: Format, env: dict[str, str]) -> str:
    """Take a handoff, and return it as text; a partial is said on standard error."""
    from keepthread.ondemand import make, shown

    made = make(wish, env, os.getcwd())
    reason = made["meta"]["reason"]
    chosen = reason == "engine_facts" and wish.engine.strip().lower() in ("", "facts")
    if made["meta"]["status"] == "partial" and not chosen:
        click.echo(
            f"keepthread: only partial ({reason or 'no answer'}): computed from the transcript\n"
            "  `keepthread doctor` says which engine would answer and why.",
            err=True,
        )
    return shown(made, form, env)


@click.command()
@session_option
@click.option(
    "--list",
    "listing",
    is_flag=True,
    help="List the sessions that have a handoff; with --session, the handoffs of that one.",
)
@click.option(
    "--format", "form", type=_FORMATS, default="md", show_default=True, help=f"{_FORMAT_HELP}."
)
def show(session: str, listing: bool, form: str) -> None:
    """Print the stored handoff of a session. The newest twenty of each are kept."""
    from keepthread.carried import session_named
    from keepthread.ondemand import Format, shown, stored

    env, cwd = dict(os.environ), os.getcwd()
    if listing:
        say(_listed(session, env, cwd, as_json=form == "json"))
        return
    session = session and session_named(session, env)
    say(shown(stored(session, env, cwd), cast(Format, form), env))


def _listed(session: str, env: dict[str, str], cwd: str, *, as_json: bool) -> str:
    """Return the sessions that have a handoff, or the handoffs of one."""
    from keepthread.carried import history, history_rows, list_history
    from keepthread.diagnose.status import handoffs, list_handoffs

    if not session:
        return json.dumps(handoffs(env), indent=2) if as_json else list_handoffs(env)
    found = history(session, env, cwd)
    return json.dumps(history_rows(found), indent=2) if as_json else list_history(found)


@click.command(short_help="Say what changed between two handoffs.")
@click.argument("older", metavar="A", callback=_filled)
@click.argument("newer", metavar="B", callback=_filled)
@session_option
def diff(older: str, newer: str, session: str) -> None:
    """Say what changed between two handoffs: numbers of `show --session ID --list`, or two sessions."""
    from keepthread.carried import difference

    say(difference(older, newer, session, dict(os.environ), os.getcwd()))
