"""The programs: the host's own and its version, the interpreters that run the hooks, the engine that would answer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from keepthread import __version__, resources
from keepthread.diagnose.check import INSTALL, Check, Place, finding, listed, note
from keepthread.diagnose.registered import Settings
from keepthread.engines.choose import AUTO, engines_for
from keepthread.engines.claude_program import launched, program
from keepthread.errors import KeepthreadError
from keepthread.host.profiles.client import version_of
from keepthread.host.profiles.variable import older

_PATIENCE = 15.0  # seconds for an interpreter to tell its version
# As the hooks do: in a checkout the package lies beside their folder.
_ASK = "import sys; sys.path[:0] = sys.argv[1:]; import keepthread; print(keepthread.__version__)"


class Need(NamedTuple):
    """A feature, the client version that it needs (by the client's changelog), and a script that stands for it."""

    version: str
    script: str
    what: str


# Below 2.1.101 one event name that is unknown makes the host ignore the whole settings file, so the first is a fault
# and more than the loss of a summary.
NEEDS = (
    Need(
        "2.1.76",
        "post_compact.py",
        "PostCompact; an older one ignores the whole settings file that names it",
    ),
    Need("2.1.121", "post_tool_use.py", "short forms of long results (KEEPTHREAD_SPILL)"),
)


def check(place: Place, files: Sequence[Settings], version: str) -> Iterator[Check]:
    """Yield what is found about the programs; `version` is the client's, as `client_version` tells it."""
    scripts = {entry.hook.script for one in files for entry in one.entries}
    yield _client(place, scripts, version)
    yield _interpreters(files)
    yield _engine(place)


def client_version(place: Place) -> str:
    """Return the version of the client on PATH, "" when there is none or it does not say."""
    found = program(place.env, place.project)
    return version_of(launched(found, place.env, place.project), place.env) if found else ""


def _client(place: Place, scripts: set[str], version: str) -> Check:
    """Say whether Claude Code is there and new enough for what is registered."""
    found = program(place.env, place.project)
    if not found:
        needed = bool(scripts) and _chosen(place) == AUTO and not _was_used(place)
        detail = "Claude Code was not found on PATH"
        detail += ", and hooks are installed for it" if needed else ": its version is not known"
        fix = (
            "Install Claude Code, or add its folder to PATH (an absolute one, outside the project)"
        )
        return finding("client", not needed, detail, fix)
    if not version:
        return note("client", f"{found} does not tell its version")
    short = [need for need in NEEDS if need.script in scripts and older(version, need.version)]
    if short:
        told = "; ".join(f"{need.what} needs {need.version}" for need in short)
        return finding("client", False, f"{found} is {version}, too old: {told}", "claude update")
    return finding("client", True, f"{found} is {version}")


def _was_used(place: Place) -> bool:
    """Return whether sessions are stored here: then it is somewhere, in an editor for one."""
    try:
        with os.scandir(os.path.join(place.folder, "projects")) as listing:
            return any(True for _ in listing)
    except OSError:
        return False


def _chosen(place: Place) -> str:
    return place.config.engine.strip().lower()


def _interpreters(files: Sequence[Settings]) -> Check:
    """Say whether the interpreters of the entries have the keepthread that is running now."""
    named = [entry.named for one in files for entry in one.entries]
    told = []
    for python, hooks in dict.fromkeys((one[0], os.path.dirname(one[-1])) for one in named if one):
        if not os.path.isfile(python) or _is_own(python, hooks):
            continue  # what is gone is told of by its own check
        version = _version_in(python, hooks)
        if not version:
            told.append(f"{python} cannot load keepthread")
        elif version != __version__:
            told.append(f"{python} has keepthread {version}, and this is {__version__}")
    sound = f"keepthread {__version__}, {sys.executable}"
    fix = f"{INSTALL}, or ./install.sh again"
    return finding("environment", not told, listed(told) or sound, fix)


def _is_own(python: str, hooks: str) -> bool:
    own = os.path.normcase(os.path.abspath(python)) == os.path.normcase(sys.executable)
    return own and os.path.realpath(hooks) == os.path.realpath(resources.folder("hooks"))


def _version_in(python: str, hooks: str) -> str:
    """Return the version that a hook would load, "" when it would load none."""
    source = os.path.join(os.path.dirname(hooks), "src")
    command = [python, "-I", "-c", _ASK, *([source] if os.path.isdir(source) else [])]
    try:
        ran = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout.decode("utf-8", "replace").strip()[:40] if ran.returncode == 0 else ""


def _engine(place: Place) -> Check:
    """Say which engine would answer.

    `auto` without a login is a note: the facts serve then, as documented. An engine that its user named and that cannot
    answer is a fault.
    """
    try:
        engines = engines_for(
            place.config, place.env, config_dir=place.folder, project=place.project
        )
    except KeepthreadError as problem:
        return finding("engine", False, problem.message, problem.hint)
    states = [(engine.name, engine.readiness()) for engine in engines]
    first = next((name for name, state in states if state.ready), "none")
    words = "; ".join(f"{name}: {state.why}" for name, state in states)
    fixes = " ".join(state.fix for _, state in states if not state.ready and state.fix)
    detail = f"{first} would answer ({words})"
    if first == "facts" and len(states) > 1 and _chosen(place) == AUTO:
        return note(
            "engine", f"{detail}; handoffs are computed, without a model's judgement", fixes
        )
    return finding("engine", len(states) == 1 or first != "facts", detail, fixes)
