"""The tables of docs/profiles.md."""

from __future__ import annotations

from keepthread.host import thresholds
from keepthread.host.profiles import reading
from keepthread.host.profiles.catalogue import CATALOGUE
from keepthread.host.profiles.variable import Variable

MODELS = ("claude-sonnet-4-6", "claude-opus-5-5")  # windows of 200,000 and of 1,000,000


def compaction_points(values: dict[str, str]) -> dict[str, int | None]:
    """Return at how many tokens each of the two models compacts under these values."""
    return {model: thresholds.thresholds(model, values).threshold for model in MODELS}


def profile_table() -> str:
    """Return one row for each variable that a built-in profile sets, and where compaction begins then."""
    profiles = [reading.load(name, "") for name in reading.names("")]
    used = [name for name in CATALOGUE if any(name in one.values for one in profiles)]
    rows = [["variable", "client's default", *(f"`{one.name}`" for one in profiles)]]
    for name in used:
        values = (one.values.get(name, "") for one in profiles)
        rows.append([f"`{name}`", _shown(CATALOGUE[name].default), *map(_shown, values)])
    for model in MODELS:
        points = (f"{compaction_points(one.values)[model] or 0:,}" for one in profiles)
        rows.append([f"{model} compacts at", f"{compaction_points({})[model] or 0:,}", *points])
    return _markdown(rows)


def variable_table() -> str:
    """Return one row for each variable of the catalogue."""
    rows = [["variable", "what it decides", "default", "range", "unit", "since", "known from"]]
    for one in CATALOGUE.values():
        meaning = f"{one.meaning}; {one.note}" if one.note else one.meaning
        rows.append(
            [f"`{one.name}`", meaning, _default(one), one.range, one.unit, one.since, one.evidence]
        )
    return _markdown(rows)


def _default(variable: Variable) -> str:
    return f"`{variable.default}`" if variable.default else ""


def _shown(value: str) -> str:
    return f"`{value}`" if value else ""


def _markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines) + "\n"
