"""What a team's folder is and who wrote it, laid before its user to decide. See `memory.trust`."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, NamedTuple

from keepthread import log
from keepthread.errors import KeepthreadError
from keepthread.host.locations import git_root
from keepthread.memory import prepare, trust
from keepthread.memory.desk import author_of
from keepthread.memory.git import Git, GitFailed
from keepthread.memory.git_files import remotes_around
from keepthread.memory.places import Place, open_memory
from keepthread.memory.prepare import author_name
from keepthread.memory.words import one_line

_PATIENCE = 10.0  # seconds for git
_COMMITS = 5_000
_SHOWN = 20  # authors shown to people


class Offer(NamedTuple):
    """A team's folder as it is now: real path, remotes of its repository (None outside of one), and its authors.

    `writers` has the number of entries of each author, "" for none named; `committers` the names in the repository's
    commits of it. `new` are those that were not known when it was trusted. `standing` is one of `memory.trust`.
    """

    root: str
    remotes: list[str] | None
    entries: int
    writers: dict[str, int]
    committers: list[str]
    new: list[str]
    standing: str

    @property
    def authors(self) -> list[str]:
        """Return whoever wrote here: authors of entries and of commits."""
        return sorted({*self.writers, *self.committers})

    def as_json(self) -> dict[str, Any]:
        """Return the offer for `--json`."""
        return {**self._asdict(), "authors": self.authors}


def offer(place: Place) -> Offer:
    """Return what there is to decide about.

    Raises:
        KeepthreadError: the team has no folder, or a link leads to it, or its repository cannot be read.
        OSError: the system refuses.
    """
    with open_memory(place, "team") as memory:
        root = os.path.realpath(memory.directory.path)
        rows = [row for row in memory.rows().rows if not row.problem]
    try:
        remotes = remotes_around(root)
    except OSError as problem:
        raise KeepthreadError(
            f"The configuration of the repository around {root} cannot be read: {problem.strerror}",
            "Nobody can tell where its content comes from.",
        ) from problem
    decisions = trust.read(place.private_path)
    standing = trust.standing(decisions, root, remotes)
    writers = dict(Counter(author_name(row.author) for row in rows).most_common())
    committers = _committers(root, place.project) if remotes is not None else []
    known = trust.known_authors(decisions, root)
    new: list[str] = []
    if standing == trust.TRUSTED and known is not None:
        new = sorted({*writers, *committers} - known)
    return Offer(root, remotes, len(rows), writers, committers, new, standing)


def accept(place: Place, told: Offer) -> None:
    """Trust what was shown: this folder, these remotes, these authors and its user.

    Raises:
        OSError: the state folder cannot be written.
    """
    own = author_name(author_of(place.project))
    authors = {*told.authors, own} if own else {*told.authors}
    _decide(place, told, trusted=True, authors=authors)
    for scope in ("team", "private"):  # the decision lies in the private folder, which it changed
        with open_memory(place, scope) as memory:
            prepare.prepare(place, memory)


def revoke(place: Place, told: Offer) -> None:
    """Keep the folder out of the context, and do not ask again until it changes.

    Raises:
        OSError: the state folder cannot be written.
    """
    _decide(place, told, trusted=False, authors=())


def _decide(place: Place, told: Offer, *, trusted: bool, authors: Any) -> None:
    trust.decide(
        place.private_path,
        told.root,
        told.remotes,
        trusted=trusted,
        authors=authors,
        when=log.stamp(),
    )


def _committers(root: str, project: str) -> list[str]:
    """Return who committed something below a folder, as git knows; without git, nobody.

    The folder is another's: started in it, git could take it for a repository and its files for a configuration.
    """
    top = git_root(root)
    arguments = ("log", f"-n{_COMMITS}", "--no-show-signature", "--format=%an", "--")
    try:
        git = Git(top, project)
        ran = git.run(*arguments, os.path.relpath(root, top), seconds=_PATIENCE)
    except (OSError, ValueError, GitFailed):
        return []
    names = ran.out.decode("utf-8", "replace").split("\n") if ran.code == 0 else []
    return sorted({author_name(name) for name in names if name.strip()})


def text(told: Offer) -> str:
    """Return what is laid before people who are asked."""
    if told.remotes is None:
        source = "none: it lies in no git repository"
    else:
        source = ", ".join(one_line(url, 200) for url in told.remotes) or "none: a local repository"
    writers = [f"{name or '(none named)'} ({n})" for name, n in told.writers.items()]
    lines = [
        f"folder:     {one_line(told.root, 400)}",
        f"remote:     {source}",
        f"entries:    {told.entries}",
        f"authors:    {_listed(writers)}",
    ]
    if told.committers:
        lines.append(f"committers: {_listed(told.committers)}")
    if told.new:
        lines.append(
            f"new since it was trusted: {_listed([n or '(none named)' for n in told.new])}"
        )
    return "\n".join([*lines, f"now:        {_STANDING[told.standing]}"])


_STANDING = {
    trust.TRUSTED: "trusted",
    trust.REFUSED: "not trusted, as you decided",
    trust.UNKNOWN: "not trusted yet",
    trust.CHANGED: "not trusted: its place or its remote is not the one that you decided about",
}


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (", ".join(names[:_SHOWN]) or "nobody") + more
