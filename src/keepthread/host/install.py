"""Puts keepthread into the host's settings and commands, and takes it out again without a trace.

Both ways run through the pipeline of `keepthread.host.plan`. The slash commands are the user's own in every scope: they
name this machine's program, so they are never written into a project.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence

import keepthread
from keepthread import resources
from keepthread.errors import KeepthreadError
from keepthread.host import (
    commands,
    doubles,
    entries,
    locations,
    manifest,
    plan,
    scopes,
)
from keepthread.host import purge as removal
from keepthread.host.config import load as load_config
from keepthread.host.config import store_resolved
from keepthread.host.manifest import Manifest
from keepthread.host.plan import Goal, Plan, Report
from keepthread.host.scopes import Place

__all__ = ["Report", "install", "install_here", "uninstall", "uninstall_here"]

_PERSONAL = (
    "The hooks name programs of this machine; where they are not, the hooks do nothing. To keep them to yourself: "
    "--scope local; for a team: the plugin"
)


def install(
    *,
    config_dir: str,
    state: str,
    python: str,
    package_hooks: str,
    scope: str = "user",
    project: str = "",
    dry_run: bool = False,
    sources: Sequence[str] = entries.DEFAULT_SOURCES,
    features: Collection[str] = (),
    command_folder: str | None = None,
    windows: bool = os.name == "nt",
) -> Report:
    """Write our hooks into the settings and our commands beside them; doing it twice is doing it once.

    Args:
        config_dir: the host's configuration folder; created if it is missing.
        state: keepthread's state folder.
        python: absolute path of the interpreter that has keepthread.
        package_hooks: absolute path of the folder with the hook scripts.
        scope: which settings file: user, project or local.
        project: the project's folder; needed for the scopes project and local.
        dry_run: write nothing at all, return the diff.
        sources: the SessionStart sources on which the context is given back.
        features: what its user has turned on beyond the main job (`Config.features`).
        command_folder: the slash commands; those that come with keepthread by default.
        windows: write the form of the commands that Windows needs.

    Raises:
        KeepthreadError: the settings cannot be read, edited or written, or the plugin does the same already; they
            are unchanged.
    """
    where = scopes.place(scope, config_dir, state, project)
    doubled = doubles.plugins(config_dir, project)
    _check_alone(doubled, where, state)
    wanted = entries.wanted(python, package_hooks, sources, features, windows=windows)
    texts = commands.bundled(command_folder or resources.folder("commands"), python)
    line = entries.line_command(python, package_hooks, windows=windows)
    goal = Goal(hooks=wanted, commands=texts, line=line, adds_line=False)
    planned = plan.run(goal, where, config_dir, state, dry_run=dry_run)
    report = plan.report(planned, _installed(planned), dry_run=dry_run)
    more = [_PERSONAL] if scope == "project" else []
    more += [f"The plugin {name} runs the same hooks: remove one of the two" for name in doubled]
    more += _elsewhere(state, where, project, wanted)
    return report._replace(notes=[*report.notes, *more])


def uninstall(
    *,
    config_dir: str,
    state: str,
    scope: str = "user",
    project: str = "",
    dry_run: bool = False,
    purge: bool = False,
) -> Report:
    """Take what is ours out of the settings (hooks, values, status line) and, with the last of it, our commands.

    Foreign bytes stay as they are.

    Args:
        config_dir: the host's configuration folder.
        state: keepthread's state folder.
        scope: which settings file: user, project or local.
        project: the project's folder; needed for the scopes project and local.
        dry_run: write nothing at all, return the diff.
        purge: uninstall in every scope and project, and remove the state folder, with all handoffs, and the backups.

    Raises:
        KeepthreadError: the settings cannot be read, edited or written; they are unchanged.
    """
    where = scopes.place(scope, config_dir, state, project)
    if purge:
        return _uninstall_all(where, config_dir, state, project, dry_run=dry_run)
    report = _uninstall(where, config_dir, state, dry_run=dry_run)
    if not dry_run:
        removal.tidy(state)
    there = manifest.load_all(state, *scopes.places_here(config_dir, state, project))
    notes = [_told(one) for one in there if one.settings != where.path]
    return report._replace(notes=[*report.notes, *notes, *removal.kept(state, [where.backups])])


def _uninstall(where: Place, config_dir: str, state: str, *, dry_run: bool) -> Report:
    goal = Goal(hooks=[], env={}, commands={}, line="")
    planned = plan.run(goal, where, config_dir, state, dry_run=dry_run)
    gone = [f"Hooks and commands of keepthread are out of {os.path.dirname(where.path)}"]
    if not planned.commands.changes:
        gone = [f"Hooks of keepthread are out of {where.path}"]
    return plan.report(planned, gone, dry_run=dry_run)


def _uninstall_all(
    where: Place, config_dir: str, state: str, project: str, *, dry_run: bool
) -> Report:
    removal.check(state)
    places = {where.path: where}
    for one in manifest.load_all(state, *scopes.places_here(config_dir, state, project)):
        if one.settings not in places and (one.scope == "user" or os.path.isdir(one.project)):
            places[one.settings] = scopes.place(one.scope, config_dir, state, one.project)
    reports = [_uninstall(one, config_dir, state, dry_run=dry_run) for one in places.values()]
    bases = [one.backups for one in places.values()]
    removed = removal.purged(state, bases)
    if not dry_run:
        removal.purge(state, bases)
    notes = [note for one in reports for note in one.notes if note != plan.NOTHING]
    verb = "would be removed" if dry_run else "removed"
    notes += [f"{thing} {verb}" for thing in removed]
    changed = any(one.changed for one in reports) or bool(removed)
    diff = "".join(one.diff for one in reports)
    return Report(changed, diff, notes or [plan.NOTHING], where.path)


def _told(one: Manifest) -> str:
    place = f" --scope {one.scope}, run in {one.project}" if one.scope != "user" else ""
    return f"Left: what stands in {one.settings}; keepthread uninstall{place}"


def install_here(
    env: Mapping[str, str], cwd: str = "", *, scope: str = "user", dry_run: bool = False
) -> Report:
    """Install the keepthread that is running now, for the user whose environment this is.

    In the scopes project and local it is the project around `cwd`.

    Raises:
        KeepthreadError: as `install`, or hooks would not find keepthread where it lies.
    """
    _check_findable()
    folder, state = locations.config_dir(env), locations.state_dir(env)
    config = load_config(env, folder)
    config = config.unnarrowed or config
    report = install(
        config_dir=folder,
        state=state,
        python=sys.executable,
        package_hooks=resources.folder("hooks"),
        scope=scope,
        project=locations.project_root(env, cwd),
        dry_run=dry_run,
        sources=config.sources,
        features=config.features,
    )
    if not dry_run:
        store_resolved(state, config)
    return report._replace(notes=[*report.notes, *config.problems])


def _check_findable() -> None:
    """See that hooks and commands will find keepthread as they run: `python -I` knows no packages of one's own."""
    trial = [sys.executable, "-I", "-c", "import keepthread.cli"]
    if subprocess.run(trial, stdin=subprocess.DEVNULL, capture_output=True, check=False).returncode:
        packages = os.path.dirname(os.path.dirname(keepthread.__file__))
        raise KeepthreadError(
            f"Hooks would not find keepthread in {packages}: they run without a user's own packages and PYTHONPATH",
            "Install it into a virtual environment instead: ./install.sh, pipx install . or uv tool install .",
        )


