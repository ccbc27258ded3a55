"""`keepthread thresholds`: where a model's sessions are compacted here, what decides it, and what one's own show."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from keepthread.economy.gauge import model_in_force, shown
from keepthread.economy.observed import last_model, observed
from keepthread.economy.pace import Pace, pace
from keepthread.host.in_force import (
    ENVIRONMENT,
    InForce,
    read_settings,
    settings_env,
    settings_files,
)
from keepthread.host.locations import config_dir, project_root
from keepthread.host.sessions import find_transcript, newest_session
from keepthread.host.thresholds import (
    ENABLED_SETTING,
    MEASURED_ON,
    VARIABLES,
    WINDOW_SETTING,
    Thresholds,
    thresholds,
)

_MODEL = "ANTHROPIC_MODEL"


class Forecast(NamedTuple):
    """The thresholds of a model, and what they come from.

    `chosen_by` says where the model was taken from, "" when it was asked for; `in_force` are the variables and
    settings that count, by name; `seen` is what one's own transcripts show (`economy.observed`).
    """

    point: Thresholds
    chosen_by: str
    in_force: dict[str, InForce]
    seen: list[dict[str, Any]]

    @property
    def shape(self) -> dict[str, Any]:
        """What `--json` prints: the figures of the point, and where the values come from."""
        return {
            **self.point.as_dict(),
            "client": MEASURED_ON,
            "in_force": {name: one._asdict() for name, one in self.in_force.items()},
            "boundaries": self.seen,
        }


def in_force_for(
    model: str, env: Mapping[str, str], folder: str, project: str
) -> tuple[Thresholds, dict[str, InForce]]:
    """Return a model's thresholds in a project, and the variables and settings that were looked at and are set."""
    values = settings_env(env, folder, project)
    files = [(path, read_settings(path)) for path in settings_files(folder, project)]
    point = thresholds(
        model, {name: one.value for name, one in values.items()}, [file for _, file in files]
    )
    named = {name: values[name] for name in VARIABLES if name in values}
    for path, settings in files:
        for name in (ENABLED_SETTING, WINDOW_SETTING):
            if name in settings:
                named[name] = InForce(_text(settings[name]), path)
    return point, named


def chosen_model(env: Mapping[str, str], folder: str, project: str) -> tuple[str, str]:
    """Return the model its user has chosen and where, ("", "") when nowhere: ANTHROPIC_MODEL or the setting `model`."""
    values = settings_env(env, folder, project)
    if _MODEL in values and values[_MODEL].value:
        return values[_MODEL].value, f"{_MODEL}, {values[_MODEL].source}"
    for path in reversed(settings_files(folder, project)):
        name = read_settings(path).get("model")
        if isinstance(name, str) and name:
            return name, path
    return "", ""


def forecast(env: Mapping[str, str], cwd: str, model: str = "") -> Forecast:
    """Return where `model` is compacted in the project at hand, by default the model of its newest session.

    Raises:
        KeepthreadError: there is no configuration folder.
    """
    folder, project = config_dir(env), project_root(env, cwd)
    model, chosen_by = model.strip(), ""
    if not model:
        model, chosen_by = _model_here(env, folder, project, cwd)
    point, named = in_force_for(model, env, folder, project)
    return Forecast(point, chosen_by, named, observed(folder))


def _model_here(env: Mapping[str, str], folder: str, project: str, cwd: str) -> tuple[str, str]:
    session = env.get("CLAUDE_CODE_SESSION_ID", "")
    path = find_transcript("", session, folder) if session else ""
    path = path or newest_session(folder, cwd) or newest_session(folder, project)
    last = pace(path) if path else Pace()
    last.model = last.model or (last_model(path) if path else "")
    if last.model:
        named = model_here(env, folder, project, last)
        return named, f"session {os.path.splitext(os.path.basename(path))[0]}"
    return chosen_model(env, folder, project)


def model_here(env: Mapping[str, str], folder: str, project: str, last: Pace) -> str:
    """Return the model of a session's last answer, with the "[1m]" that a transcript leaves out."""
    chosen, _ = chosen_model(env, folder, project)
    return model_in_force(last.model, last.tokens, chosen)


def told(found: Forecast) -> str:
    """Return the forecast as text for people."""
    point = found.point
    if not point.model:
        nobody = "Model        none known here: no session, no setting; name one with --model"
        return "\n".join([nobody, *_own(found)])
    asked = f" ({shown(found.chosen_by)})" if found.chosen_by else ""
    lines = [
        f"Model        {shown(point.model)}{asked}",
        f"Window       {_window(point)}",
        f"Reserve      {point.output_reserve:,} for an answer",
        f"Effective    {point.effective:,}",
        *_points(point),
    ]
    for name, one in found.in_force.items():
        source = "the environment" if one.source == ENVIRONMENT else one.source
        lines.append(f"In force     {name}={shown(one.value)} ({source})")
    lines += _own(found)
    return "\n".join([*lines, f"Measured on  client {MEASURED_ON}"])


def _window(point: Thresholds) -> str:
    of = {
        "model": "the model's own",
        "unknown": "assumed by the host, which does not know the model",
        "[1m]": "by the [1m] behind the model's name",
    }
    own = of.get(point.window_source, point.window_source)
    if point.window == point.model_window:
        return f"{point.window:,} ({own})"
    return f"{point.window:,} ({point.limit_source}; {point.model_window:,} is {own})"


def _points(point: Thresholds) -> list[str]:
    if not point.enabled:
        full = f"; no prompt is taken beyond {point.hard_stop:,}" if point.hard_stop else ""
        return [f"Compacts     not by itself: off by {point.off_by}{full}"]
    if point.threshold is None:
        return [
            "Compacts     only when the API refuses; CLAUDE_CODE_AUTO_COMPACT_WINDOW gives it a point"
        ]
    lines = [
        f"Warning      {point.warning:,}",
        f"Compacts     at {point.threshold:,}",
        f"Hard stop    {point.hard_stop:,}",
    ]
    if point.window_source == "unknown":
        lines.append(
            "             A model with a smaller window compacts only when its API refuses;"
            " CLAUDE_CODE_MAX_CONTEXT_TOKENS tells the host its window"
        )
    return lines


def _own(found: Forecast) -> list[str]:
    """Return what one's own transcripts show; other models only when this one's have nothing."""
    bare = found.point.model.lower().partition("[")[0]
    of_model = [one for one in found.seen if bare and bare in one["model"]]
    return [
        f"Yours        {one['trigger']}: {one['count']} at {one['least']:,} to {one['most']:,},"
        f" median {one['median']:,} ({one['model'] or 'model unknown'})"
        for one in of_model or found.seen
    ] or ["Yours        no compaction in your newest transcripts"]


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    return str(value).lower() if isinstance(value, bool) else str(value)
