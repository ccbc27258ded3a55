"""Install and uninstall as a person asks for them: the host's settings, and what keepthread left in repositories.

Documents in projects are people's to read and stay; the lines that keep them out of git go with the last hooks.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from keepthread import files
from keepthread.handoff import at_work, exclude
from keepthread.handoff.document import forget_document, traces
from keepthread.handoff.store import sessions
from keepthread.host import (
    env_file,
    install,
    locations,
    manifest,
    plan,
    scopes,
    settings_file,
    status_line_entry,
)
from keepthread.host.locations import session_dir
from keepthread.host.plan import Report
from keepthread.host.profiles import applying

_CONTEXT = 4 << 20  # bytes
_NAMED = 10  # documents that are named
_CHOICE = "KEEPTHREAD_SESSION_MEMORY"  # the one variable that a command writes


class Trace(NamedTuple):
    """What keepthread left in one project: its folder, the document's path in it, whether each is there."""

    project: str
    relative: str
    document: bool
    line: bool


def install_here(
    env: Mapping[str, str],
    cwd: str,
    *,
    scope: str = "user",
    dry_run: bool = False,
    profile: str = "",
) -> Report:
    """Install for the user whose environment this is; settings made for one person are kept out of git.

    A `profile` named is put in force beside the hooks.

    Raises:
        KeepthreadError: as `host.install.install` and `host.profiles.applying.apply`.
    """
    run = partial(install.install_here, env, cwd, scope=scope, dry_run=dry_run)
    if profile:
        where = applying.Where(env, cwd)
        report = applying.with_install(run, profile, where, scope=scope, dry_run=dry_run)
    else:
        report = run()
    return report if scope != "local" or dry_run else _kept_out_of_git(report, env, cwd)


def uninstall_here(
    env: Mapping[str, str],
    cwd: str,
    *,
    scope: str = "user",
    dry_run: bool = False,
    purge: bool = False,
) -> Report:
    """Uninstall for the user whose environment this is, and say what is left and why.

    Raises:
        KeepthreadError: as `host.install.uninstall`.
    """
    state = locations.state_dir(env)
    where = scopes.place_here(scope, env, cwd)
    before = manifest.load_all(state, *_places(env, cwd))
    left = list(_traces(state))  # a purge takes away what tells of them
    last = purge or not any(one.hooks for one in before if one.settings != where.path)
    blocks = applying.blocks_out(state, dry_run=dry_run) if last else []
    if purge and not dry_run:
        at_work.end_all(state)
    report = install.uninstall_here(env, cwd, scope=scope, dry_run=dry_run, purge=purge)
    places = [one.settings for one in before if purge or one.settings == report.settings_path]
    notes = blocks + [
        note for one in before if one.settings in places for note in _let_in(one, dry_run)
    ]
    if not any(one.hooks for one in before if one.settings not in places):
        notes += _forgotten(left, dry_run=dry_run)
    notes += _choice_gone(env, dry_run) if purge else []
    if notes and report.notes[:1] == [plan.NOTHING]:
        report = report._replace(notes=report.notes[1:])
    return report._replace(notes=[*report.notes, *notes])


def apply_profile(
    name: str, where: applying.Where, *, scope: str, force: bool = False, dry_run: bool = False
) -> Report:
    """Put a profile in force; settings that are made for one person by it are kept out of git.

    Raises:
        KeepthreadError: as `host.profiles.applying.apply`.
    """
    report = applying.apply(name, where, scope=scope, force=force, dry_run=dry_run)
    return report if scope != "local" or dry_run else _kept_out_of_git(report, where.env, where.cwd)


def clear_profiles(
    where: applying.Where, *, scope: str = "", dry_run: bool = False
) -> list[Report]:
    """Take all values of profiles out; the lines of files that go stand no longer in .git/info/exclude.

    Raises:
        KeepthreadError: as `host.profiles.applying.clear`.
    """
    before = manifest.load_all(where.state, *_places(where.env, where.cwd))
    reports = applying.clear(where, scope=scope, dry_run=dry_run)
    left = {one.settings for one in manifest.load_all(where.state)}
    cleared = {one.settings_path: one for one in reports}
    for one in before:
        if one.settings in cleared and one.settings not in left:
            cleared[one.settings].notes.extend(_let_in(one, dry_run))
    return reports


def register_line(
    env: Mapping[str, str], cwd: str, *, scope: str = "user", dry_run: bool = False
) -> Report:
    """Make our line the host's status line; settings that are made for one person by it are kept out of git.

    Raises:
        KeepthreadError: as `host.status_line_entry.apply`.
    """
    command = status_line_entry.command_here()
    report = status_line_entry.apply_here(command, env, cwd, scope=scope, dry_run=dry_run)
    return report if scope != "local" or dry_run else _kept_out_of_git(report, env, cwd)


