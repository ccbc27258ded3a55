"""The readable text that SessionStart puts back into the model's context."""

from __future__ import annotations

from typing import NamedTuple

from keepthread.handoff.frame import FRAME, HEADINGS
from keepthread.handoff.model import Handoff
from keepthread.handoff.render import required
from keepthread.handoff.render.optional import BY_WEIGHT, OPTIONAL, Optional
from keepthread.handoff.render.required import REQUIRED
from keepthread.handoff.render.words import short
from keepthread.handoff.units import cut, units

CLOSING = f"\n</{FRAME}>"
_FULL = 9_900  # units; the budget that floors and shares are given for
_LEAST = 40  # units; a section with less room than this says nothing


class Rendered(NamedTuple):
    """The context without its closing line.

    `cuts` are the places where `text` may end: after the required part, then after each optional section.
    """

    text: str
    cuts: tuple[int, ...]


def render_context(handoff: Handoff, *, budget: int, document: str = "") -> Rendered:
    """Return the context; with CLOSING after it, it has at most `budget` UTF-16 units.

    Args:
        handoff: the document, redacted.
        budget: UTF-16 units.
        document: where the whole document lies, as it is to be named; "" when it is nowhere.
    """
    room = budget - units(CLOSING)
    text = cut(_required(handoff, room, document), room)
    cuts = [len(text)]
    pointer = _pointer(handoff, document)
    wishes = {section.name: _wish(handoff, section, budget) for section in OPTIONAL}
    granted = _granted(wishes, room - units(text) - units(pointer))
    kept = sum(granted.values()) + units(pointer)
    for section in OPTIONAL:
        kept -= granted[section.name]
        space = room - units(text) - kept
        added = _optional(handoff, section, space, text) if wishes[section.name] else ""
        if added:
            text += added
            cuts.append(len(text))
    if units(text) + units(pointer) <= room and pointer:
        text += pointer
        cuts.append(len(text))
    return Rendered(text, tuple(cuts))


def _required(handoff: Handoff, room: int, document: str) -> str:
    top = required.first_line(handoff, document, room // 2)
    titles = [f"\n\n{HEADINGS[section.name]}\n" for section in REQUIRED]
    left = max(0, room - units(top) - sum(map(units, titles)))
    allotted = _allotted(handoff, left)
    parts = [
        title + required.body(handoff, section, allotted[section.name])
        for title, section in zip(titles, REQUIRED, strict=True)
    ]
    return top + "".join(parts)


def _allotted(handoff: Handoff, left: int) -> dict[str, int]:
    """Share `left` units out: to each its floor, no more than it has to say, then the rest in order of growth."""
    wish = {
        section.name: units(required.body(handoff, section, section.cap)) for section in REQUIRED
    }
    scale = min(1.0, left / sum(section.floor for section in REQUIRED))
    allotted = {
        section.name: min(wish[section.name], int(section.floor * scale)) for section in REQUIRED
    }
    spare = left - sum(allotted.values())
    for name, target in required.growth(handoff):
        more = min(spare, max(0, min(target, wish[name]) - allotted[name]))
        allotted[name] += more
        spare -= more
    return allotted


def _granted(wishes: dict[str, int], left: int) -> dict[str, int]:
    """Return the units kept free for each section while those before it are filled: `left` in all, by weight."""
    granted = dict.fromkeys(wishes, 0)
    for name in BY_WEIGHT:
        granted[name] = max(0, min(wishes[name], left))
        left -= granted[name]
    return granted


def _wish(handoff: Handoff, section: Optional, budget: int) -> int:
    """Return the units that a section is to have: its share, no more than it has to say."""
    share = section.share * min(budget, _FULL) // _FULL
    body = section.body(handoff, share, "")
    return units(_title(section)) + max(units(body), _LEAST) if body else 0


def _title(section: Optional) -> str:
    return f"\n\n{HEADINGS[section.name]}\n"


def _optional(handoff: Handoff, section: Optional, room: int, above: str) -> str:
    title = _title(section)
    space = min(room - units(title), section.cap)
    body = section.body(handoff, space, above) if space >= _LEAST else ""
    return title + body if body and not body.startswith("…") else ""


def _pointer(handoff: Handoff, document: str) -> str:
    path = handoff["meta"]["transcript"]["path"]
    whole = f"the whole document is {short(document, 300)}; " if document else ""
    if not whole and not path:
        return ""
    records = f"the transcript with every record is {short(path, 400)}" if path else ""
    return (
        f"\n\n{HEADINGS['more']}\nWhat was left out for room: {whole}{records}".rstrip("; ") + "."
    )
