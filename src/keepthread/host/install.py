"""Puts keepthread into the host's settings and commands, and takes it out again without a trace.

Both ways run through one pipeline: read, plan, and only then write: first the manifest (what is about to be ours must
be known before it is), then the settings, then the commands.
"""

from __future__ import annotations

import difflib
import ntpath
import os
import posixpath
import shutil
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from keepthread import __version__, resources
from keepthread.errors import KeepthreadError
from keepthread.host import (
    commands,
    entries,
    locations,
    manifest,
    settings_file,
    settings_parse,
    settings_text,
)
from keepthread.host.config import load as load_config
from keepthread.host.config import store_resolved
from keepthread.host.entries import Wanted
from keepthread.host.manifest import Manifest, Written
from keepthread.host.settings_file import Snapshot

_ATTEMPTS = 3
_NOTHING = "Nothing to do"
_DOCUMENTS = "Left in projects: docs/handoff-context.md where one was written, and its line in .git/info/exclude"


class Report(NamedTuple):
    """What was done, or with dry_run would be: whether anything differs, as a unified diff, and what to know.

    `diff` is computed for a dry run only.
    """

    changed: bool
    diff: str
    notes: list[str]
    settings_path: str


@dataclass(frozen=True, slots=True)
class _Plan:
    snapshot: Snapshot
    data: bytes | None  # the settings as they shall be; None: no file
    commands: commands.Plan
    before: Manifest | None
    after: Manifest
    notes: list[str]

    @property
    def edits_settings(self) -> bool:
        return self.data != self.snapshot.data

    @property
    def changed(self) -> bool:
        return self.edits_settings or bool(self.commands.changes)


def install(
    *,
    config_dir: str,
    state: str,
    python: str,
    package_hooks: str,
    scope: str = "user",
    dry_run: bool = False,
    sources: Sequence[str] = entries.DEFAULT_SOURCES,
    features: Collection[str] = (),
    program: str | None = None,
    command_folder: str | None = None,
    windows: bool = os.name == "nt",
) -> Report:
    """Write our hooks into the settings and our commands beside them; doing it twice is doing it once.

    Args:
        config_dir: the host's configuration folder; created if it is missing.
        state: keepthread's state folder.
        python: absolute path of the interpreter that has keepthread.
        package_hooks: absolute path of the folder with the hook scripts.
        scope: which settings file; "user" for now.
        dry_run: write nothing at all, return the diff.
        sources: the SessionStart sources on which the context is given back.
        features: what its user has turned on beyond the main job (`Config.features`).
        program: absolute path of the keepthread program that the slash commands run; beside `python` by default.
        command_folder: the slash commands; those that come with keepthread by default.
        windows: write the form of the commands that Windows needs.

    Raises:
        KeepthreadError: the settings cannot be read, edited or written; they are unchanged.
    """
    wanted = entries.wanted(python, package_hooks, sources, features, windows=windows)
    program = program or _program_beside(python, windows=windows)
    texts = commands.bundled(command_folder or resources.folder("commands"), program)
    return _run(config_dir, state, scope, dry_run, partial(_plan, wanted=wanted, texts=texts))


def uninstall(
    *,
    config_dir: str,
    state: str,
    scope: str = "user",
    dry_run: bool = False,
    purge: bool = False,
) -> Report:
    """Take our hooks out of the settings and our commands out of their folder; foreign bytes stay as they are.

    Args:
        config_dir: the host's configuration folder.
        state: keepthread's state folder.
        scope: which settings file; "user" for now.
        dry_run: write nothing at all, return the diff.
        purge: remove the state folder too, with all handoffs, and the backups of the settings.

    Raises:
        KeepthreadError: the settings cannot be read, edited or written; they are unchanged.
    """
    if purge:
        _check_purge(state)
    report = _run(config_dir, state, scope, dry_run, partial(_plan, wanted=[], texts={}))
    if purge:
        removed = _purged(state, report.settings_path)
        if not dry_run:
            _purge(state, report.settings_path)
        notes = [note for note in report.notes if not (removed and note == _NOTHING)]
        verb = "would be removed" if dry_run else "removed"
        notes += [f"{thing} {verb}" for thing in removed]
        return report._replace(changed=report.changed or bool(removed), notes=[*notes, _DOCUMENTS])
    return report._replace(notes=report.notes + _kept(state, report.settings_path, dry_run))


