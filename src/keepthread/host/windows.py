"""Context windows of the host's models, as far as they were measured or documented; tokens."""

from __future__ import annotations

# Part of the model's id -> window. The first that fits wins.
_WINDOWS = (
    ("[1m]", 1_000_000),
    ("opus-5", 1_000_000),
    ("sonnet-5", 1_000_000),
    ("opus-4", 200_000),
    ("sonnet-4", 200_000),
    ("haiku", 200_000),
)


def window_of(model: str) -> int | None:
    """Return the context window of a model id, None when it is not known."""
    return next((size for part, size in _WINDOWS if part in model), None)