def remove_line(
    env: Mapping[str, str], cwd: str, *, scope: str = "user", dry_run: bool = False
) -> Report:
    """Take our status line out again; the line of a file that goes stands no longer in .git/info/exclude.

    Raises:
        KeepthreadError: as `host.status_line_entry.apply`.
    """
    state = locations.state_dir(env)
    before = manifest.load_all(state, *_places(env, cwd))
    report = status_line_entry.apply_here("", env, cwd, scope=scope, dry_run=dry_run)
    left = {one.settings for one in manifest.load_all(state)}
    gone = [one for one in before if one.settings == report.settings_path not in left]
    more = [note for one in gone for note in _let_in(one, dry_run)]
    return report._replace(notes=[*report.notes, *more])


def _choice_gone(env: Mapping[str, str], dry_run: bool) -> list[str]:
    """Remove a .env in which `memory session on` or `off` wrote the only line; return what was done."""
    path = os.path.join(locations.config_dir(env), ".env")
    if not env_file.holds_only(path, _CHOICE):
        return []
    if not dry_run:
        with suppress(OSError):  # the system refuses, and it does no harm
            os.unlink(path)
    return [f"{path}, which holds {_CHOICE} only, {'would be ' * dry_run}removed"]


def may_purge(env: Mapping[str, str], cwd: str, scope: str) -> str:
    """Return the state folder when an uninstall of this scope leaves it to nobody, else ""."""
    state = locations.state_dir(env)
    kept = ("sessions", "pins", "memory", "profiles")
    if not any(os.path.isdir(os.path.join(state, name)) for name in kept):
        return ""
    where = scopes.place_here(scope, env, cwd)
    others = [one for one in manifest.load_all(state) if one.settings != where.path]
    return "" if others else state


def _places(env: Mapping[str, str], cwd: str) -> list[scopes.Place]:
    folder, state = locations.config_dir(env), locations.state_dir(env)
    return scopes.places_here(folder, state, locations.project_root(env, cwd))


def _kept_out_of_git(report: Report, env: Mapping[str, str], cwd: str) -> Report:
    """Name a settings.local.json that we made in .git/info/exclude, as the host does when it makes one itself.

    Return the report, with a note when that cannot be done.
    """
    state, project = locations.state_dir(env), locations.project_root(env, cwd)
    where = scopes.place("local", locations.config_dir(env), state, project)
    known = manifest.of(state, where)
    if known is None or not known.created_file or exclude.holds(where.path):
        return report
    try:
        if locations.git_root(project) and exclude.add(where.path):
            with settings_file.locked(state):
                manifest.save(state, replace(known, excluded=True))
    except OSError as problem:
        note = f"Keep {where.path} out of git: .git/info/exclude cannot be written ({problem})"
        return report._replace(notes=[*report.notes, note])
    return report


def _let_in(one: manifest.Manifest, dry_run: bool) -> list[str]:
    if not one.excluded or dry_run:
        return []
    if os.path.lexists(one.settings):
        return [
            f"Left: the line for {one.settings} in .git/info/exclude, since the file has more in it"
        ]
    with suppress(OSError):  # it cannot be written to, and the line does no harm
        exclude.remove(one.settings)
    return []


def _traces(state: str) -> Iterator[Trace]:
    """Yield what the stored sessions left in their projects, each project once."""
    seen = set()
    for session in sessions(state):
        try:
            path = os.path.join(session_dir(state, session), "context.json")
            told = json.loads(files.read_regular(path, _CONTEXT))
            project, relative = str(told["project"]), str(told["document"])
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            continue  # half a session, or a damaged one
        if project and relative and (project, relative) not in seen and os.path.isdir(project):
            seen.add((project, relative))
            document, line = traces(project, relative)
            if document or line:
                yield Trace(project, relative, document, line)


def _forgotten(left: list[Trace], *, dry_run: bool) -> list[str]:
    """Take the lines out of the exclude files; return what was done, and which documents are left."""
    notes = []
    for one in left:
        if one.line and (dry_run or forget_document(one.project, one.relative)):
            verb = "would go" if dry_run else "is gone"
            notes.append(
                f"The line for {one.relative} {verb} from .git/info/exclude of {one.project}"
            )
    documents = [one for one in left if one.document]
    notes += [
        f"Left: {os.path.join(one.project, one.relative)}, for you to read"
        + ("; git shows it from now on" if one.line else "")
        for one in documents[:_NAMED]
    ]
    more = len(documents) - _NAMED
    return notes + ([f"Left: {more} more documents of that name"] if more > 0 else [])
