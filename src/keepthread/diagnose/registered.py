"""Our hook entries as they stand in the settings files that count here."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from keepthread.diagnose.check import Place
from keepthread.errors import KeepthreadError
from keepthread.host import entries, line_splice, manifest, scopes, settings_file, settings_parse
from keepthread.host.manifest import Manifest, Written


class Entry(NamedTuple):
    """One entry of ours: its scope and file, and what stands there. `timeout` in seconds, None for the host's own."""

    scope: str
    path: str
    matcher: str | None
    hook: Written
    timeout: float | None

    @property
    def key(self) -> tuple[str, str]:
        """What it does: event and script."""
        return self.hook.event, self.hook.script

    @property
    def named(self) -> list[str]:
        """The absolute paths it names: interpreter and script."""
        hook = self.hook
        if hook.args is None:
            return _absolute(hook.command)
        return [word for word in (hook.command, *hook.args) if os.path.isabs(word)]

    @property
    def python(self) -> str:
        """The interpreter it starts, "" when it names none."""
        return next(iter(self.named), "")


class Settings(NamedTuple):
    """One settings file: is it there, what is wrong with it ("" for nothing), its entries and status line of ours.

    `line` is the command of the status line, "" when there is none of ours; `known` is the record of the file.

    What a project's files hold counts as ours when this user's record says so: a repository may bring entries that look
    like ours, and no program they name is ever started here. Those are `foreign`, a colleague's for one.
    """

    scope: str
    path: str
    exists: bool
    problem: str
    hint: str
    entries: list[Entry]
    foreign: list[Entry]
    line: str
    known: Manifest | None

    @property
    def line_paths(self) -> list[str]:
        """The absolute paths that the status line names."""
        return _absolute(self.line)


def read_all(place: Place) -> list[Settings]:
    """Return the user's settings, then those of the project that are there or that we have written."""
    found = [_read(scopes.place("user", place.folder, place.state), place)]
    for scope in ("project", "local"):
        with suppress(KeepthreadError):  # no project, or its settings are the user's
            one = _read(scopes.place(scope, place.folder, place.state, place.project), place)
            found += [one] if one.exists or one.problem or one.known else []
    return found


def _read(where: scopes.Place, place: Place) -> Settings:
    known = manifest.of(place.state, where)
    try:
        data = settings_file.read(where.path).data
        text = "{}" if data is None else settings_parse.decode(data, where.path)[0]
        document = settings_parse.parse(text, where.path)
        settings_parse.check_shape(document, where.path)
    except KeepthreadError as problem:
        told = (problem.message, problem.hint)
        return Settings(where.scope, where.path, True, *told, [], [], "", known)
    ours: list[Entry] = []
    foreign: list[Entry] = []
    for entry, recorded in _found(document, known, where):
        (ours if recorded or where.scope == "user" else foreign).append(entry)
    lines = known.lines if known else ()
    line = line_splice.ours(document, lines)
    line = line if where.scope == "user" or line in lines else ""
    return Settings(where.scope, where.path, data is not None, "", "", ours, foreign, line, known)


def _absolute(command: str) -> list[str]:
    try:
        return [word for word in shlex.split(command) if os.path.isabs(word)]
    except ValueError:  # quotes that do not close, in a manifest that somebody has edited
        return []


def _found(
    document: Mapping[str, Any], known: Manifest | None, where: scopes.Place
) -> Iterator[tuple[Entry, bool]]:
    """Yield the entries that look like ours, and whether our record of this file has them."""
    for event, groups in document.get("hooks", {}).items():
        for group in groups:
            matcher = group.get("matcher")
            for hook in group["hooks"]:
                if script := manifest.owner(known, hook):
                    args = hook.get("args")
                    given = tuple(map(str, args)) if isinstance(args, list) else None
                    written = Written(event, script, str(hook.get("command")), given, 0.0)
                    seconds = _seconds(hook.get("timeout"))
                    matched = matcher if isinstance(matcher, str) and matcher else None
                    recorded = bool(known and known.owner(hook))
                    yield Entry(where.scope, where.path, matched, written, seconds), recorded


def _seconds(value: Any) -> float | None:
    try:
        return float(value.decode() if isinstance(value, bytes) else value)
    except (TypeError, ValueError):
        return None


def vanished(settings: Settings) -> list[str]:
    """Return the scripts whose entries we have written into a file and that are not there any more."""
    there = {entry.key for entry in settings.entries}
    written = settings.known.hooks if settings.known and not settings.problem else ()
    return [hook.script for hook in written if (hook.event, hook.script) not in there]


def doubled(settings: Settings) -> list[str]:
    """Return the scripts that stand in one file more than once under the same event."""
    keys = [entry.key for entry in settings.entries]
    return sorted({script for event, script in keys if keys.count((event, script)) > 1})


def outdated(settings: Settings, place: Place) -> list[str]:
    """Return the scripts whose entries are not as this version and the user's variables want them."""
    base = place.config.unnarrowed or place.config
    old = []
    for entry in settings.entries:
        hook, named = entry.hook, entry.named
        try:
            wanted = entries.wanted(
                named[0],
                os.path.dirname(named[-1]),
                base.sources,
                base.features,
                windows=hook.args is not None,
            )
        except (KeepthreadError, IndexError):
            wanted = []
        if not any(_same(entry, one) for one in wanted):
            old.append(hook.script)
    return list(dict.fromkeys(old))


def _same(entry: Entry, wanted: entries.Wanted) -> bool:
    written, hook = Written.of(wanted), entry.hook
    same = (written.event, written.script, written.command, written.args)
    return same == (hook.event, hook.script, hook.command, hook.args) and (
        (wanted.matcher or None) == entry.matcher
    )


def is_faulty(settings: Settings, place: Place) -> bool:
    """Return whether a new installation into this file would mend something."""
    return bool(vanished(settings) or doubled(settings) or outdated(settings, place))
