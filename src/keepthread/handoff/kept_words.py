"""Words of the user that a handoff keeps beside the messages of its time: notes, and asks from before that are open.

Both stand among `facts.user_messages`: a note bears its label, an earlier ask is word for word and its source says
that it is from before.
"""

from __future__ import annotations

from collections.abc import Sequence

from keepthread.handoff.model import Sourced

NOTE = "Note with /handoff: "
NOTES_MOST = 3
UPDATE = "facts-update"  # meta.engine of a partial that updates a complete handoff
EARLIER = "earlier:"  # before the source of an ask from before
_TYPED_ELSEWHERE = "note"  # the source of a note that no record holds


def note(text: str, source: str = "") -> Sourced:
    """Return a note as it stands among the messages; `source` is "" when no record holds it."""
    return {"text": f"{NOTE}{text.strip()}", "source": source or _TYPED_ELSEWHERE}


def as_earlier(ask: Sourced) -> Sourced:
    """Return an ask of an earlier handoff as the next one keeps it."""
    return {"text": ask["text"], "source": EARLIER + ask["source"].removeprefix(EARLIER)}


def notes(messages: Sequence[Sourced]) -> list[Sourced]:
    """Return the messages that are notes: what was typed beside a `/handoff`."""
    return [entry for entry in messages if entry["text"].startswith(NOTE)]


def earlier(messages: Sequence[Sourced]) -> list[Sourced]:
    """Return the asks from before, oldest first, with the record each came from."""
    return [
        {"text": entry["text"], "source": entry["source"].removeprefix(EARLIER)}
        for entry in messages
        if entry["source"].startswith(EARLIER)
    ]


def said(messages: Sequence[Sourced]) -> list[Sourced]:
    """Return what was typed in the time of the handoff itself."""
    return [
        entry
        for entry in messages
        if not entry["text"].startswith(NOTE) and not entry["source"].startswith(EARLIER)
    ]


def with_notes(messages: Sequence[Sourced], more: Sequence[Sourced]) -> list[Sourced]:
    """Return the messages with these notes behind those they have: each once, the newest few."""
    kept = {entry["text"]: entry for entry in [*notes(messages), *notes(more)]}
    others = [entry for entry in messages if not entry["text"].startswith(NOTE)]
    return [*others, *list(kept.values())[-NOTES_MOST:]]
