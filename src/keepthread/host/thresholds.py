"""At how many tokens the host compacts, from the formula measured on it; docs/thresholds.md holds the measurement.

    effective = window - min(max output, 20,000)
    threshold = min(effective - 13,000, effective x percent / 100)

The window is the model's, made smaller by CLAUDE_CODE_AUTO_COMPACT_WINDOW or the setting autoCompactWindow. Some
models are not compacted at a threshold, only when the API refuses; a window of one's own makes them. Standard library
only: the status line imports this module. All sizes are tokens.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from keepthread.host import windows

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from typing import Any

MEASURED_ON = "2.1.332"
RESERVE = 20_000  # the most that is kept for an answer
BUFFER = 13_000  # between the threshold and what is effective
WARNING = 20_000  # before the threshold
STOP = 3_000  # before the effective end of the model's own window
LEAST_WINDOW = (
    100_000  # a smaller one in the environment counts as this much, in the settings not at all
)
ASSUMED = windows.MILLION  # what the host takes for the window of a model it does not know
WINDOW, PERCENT = "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
OUTPUT, CONTEXT = "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_MAX_CONTEXT_TOKENS"
SHORT = "CLAUDE_CODE_DISABLE_1M_CONTEXT"
UNKNOWN = "CLAUDE_CODE_DISABLE_UNKNOWN_MODEL_WINDOW_ENFORCEMENT"
OFF = ("DISABLE_COMPACT", "DISABLE_AUTO_COMPACT")
VARIABLES = (WINDOW, PERCENT, OUTPUT, CONTEXT, SHORT, UNKNOWN, *OFF)
ENABLED_SETTING, WINDOW_SETTING = "autoCompactEnabled", "autoCompactWindow"

_NUMBER = re.compile(r"\+?((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)")
_GROUPED = re.compile(r"\+?[0-9]{1,3}(?:[_, ][0-9]{3})+")
_BETWEEN = str.maketrans("", "", "_, ")
_MOST = 1e12  # a larger number is as good as this one
_NO_UNITS: Mapping[str, float] = {}
_UNITS = {"k": 1e3, "m": 1e6}
_TRUE = ("1", "true", "yes", "on")


class Thresholds:
    """Where a model compacts.

    Attributes:
        model: its id, as asked for.
        model_window: the model's window; `window_source` says who tells it.
        window: what the threshold is reckoned from; `limit_source` names what made it smaller, "" when nothing did.
        output_reserve, effective: what is kept for an answer, and `window` without it.
        threshold: where compaction begins, None when it does not begin before the API refuses.
        warning: where the host begins to warn, None with `threshold`.
        hard_stop: where the host takes no more prompts, None when it leaves that to the API.
        fires_early: whether the threshold is acted on; None where that is not known.
        enabled: False when automatic compaction is switched off; `off_by` names the switch.
    """

    __slots__ = (
        "effective",
        "enabled",
        "fires_early",
        "hard_stop",
        "limit_source",
        "model",
        "model_window",
        "off_by",
        "output_reserve",
        "threshold",
        "warning",
        "window",
        "window_source",
    )

    def __init__(
        self, model: str, known: _Window, limit: tuple[int, str] | None, reserve: int
    ) -> None:
        self.model = model
        self.model_window, self.window_source = known.tokens, known.source
        self.window = min(known.tokens, limit[0]) if limit else known.tokens
        self.limit_source = limit[1] if limit else ""
        self.output_reserve = min(reserve, RESERVE)
        self.effective = self.window - self.output_reserve
        self.fires_early = True if limit else known.early
        self.enabled, self.off_by = True, ""
        self.threshold: int | None = None
        self.warning: int | None = None
        self.hard_stop: int | None = known.tokens - self.output_reserve - STOP

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes by name, those that decide the point first."""
        first = ("model", "window", "output_reserve", "effective", "threshold", "warning")
        names = (*first, "hard_stop", "fires_early")
        return {
            name: getattr(self, name)
            for name in (*names, *(one for one in self.__slots__ if one not in names))
        }


class _Window:
    """A model's window, who says so, and whether the host compacts before its end by itself."""

    __slots__ = ("early", "source", "tokens")

    def __init__(self, tokens: int, source: str, early: bool | None) -> None:
        self.tokens, self.source, self.early = tokens, source, early


