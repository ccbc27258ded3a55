"""What a sync did, and how it reads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from keepthread.memory.merging import Conflict, Skip
from keepthread.memory.words import one_line

_SHOWN = 20  # keys of one kind


class Changes(NamedTuple):
    """Keys by what happened to them."""

    added: list[str]
    changed: list[str]
    deleted: list[str]

    def __bool__(self) -> bool:
        return any(self)


class Report(NamedTuple):
    """What a sync did.

    Args:
        kind: "own" for a repository of the memory's own, "project" for a folder in the project's.
        outcome: "synced", "unchanged", "committed" (here only), "offline" or "trial".
        branch: the branch here.
        commit: the commit that holds what is here, "" when there is none.
        remote: the URL without a login, "" for none.
        received: what was changed here.
        sent: what was changed there, or in the commit.
        conflicts: keys that both sides changed.
        skipped: what was left alone.
        new_authors: who wrote what was received and nothing that was here.
        notes: sentences for people.
    """

    kind: str
    outcome: str
    branch: str
    commit: str
    remote: str
    received: Changes
    sent: Changes
    conflicts: list[Conflict]
    skipped: list[Skip]
    new_authors: list[str]
    notes: list[str]


def as_json(report: Report) -> dict[str, Any]:
    """Return the report with its parts as plain values."""
    row = report._asdict()
    for name in ("received", "sent"):
        row[name] = row[name]._asdict()
    for name in ("conflicts", "skipped"):
        row[name] = [one._asdict() for one in row[name]]
    return row


_FIRST = {
    "synced": "Synced {branch} with {remote}",
    "unchanged": "Nothing to do: {branch} is as {remote} is",
    "committed": "Committed on {branch}: {commit}",
    "offline": "Kept on {branch}; the remote cannot be reached now, sync again later",
    "trial": "A trial: nothing was changed. On {branch} it would do this:",
}


def as_text(report: Report) -> str:
    """Return the report for people."""
    if report.kind == "project" and report.outcome == "unchanged":
        first = f"Nothing to do: the last commit of {report.branch} holds all entries"
    else:
        remote = one_line(report.remote, 120) or "no remote"
        first = _FIRST[report.outcome].format(
            branch=report.branch, remote=remote, commit=report.commit[:12]
        )
    sent = "committed" if report.kind == "project" or report.outcome == "offline" else "sent"
    changed = [*_changed("received", report.received), *_changed(sent, report.sent)]
    if report.outcome == "trial" and not changed:
        first = f"A trial: there is nothing to share on {report.branch}"
    lines = [first, *changed]
    lines += [f"conflict: {_key(key)}: {one_line(said, 300)}" for key, _, said in report.conflicts]
    lines += _most(
        f"skipped {'here' if side == 'here' else 'there'}: {_key(path)}: {one_line(reason, 200)}"
        for path, side, reason in report.skipped
    )
    if report.new_authors:
        lines.append("new authors: " + ", ".join(one_line(one, 80) for one in report.new_authors))
    return "\n".join([*lines, *report.notes])


def _changed(what: str, changes: Changes) -> list[str]:
    return [
        line
        for name, found in changes._asdict().items()
        for line in _most(f"{what}: {name} {_key(key)}" for key in found)
    ]


def _most(lines: Iterable[str]) -> list[str]:
    found = [*lines]
    if len(found) <= _SHOWN:
        return found
    return [*found[: _SHOWN - 1], f"... and {len(found) - _SHOWN + 1} more like it"]


def _key(key: str) -> str:
    return one_line(key.encode("utf-8", "replace").decode(), 200)


def title(changes: Changes) -> str:
    """Return the first line of a commit's message, and its body with the keys."""
    sums = ", ".join(f"{len(keys)} {name}" for name, keys in changes._asdict().items() if keys)
    body = "\n".join(_changed("memory", changes))
    return f"Team memory: {sums or 'merge'}\n" + (f"\n{body}\n" if body else "")
