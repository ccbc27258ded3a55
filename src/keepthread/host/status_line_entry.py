"""Our line as the host's status line: registered in a settings file, brought up to date, and taken out.

It goes the way of the hooks (snapshot, lock, backup, atomic write), and the manifest records the command, so that a
removal or an uninstall gives back the bytes from before. The host has only one: a user's own is never replaced.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping

from keepthread import resources
from keepthread.host import entries, line_splice, locations, plan
from keepthread.host.plan import Goal, Report
from keepthread.host.scopes import Place, place_here

_PERSONAL = "The status line names programs of this machine; to keep it to yourself: --scope local or --scope user"


def apply(
    command: str, *, where: Place, config_dir: str, state: str, dry_run: bool = False
) -> Report:
    """Make a command the status line of a settings file; "" takes ours out and touches no other.

    Raises:
        KeepthreadError: the settings cannot be read, edited or written, or hold a status line of the user's own;
            they are unchanged.
    """
    planned = plan.run(Goal(line=command), where, config_dir, state, dry_run=dry_run)
    outcome = "The status line is in" if command else "No status line of keepthread is left in"
    report = plan.report(planned, [f"{outcome} {where.path}"], dry_run=dry_run)
    more = [_PERSONAL] if command and where.scope == "project" else []
    return report._replace(notes=[*report.notes, *more])


def apply_here(
    command: str,
    env: Mapping[str, str],
    cwd: str,
    *,
    scope: str = "user",
    dry_run: bool = False,
) -> Report:
    """The same for the user whose environment this is, in the project around `cwd` unless scope is user.

    Raises:
        KeepthreadError: as `apply`.
    """
    folder, state = locations.config_dir(env), locations.state_dir(env)
    where = place_here(scope, env, cwd)
    return apply(command, where=where, config_dir=folder, state=state, dry_run=dry_run)


def command_here() -> str:
    """Return the command that runs the status line of the keepthread that is running now.

    Raises:
        KeepthreadError: a path cannot stand in the host's settings.
    """
    folder = resources.folder("hooks")
    return entries.line_command(sys.executable, folder, windows=os.name == "nt")


def snippet() -> str:
    """Return the settings that make the host show the line, as JSON.

    Raises:
        KeepthreadError: as `command_here`.
    """
    line = {"type": "command", "command": command_here()}
    return json.dumps({line_splice.KEY: line}, indent=2)