def thresholds(
    model: str, env: Mapping[str, str], settings: Iterable[Mapping[str, Any]] = ()
) -> Thresholds:
    """Return where a model compacts under these variables and settings.

    Args:
        model: the model's id, with "[1m]" behind it where the session was started so.
        env: the environment as the host sees it, its settings' `env` blocks included.
        settings: the settings files' objects, weakest first.
    """
    documents = list(settings)
    limit = _limit(env.get(WINDOW, ""), documents, model)
    asked = _positive(env.get(OUTPUT, "")) or RESERVE
    reserve = min(asked, windows.output_of(model) or RESERVE)
    found = Thresholds(model, _window(model, env), limit, reserve)
    _switch_off(found, env, documents)
    if found.enabled and found.fires_early is not False:
        found.threshold = max(0, min(found.effective - BUFFER, _percent(env, found.effective)))
        found.warning = max(0, found.threshold - WARNING)
    elif found.enabled:
        found.hard_stop = None
    return found


def _window(model: str, env: Mapping[str, str]) -> _Window:
    """Return the window the host runs the model with."""
    told = _positive(env.get(CONTEXT, ""))
    if told and _is_true(env.get("DISABLE_COMPACT", "")):
        return _Window(told, CONTEXT, True)
    known = windows.in_the_host(model)
    waits = windows.waits(model) or _is_true(env.get(UNKNOWN, ""))
    if known is None and told:
        return _Window(told, CONTEXT, not waits)
    short = _is_true(env.get(SHORT, ""))
    if short and (known is None or known[0] > windows.SHORT):
        return _Window(windows.SHORT, SHORT, True)
    if known is not None:
        return _Window(known[0], windows.LONG if windows.is_long(model) else "model", known[1])
    return _Window(ASSUMED, "unknown", False if waits else None)


def _limit(text: str, documents: list[Mapping[str, Any]], model: str) -> tuple[int, str] | None:
    """Return the window that the environment or else the strongest settings file asks for, and its name."""
    asked = _positive(text, _UNITS)
    if asked:
        return max(LEAST_WINDOW, asked), WINDOW
    for document in reversed(documents):
        of_models = document.get("modelSettings")
        own = of_models.get(model) if isinstance(of_models, Mapping) else None
        for place, name in (
            (own, f"modelSettings.{model}.{WINDOW_SETTING}"),
            (document, WINDOW_SETTING),
        ):
            value = place.get(WINDOW_SETTING) if isinstance(place, Mapping) else None
            if value == "auto":
                return None
            size = _as_int(value)
            if LEAST_WINDOW <= size <= windows.MILLION:
                return size, name
    return None


def _switch_off(
    found: Thresholds, env: Mapping[str, str], documents: list[Mapping[str, Any]]
) -> None:
    off = next((name for name in OFF if _is_true(env.get(name, ""))), "")
    said = [document[ENABLED_SETTING] for document in documents if ENABLED_SETTING in document]
    if not off and said and said[-1] is False:
        off = ENABLED_SETTING
    found.enabled, found.off_by = not off, off
    if off:
        found.fires_early = False


def _percent(env: Mapping[str, str], effective: int) -> int:
    """Return the share of `effective` that the environment asks for, all of it when it asks for none."""
    match = _NUMBER.match(env.get(PERCENT, "").strip())
    percent = float(match.group(1)) if match else 0.0
    return int(effective * min(percent, 100.0) / 100) if percent > 0 else effective


def _positive(text: str, units: Mapping[str, float] = _NO_UNITS) -> int:
    """Return a number as the host reads it, 0 when it ignores the text.

    200_000, 200,000 and 2e5 are numbers, and so is what stands before other signs: 130000x is 130000, 8k and 8,000k are
    8. Only for the window k and m are `units`.
    """
    bare = text.strip()
    match = _NUMBER.match(bare.translate(_BETWEEN) if _GROUPED.fullmatch(bare) else bare)
    if match is None:
        return 0
    number = float(match.group(1)) * units.get(bare[-1:].lower(), 1.0)
    return int(min(number, _MOST)) if math.isfinite(number) else 0


def _as_int(value: object) -> int:
    if isinstance(value, bytes):  # a number as `in_force.read_settings` returns it
        return int(value) if value.isdigit() and len(value) < 10 else 0
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _is_true(text: str) -> bool:
    return text.strip().lower() in _TRUE
