"""What the page shows of a stored handoff. It was read from disk, so nothing in it is taken for granted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from keepthread.evaluate.page.model import Finding, Stored, Tried
from keepthread.evaluate.timeline import epoch
from keepthread.handoff.store import load
from keepthread.transcript.record import blocks, mapping, string

MOST_FILES, MOST_RULES = 200, 50
_LONGEST = 600  # characters of a text


def stored(state: str, session_id: str) -> Stored | None:
    """Return the session's handoff as far as the page shows it, None when there is none. Never raises."""
    handoff: Mapping[str, Any] | None = load(state, session_id)
    if handoff is None:
        return None
    meta = mapping(handoff.get("meta"))
    rules = blocks(mapping(handoff.get("constraints")).get("rules"))
    return {
        "status": string(meta.get("status")),
        "reason": string(meta.get("reason")),
        "engine": string(meta.get("engine")),
        "made": epoch(string(meta.get("generated_at"))),
        "ordinal": int(_number(meta.get("ordinal")) or 0),
        "seconds": _number(meta.get("seconds")) or 0.0,
        "cost_usd": _number(meta.get("cost_usd")),
        "tried": [_tried(rung) for rung in blocks(meta.get("rungs"))],
        "task": string(handoff.get("task"))[:_LONGEST],
        "files": [_file(file) for file in blocks(handoff.get("files_touched"))[:MOST_FILES]],
        "rules": [string(rule.get("text"))[:_LONGEST] for rule in rules[:MOST_RULES]],
        "findings": _findings(blocks(mapping(handoff.get("audit")).get("failed"))),
    }


def _tried(rung: Mapping[str, Any]) -> Tried:
    return {
        "engine": string(rung.get("engine")),
        "result": string(rung.get("result")),
        "seconds": _number(rung.get("seconds")) or 0.0,
    }


def _file(file: Mapping[str, Any]) -> str:
    return f"{string(file.get('path'))[:_LONGEST]} ({string(file.get('status'))})"


def _findings(failed: list[dict[str, Any]]) -> list[Finding]:
    """Count the failures; what they are about is content of the session and stays in the handoff."""
    counts = Counter((string(one.get("check")), string(one.get("action"))) for one in failed)
    return [
        {"check": check, "action": action, "count": count}
        for (check, action), count in counts.items()
    ]


def _number(value: Any) -> float | None:
    """Return a figure, None for what is none and for what no clock and no bill can show."""
    usable = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if usable and 0 <= value < 10**9 else None
