"""The sums in the page's head."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keepthread.evaluate.page.model import Held, Session, Totals
from keepthread.evaluate.score import Score
from keepthread.evaluate.timeline import Fold

# What the texts are called in a score, in the order in which the page shows them.
HOST, CONTEXT, OWN, TOGETHER = "host", "context", "context+index", "host+context+index"
SYSTEMS = (HOST, CONTEXT, OWN, TOGETHER)


def totals(sessions: Sequence[Session]) -> Totals:
    """Return the sums over the sessions."""
    compactions = [each for session in sessions for each in session["compactions"]]
    scores = [each["score"] for each in compactions if each["score"] is not None]
    handoffs = [session["handoff"] for session in sessions if session["handoff"] is not None]
    costs = [each["cost_usd"] for each in handoffs if each["cost_usd"] is not None]
    return {
        "answers": sum(session["timeline"]["answers"] for session in sessions),
        "compactions": len(compactions),
        "automatic": sum(each["fold"].trigger == "auto" for each in compactions),
        "measured": sum(score["scored"] for score in scores),
        "large": len(compactions) - len(scores),
        "folded": sum(_folded(each["fold"]) for each in compactions),
        "asked": _asked(scores),
        "held": {system: _held(system, scores) for system in SYSTEMS},
        "handoffs": len(handoffs),
        "complete": sum(each["status"] == "complete" for each in handoffs),
        "cost_usd": round(sum(costs), 4) if costs else None,
        "seconds": round(sum(each["seconds"] for each in handoffs), 2),
    }


def _folded(fold: Fold) -> int:
    known = fold.before and fold.after
    return max(0, fold.before - fold.after) if known else 0


def _asked(scores: Iterable[Score]) -> Held:
    asked = Held(needed=0, rules=0, edited=0, ask=0)
    for score in scores:
        asked["needed"] += score["needed"] if score["scored"] else 0
        asked["rules"] += score["rules"]
        asked["edited"] += score["edited"]
        asked["ask"] += score["ask"]
    return asked


def _held(system: str, scores: Iterable[Score]) -> Held:
    held = Held(needed=0, rules=0, edited=0, ask=0)
    for score in scores:
        found = score["systems"][system]
        held["needed"] += found["held"] if score["scored"] else 0
        held["rules"] += found["rules"]
        held["edited"] += found["edited"]
        held["ask"] += found["ask"]
    return held
