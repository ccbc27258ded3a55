"""What PreCompact prints: plain text that the host hands to its own summariser as instructions."""

from __future__ import annotations

from collections.abc import Iterator

from keepthread.handoff.frame import one_line
from keepthread.handoff.model import Handoff
from keepthread.handoff.render.words import message, short
from keepthread.handoff.units import units

_OPENING = "Keep word for word in the summary:"
_MESSAGE = 300  # units of one quoted message
_MOST = 60  # names looked at
_LONGEST = 120  # characters; a longer name costs more than it is worth here


def render_hint(handoff: Handoff, *, limit: int = 1200) -> str:
    """Return which ask, rules, pins and exact names to keep word for word, "" when there is nothing worth saying.

    At most `limit` UTF-16 units; never JSON, which the host would take for an answer. Whatever does not fit is left
    out whole: half a rule or half a name is worse than none.
    """
    text = _OPENING
    for line in _lines(handoff):
        if units(text) + 1 + units(line) <= limit:
            text += "\n" + line
    for what, names in _names(handoff):
        text += _several(what, names, limit - units(text))
    return text if text != _OPENING and units(text) <= limit else ""


def _lines(handoff: Handoff) -> Iterator[str]:
    """Yield what to keep, most important first."""
    facts = handoff["facts"]
    if facts["pending_ask"]:
        yield f"- the user's pending request: “{message(facts['pending_ask'], _MESSAGE)}”"
    for rule in handoff["constraints"]["rules"][:20]:
        yield f"- the user's rule: “{message(rule, _MESSAGE)}”"
    for pin in facts["pins"][:20]:
        yield f"- pinned by the user: “{short(pin, _MESSAGE)}”"
    for error in facts["errors"][:2]:
        yield f"- still failing: {short(error['what'], 100)}: {short(error['error'], 160)}"


def _names(handoff: Handoff) -> Iterator[tuple[str, list[str]]]:
    changed = [file["path"] for file in handoff["files_touched"] if file["status"] != "read"]
    yield "files changed", changed[:_MOST]
    yield "exact names", [each["text"] for each in handoff["facts"]["identifiers"][:_MOST]]


def _several(what: str, names: list[str], room: int) -> str:
    """Return a line of as many names as fit into `room` units, with the line end before it."""
    line = f"\n- {what}: "
    room -= units(line)
    kept: list[str] = []
    for name in names:
        size = units(name) + 2
        if size <= room and len(name) <= _LONGEST and name.strip() and one_line(name) == name:
            kept.append(name)
            room -= size
    return line + ", ".join(kept) if kept else ""
