"""What PreCompact prints: plain text that the host hands to its own summariser as instructions."""

from __future__ import annotations

from collections.abc import Iterator

from keepthread.handoff.frame import defuse
from keepthread.handoff.model import Handoff
from keepthread.handoff.render.words import message, short
from keepthread.handoff.units import units

_OPENING = "Keep word for word in the summary:"
_MESSAGE = 300  # units of one quoted message
_NAMES = 24


def render_hint(handoff: Handoff, *, limit: int = 1200) -> str:
    """Return which ask, rules, pins and exact names to keep word for word, "" when there is nothing worth saying.

    At most `limit` UTF-16 units; never JSON, which the host would take for an answer.
    """
    text = _OPENING
    for line in _lines(handoff):
        if units(text) + 1 + units(line) <= limit:
            text += "\n" + line
    return text if text != _OPENING else ""


def _lines(handoff: Handoff) -> Iterator[str]:
    """Yield what to keep, most important first; what does not fit is left out whole."""
    facts = handoff["facts"]
    if facts["pending_ask"]:
        yield f"- the user's pending request: “{message(facts['pending_ask'], _MESSAGE)}”"
    for rule in handoff["constraints"]["rules"][:20]:
        yield f"- the user's rule: “{message(rule, _MESSAGE)}”"
    for pin in facts["pins"]:
        yield f"- pinned by the user: “{short(pin, _MESSAGE)}”"
    for error in facts["errors"][:2]:
        yield f"- still failing: {short(error['what'], 100)}: {short(error['error'], 160)}"
    changed = [file["path"] for file in handoff["files_touched"] if file["status"] != "read"]
    yield from _several("files changed", changed)
    yield from _several("exact names", [each["text"] for each in facts["identifiers"]])


def _several(what: str, names: list[str]) -> Iterator[str]:
    # Offered long first and then halved, so that some of them fit where all do not.
    kept = [
        name
        for name in names[:_NAMES]
        if name and len(name) <= 120 and defuse(name) == name and "\n" not in name
    ]
    if kept:
        yield f"- {what}: {', '.join(kept)}"
