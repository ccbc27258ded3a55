"""One compaction, scored: what each text held of what was needed, and the three things that must never be missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from keepthread.evaluate.held import Holder
from keepthread.evaluate.names import Unit
from keepthread.evaluate.needed import Compaction
from keepthread.evaluate.systems import Texts
from keepthread.handoff.units import units

LEAST = 10  # needed facts; after a compaction with fewer, next to nothing of the earlier work was used again
MOST_EDITED = 60  # edited files that a text must name; beyond that it may count them
_WHOLE_ASK = 600  # units; of a longer ask its beginning and its end must stand
_ASK_HEAD, _ASK_TAIL = 200, 100
SHOWN = "context+index"


class System(TypedDict):
    """A text: its size in UTF-16 units, how many of the facts, rules and edited files it held, and whether the ask."""

    units: int
    held: int
    rules: int
    edited: int
    ask: bool


class Missed(TypedDict):
    """A needed fact that keepthread's context and index together did not hold."""

    kind: str
    text: str


class _Scored(TypedDict):
    file: str
    ordinal: int
    bytes: int
    scored: bool
    needed: int
    rules: int
    edited: int
    ask: bool
    seconds: float
    systems: dict[str, System]


class Score(_Scored, total=False):
    """A boundary's counts. `scored` is false when next to nothing was needed after it; `missed` only when asked for."""

    missed: list[Missed]
    missed_rules: list[str]


def score(compaction: Compaction, texts: Texts, *, show: bool = False) -> Score:
    """Score the texts for a compaction; `show` adds what was missed, which is content and not only counts."""
    edited = [Unit("path", path) for path in compaction.edited[:MOST_EDITED]]
    found: Score = {
        "file": compaction.path,
        "ordinal": compaction.ordinal,
        "bytes": compaction.size,
        "scored": len(compaction.needed) >= LEAST,
        "needed": len(compaction.needed),
        "rules": len(compaction.rules),
        "edited": len(edited),
        "ask": bool(compaction.ask),
        "seconds": round(texts.seconds, 3),
        "systems": {
            name: _system(text, compaction, edited) for name, text in texts.by_system.items()
        },
    }
    if show:
        holder = Holder(texts.by_system[SHOWN])
        found["missed"] = [
            {"kind": unit.kind, "text": unit.text}
            for unit in compaction.needed
            if not holder.holds(unit, compaction.needed)
        ]
        found["missed_rules"] = [rule for rule in compaction.rules if not holder.says(rule)]
    return found


def _system(text: str, compaction: Compaction, edited: Sequence[Unit]) -> System:
    holder = Holder(text)
    return {
        "units": units(text),
        "held": holder.count(compaction.needed),
        "rules": sum(map(holder.says, compaction.rules)),
        "edited": holder.count(edited),
        "ask": _says_ask(holder, compaction.ask),
    }


def _says_ask(holder: Holder, ask: str) -> bool:
    if not ask:
        return False
    if units(ask) <= _WHOLE_ASK:
        return holder.says(ask)
    return holder.says(ask[:_ASK_HEAD]) and holder.says(ask[-_ASK_TAIL:])
