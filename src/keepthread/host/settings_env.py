"""Values of ours in the `env` block of a settings file: written, taken back, and told.

They go the way of the hooks (snapshot, lock, backup, atomic write), and the manifest records each name, the value
written and what stood there before, so that a clear or an uninstall gives back exactly that. A value that its user
has changed since is the user's: it is left and named.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keepthread.host import env_splice, locations, manifest, plan, settings_parse
from keepthread.host.env_splice import EnvValue
from keepthread.host.plan import Goal, Report
from keepthread.host.scopes import Place, place_here


def apply(
    values: Mapping[str, str], *, where: Place, config_dir: str, state: str, dry_run: bool = False
) -> Report:
    """Bring the `env` block to hold exactly these values of ours; none of ours for an empty mapping.

    What we wrote earlier under other names gets back what stood there before.

    Raises:
        KeepthreadError: the settings cannot be read, edited or written, or a name or value no environment can hold;
            they are unchanged.
    """
    planned = plan.run(Goal(env=dict(values)), where, config_dir, state, dry_run=dry_run)
    names = ", ".join(one.name for one in planned.after.env)
    outcome = f"Values ({names}) are in" if names else "No value of keepthread is left in"
    return plan.report(planned, [f"{outcome} {where.path}"], dry_run=dry_run)


def apply_here(
    values: Mapping[str, str],
    env: Mapping[str, str],
    cwd: str,
    *,
    scope: str = "user",
    dry_run: bool = False,
) -> Report:
    """The same for the user whose environment this is, in the project around `cwd` unless scope is user.

    Raises:
        KeepthreadError: as `apply`.
    """
    folder, state = locations.config_dir(env), locations.state_dir(env)
    where = place_here(scope, env, cwd)
    return apply(values, where=where, config_dir=folder, state=state, dry_run=dry_run)


def written(where: Place, state: str) -> tuple[EnvValue, ...]:
    """Return what we wrote into the `env` block of a settings file, whether it still stands there or not."""
    known = manifest.of(state, where)
    return known.env if known else ()


def current(where: Place) -> dict[str, Any]:
    """Return the `env` block of a settings file as it stands; {} when there is none. Numbers come as bytes.

    Raises:
        KeepthreadError: the settings cannot be read.
    """
    data = plan.read(where).data
    if data is None:
        return {}
    document = settings_parse.parse(settings_parse.decode(data, where.path)[0], where.path)
    settings_parse.check_shape(document, where.path)
    settings_parse.check_env(document, where.path)
    return dict(document.get("env", {}))


def standing(where: Place, state: str) -> dict[str, EnvValue]:
    """Return those of our values that stand in a settings file as we wrote them, by name.

    Raises:
        KeepthreadError: the settings cannot be read.
    """
    return env_splice.ours({"env": current(where)}, written(where, state))
