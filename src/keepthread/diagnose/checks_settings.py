"""What stands in the host's settings: our entries, once each, in the form of today, and a host that runs them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime

from keepthread.diagnose import dry_run, registered
from keepthread.diagnose.check import INSTALL, Check, Place, finding, listed
from keepthread.diagnose.registered import Entry, Settings
from keepthread.host import doubles, in_force, manifest
from keepthread.host.entries import ENTRIES, OPTIONAL, entries_for
from keepthread.host.manifest import Written
from keepthread.host.scopes import place as place_of
from keepthread.platforms import home, managed_settings

_ALL_LEFT = "Nothing was changed. "  # who only looks is not told so
_MILLISECONDS = 1_000  # a limit of so many seconds was meant otherwise
_USUAL = {entry.script: entry.timeout for entry in (*ENTRIES, *OPTIONAL)}


def check(place: Place, files: Sequence[Settings]) -> Iterator[Check]:
    """Yield what is found about the settings `files`; when the user's cannot be read, only that."""
    broken = [one for one in files if one.problem]
    for one in broken:
        yield finding("settings", False, one.problem, one.hint.replace(_ALL_LEFT, "") or INSTALL)
    if broken and broken[0].scope == "user":
        return
    if not broken:
        paths = [one.path for one in files if one.exists]
        told = (
            f"{' and '.join(paths)} can be read" if paths else f"{files[0].path} is not there yet"
        )
        yield finding("settings", True, told)
    plugins = doubles.plugins(place.folder, place.project)
    entries = [entry for one in files for entry in one.entries]
    yield _registered(place, files, entries, plugins)
    there = [one for file in files for one in file.foreign if all(map(os.path.isfile, one.named))]
    yield _single([*entries, *there], plugins)
    yield _enabled(place)
    yield _commands_there(entries)
    yield _limits(place, entries)
    yield _slash_commands(place, files, plugins)
    yield _status_line(place, files)
    for trial in dry_run.try_hooks(_once(entries), place.env):
        yield finding(f"dry run {trial.script}", trial.ok, trial.detail, INSTALL)


def _registered(
    place: Place, files: Sequence[Settings], entries: Sequence[Entry], plugins: Sequence[str]
) -> Check:
    base = place.config.unnarrowed or place.config
    wanted = [(one.event, one.script) for one in entries_for(base.sources, base.features)]
    keys = {entry.key for entry in entries}
    if plugins and not entries:
        return finding("hooks registered", True, f"the plugin {plugins[0]} has them")
    missing = [] if plugins else [script for event, script in wanted if (event, script) not in keys]
    doubled = [(name, one.path) for one in files for name in registered.doubled(one)]
    old = [script for one in files for script in registered.outdated(one, place)]
    told = [_missing(place, missing, files)] if missing else []
    if doubled:
        told.append("registered more than once: " + listed([name for name, _ in doubled]))
    if old:
        told.append("not as this version and your settings want it: " + listed(old))
    where = "; ".join(dict.fromkeys(entry.path for entry in entries))
    fix = _reinstall(place, files)
    sound = f"all {len(wanted)} hooks are registered in {where}"
    return finding("hooks registered", not told, "; ".join(told) or sound, fix)


def _missing(place: Place, missing: Sequence[str], files: Sequence[Settings]) -> str:
    text = "not registered: " + ", ".join(missing)
    for one in files:
        gone = [script for script in registered.vanished(one) if script in missing]
        if gone and one.known:
            when = _written_at(manifest.path(place.state, _key(one, place)))
            text += f"; written into {one.path}{when}, and not there now: another program or a hand rewrote it, "
            text += "or an installation was cut off"
    if not any(one.entries for one in files):
        text += _elsewhere(place)
    return text


def _key(settings: Settings, place: Place) -> str:
    return place_of(settings.scope, place.folder, place.state, place.project).key


def _written_at(path: str) -> str:
    try:
        return f" on {datetime.fromtimestamp(os.stat(path).st_mtime):%Y-%m-%d %H:%M}"
    except (OSError, ValueError, OverflowError):
        return ""  # only the time is left out


def _elsewhere(place: Place) -> str:
    """Say so when they stand in the folder that counts without CLAUDE_CONFIG_DIR."""
    usual = os.path.join(home(place.env), ".claude")
    if not home(place.env) or os.path.realpath(usual) == os.path.realpath(place.folder):
        return ""
    other = registered.read_all(
        place._replace(folder=usual, state=os.path.join(usual, "keepthread"), project="")
    )
    if not any(one.entries for one in other):
        return ""
    return f"; they are in {other[0].path}, but CLAUDE_CONFIG_DIR is {place.folder}"


def _reinstall(place: Place, files: Sequence[Settings]) -> str:
    """Return the command that mends the first file with a fault; without any entry, that of a first installation."""
    for one in files:
        faulty = registered.is_faulty(one, place)
        if one.scope != "user" and (faulty or (one.entries and not files[0].entries)):
            return _in_scope(INSTALL, one, place)
    return INSTALL