def install_here(env: Mapping[str, str], *, scope: str = "user", dry_run: bool = False) -> Report:
    """Install the keepthread that is running now, for the user whose environment this is.

    Raises:
        KeepthreadError: as `install`.
    """
    folder, state = locations.config_dir(env), locations.state_dir(env)
    config = load_config(env, folder)
    config = config.unnarrowed or config
    report = install(
        config_dir=folder,
        state=state,
        python=sys.executable,
        package_hooks=resources.folder("hooks"),
        scope=scope,
        dry_run=dry_run,
        sources=config.sources,
        features=config.features,
        program=_program_here(),
    )
    if not dry_run:
        store_resolved(state, config)
    return report._replace(notes=[*report.notes, *config.problems])


def uninstall_here(
    env: Mapping[str, str], *, scope: str = "user", dry_run: bool = False, purge: bool = False
) -> Report:
    """Uninstall for the user whose environment this is.

    Raises:
        KeepthreadError: as `uninstall`.
    """
    return uninstall(
        config_dir=locations.config_dir(env),
        state=locations.state_dir(env),
        scope=scope,
        dry_run=dry_run,
        purge=purge,
    )


def _run(
    config_dir: str, state: str, scope: str, dry_run: bool, plan: Callable[..., _Plan]
) -> Report:
    path = _settings_path(config_dir, scope)
    if dry_run:
        return _report(plan(config_dir, state, path), dry_run=True)
    with settings_file.locked(state):
        for _ in range(_ATTEMPTS):
            planned = plan(config_dir, state, path)
            try:
                _carry_out(planned, state)
            except settings_file.ChangedError:
                continue
            return _report(planned, dry_run=False)
    raise KeepthreadError(
        f"Another program keeps writing {path}", "Close it (the host, an editor) and try again."
    )


def _settings_path(config_dir: str, scope: str) -> str:
    if scope != "user":
        raise KeepthreadError(
            f"This version installs in user scope only, not in scope {scope!r}",
            "Leave --scope out, or give it the value user.",
        )
    return os.path.join(config_dir, "settings.json")


def _plan(
    config_dir: str,
    state: str,
    path: str,
    *,
    wanted: Sequence[Wanted],
    texts: Mapping[str, bytes],
) -> _Plan:
    before = manifest.load(state)
    snapshot = settings_file.read(path)
    known = before if before and before.settings == path else None
    data, after, notes = _edit_settings(snapshot, wanted, known)
    if data != snapshot.data:
        settings_file.check_writable(snapshot)
    planned = commands.plan(config_dir, texts, known.commands if known else {})
    new_folder = planned.folder_is_new or bool(known and known.created_commands_folder)
    after = replace(after, commands=planned.hashes, created_commands_folder=new_folder)
    return _Plan(snapshot, data, planned, known, after, notes + planned.notes)


def _edit_settings(
    snapshot: Snapshot, wanted: Sequence[Wanted], known: Manifest | None
) -> tuple[bytes | None, Manifest, list[str]]:
    after = Manifest(__version__, snapshot.path, hooks=tuple(Written.of(one) for one in wanted))
    if snapshot.data is None and not wanted:
        return None, after, []
    absent = snapshot.data is None
    text, bom = settings_parse.decode(
        b"{}\n" if snapshot.data is None else snapshot.data, snapshot.path
    )
    edit = settings_text.edit(
        text,
        snapshot.path,
        wanted,
        partial(_owner, known, after),
        partial(_keeps_timeout, known),
        known.containers if known else None,
    )
    created = absent or bool(known and known.created_file and edit.held_ours)
    data: bytes | None = (settings_parse.BOM if bom else b"") + edit.text.encode("utf-8")
    if not wanted and created and edit.text.strip() == "{}":
        data = None
    notes = ["disableAllHooks is true: the host runs no hook"] if edit.hooks_disabled else []
    return data, replace(after, created_file=created, containers=edit.containers), notes


def _owner(known: Manifest | None, after: Manifest, hook: Mapping[str, Any]) -> str:
    return manifest.owner(known, hook) or after.owner(hook)


def _keeps_timeout(known: Manifest | None, hook: Mapping[str, Any]) -> bool:
    if known and known.owner(hook):
        return known.keeps_timeout(hook)
    script, limit = entries.shipped_script(hook), hook.get("timeout")
    shipped = {
        entry.timeout for entry in (*entries.ENTRIES, *entries.OPTIONAL) if entry.script == script
    }
    return isinstance(limit, int | float) and bool(script) and limit not in shipped


def _program_here() -> str:
    """Return the keepthread program: beside the interpreter, else the one that was started, else the one on PATH."""
    beside = _program_beside(sys.executable, windows=os.name == "nt")
    started = os.path.abspath(sys.argv[0])
    candidates = [beside, started] if "keepthread" in os.path.basename(started) else [beside]
    found = [path for path in candidates if os.path.isfile(path)]
    return found[0] if found else shutil.which("keepthread") or beside


