"""Whose word it was that a team's folder may be shown to the model, and what that word was about.

<state>/memory/<project key>/trust.json   by the real path of a folder: the decision, the remotes, the known authors

A decision holds for one folder whose repository has the remotes that it had then. What an author who was not known
then has written is held back.
"""

from __future__ import annotations

import json
import os

from keepthread.errors import KeepthreadError
from keepthread.files import make_private, read_regular, write_private

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

NAME = "trust.json"
_LIMIT = 1 << 20  # bytes
_MOST = 50  # folders: the work trees of one project
TRUSTED, REFUSED, UNKNOWN, CHANGED = "trusted", "refused", "unknown", "changed"


def read(private: str) -> dict[str, Any]:
    """Return the decisions kept in a user's own folder, by root."""
    try:
        found = json.loads(read_regular(os.path.join(private, NAME), _LIMIT))
        decisions = found["decisions"]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return {}  # none was taken, or what is there is not ours: nothing is trusted
    return decisions if isinstance(decisions, dict) else {}


def decide(
    private: str,
    root: str,
    remotes: list[str] | None,
    *,
    trusted: bool,
    authors: Iterable[str] | None,
    when: str,
) -> None:
    """Store a decision about a folder.

    Args:
        private: the user's own folder.
        root: the real path of the folder.
        remotes: the remotes of its repository, None outside of one.
        trusted: whether it may be shown.
        authors: those known now; None for a folder that nobody else writes in.
        when: the time, for people.

    Raises:
        KeepthreadError: there are more authors than are ever read again.
        OSError: the state folder cannot be written.
    """
    decisions = read(private)
    decisions.pop(root, None)
    known = None if authors is None else sorted({*authors})
    decisions[root] = {
        "trusted": trusted,
        "remotes": remotes,
        "authors": known,
        "decided": when,
    }
    kept = [*decisions.items()][-_MOST:]
    while len(data := json.dumps({"decisions": dict(kept)}, indent=2).encode()) >= _LIMIT:
        if len(kept) == 1:
            raise KeepthreadError(
                f"{root} names {len(known or ())} authors, too many to keep in mind",
                "Look at who wrote there: keepthread memory trust --json",
            )
        del kept[0]
    make_private(os.path.dirname(private))
    make_private(private)
    write_private(os.path.join(private, NAME), data + b"\n")


def standing(decisions: dict[str, Any], root: str, remotes: list[str] | None) -> str:
    """Return how a folder stands: trusted, refused, unknown (nobody has decided), or changed since it was decided."""
    decision = decisions.get(root)
    if not isinstance(decision, dict) or type(decision.get("trusted")) is not bool:
        return CHANGED if decisions else UNKNOWN
    if decision.get("remotes", "") != remotes:
        return CHANGED
    return TRUSTED if decision["trusted"] else REFUSED


def standing_now(decisions: dict[str, Any], root: str) -> str:
    """Return how a folder stands with the remotes that its repository has now."""
    if not decisions:
        return UNKNOWN
    from keepthread.memory.git_files import remotes_around  # most projects have no decision

    try:
        return standing(decisions, root, remotes_around(root))
    except OSError:
        return CHANGED  # nobody can tell where it comes from now


def known_authors(decisions: dict[str, Any], root: str) -> frozenset[str] | None:
    """Return the authors known when a folder was trusted; None when all are."""
    decision = decisions.get(root)
    if not isinstance(decision, dict) or "authors" not in decision:
        return frozenset()
    authors = decision["authors"]
    if authors is None:
        return None
    return (
        frozenset(one for one in authors if isinstance(one, str))
        if isinstance(authors, list)
        else frozenset()
    )
