"""What a session's previous handoff knew and the live part of the transcript no longer says."""

from __future__ import annotations

from collections.abc import Sequence

from keepthread.handoff.model import FileTouched, Handoff, Identifier, RuledOut, Todo
from keepthread.handoff.wording import aged, is_aged, unmarked

_MOST_FILES = 60
_MOST_IDENTIFIERS = 80
_EARLIER = "edited earlier in the session"
# As merge writes it, so that nothing grows when that carries on what stands here.
_SINCE = "\nSince then: "
_TASK = 1_200


def task(own: str, previous: Handoff) -> str:
    """Return the session's task, and what the user has asked for since the previous handoff."""
    first, since, later = unmarked(previous["task"]).partition(_SINCE)
    first = unmarked(first)[:_TASK]
    if not first:
        return own
    own = own or (later if since else "")
    return first if not own or own == first else f"{first}{_SINCE}{own}"


def files(fresh: Sequence[FileTouched], before: Sequence[FileTouched]) -> list[FileTouched]:
    """Return the fresh entries and behind them the files that were edited before, in front of those only read."""
    known = {entry["path"] for entry in fresh if entry["status"] != "read"}
    older = [entry for entry in before if entry["status"] != "read" and entry["path"] not in known]
    carried: list[FileTouched] = []
    for entry in older[:_MOST_FILES]:
        summary = entry["summary"] or _EARLIER
        carried.append(
            {**entry, "summary": summary if _EARLIER in summary else f"{_EARLIER}; {summary}"}
        )
    again = {entry["path"] for entry in carried}
    edited = [entry for entry in fresh if entry["status"] != "read"]
    read = [entry for entry in fresh if entry["status"] == "read" and entry["path"] not in again]
    return [*edited, *carried, *read]


def todos(fresh: list[Todo], previous: Handoff) -> list[Todo]:
    """Return the fresh list, or what was open in the previous one when the live part holds none."""
    return fresh or [todo for todo in previous["facts"]["todos"] if todo["status"] != "completed"]


def ruled_out(fresh: Sequence[RuledOut], previous: Handoff, now: str) -> list[RuledOut]:
    """Return the previous entries, marked with their age, and the fresh ones behind them."""
    written = previous["meta"]["generated_at"]
    older: list[RuledOut] = [
        {"approach": entry["approach"], "reason": aged(entry["reason"], written, now)}
        if entry["reason"].strip()
        else entry
        for entry in previous["constraints"]["ruled_out"]
    ]
    fresh_names = {entry["approach"] for entry in fresh}
    return [*(entry for entry in older if entry["approach"] not in fresh_names), *fresh][-30:]


def questions(fresh: Sequence[str], previous: Handoff, now: str, *, spoken: bool) -> list[str]:
    """Return the fresh questions and those still open, marked with their age.

    What a partial computed is what the agent's last words asked: once the user has spoken, it is asked no longer.
    """
    written = previous["meta"]["generated_at"]
    all_open = previous["meta"]["status"] == "complete" or not spoken
    older = [text for text in previous["open_questions"] if all_open or is_aged(text)]
    return list(dict.fromkeys([*fresh, *(aged(text, written, now) for text in older)]))[:20]


def identifiers(fresh: list[Identifier], previous: Handoff, most: int) -> list[Identifier]:
    """Return the fresh names and behind them the previous handoff's best."""
    known = {entry["text"] for entry in fresh}
    older = [
        entry
        for entry in previous["facts"]["identifiers"][:_MOST_IDENTIFIERS]
        if entry["text"] not in known
    ]
    return [*fresh[: most - len(older)], *older]
