"""The command line. Every command reads its options, calls one function, prints, and ends with an exit code."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from keepthread import __version__
from keepthread.cli_context import statusline, thresholds
from keepthread.cli_handoffs import diff, handoff, session_option, show
from keepthread.cli_memory import memory
from keepthread.cli_output import (
    drop_unprinted,
    dry_option,
    json_option,
    make_sturdy,
    open_missing,
    print_found,
    print_report,
    say,
)
from keepthread.cli_profile import profile
from keepthread.errors import KeepthreadError
from keepthread.handlers import guard, log_bug
from keepthread.platforms import speak_utf8

OK, REFUSED, USAGE, BUG, INTERRUPTED = 0, 1, 2, 3, 130


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="keepthread")
def cli() -> None:
    """Keep the thread of a long coding-agent session across compaction.

    "The host" is Claude Code. Begin with `keepthread doctor`; in a project: `keepthread status`.
    """


for command in (handoff, show, diff, memory, profile, thresholds, statusline):
    cli.add_command(command)

_scope = click.option(
    "--scope",
    type=click.Choice(["user", "project", "local"]),
    default="user",
    show_default=True,
    help="Whose settings file is edited.",
)


@cli.command(short_help="Write hooks and slash commands into the host's settings.")
@_scope
@click.option(
    "--profile",
    "name",
    default="",
    metavar="NAME",
    help="Put this profile's values there too; `keepthread profile list` has them all.",
)
@dry_option
@json_option
def install(scope: str, name: str, dry_run: bool, as_json: bool) -> None:
    """Write keepthread's hooks and commands into the host's settings."""
    from keepthread.installing import install_here

    env, cwd = dict(os.environ), os.getcwd()
    report = install_here(env, cwd, scope=scope, dry_run=dry_run, profile=name)
    print_report(report, as_json)


@cli.command(short_help="Take everything out again that install wrote.")
@_scope
@dry_option
@click.option(
    "--purge",
    is_flag=True,
    help="Remove keepthread's whole folder too: handoffs, pins, log, virtual environment; and the backups.",
)
@json_option
def uninstall(scope: str, dry_run: bool, purge: bool, as_json: bool) -> None:
    """Take everything out again that install wrote, and nothing else.

    It names what it leaves, and asks about keepthread's own folder on a terminal.
    """
    from keepthread.installing import may_purge, uninstall_here

    env, cwd = dict(os.environ), os.getcwd()
    asked = not (purge or dry_run or as_json) and sys.stdin.isatty() and sys.stdout.isatty()
    if asked and (state := may_purge(env, cwd, scope)):
        purge = click.confirm(f"Remove {state} too, with all handoffs, pins and private memories?")
    print_report(uninstall_here(env, cwd, scope=scope, dry_run=dry_run, purge=purge), as_json)


@cli.command(short_help="Keep TEXT word for word through every compaction.")
@click.argument("text", required=False, metavar="TEXT")
@click.option(
    "--session",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[ID]",
    help="Keep it in one session only, by default the one at hand.",
)
def pin(text: str | None, session: str | None) -> None:
    """Keep TEXT word for word through every compaction of this project's sessions; its worktrees share it."""
    from keepthread.ondemand import pin as keep

    if text is None and session:  # keepthread pin --session TEXT
        text, session = session, ""
    say(keep(text or "", session, dict(os.environ), os.getcwd()))


@cli.command()
@session_option
@json_option
def pins(session: str, as_json: bool) -> None:
    """List what is pinned in this project and in its session."""
    from keepthread.ondemand import list_pins, pinned

    found = pinned(session, dict(os.environ), os.getcwd())
    print_found(found.kept._asdict(), list_pins(found), as_json)


@cli.command()
@click.argument("number", type=click.IntRange(min=1), metavar="N")
@session_option
def unpin(number: int, session: str) -> None:
    """Take off the pin that `keepthread pins` lists under N."""
    from keepthread.ondemand import unpin as take_off

    say(take_off(number, session, dict(os.environ), os.getcwd()))


@cli.command()
@json_option
def status(as_json: bool) -> None:
    """Say how this project's session and its last handoff stand."""
    from keepthread.diagnose.status import read_status
    from keepthread.diagnose.status_text import render_status

    found = read_status(dict(os.environ), os.getcwd())
    print_found(found.shape, render_status(found), as_json)


