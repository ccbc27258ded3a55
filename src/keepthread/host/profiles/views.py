"""What the `profile` commands print, as JSON and as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from keepthread.errors import KeepthreadError
from keepthread.host.profiles import applying, reading, sources
from keepthread.host.profiles.applying import Where
from keepthread.host.profiles.catalogue import CATALOGUE, RETIRED
from keepthread.host.profiles.lint import Client, Finding, lint_values
from keepthread.host.profiles.names import listed
from keepthread.host.profiles.reading import Profile
from keepthread.host.profiles.table import compaction_points
from keepthread.host.profiles.variable import effect


def listing(where: Where) -> list[dict[str, Any]]:
    """Return all profiles; `applied` names the settings files in which all values of one stand.

    One of the user's own that cannot be used says why as its purpose.

    Raises:
        KeepthreadError: the user's settings cannot be read.
    """
    standing: dict[str, list[str]] = {}
    for scope in where.scopes:
        place = where.place(scope)
        standing.setdefault(applying.applied(place, where.state), []).append(place.path)
    rows = []
    for name in reading.names(where.state):
        try:
            profile = reading.load(name, where.state)
        except KeepthreadError as problem:
            why = f"cannot be used: {problem.message}"
            profile = Profile(name, {}, why, (reading.own_file(name, where.state),))
        rows.append(
            {
                "name": name,
                "purpose": profile.purpose,
                "values": len(profile.values),
                "own": any(reading.is_own(file, where.state) for file in profile.files),
                "applied": standing.get(name, []),
            }
        )
    return rows


def listing_text(rows: list[dict[str, Any]]) -> str:
    """Return the list of profiles for a person."""
    width = max(len(row["name"]) for row in rows)
    lines = []
    for row in rows:
        marks = [f"applied: {', '.join(row['applied'])}"] if row["applied"] else []
        marks += ["yours"] if row["own"] else []
        tail = f" ({'; '.join(marks)})" if marks else ""
        lines.append(f"{row['name']:<{width}}  {row['purpose']}{tail}")
    return "\n".join(lines)


def shown(profile: Profile, client: Client) -> dict[str, Any]:
    """Return a profile with what is known of each of its values."""
    values = []
    for name, value in profile.values.items():
        known = CATALOGUE.get(name)
        row: dict[str, Any] = {"name": name, "value": value}
        if known:
            row |= {"does": known.meaning, "note": known.note, "unit": known.unit}
            row |= {"default": known.default, "range": known.range, "since": known.since}
            row["effect"] = effect(known, client.version)
        else:
            row["effect"] = f"none: {RETIRED[name]}" if name in RETIRED else "not in the catalogue"
        values.append(row)
    return {
        "name": profile.name,
        "purpose": profile.purpose,
        "files": list(profile.files),
        "client": client.version,
        "values": values,
        "compacts_at": compaction_points(profile.values),
        "findings": [one._asdict() for one in lint_values(profile.values, client)],
    }


def shown_text(shape: Mapping[str, Any]) -> str:
    """Return a profile for a person."""
    lines = [f"{shape['name']}: {shape['purpose']}", *shape["files"]]
    for row in shape["values"]:
        lines += ["", f"{row['name']}={row['value']}"]
        if "does" in row:
            unit = f" {row['unit']}" if row["unit"] else ""
            note = f" ({row['note']})" if row["note"] else ""
            default = f"{row['default']}{unit}" if row["default"] else "unset"
            lines.append(f"  what: {row['does']}{note}")
            lines.append(
                f"  default: {default}; range: {row['range']}{unit}; since: {row['since']}"
            )
        lines.append(f"  effect here: {row['effect']}")
    lines.append("")
    for model, tokens in shape["compacts_at"].items():
        at = f"at {tokens:,} tokens" if tokens else "only when the API refuses"
        lines.append(f"{model} compacts {at}")
    lines += [f"{one['level']}: {one['message']}" for one in shape["findings"]]
    lines.append(
        "A value counts from the client's next start: from its settings (`keepthread profile apply`), or "
        "exported by your shell. `keepthread thresholds` shows where your own sessions were really compacted."
    )
    return "\n".join(lines)


def difference(profile: Profile, where: Where) -> list[dict[str, Any]]:
    """Return for each variable of a profile, and each other one that is set, what counts and where it comes from."""
    found = sources.here(where.env, where.cwd)
    counts = sources.in_force_of(found)
    unread = {
        name: (one.place, text)
        for one in found
        if one.kind == "unread"
        for name, text in one.values.items()
    }
    names = [
        *profile.values,
        *(name for name in {**counts, **unread} if name not in profile.values and _bears(name)),
    ]
    rows = []
    for name in names:
        said = counts.get(name)
        wanted = profile.values.get(name)
        rows.append(
            {
                "name": name,
                "profile": wanted,
                "in_force": _visible(name, said.value) if said else None,
                "from": said.place if said else None,
                "same": said is not None and said.value == wanted,
                "shadowed": [
                    {"value": _visible(name, value), "from": place}
                    for value, place in (said.shadowed if said else ())
                ],
                "unread": [unread[name][0]] if name in unread else [],
            }
        )
    return rows


def difference_text(rows: list[dict[str, Any]]) -> str:
    """Return the difference for a person: = the same, + the profile would set, ~ it would change, . only set."""
    lines = []
    for row in rows:
        wanted, now = row["profile"], row["in_force"]
        mark = "=" if row["same"] else "." if wanted is None else "+" if now is None else "~"
        change = f"{now} -> {wanted}" if mark == "~" else wanted if now is None else now
        place = f"  ({row['from']})" if row["from"] else ""
        lines.append(f"{mark} {row['name']}: {'' if change is None else change}{place}")
        lines += [f"    shadowed: {one['value']}  ({one['from']})" for one in row["shadowed"]]
        lines += [f"    not read by the client: {path}" for path in row["unread"]]
    return "\n".join(lines) or "Nothing is set"


def _bears(name: str) -> bool:
    """Return whether a variable bears on what profiles are for, or should not be there at all."""
    return name in CATALOGUE or name not in listed()


def _visible(name: str, value: str) -> str:
    """Return a value that may be shown: those of variables outside of the catalogue may be secrets."""
    return value if name in CATALOGUE or name in RETIRED else "(set)"


def lint_in_force(where: Where, client: Client) -> list[Finding]:
    """Return what is wrong with the values in force here, and where an applied profile does not hold."""
    counts = sources.in_force_of(sources.here(where.env, where.cwd))
    found = lint_values({name: said.value for name, said in counts.items()}, client)
    found = [one._replace(message=f"{one.message}  ({counts[one.name].place})") for one in found]
    for scope in where.scopes:
        place = where.place(scope)
        name = applying.applied(place, where.state)
        values = reading.load(name, where.state).values if name else {}
        for key, value in values.items():
            said = counts.get(key)
            if said and said.value != value:
                message = f"{key} is {said.value} in {said.place}, and profile {name} in {place.path} says {value}"
                found.append(Finding("fault", key, "profile", message))
    return found


def lint_text(found: list[Finding]) -> str:
    """Return the findings for a person, faults first."""
    ordered = sorted(found, key=lambda one: one.level != "fault")
    return "\n".join(f"{one.level}: {one.message}" for one in ordered) or "Nothing found"
