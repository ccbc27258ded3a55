"""Asks from before the live part that nobody has answered yet, as far as the facts tell."""

from __future__ import annotations

from collections.abc import Sequence

from keepthread.handoff.facts import calls
from keepthread.handoff.facts.confirmations import goes_on, is_bare
from keepthread.handoff.facts.rules import only_binds
from keepthread.handoff.facts.text import head_tail, one_line
from keepthread.handoff.kept_words import as_earlier, earlier, said
from keepthread.handoff.merge import speaks_of
from keepthread.handoff.model import Handoff, Sourced
from keepthread.transcript.model import Call, Item, Message

WAITING = "wait for the user: the last ask looks answered"
_MOST = 5
_RECENT = 3
_LONGEST = 1_200
_LEAST = 12


def carried(previous: Handoff, items: Sequence[Item], *, answered: bool) -> list[Sourced]:
    """Return the asks of the previous handoff that are still open, oldest first, marked as earlier ones.

    Args:
        previous: the session's last handoff.
        items: the live part.
        answered: whether its last ask looks answered.
    """
    spoken = [item.text.strip() for item in items if isinstance(item, Message) and item.typed]
    here = {one_line(text, _LONGEST) for text in spoken}
    only_on = all(is_bare(text) or goes_on(text) for text in spoken)
    if answered and only_on and _worked(items):
        return []  # it was told to go on, did something, and ended
    before = [*earlier(previous["facts"]["user_messages"]), *_open(previous)]
    found: dict[str, Sourced] = {}
    for ask in before:
        text = head_tail(ask["text"].strip(), _LONGEST)
        if one_line(text, _LONGEST) not in here and not _done(text, previous):
            found[text] = as_earlier({"text": text, "source": ask["source"]})
    return list(found.values())[-_MOST:]


def _open(previous: Handoff) -> list[Sourced]:
    """Return what was asked last in the time of the previous handoff, unless it was done then."""
    waiting = previous["next_steps"][:1] and previous["next_steps"][0].startswith(WAITING)
    changed = any(
        entry["status"] != "read" and "edited earlier" not in entry["summary"]
        for entry in previous["files_touched"]
    )
    if waiting and changed and previous["meta"]["status"] == "partial":
        return []
    refusals = {one_line(entry["words"], _LONGEST) for entry in previous["facts"]["rejections"]}
    asks = [ask for ask in said(previous["facts"]["user_messages"]) if _asks(ask["text"])]
    return [ask for ask in asks if one_line(ask["text"], _LONGEST) not in refusals][-_RECENT:]


def _asks(text: str) -> bool:
    bare = text.strip()
    if is_bare(bare) or goes_on(bare) or only_binds(bare) or bare.startswith("/"):
        return False
    return (len(bare) >= _LEAST or not bare.isascii()) and not bare.endswith(("?", "？"))


def _done(text: str, previous: Handoff) -> bool:
    """Whether a model said that it is done and has no step left for it."""
    if previous["meta"]["status"] != "complete" or not previous["completed_tasks"]:
        return False
    left = [*previous["next_steps"], previous["current_state"]["in_flight"]]
    return speaks_of(text, previous["completed_tasks"]) and not speaks_of(text, left)


def _worked(items: Sequence[Item]) -> bool:
    return any(
        isinstance(item, Call) and calls.succeeded(item) and calls.is_edit(item) for item in items
    )
