"""Puts a profile into a settings file's `env` block and takes it out; a value of the user's own is never lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from keepthread import files
from keepthread.errors import KeepthreadError
from keepthread.host import in_force, locations, manifest, scopes, settings_env, settings_file
from keepthread.host.plan import NOTHING, Report
from keepthread.host.profiles import env_file, reading, sources
from keepthread.host.scopes import Place

_LIMIT = 1 << 16
_UNVERIFIED = (
    "Written, and not verified here: it counts from the client's next start; `keepthread thresholds` shows "
    "where your sessions are compacted then"
)


class Where(NamedTuple):
    """Whose profile it is: the process environment, and the folder in which the project is looked for."""

    env: Mapping[str, str]
    cwd: str

    @property
    def config_dir(self) -> str:
        """The host's configuration folder."""
        return locations.config_dir(self.env)

    @property
    def state(self) -> str:
        """Keepthread's state folder."""
        return locations.state_dir(self.env)

    @property
    def project(self) -> str:
        """The project's folder, "" for none."""
        return locations.project_root(self.env, self.cwd)

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes there are here: in the home folder, the project's settings are the user's."""
        return scopes.here(self.config_dir, self.project)

    def place(self, scope: str) -> Place:
        """Return the settings file of a scope."""
        return scopes.place(scope, self.config_dir, self.state, self.project)


def apply(
    name: str, where: Where, *, scope: str = "user", force: bool = False, dry_run: bool = False
) -> Report:
    """Put a profile's values into the `env` block of a scope's settings; those of an earlier profile go.

    Args:
        name: the profile.
        where: whose.
        scope: user, project or local.
        force: put it over values of the user's own, which `clear` gives back.
        dry_run: write nothing, return the diff.

    Raises:
        KeepthreadError: no such profile, the settings cannot be edited, or a value of the user's own is in the way;
            nothing is changed.
    """
    place = where.place(scope)
    values, own = _checked(name, place, where.state, force=force)
    report = settings_env.apply(
        values, where=place, config_dir=where.config_dir, state=where.state, dry_run=dry_run
    )
    notes = [f"Your own value of {key} is kept for `keepthread profile clear`" for key in own]
    if not dry_run and values:
        notes.append(_UNVERIFIED)
    if not dry_run:
        notes += overruled(values, place.path, where)
    return report._replace(notes=[*report.notes, *notes])


def with_install(
    install: Callable[[], Report], name: str, where: Where, *, scope: str, dry_run: bool
) -> Report:
    """Run `install` and put a profile in force, unless something is in the profile's way: then nothing is done.

    Raises:
        KeepthreadError: as `apply`, and as `install`.
    """
    _checked(name, where.place(scope), where.state, force=False)
    first = install()
    second = apply(name, where, scope=scope, dry_run=dry_run)
    notes = [note for note in (*first.notes, *second.notes) if note != NOTHING] or [NOTHING]
    changed = first.changed or second.changed
    return Report(changed, first.diff + second.diff, notes, first.settings_path)


def clear(where: Where, *, scope: str = "", dry_run: bool = False) -> list[Report]:
    """Take every value of ours out: of one scope's settings, or of all settings and files that hold any.

    Raises:
        KeepthreadError: a file cannot be read or edited.
    """
    places = [where.place(scope)] if scope else _with_values(where)
    reports = [
        settings_env.apply(
            {}, where=place, config_dir=where.config_dir, state=where.state, dry_run=dry_run
        )
        for place in places
    ]
    if not scope:
        files_ = recorded(where.state)
        reports += [clear_file(path, where.state, dry_run=dry_run) for path in files_]
    return reports or [Report(False, "", [NOTHING], "")]


def apply_file(name: str, path: str, state: str, *, dry_run: bool = False) -> Report:
    """Put a profile's block into a file; the file is remembered, so that `clear` finds it.

    Raises:
        KeepthreadError: no such profile, or the file cannot be edited; it is unchanged.
    """
    values = reading.load(name, state).values
    change = env_file.put(path, name, values, dry_run=True)
    if not dry_run and change.changed:
        with settings_file.locked(state):
            if values:  # before the block is written: one of which nothing is known stays for ever
                _record(state, [*recorded(state), change.path])
            change = env_file.put(path, name, values)
    return _report(change, dry_run, [env_file.UNREAD] if values else [])


def clear_file(path: str, state: str, *, dry_run: bool = False) -> Report:
    """Take the block out of a file.

    Raises:
        KeepthreadError: the file cannot be edited; it is unchanged.
    """
    change = env_file.put(path, "", {}, dry_run=True)
    if not dry_run and (change.changed or change.path in recorded(state)):
        with settings_file.locked(state):
            change = env_file.put(path, "", {})
            _record(state, [one for one in recorded(state) if one != change.path])
    return _report(change, dry_run, [])


def blocks_out(state: str, *, dry_run: bool = False) -> list[str]:
    """Take the blocks out of all files, and return in words what became of each. Never raises KeepthreadError."""
    return [note for path in recorded(state) for note in _block_out(path, state, dry_run)]


def overruled(values: Mapping[str, str], path: str, where: Where) -> list[str]:
    """Return in words which of a settings file's values do not count, because a stronger place says otherwise."""
    found = sources.in_force_of(sources.here(where.env, where.cwd))
    return [
        f"{name} is {said.value} all the same: {said.place} counts more than {path}"
        for name, value in values.items()
        if (said := found.get(name)) and said.value != value
    ]


