"""Context windows of the host's models, and whether the host compacts them by itself; windows in tokens.

Windows as documented; what is early as measured on 2.1.332 with an API key: docs/thresholds.md says for which models.
Standard library only: the status line imports this module.
"""

from __future__ import annotations

MILLION = 1_000_000
SHORT = 200_000
# Part of the model's id -> window, and whether the host compacts at its threshold and not only when the API refuses
# (None: not measured). The first that fits wins.
_MODELS: tuple[tuple[str, int, bool | None], ...] = (
    ("opus-5", MILLION, True),
    ("sonnet-5", MILLION, True),
    ("haiku-5", MILLION, True),
    ("fable-5", MILLION, True),
    ("opus-4-8", MILLION, True),
    ("opus-4-7", MILLION, True),
    ("opus-4-6", 200_000, True),
    ("opus-4-5", 200_000, False),
    ("opus-4", 200_000, None),
    ("sonnet-4-6", 200_000, True),
    ("sonnet-4", 200_000, False),
    ("haiku-4", 200_000, False),
    ("3-7-sonnet", 200_000, False),
    ("haiku", 200_000, None),
)
# Names without a version: the client takes the newest model of the family.
_ALIASES = ("sonnet", "opus", "haiku", "fable")
LONG = "[1m]"


def window_of(model: str) -> int | None:
    """Return the context window of a model id, None when it is not known."""
    known = _known(model)
    return MILLION if LONG in model else known and known[0]


def in_the_host(model: str) -> tuple[int, bool | None] | None:
    """Return the window with which the host runs a model, and whether it compacts before the API refuses.

    None for a model that nothing is known of. A model of 200,000 tokens with "[1m]" behind it is never compacted early
    (measured for three of them).
    """
    bare = model.removesuffix(LONG)
    if bare in _ALIASES:
        return MILLION, True
    known = _known(bare)
    if bare == model or known is None:
        return known
    return MILLION, known[0] == MILLION and known[1]


def _known(model: str) -> tuple[int, bool | None] | None:
    return next(((window, early) for part, window, early in _MODELS if part in model), None)
