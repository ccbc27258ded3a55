"""The variables: ours, and the host's that decide when it compacts and how much output enters the context."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from keepthread.diagnose.check import Check, Place, finding, listed, note
from keepthread.errors import KeepthreadError
from keepthread.host.locations import inside_any
from keepthread.host.profiles.applying import Where
from keepthread.host.profiles.lint import Client
from keepthread.host.profiles.views import lint_in_force

_NAMED = 3
_ENDING = "_API_KEY"


def check(place: Place, version: str) -> Iterator[Check]:
    """Yield what is found about the variables in force; `version` is the client's, "" when unknown."""
    problems = place.config.problems
    path = os.path.join(place.folder, ".env")
    detail = "; ".join(problems) if problems else "every KEEPTHREAD_ value can be used"
    yield finding("variables", not problems, detail, f"Correct them in {path}")
    if place.config.disable:
        yield finding("enabled", False, "KEEPTHREAD_DISABLE is set", "Unset KEEPTHREAD_DISABLE")
    elif inside_any(place.project, place.config.off_projects):
        yield note("enabled", f"KEEPTHREAD_OFF_PROJECTS turns keepthread off in {place.project}")
    if open_to_others(path) and any(name.endswith(_ENDING) for name in place.config.user):
        detail = f"{path} holds keys, and other users of this machine may read it"
        yield note("keys", detail, f"chmod 600 {shlex.quote(path)}")
    yield _host_values(place, version)


def open_to_others(path: str) -> bool:
    """Return whether others may read a file; on Windows its mode does not tell."""
    try:
        return os.name != "nt" and bool(os.stat(path).st_mode & 0o077)
    except OSError:
        return False  # not there


def _host_values(place: Place, version: str) -> Check:
    """Tell of the host's variables as notes: they are its user's choice, and break nothing of ours."""
    name, look = "host variables", "keepthread profile lint"
    try:
        found = lint_in_force(Where(place.env, place.cwd), Client(version))
    except (KeepthreadError, OSError) as problem:
        told = problem.message if isinstance(problem, KeepthreadError) else problem.strerror
        return note(name, f"they cannot be judged: {told}", look)
    faults = [one.message for one in found if one.level == "fault"]
    if not faults:
        return note(
            name, "no value in force contradicts another" if not found else f"{len(found)} notes"
        )
    more = f"; and {len(faults) - _NAMED} more" if len(faults) > _NAMED else ""
    return note(name, listed(faults[:_NAMED]).replace("\n", " ") + more, look)
