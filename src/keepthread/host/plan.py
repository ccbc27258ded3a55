"""The way of every edit of a settings file: read, plan, and only then write.

First the manifest is written (what is about to be ours must be known before it is), then the settings, then the
commands.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from keepthread import __version__
from keepthread.errors import KeepthreadError
from keepthread.host import (
    commands,
    entries,
    env_splice,
    line_splice,
    manifest,
    settings_file,
    settings_parse,
    settings_text,
)
from keepthread.host.entries import Wanted
from keepthread.host.manifest import Manifest, Written
from keepthread.host.scopes import Place
from keepthread.host.settings_containers import Containers
from keepthread.host.settings_file import Snapshot

_ATTEMPTS = 3
NOTHING = "Nothing to do"


class Report(NamedTuple):
    """What was done, or with dry_run would be: whether anything differs, as a unified diff, and what to know.

    `diff` is computed for a dry run only.
    """

    changed: bool
    diff: str
    notes: list[str]
    settings_path: str


class Goal(NamedTuple):
    """What of ours shall stand in a settings file afterwards; None leaves that part as it is.

    `hooks`, `env` and `line` may be empty: nothing of ours. `commands` are texts by file name. `line` is the command of
    the host's status line; without `adds_line` only one of ours that stands there is brought up to date.
    """

    hooks: Sequence[Wanted] | None = None
    env: Mapping[str, str] | None = None
    commands: Mapping[str, bytes] | None = None
    line: str | None = None
    adds_line: bool = True

    @property
    def brings(self) -> bool:
        """Whether something is to stand there that need not have been there before."""
        return bool(self.hooks or self.env or (self.line and self.adds_line))


@dataclass(frozen=True, slots=True)
class Plan:
    """The edit of one settings file, worked out and not yet made; `data` None stands for no file."""

    place: Place
    snapshot: Snapshot
    data: bytes | None
    commands: commands.Plan
    before: Manifest | None
    after: Manifest
    notes: list[str]

    @property
    def edits_settings(self) -> bool:
        """Whether the bytes of the settings change."""
        return self.data != self.snapshot.data

    @property
    def changed(self) -> bool:
        """Whether anything changes that its user would see."""
        return self.edits_settings or bool(self.commands.changes)

    @property
    def leaves_ours(self) -> bool:
        """Whether anything of ours stands in the settings afterwards."""
        return self.after.holds


def run(goal: Goal, place: Place, config_dir: str, state: str, *, dry_run: bool) -> Plan:
    """Bring a settings file to its goal, and return what was done; with dry_run only what would be.

    Raises:
        KeepthreadError: the settings cannot be read, edited or written; they are unchanged.
    """
    if dry_run:
        return _plan(goal, place, config_dir, state)
    with settings_file.locked(state):
        for _ in range(_ATTEMPTS):
            planned = _plan(goal, place, config_dir, state)
            try:
                _carry_out(planned, config_dir, state)
            except settings_file.ChangedError:
                continue
            return planned
    raise KeepthreadError(
        f"Another program keeps writing {place.path}",
        "Close it (the host, an editor) and try again.",
    )


def read(place: Place) -> Snapshot:
    """Read a settings file under the rules of its scope.

    Raises:
        KeepthreadError: as `settings_file.read`.
    """
    return settings_file.read(
        place.path,
        root=place.root,
        backups="" if place.backups == place.path else place.backups,
        private=place.scope != "project",
    )


def _plan(goal: Goal, place: Place, config_dir: str, state: str) -> Plan:
    known = manifest.of(state, place)
    snapshot = read(place)
    data, after, notes = _edit(snapshot, goal, known)
    if data != snapshot.data:
        settings_file.check_writable(snapshot)
        if snapshot.status and snapshot.status.st_nlink > 1:
            notes.append(f"{place.path} has another name (a hard link): that one stays as it was")
    others = [one for one in manifest.load_all(state) if one.settings != place.path]
    planned, names, new_folder = _commands(goal, known, others, config_dir)
    after = replace(
        after,
        scope=place.scope,
        project=place.root,
        commands=names,
        created_commands_folder=new_folder,
        created_folder=_makes_folder(place, [*others, *([known] if known else [])]),
        excluded=bool(known and known.excluded),
    )
    return Plan(place, snapshot, data, planned, known, after, notes + planned.notes)


def _makes_folder(place: Place, told: Sequence[Manifest]) -> bool:
    folder = os.path.dirname(place.path)
    beside = any(one.created_folder and os.path.dirname(one.settings) == folder for one in told)
    return beside or not os.path.isdir(folder)


def _commands(
    goal: Goal, known: Manifest | None, others: Sequence[Manifest], config_dir: str
) -> tuple[commands.Plan, Mapping[str, str], bool]:
    """Return what becomes of the slash commands, which all settings files of ours share."""
    told = [*others, *([known] if known else [])]
    made = any(one.created_commands_folder for one in told)
    hashes = {name: text for one in told for name, text in one.commands.items()}
    needed = any(one.hooks for one in others)
    if goal.commands is None:
        return commands.Plan(folder_is_new=False), known.commands if known else {}, made
    if needed and not goal.commands:
        return commands.Plan(folder_is_new=False), {}, False
    planned = commands.plan(config_dir, goal.commands, hashes)
    return planned, planned.hashes, planned.folder_is_new or made


def _edit(
    snapshot: Snapshot, goal: Goal, known: Manifest | None
) -> tuple[bytes | None, Manifest, list[str]]:
    """Return the new bytes, the manifest that belongs to them (without commands), and notes."""
    absent = snapshot.data is None
    after = _manifest_of(snapshot, goal, known)
    if absent and not goal.brings:
        return None, after, []
    raw = b"{}\n" if snapshot.data is None else snapshot.data
    text, bom = settings_parse.decode(raw, snapshot.path)
    held = _held(text, snapshot.path, known)
    edits = _Edits(snapshot.path, known, held, after, [])
    if goal.hooks is not None:
        text = edits.hooks(text, goal.hooks)
    if goal.env or (goal.env is not None and known and known.env):
        text = edits.values(text, goal.env)
    if goal.line is not None:
        text = edits.line(text, goal.line, adds=goal.adds_line)
    created = absent or bool(known and known.created_file and any(held))
    data: bytes | None = (settings_parse.BOM if bom else b"") + text.encode("utf-8")
    if created and not edits.after.holds and text.strip() == "{}":
        data = None
    return data, replace(edits.after, created_file=created), edits.notes


def _manifest_of(snapshot: Snapshot, goal: Goal, known: Manifest | None) -> Manifest:
    kept = known or Manifest(__version__, snapshot.path)
    if snapshot.data is None:  # what stood in it went with the file
        kept = replace(kept, hooks=(), env=(), lines=())
    hooks = kept.hooks if goal.hooks is None else tuple(Written.of(one) for one in goal.hooks)
    return replace(kept, version=__version__, settings=snapshot.path, hooks=hooks)


class _Held(NamedTuple):
    """Whether hooks, values and the status line of ours stand in a text."""

    hooks: bool
    values: bool = False
    line: bool = False

    @property
    def tops(self) -> tuple[str, ...]:
        """The containers that hold something of ours beside hooks."""
        return ("", "env") if self.values else ("",) if self.line else ()


def _held(text: str, path: str, known: Manifest | None) -> _Held:
    if known is None or not (known.created_file or known.env or known.lines):
        return _Held(hooks=bool(known and known.hooks))  # nobody asks: spare the reading
    document = settings_parse.parse(text, path)
    settings_parse.check_shape(document, path)
    groups = [group for event in document.get("hooks", {}).values() for group in event]
    hooks = any(manifest.owner(known, hook) for group in groups for hook in group["hooks"])
    values = bool(env_splice.ours(document, known.env))
    return _Held(hooks, values, bool(line_splice.ours(document, known.lines)))


@dataclass(slots=True)
class _Edits:
    """The edits of one text, one after the other, with what the manifest and the user have to know of them."""

    path: str
    known: Manifest | None
    held: _Held
    after: Manifest
    notes: list[str]

    def hooks(self, text: str, wanted: Sequence[Wanted]) -> str:
        """Return the text with exactly these hooks of ours."""
        edit = settings_text.edit(
            text,
            self.path,
            wanted,
            partial(_owner, self.known, self.after),
            partial(_keeps_timeout, self.known),
            self.known.containers if self.known else None,
            self.held.tops,
        )
        self.after = replace(self.after, containers=edit.containers)
        self.notes += ["disableAllHooks is true: the host runs no hook"] * edit.hooks_disabled
        self.held = self.held._replace(hooks=bool(wanted))
        return edit.text

    def values(self, text: str, values: Mapping[str, str]) -> str:
        """Return the text with exactly these values of ours."""
        containers = self.after.containers
        shared = self._held_by_hooks() - {"env"} | ({""} if self.held.line else set())
        known = self.known.env if self.known else ()
        edit = env_splice.edit(text, self.path, values, known, containers, shared)
        self.after = replace(self.after, containers=edit.containers, env=edit.written)
        self.notes += edit.notes
        self.held = self.held._replace(values=bool(edit.written))
        return edit.text

    def line(self, text: str, command: str, *, adds: bool) -> str:
        """Return the text with this status line of ours."""
        shared = self._held_by_hooks() | ({"", "env"} if self.held.values else set())
        known = self.known.lines if self.known else ()
        containers = self.after.containers
        edit = line_splice.edit(text, self.path, command, known, containers, shared, adds=adds)
        lines = (edit.command,) if edit.command else ()
        self.after = replace(self.after, containers=edit.containers, lines=lines)
        self.notes += edit.notes
        return edit.text

    def _held_by_hooks(self) -> set[str]:
        containers = self.after.containers
        return {*containers.created, *containers.empty} if self.held.hooks else set()


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


def _carry_out(plan: Plan, config_dir: str, state: str) -> None:
    unknown = plan.before is None and not plan.leaves_ours
    if not plan.changed and (unknown or plan.before == plan.after):
        return
    try:
        _write(plan, state)
        commands.apply(plan.commands)
        _finish(plan, config_dir, state)
    except OSError as error:
        raise KeepthreadError(f"{state} cannot be written: {error.strerror}") from error


def _write(plan: Plan, state: str) -> None:
    """Write the settings; when they stay as they were, so does what is known of them."""
    try:
        _record(plan, state)
        if plan.edits_settings and plan.data is None:
            settings_file.remove(plan.snapshot)
        elif plan.edits_settings and plan.data is not None:
            settings_file.write(plan.snapshot, plan.data)
    except (KeepthreadError, settings_file.ChangedError, OSError):
        with suppress(OSError):  # a record of too much is no harm; the error on our way here counts
            if plan.before:
                manifest.save(state, plan.before)
            else:
                os.unlink(manifest.path(state, plan.place.key))
        raise


def _record(plan: Plan, state: str) -> None:
    """Before the settings are written: what is ours now, and what will be."""
    old = plan.before or Manifest(__version__, plan.place.path)
    hooks = tuple(dict.fromkeys(old.hooks + plan.after.hooks))
    values = tuple(dict.fromkeys(old.env + plan.after.env))
    lines = tuple(dict.fromkeys(old.lines + plan.after.lines))
    names = {**old.commands, **plan.after.commands}
    containers = Containers(
        plan.after.containers.created | old.containers.created,
        {**plan.after.containers.empty, **old.containers.empty},
    )
    both = replace(plan.after, hooks=hooks, env=values, lines=lines)
    manifest.save(state, replace(both, commands=names, containers=containers))
    manifest.forget_moved(state, plan.place)


def _finish(plan: Plan, config_dir: str, state: str) -> None:
    if plan.leaves_ours:
        manifest.save(state, plan.after)
        return
    if plan.after.created_commands_folder:
        commands.remove_folder(config_dir)
    if plan.after.created_folder and plan.place.root:
        with suppress(OSError):  # something else is in it by now
            os.rmdir(os.path.dirname(plan.place.path))
    file = manifest.path(state, plan.place.key)
    if os.path.lexists(file):
        os.unlink(file)


def report(plan: Plan, outcome: Sequence[str], *, dry_run: bool) -> Report:
    """Return what its user is told of a plan that was carried out, or with dry_run would be."""
    notes = [] if dry_run else list(outcome)
    if not plan.changed:
        notes = [NOTHING]
    return Report(
        plan.changed, _diff(plan) if dry_run else "", notes + plan.notes, plan.snapshot.path
    )


def _diff(plan: Plan) -> str:
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
