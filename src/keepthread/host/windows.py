"""Context windows of the host's models, and whether the host compacts them by itself; windows in tokens.

Windows as documented; what is early as measured on 2.1.332 with an API key: docs/thresholds.md says for which models.
Standard library only: the status line imports this module.
"""

from __future__ import annotations

import re

MILLION = 1_000_000
SHORT = 200_000
LONG = "[1m]"
# A model's id -> window, and whether the host compacts at its threshold and not only when the API refuses. Of a name
# with another version nothing is known.
_MODELS: tuple[tuple[re.Pattern[str], int, bool], ...] = (
    (
        re.compile(r"claude-(?:opus|sonnet|haiku|fable)-5(?!\d)|claude-opus-4-[78](?!\d)"),
        MILLION,
        True,
    ),
    (re.compile(r"claude-(?:opus|sonnet)-4-6(?!\d)"), SHORT, True),
    (
        re.compile(
            r"claude-(?:opus|sonnet|haiku)-4-5(?!\d)|claude-opus-4-1(?!\d)"
            r"|claude-(?:opus|sonnet)-4(?!\d|-[1-9]\d?\d?(?!\d))|claude-3(?!\d)"
        ),
        SHORT,
        False,
    ),
)
# Names without a version, and versions that are asked no more: the client takes the newest model of the family.
_NEWEST = re.compile(
    r"(?:sonnet|opus|haiku|fable|opusplan|best|claude-opus-4-(?:0|1|20250514|1-20250805))(?:\[1m\])?|default"
)
# Models that answer with less than the host keeps free for an answer.
_BRIEF = ((re.compile("claude-3-5"), 8_192), (re.compile("claude-3-(?:haiku|opus|sonnet)"), 4_096))
_OPAQUE = ":application-inference-profile/"  # the name of such a profile tells of no model


def window_of(model: str) -> int | None:
    """Return the context window of a model id, None when it is not known."""
    known = _known(_plain(model))
    return MILLION if is_long(model) else known and known[0]


def in_the_host(model: str) -> tuple[int, bool] | None:
    """Return the window with which the host runs a model, and whether it compacts before the API refuses.

    None for a model that nothing is known of. A model of 200,000 tokens with "[1m]" behind it is never compacted early
    (measured for three of them).
    """
    plain = _plain(model)
    if _NEWEST.fullmatch(plain):
        return MILLION, True
    known = _known(plain)
    if known is None or not is_long(model):
        return known
    return MILLION, known[0] == MILLION and known[1]


def output_of(model: str) -> int | None:
    """Return the most tokens that a model answers with, None when that is 20,000 or more, or not known."""
    plain = _plain(model)
    return next((tokens for one, tokens in _BRIEF if one.search(plain)), None)


def is_long(model: str) -> bool:
    """Return whether a model's name asks for its large window."""
    return LONG in model.lower()


def waits(model: str) -> bool:
    """Return whether the host leaves the compaction of a model that it does not know to the API."""
    return is_long(model) or _OPAQUE in model.lower()


def _plain(model: str) -> str:
    """Return a model's name as the client reads it: in lower case, its version with hyphens."""
    return model.strip().lower().replace(".", "-")


def _known(plain: str) -> tuple[int, bool] | None:
    return next(((window, early) for one, window, early in _MODELS if one.search(plain)), None)
