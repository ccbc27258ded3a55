"""The one line the person sees when a handoff is put back."""

from __future__ import annotations

from keepthread.handoff.kept_words import UPDATE
from keepthread.handoff.model import Handoff
from keepthread.handoff.render.words import REASONS, plural, short
from keepthread.handoff.units import cut, units

_LIMIT = 299  # units


def render_notice(handoff: Handoff, *, document: str) -> str:
    """Return what was put back, how much of it, where it lies, and for a partial why, in one line under 300 units."""
    files, rules = (
        plural(len(handoff["files_touched"]), "file"),
        plural(len(handoff["constraints"]["rules"]), "rule"),
    )
    line = f"keepthread: {_what(handoff)} ({files}, {rules})"
    for where in (f"; the whole of it: {short(document, 200)}" if document else "", ""):
        if units(line + where) <= _LIMIT:
            return line + where
    return cut(line, _LIMIT)


def _what(handoff: Handoff) -> str:
    meta = handoff["meta"]
    if meta["status"] == "complete":
        return "handoff restored"
    reason = meta["reason"]
    if meta["engine"] == UPDATE and reason == "engine_facts":
        return "handoff restored: the last complete one, updated from the transcript"
    if reason is None or reason == "engine_facts":
        return "handoff restored, computed from the transcript"
    return f"partial handoff restored, since {REASONS.get(reason, short(reason, 60))}"