@cli.command(short_help="Check the installation, and say what mends it.")
@click.option("--live", is_flag=True, help="Ask the engines for real, with a tiny prompt.")
@click.option(
    "--fix",
    is_flag=True,
    help="Mend what is ours: entries, modes, leftovers of killed processes, secrets in what is stored.",
)
@json_option
def doctor(live: bool, fix: bool, as_json: bool) -> None:
    """Check the installation: settings, a dry run of each hook, whether they fire, state, memories, engines."""
    from keepthread.diagnose.doctor import examine, render_checks

    if fix:
        from keepthread.diagnose.mend import mend

        for line in mend(dict(os.environ), os.getcwd()):
            click.echo(line, err=as_json)
    checks = examine(dict(os.environ), os.getcwd())
    if live:
        from keepthread.diagnose.live import ask_engines

        checks += ask_engines(dict(os.environ), os.getcwd())
    print_found({"checks": checks}, render_checks(checks), as_json)
    if not all(check["ok"] for check in checks):
        raise SystemExit(REFUSED)


@cli.command(short_help="Print the log: one line per run of a hook or a command.")
@click.option("--follow", is_flag=True, help="Go on printing lines as they come.")
@click.option("--session", default="", metavar="ID", help="Only lines of this session.")
@click.option(
    "--since",
    default="",
    metavar="T",
    help="Only lines since then: 90s, 15m, 2h, 3d, or an ISO 8601 time.",
)
def logs(follow: bool, session: str, since: str) -> None:
    """Print the log: one line per run of a hook, a worker or a command."""
    from keepthread.diagnose.logs import log_lines

    for line in log_lines(dict(os.environ), session=session, since=since, follow=follow):
        say(line)


@cli.command(name="eval", short_help="Measure what compactions cost, in transcripts.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=None,
    metavar="N",
    help="Processes; by default one per core.",
)
@click.option("--show", is_flag=True, help="Name what was missed, not only how much.")
@json_option
def evaluate(paths: tuple[str, ...], jobs: int | None, show: bool, as_json: bool) -> None:
    """Measure what compactions cost: what was needed after them, and what each text held of it.

    PATH is a transcript or a folder of them. Nothing leaves the machine.
    """
    from keepthread.evaluate.report import eval_text

    with _progress() as step:
        text = eval_text(paths, jobs=jobs, show=show, as_json=as_json, progress=step)
    say(text)


@cli.command(short_help="Write a page of this project's sessions, for a browser.")
@click.option(
    "--out",
    default="",
    metavar="FILE.html",
    help="Where to write it; by default keepthread-report.html in the current folder.",
)
def report(out: str) -> None:
    """Write a page of this project's sessions: what compactions cost, and what keepthread kept.

    It needs no network and holds no script.
    """
    from keepthread.evaluate.page.write import write_report

    with _progress() as step:
        told = write_report(dict(os.environ), os.getcwd(), out, progress=step)
    say(told)


@cli.command(short_help="Print a script for tab completion in bash, zsh or fish.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), metavar="SHELL")
def completion(shell: str) -> None:
    """Print the script that completes keepthread's commands and options in bash, zsh or fish."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is None:  # this version of click has dropped it
        raise KeepthreadError(f"There is no completion for {shell}")
    made = kind(cli, {}, "keepthread", "_KEEPTHREAD_COMPLETE")
    # Without source(), which starts bash to look at its version.
    say(made.source_template % made.source_vars())


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """Show on standard error how many transcripts of how many are done, where somebody looks."""
    if not sys.stderr.isatty():
        yield lambda _done, _total: None
        return
    with click.progressbar(length=1, file=sys.stderr, label="transcripts") as bar:

        def step(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        yield step


def main() -> None:
    """Run the command line and end the process: 0 done, 1 refused, 2 usage, 3 a bug, 130 interrupted."""
    speak_utf8()
    open_missing()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            make_sturdy(stream, os.environ)
    sys.exit(guard(lambda: run(cli), _report_bug))


def _report_bug(problem: Exception) -> int:
    file = log_bug(dict(os.environ), problem)
    click.echo(
        f"keepthread: this is a bug of keepthread's ({type(problem).__name__}). Details: {file}",
        err=True,
    )
    return BUG


def _check_folder() -> None:
    try:
        os.getcwd()
    except FileNotFoundError as problem:
        raise KeepthreadError(
            "The current folder no longer exists", "Go to another one first."
        ) from problem


def run(command: Callable[..., Any]) -> int:
    """Run a click command and return the exit code."""
    try:
        _check_folder()
        command(prog_name="keepthread", standalone_mode=False)
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else REFUSED
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.ClickException as problem:
        problem.show()
        return USAGE if isinstance(problem, click.UsageError) else REFUSED
    except KeepthreadError as problem:
        click.echo(f"keepthread: {problem.message}", err=True)
        if problem.hint:
            click.echo(f"  {problem.hint}", err=True)
        return REFUSED
    except OSError as problem:
        place = f" {problem.filename}:" if problem.filename else ""
        click.echo(f"keepthread:{place} {problem.strerror or problem}", err=True)
        drop_unprinted()
        return REFUSED
    return OK
