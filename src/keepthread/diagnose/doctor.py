"""Is everything in place: settings, commands, a dry run of each hook, folders, settings of our own, engines."""

from __future__ import annotations

import os
import shlex
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from keepthread import redact
from keepthread.diagnose import dry_run, secrets
from keepthread.engines.choose import engines_for
from keepthread.errors import KeepthreadError
from keepthread.host import manifest, settings_file, settings_parse
from keepthread.host.config import Config
from keepthread.host.config import load as load_config
from keepthread.host.entries import ENTRIES, OPTIONAL, entries_for
from keepthread.host.locations import config_dir, project_root, state_dir
from keepthread.host.manifest import Written


class Check(TypedDict):
    """One finding: `fix` is the command or the step that mends it, "" when there is nothing to mend."""

    name: str
    ok: bool
    detail: str
    fix: str


class _Place(NamedTuple):
    env: Mapping[str, str]
    folder: str
    state: str
    project: str
    config: Config


INSTALL = "keepthread install"
FIX = "keepthread doctor --fix"
_SEARCH = 2.0  # seconds for looking through what is stored
_NAMED = 5  # sessions that are named


def examine(env: Mapping[str, str], cwd: str) -> list[Check]:
    """Return every check's finding; nothing of the user's is changed.

    Raises:
        KeepthreadError: there is no configuration folder.
    """
    folder = config_dir(env)
    place = _Place(env, folder, state_dir(env), project_root(env, cwd), load_config(env, folder))
    parts: list[Callable[[_Place], Iterator[Check]]] = [
        _settings,
        _folders,
        _stored,
        _variables,
        _engines,
    ]
    return [found for part in parts for found in part(place)]


def _check(name: str, ok: bool, detail: str, fix: str = "") -> Check:
    return {"name": name, "ok": ok, "detail": detail, "fix": "" if ok else fix}


def _settings(place: _Place) -> Iterator[Check]:
    path = os.path.join(place.folder, "settings.json")
    try:
        data = settings_file.read(path).data
        document = settings_parse.parse(settings_parse.decode(data, path)[0], path) if data else {}
        settings_parse.check_shape(document, path)
    except KeepthreadError as problem:
        yield _check("settings", False, problem.message, problem.hint or INSTALL)
        return
    yield _check("settings", True, f"{path} is {'valid' if data else 'not there yet'}")
    known = manifest.load(place.state)
    hooks = list(_ours(document, known))
    yield from _registered(hooks, place.config)
    off = document.get("disableAllHooks") is True
    detail = f"disableAllHooks is {'true in' if off else 'not set in'} {path}"
    yield _check("hooks enabled", not off, detail, f"Remove disableAllHooks from {path}")
    yield from _resolve(hooks)
    yield from _commands(place.folder, known.commands if known else {})
    for trial in dry_run.try_hooks(_once(hooks), place.env):
        yield _check(f"dry run {trial.script}", trial.ok, trial.detail, INSTALL)


def _ours(document: Mapping[str, Any], known: manifest.Manifest | None) -> Iterator[Written]:
    """Yield the entries of the settings that are ours, as they stand there."""
    for event, groups in document.get("hooks", {}).items():
        for hook in (hook for group in groups for hook in group["hooks"]):
            script = manifest.owner(known, hook)
            if script:
                args = hook.get("args")
                given = tuple(map(str, args)) if isinstance(args, list) else None
                yield Written(event, script, str(hook.get("command")), given, 0.0)


def _registered(hooks: Sequence[Written], config: Config) -> Iterator[Check]:
    found = [(hook.event, hook.script) for hook in hooks]
    wanted = [(entry.event, entry.script) for entry in entries_for(config.sources, config.features)]
    missing = [script for event, script in wanted if (event, script) not in found]
    doubled = sorted({script for event, script in found if found.count((event, script)) > 1})
    detail = f"all {len(wanted)} hooks are registered"
    if missing:
        detail = "not registered: " + ", ".join(missing)
    elif doubled:
        detail = "registered more than once: " + ", ".join(doubled)
    yield _check("hooks registered", not missing and not doubled, detail, INSTALL)


def _once(hooks: Sequence[Written]) -> list[Written]:
    """Return one entry of each script in the order in which a compaction runs them."""
    first = {(hook.event, hook.script): hook for hook in reversed(hooks)}
    order = [(entry.event, entry.script) for entry in (*ENTRIES, *OPTIONAL)]
    return [first[key] for key in order if key in first]