def _single(entries: Sequence[Entry], plugins: Sequence[str]) -> Check:
    """Say whether two installations answer each event twice; equal commands the host runs once."""
    name = "one installation"
    if plugins and entries:
        where = entries[0].path
        remove = f"keepthread uninstall --scope {entries[0].scope}"
        fix = f"Remove one: claude plugin uninstall {plugins[0]}, or {remove}"
        detail = f"the plugin {plugins[0]} and {where} run the same hooks, each event twice"
        return finding(name, False, detail, fix)
    if len(plugins) > 1:
        return finding(
            name, False, "plugins: " + ", ".join(plugins), f"claude plugin uninstall {plugins[1]}"
        )
    forms: dict[tuple[str, str], dict[tuple[str, tuple[str, ...] | None], Entry]] = {}
    for entry in entries:
        forms.setdefault(entry.key, {})[(entry.hook.command, entry.hook.args)] = entry
    twice = [list(one.values()) for one in forms.values() if len(one) > 1]
    twice = [pair for pair in twice if pair[0].path != pair[-1].path]
    if not twice:
        return finding(name, True, "no event is answered twice")
    first, last = twice[0][0], twice[0][-1]
    detail = f"{first.path} starts {first.python}, {last.path} starts {last.python}: each event runs twice"
    return finding(name, False, detail, f"keepthread uninstall --scope {last.scope}")


def _enabled(place: Place) -> Check:
    """Say whether the host runs hooks at all; the nearer file decides, as there."""
    found = in_force.settings_values(place.folder, place.project, "disableAllHooks")
    off = found.get("disableAllHooks")
    if off and off.value == "true":
        detail = f"disableAllHooks is true in {off.source}"
        return finding("hooks enabled", False, detail, f"Remove disableAllHooks from {off.source}")
    managed = managed_settings(place.env)
    if managed and in_force.read_settings(managed).get("allowManagedHooksOnly") is True:
        detail = f"allowManagedHooksOnly is true in {managed}: the host runs its administrator's hooks only"
        return finding(
            "hooks enabled", False, detail, "Ask your administrator to allow these hooks"
        )
    return finding("hooks enabled", True, "disableAllHooks is not set")


def _commands_there(entries: Sequence[Entry]) -> Check:
    """Say whether what the entries name is there: since a missing hook is silent, nothing else would tell."""
    gone = [path for entry in entries for path in entry.named if not os.path.isfile(path)]
    detail = "every interpreter and script is there"
    if gone:
        detail = "missing: " + ", ".join(dict.fromkeys(gone))
    return finding("hook commands", not gone, detail, INSTALL)


def _limits(place: Place, entries: Sequence[Entry]) -> Check:
    """Say whether the host gives each hook the time that it may take by its user's own settings."""
    config, env_file = place.config, os.path.join(place.folder, ".env")
    told, fixes = [], []
    for entry in entries:
        limit, script = entry.timeout, entry.hook.script
        usual = _USUAL.get(script)
        if limit is None or usual is None:  # one of a newer version: another check tells of it
            continue
        needed = _needed(place, script)
        if limit >= _MILLISECONDS:
            told.append(
                f"{script} may take {limit:g} s by {entry.path}; that looks like milliseconds"
            )
            fixes.append(f"Set its timeout there to {usual}")
        elif limit <= needed:
            told.append(
                f"{script} may wait {needed:g} s, and the host ends it after {limit:g} s by {entry.path}"
            )
            lower = "KEEPTHREAD_TIMEOUT" if script == "pre_compact.py" else "KEEPTHREAD_JOIN"
            fixes.append(f"Set its timeout there to {usual}, or a lower {lower} in {env_file}")
    sound = f"KEEPTHREAD_TIMEOUT {config.timeout:g} s, KEEPTHREAD_JOIN {config.join:g} s, both below the host's limits"
    return finding(
        "time limits", not told, "; ".join(told) or sound, "; ".join(dict.fromkeys(fixes))
    )


def _needed(place: Place, script: str) -> float:
    """Return for how many seconds a hook may wait: PreCompact only with KEEPTHREAD_MODE=wait."""
    config = place.config
    if script == "pre_compact.py":
        return config.timeout if config.mode == "wait" else 1.0
    return config.join if script in ("session_start.py", "session_index.py") else 0.5


def _slash_commands(place: Place, files: Sequence[Settings], plugins: Sequence[str]) -> Check:
    names = [name for one in files if one.known for name in one.known.commands]
    written = list(dict.fromkeys(names))
    if plugins and not written:
        return finding("slash commands", True, f"the plugin {plugins[0]} has them")
    gone = [n for n in written if not os.path.isfile(os.path.join(place.folder, "commands", n))]
    shown = ", ".join(f"/{name.removesuffix('.md')}" for name in gone or written)
    detail = f"missing: {shown}" if gone else shown or "none is installed"
    return finding("slash commands", bool(written) and not gone, detail, INSTALL)


def _status_line(place: Place, files: Sequence[Settings]) -> Check:
    """Say whether the programs of our status line are there: without them the host shows none, and no word of it."""
    name, lines = "status line", [one for one in files if one.line]
    for one in lines:
        gone = [path for path in one.line_paths if not os.path.isfile(path)]
        if gone:
            detail = f"{one.path} names what is missing: {', '.join(gone)}"
            return finding(
                name, False, detail, _in_scope("keepthread statusline --install", one, place)
            )
    where = " and ".join(one.path for one in lines)
    return finding(name, True, f"keepthread's is in {where}" if lines else "none of keepthread's")


def _in_scope(command: str, one: Settings, place: Place) -> str:
    if one.scope == "user":
        return command
    return f"cd {shlex.quote(place.project)} && {command} --scope {one.scope}"


def _once(entries: Sequence[Entry]) -> list[Written]:
    """Return one entry of each script in the order in which a compaction runs them."""
    first = {entry.key: entry.hook for entry in reversed(entries)}
    order = [(entry.event, entry.script) for entry in (*ENTRIES, *OPTIONAL)]
    return [first[key] for key in order if key in first]