def applied(place: Place, state: str) -> str:
    """Return the profile whose values all stand in a settings file, ours among them; "" for none."""
    ours = settings_env.standing(place, state)
    if not ours:
        return ""
    block = {name: in_force.as_text(value) for name, value in settings_env.current(place).items()}
    for name in reading.names(state):
        try:
            values = reading.load(name, state).values
        except KeepthreadError:
            continue  # a broken one of the user's own is told where it is asked for
        if set(ours) <= set(values) and all(block.get(key) == text for key, text in values.items()):
            return name
    return ""


def recorded(state: str) -> list[str]:
    """Return the files that a block of ours was put into."""
    try:
        found = json.loads(files.read_regular(_list(state), _LIMIT))
    except (OSError, ValueError, RecursionError):
        return []  # none yet, or a file that is not ours
    return [path for path in found if isinstance(path, str)] if isinstance(found, list) else []


def _checked(
    name: str, place: Place, state: str, *, force: bool
) -> tuple[dict[str, str], list[str]]:
    """Return a profile's values, and the names under which values of the user's own stand in the way."""
    values = reading.load(name, state).values
    own = _own_values(values, place, state)
    if own and not force:
        raise KeepthreadError(
            f"{place.path} sets {', '.join(own)} to another value; nothing was changed",
            "With --force the profile's value stands there until `keepthread profile clear`.",
        )
    return values, own


def _own_values(values: Mapping[str, str], place: Place, state: str) -> list[str]:
    block = settings_env.current(place)
    ours = settings_env.standing(place, state)
    return [
        name
        for name, value in values.items()
        if name in block and name not in ours and in_force.as_text(block[name]) != value
    ]


def _block_out(path: str, state: str, dry_run: bool) -> list[str]:
    try:
        report = clear_file(path, state, dry_run=dry_run)
    except KeepthreadError as problem:
        return [f"Left: the profile's block in {path}: {problem.message}"]
    verb = "would go" if dry_run else "is gone"
    return [f"The profile's block {verb} from {path}"] if report.changed else []


def _with_values(where: Where) -> list[Place]:
    here = scopes.places_here(where.config_dir, where.state, where.project)
    held = [one for one in manifest.load_all(where.state, *here) if one.env]
    return [
        scopes.place(one.scope, where.config_dir, where.state, one.project)
        for one in held
        if one.scope == "user" or os.path.isdir(one.project)
    ]


def _report(change: env_file.Change, dry_run: bool, notes: list[str]) -> Report:
    verb = "would be changed" if dry_run else "changed"
    said = f"{change.path} {verb}" if change.changed else NOTHING
    return Report(change.changed, "", [said, *change.notes, *notes], change.path)


def _record(state: str, paths: list[str]) -> None:
    wanted = list(dict.fromkeys(paths))
    if wanted == recorded(state):
        return
    if not wanted:
        os.unlink(_list(state))
        return
    files.make_private(state)
    files.write_private(_list(state), json.dumps(wanted, indent=2).encode() + b"\n")


def _list(state: str) -> str:
    return os.path.join(state, "env-files.json")
