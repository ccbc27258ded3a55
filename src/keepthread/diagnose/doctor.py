"""Is everything in place: settings, commands, a dry run of each hook, folders, settings of our own, engines."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypedDict

from keepthread.diagnose import dry_run
from keepthread.engines.choose import engines_for
from keepthread.errors import KeepthreadError
from keepthread.host import manifest, settings_file, settings_parse
from keepthread.host.config import Config
from keepthread.host.config import load as load_config
from keepthread.host.entries import ENTRIES
from keepthread.host.locations import config_dir, project_root, state_dir


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


def examine(env: Mapping[str, str], cwd: str) -> list[Check]:
    """Return every check's finding; nothing is changed."""
    folder = config_dir(env)
    place = _Place(env, folder, state_dir(env), project_root(env, cwd), load_config(env, folder))
    checks: list[Callable[[_Place], Iterator[Check]]] = [
        _settings,
        _hooks,
        _folders,
        _variables,
        _engines,
    ]
    return [found for check in checks for found in check(place)]


def _check(name: str, ok: bool, detail: str, fix: str = "") -> Check:
    return {"name": name, "ok": ok, "detail": detail, "fix": "" if ok else fix}


def _settings(place: _Place) -> Iterator[Check]:
    path = os.path.join(place.folder, "settings.json")
    try:
        data = settings_file.read(path).data
        document = settings_parse.parse(settings_parse.decode(data, path)[0], path) if data else {}
    except KeepthreadError as problem:
        yield _check("settings", False, problem.message, problem.hint or INSTALL)
        return
    yield _check("settings", True, f"{path} is valid")
    known = manifest.load(place.state)
    found = [
        manifest.owner(known, hook)
        for groups in document.get("hooks", {}).values()
        for group in groups
        for hook in group["hooks"]
    ]
    wanted = [entry.script for entry in ENTRIES]
    missing = [script for script in wanted if script not in found]
    doubled = sorted({script for script in wanted if found.count(script) > 1})
    detail = f"all {len(wanted)} hooks are registered"
    if missing:
        detail = "not registered: " + ", ".join(missing)
    elif doubled:
        detail = "registered more than once: " + ", ".join(doubled)
    yield _check("hooks registered", not missing and not doubled, detail, INSTALL)
    off = document.get("disableAllHooks") is True
    yield _check(
        "hooks enabled",
        not off,
        "disableAllHooks is true in the settings"
        if off
        else "the settings do not switch hooks off",
        f"Remove disableAllHooks from {path}",
    )


def _hooks(place: _Place) -> Iterator[Check]:
    known = manifest.load(place.state)
    if known is None:
        yield _check("hooks run", False, "nothing is installed for this user", INSTALL)
        return
    for trial in dry_run.try_hooks(known.hooks, place.env):
        yield _check(f"dry run {trial.script}", trial.ok, trial.detail, INSTALL)


def _folders(place: _Place) -> Iterator[Check]:
    try:
        mode = stat.S_IMODE(os.stat(place.state).st_mode)
    except OSError as problem:
        yield _check("state folder", False, f"{place.state}: {problem.strerror}", INSTALL)
        return
    writable = os.access(place.state, os.W_OK)
    yield _check(
        "state folder",
        writable,
        f"{place.state} is {'writable' if writable else 'not writable'}",
        f"Make {place.state} writable for you",
    )
    private = os.name == "nt" or mode & 0o077 == 0
    yield _check("state folder private", private, f"mode {mode:04o}", f"chmod 700 {place.state}")


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