def _resolve(hooks: Sequence[Written]) -> Iterator[Check]:
    """Say whether what the entries name is there: since a missing hook is silent, nothing else would tell."""
    gone = []
    for hook in hooks:
        words = shlex.split(hook.command) if hook.args is None else [hook.command, *hook.args]
        named = [word for word in words if os.path.isabs(word)]
        gone += [path for path in named if not os.path.isfile(path)]
    detail = "every interpreter and script is there"
    if gone:
        detail = "missing: " + ", ".join(dict.fromkeys(gone))
    yield _check("hook commands", not gone, detail, INSTALL)


def _commands(folder: str, written: Mapping[str, str]) -> Iterator[Check]:
    gone = [name for name in written if not os.path.isfile(os.path.join(folder, "commands", name))]
    names = ", ".join(f"/{name.removesuffix('.md')}" for name in gone or written)
    detail = f"missing: {names}" if gone else names or "none is installed"
    yield _check("slash commands", bool(written) and not gone, detail, INSTALL)


def _folders(place: _Place) -> Iterator[Check]:
    try:
        mode = os.stat(place.state).st_mode
    except OSError as problem:
        yield _check("state folder", False, f"{place.state}: {problem.strerror}", INSTALL)
        return
    folders = [place.state, os.path.join(place.state, "sessions")]
    locked = [one for one in folders if os.path.exists(one) and not _writable(one)]
    detail = f"{', '.join(locked)}: not a folder that you may write to"
    yield _check(
        "state folder",
        not locked,
        detail if locked else f"{place.state} is writable",
        f"Make it a folder that you may write to: {' '.join(locked)}",
    )
    private = os.name == "nt" or stat.S_IMODE(mode) & 0o077 == 0
    detail = f"{place.state} has mode {stat.S_IMODE(mode):04o}"
    yield _check("state folder private", private, detail, FIX)


def _stored(place: _Place) -> Iterator[Check]:
    """Say whether stored handoffs hold secrets that an earlier version did not know."""
    known = redact.environment_secrets({**place.env, **place.config.user})
    found = secrets.search(place.state, known, seconds=_SEARCH)
    detail = f"no secret in what is stored ({found.searched} of {found.folders} folders searched)"
    if found.leaks:
        rules: dict[str, set[str]] = {}
        for leak in found.leaks:
            rules.setdefault(leak.owner, set()).update(leak.rules)
        told = [f"{owner}: {', '.join(sorted(names))}" for owner, names in rules.items()]
        more = f"; and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
        detail = f"secrets are stored, by session and rule: {'; '.join(told[:_NAMED])}{more}"
    yield _check("stored secrets", not found.leaks, detail, f"{FIX}; then replace those secrets")


def _writable(folder: str) -> bool:
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


def _variables(place: _Place) -> Iterator[Check]:
    problems = place.config.problems
    detail = "; ".join(problems) if problems else "every KEEPTHREAD_ value can be used"
    yield _check(
        "variables", not problems, detail, f"Correct them in {os.path.join(place.folder, '.env')}"
    )
    if place.config.disable:
        yield _check("enabled", False, "KEEPTHREAD_DISABLE is set", "Unset KEEPTHREAD_DISABLE")


def _engines(place: _Place) -> Iterator[Check]:
    """Say which engine would answer; that none but the embedded one would is a finding unless it was chosen."""
    try:
        engines = engines_for(
            place.config, place.env, config_dir=place.folder, project=place.project
        )
    except KeepthreadError as problem:
        yield _check("engine", False, problem.message, problem.hint)
        return
    states = [(engine.name, engine.readiness()) for engine in engines]
    first = next((name for name, state in states if state.ready), "none")
    words = "; ".join(f"{name}: {state.why}" for name, state in states)
    fixes = " ".join(state.fix for _, state in states if not state.ready and state.fix)
    chosen = len(states) == 1 or first != "facts"
    yield _check("engine", chosen, f"{first} would answer ({words})", fixes)


def render_checks(checks: list[Check]) -> str:
    """Return the findings as text: one line each, and how to mend what is wrong."""
    lines = []
    for check in checks:
        lines.append(f"{'ok  ' if check['ok'] else 'FAIL'}  {check['name']}: {check['detail']}")
        if check["fix"]:
            lines.append(f"        mend it: {check['fix']}")
    return "\n".join(lines)