def uninstall_here(
    env: Mapping[str, str],
    cwd: str = "",
    *,
    scope: str = "user",
    dry_run: bool = False,
    purge: bool = False,
) -> Report:
    """Uninstall for the user whose environment this is, in the project around `cwd` unless scope is user.

    Raises:
        KeepthreadError: as `uninstall`.
    """
    return uninstall(
        config_dir=locations.config_dir(env),
        state=locations.state_dir(env),
        scope=scope,
        project=locations.project_root(env, cwd),
        dry_run=dry_run,
        purge=purge,
    )


def _check_alone(doubled: Sequence[str], where: Place, state: str) -> None:
    known = manifest.of(state, where)
    stands = known and known.hooks
    if doubled and not stands:  # what stands there already is brought up to date all the same
        raise KeepthreadError(
            f"keepthread is installed as a plugin ({', '.join(doubled)}); its hooks would run twice",
            f"Remove one: claude plugin uninstall {doubled[0]}",
        )


def _installed(planned: Plan) -> list[str]:
    events = ", ".join(dict.fromkeys(hook.event for hook in planned.after.hooks))
    names = ", ".join(f"/{name.removesuffix('.md')}" for name in planned.after.commands)
    return [f"Hooks ({events}) are in {planned.snapshot.path}", f"Commands: {names or 'none'}"]


def _elsewhere(
    state: str, where: Place, project: str, wanted: Sequence[entries.Wanted]
) -> list[str]:
    """Say where else hooks of ours stand that this project's sessions run too."""
    here = {(one.event, one.handler["command"]) for one in wanted}
    return [
        f"The hooks stand in {one.settings} too; the host runs equal ones once"
        if here & {(hook.event, hook.command) for hook in one.hooks}
        else f"The hooks of another keepthread stand in {one.settings}: each event runs twice. "
        f"Take one of the two out: keepthread uninstall --scope {one.scope}"
        for one in manifest.load_all(state)
        if one.settings != where.path and one.hooks and one.project in ("", project)
    ]