def _program_beside(python: str, *, windows: bool) -> str:
    path: Any = ntpath if windows else posixpath
    return str(path.join(path.dirname(python), "keepthread.exe" if windows else "keepthread"))


def _carry_out(plan: _Plan, state: str) -> None:
    unknown = plan.before is None and not plan.after.hooks
    if not plan.changed and (unknown or plan.before == plan.after):
        return
    try:
        _record(plan, state)
        if plan.edits_settings and plan.data is None:
            settings_file.remove(plan.snapshot)
        elif plan.edits_settings and plan.data is not None:
            settings_file.write(plan.snapshot, plan.data)
        commands.apply(plan.commands)
        _finish(plan, state)
    except OSError as error:
        raise KeepthreadError(f"{state} cannot be written: {error.strerror}") from error


def _record(plan: _Plan, state: str) -> None:
    """Before the settings are written: what is ours now, and what will be."""
    old = plan.before.hooks if plan.before else ()
    hooks = tuple(dict.fromkeys(old + plan.after.hooks))
    names = {**(plan.before.commands if plan.before else {}), **plan.after.commands}
    manifest.save(state, replace(plan.after, hooks=hooks, commands=names))


def _finish(plan: _Plan, state: str) -> None:
    if plan.after.hooks:
        manifest.save(state, plan.after)
        return
    if plan.after.created_commands_folder:
        commands.remove_folder(os.path.dirname(plan.snapshot.path))
    if os.path.lexists(manifest.path(state)):
        os.unlink(manifest.path(state))


def _report(plan: _Plan, *, dry_run: bool) -> Report:
    diff = _diff(plan) if dry_run else ""
    return Report(plan.changed, diff, [*_outcome(plan, dry_run), *plan.notes], plan.snapshot.path)


def _outcome(plan: _Plan, dry_run: bool) -> list[str]:
    if not plan.changed:
        return [_NOTHING]
    if dry_run:
        return []
    if not plan.after.hooks:
        return [
            f"Hooks and commands of keepthread are out of {os.path.dirname(plan.snapshot.path)}"
        ]
    events = ", ".join(dict.fromkeys(hook.event for hook in plan.after.hooks))
    names = ", ".join(f"/{name.removesuffix('.md')}" for name in plan.after.commands)
    return [f"Hooks ({events}) are in {plan.snapshot.path}", f"Commands: {names or 'none'}"]


def _diff(plan: _Plan) -> str:
    changes = list(plan.commands.changes)
    if plan.edits_settings:
        changes.insert(0, commands.Change(plan.snapshot.path, plan.snapshot.data, plan.data))
    return "".join(_diff_of(change) for change in changes)


def _diff_of(change: commands.Change) -> str:
    sides = [(data or b"").decode("utf-8", "replace") for data in (change.old, change.new)]
    old, new = (text.splitlines(keepends=True) for text in sides)
    names = ["/dev/null" if data is None else change.path for data in (change.old, change.new)]
    lines = difflib.unified_diff(old, new, names[0], names[1])
    return "".join(
        line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines
    )


def _kept(state: str, settings_path: str, dry_run: bool) -> list[str]:
    """Return what an uninstall leaves and why; a state folder that holds nothing but our lock goes."""
    if not dry_run and set(os.listdir(state)) <= {"install.lock"}:
        with suppress(FileNotFoundError):  # on Windows the lock file goes by itself
            os.unlink(os.path.join(state, "install.lock"))
        with suppress(OSError):  # another run has come meanwhile
            os.rmdir(state)
    notes = []
    if os.path.isdir(state):
        notes.append(f"{state} is kept, with handoffs and log; --purge removes it")
    if found := settings_file.backups(settings_path):
        notes.append(
            f"{len(found)} backups {settings_path}.keepthread-* are kept; --purge removes them"
        )
    return notes


def _check_purge(state: str) -> None:
    if os.path.basename(state) != "keepthread" or os.path.islink(state):
        raise KeepthreadError(f"{state} is not a folder that keepthread made", "Remove it by hand.")


def _purged(state: str, settings_path: str) -> list[str]:
    """Return in words what a purge takes away."""
    found = [
        f"{state}, with all handoffs, pins, private memories, the log and the virtual environment,"
    ]
    found = found if os.path.isdir(state) else []
    backups = settings_file.backups(settings_path)
    return found + ([f"{len(backups)} of {settings_path}.keepthread-*"] if backups else [])


def _purge(state: str, settings_path: str) -> None:
    """Remove the state folder and the backups."""
    try:
        for backup in settings_file.backups(settings_path):
            os.unlink(backup)
        if os.path.isdir(state):
            shutil.rmtree(state)
    except OSError as error:
        raise KeepthreadError(f"{error.filename} cannot be removed: {error.strerror}") from error
