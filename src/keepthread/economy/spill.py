"""Keeps long tool results out of the context: the whole goes to a file, the model gets a short form and the path.

Off unless its user asks for it. Standard library only until a result is long: this runs after every tool call.
"""

from __future__ import annotations

from keepthread.economy import spill_shapes, spill_store

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from collections.abc import Mapping
    from typing import Any

    from keepthread.economy.spill_shapes import Found

COUNTED = 500  # characters; smaller results are neither counted nor shortened
_ROOM = 4_000  # characters of a short form, but for what its lines of ours need
_CHARS, _TURN_CHARS = 8_000, 200_000
_LEAST = 2_000
_MOST = 2_000_000  # larger ones would take longer than a hook may; the host cuts those itself
_CROWDED = 4  # past the turn's total the limit is a fourth
_OFF = ("0", "false", "no", "off")


class Limits:
    """What counts as long, in characters: one result, and all of one turn together (0: no such limit)."""

    __slots__ = ("one", "turn")

    def __init__(self, one: int, turn: int) -> None:
        self.one = one
        self.turn = turn


class Spilled:
    """A result that was shortened: the tool's output for the host, the file, and the sizes before and after."""

    __slots__ = ("after", "before", "output", "path")

    def __init__(self, output: object, path: str, before: int, after: int) -> None:
        self.output = output
        self.path = path
        self.before = before
        self.after = after


def candidate(raw: Mapping[str, object]) -> Found | None:
    """Return the text of a result and its way back, None when it is small, past all measure, or to be left alone."""
    found = spill_shapes.readable(
        raw.get("tool_name"), raw.get("tool_input"), raw.get("tool_response")
    )
    return found if found is not None and COUNTED <= len(found[0]) <= _MOST else None


def limits(settings: Mapping[str, Any], env: Mapping[str, str]) -> Limits | None:
    """Return the limits of the stored settings, None when the user has not turned this on or the environment off."""
    if settings.get("spill") is not True or env.get("KEEPTHREAD_SPILL", "").lower() in _OFF:
        return None
    one = _whole(settings.get("spill_chars"), _CHARS)
    return Limits(max(one, _LEAST), _whole(settings.get("spill_turn_chars"), _TURN_CHARS))


def shorten(
    found: Found,
    raw: Mapping[str, object],
    bounds: Limits,
    state: str,
    session: str,
    env: Mapping[str, str],
) -> Spilled | None:
    """Store a result that is too long and return its short form, None when it stays as it is.

    Raises:
        OSError: it could not be stored; the host's own result has to stand.
    """
    text, put_back = found
    call, turn = str(raw.get("tool_use_id") or ""), str(raw.get("prompt_id") or "")
    if not call:
        return None
    counts = bool(turn and bounds.turn)
    size = min(len(text), bounds.one)  # a longer one will be shorter than the limit
    crowded = counts and spill_store.taken_in(state, session, turn, call, size) > bounds.turn
    limit = max(bounds.one // _CROWDED, COUNTED) if crowded else bounds.one
    if len(text) <= limit:
        return None
    from keepthread import redact
    from keepthread.economy.spill_form import short_form
    from keepthread.handoff.user_secrets import user_secrets

    whole = redact.text(text, user_secrets(env))
    path = spill_store.keep(state, session, call, whole)
    short = short_form(whole, path, min(_ROOM, limit // 2))
    if len(short) >= len(text):
        spill_store.drop(path)
        return None
    if counts:
        spill_store.taken_in(state, session, turn, call, len(short))
    return Spilled(put_back(short), path, len(text), len(short))


def _whole(value: object, default: int) -> int:
    number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return int(value) if number else default  # type: ignore[call-overload]
