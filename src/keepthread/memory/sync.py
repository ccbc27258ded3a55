"""Brings the team's folder and its repository together.

The folder is a repository of its own, which is fetched, merged, committed and pushed; or it lies in the project's,
where only its paths are committed on the current branch. No file of a tree is ever checked out: texts are read out of
the objects, judged, and written as every entry is. Nothing is merged by git, so no hook, filter, attribute or
submodule comes into play.

Whatever interrupts a sync, the next one goes on: what both sides agreed on is remembered only after it is so.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import NamedTuple

from keepthread import files
from keepthread.errors import KeepthreadError
from keepthread.memory import agreed, index_file, sides, trust
from keepthread.memory.bench import Bench, Item, Refused, object_name, opened
from keepthread.memory.directory_by_name import open_root
from keepthread.memory.errors import Conflict
from keepthread.memory.git import GitFailed
from keepthread.memory.joint import Joint, sent
from keepthread.memory.lock import locked
from keepthread.memory.merging import Conflict as KeptBoth
from keepthread.memory.merging import Plan, Skip, differing, merge
from keepthread.memory.places import IGNORED, Place, ignore, open_memory
from keepthread.memory.repository import (
    Remote,
    Repository,
    find,
    redacted,
    refuse_link_to,
    remote_of,
)
from keepthread.memory.sides import Here, Judged, There
from keepthread.memory.store import Change, Memory
from keepthread.memory.sync_report import Changes, Report

_TRIES = 12
_WAIT = 30.0  # seconds for another sync of the same folder
_NO_REMOTE = "There is no remote to share with: git remote add origin URL"
_FEW = 5  # deletions that nobody has to confirm


def sync(
    place: Place,
    *,
    trial: bool = False,
    allow_deletions: bool = False,
    waiting: Callable[[str], None] | None = None,
) -> Report:
    """Sync the team's folder of a project.

    Args:
        place: where the memories lie.
        trial: change nothing, neither here nor there; the remote is asked all the same.
        allow_deletions: share it also when most entries are gone here.
        waiting: called with whoever has to be waited for.

    Raises:
        KeepthreadError: there is no repository, it is not to be touched now, its configuration is unsafe, the remote
            refuses, or most entries are gone here.
        OSError: the system refuses.
    """
    base = place.beside(".sync")
    files.make_private(base)
    options = _Options(place, trial, allow_deletions, waiting)
    with (
        open_root(base) as private,
        locked(private, _WAIT, waiting),
        open_memory(place, "team", waiting) as memory,
    ):
        repository = find(memory.directory.path, place.project)
        remote = None if repository.prefix else remote_of(repository)
        with opened(repository, base, trial=trial) as bench:
            work = _Sync(memory, repository, bench, options)
            if remote is not None:
                return work.with_remote(remote)
            return work.commit_here([] if repository.prefix else [_NO_REMOTE])


class _Options(NamedTuple):
    place: Place
    trial: bool
    allow_deletions: bool
    waiting: Callable[[str], None] | None


class _Merged(NamedTuple):
    mine: Here
    yours: There
    judged: Judged
    plan: Plan


class _Sync:
    def __init__(
        self, memory: Memory, repository: Repository, bench: Bench, options: _Options
    ) -> None:
        self._memory = memory
        self._repository = repository
        self._bench = bench
        self._options = options
        self._received = Changes([], [], [])
        self._conflicts: dict[tuple[str, str], str] = {}
        self._authors: set[str] = set()
        self._notes: list[str] = []
        self._refusal = ""

    # A repository of its own.

    def with_remote(self, remote: Remote) -> Report:
        """Fetch, merge, commit and push; again when somebody else was faster."""
        self._bench.keep("ours", self._repository.head)
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(random.uniform(0, 0.1 * attempt))  # noqa: S311  # not in step with the others
            try:
                branch, theirs = self._fetched(remote)
            except GitFailed as problem:
                return self._offline(remote, problem)
            try:
                report = self._once(remote, branch, theirs)
            except Conflict:
                continue  # an entry was changed here between reading and writing
            if report is not None:
                return report
        why = self._refusal or "entries were changed here all the time"
        raise KeepthreadError(
            f"Nothing could be sent in {_TRIES} tries ({why}); what others sent is here",
            "Sync again.",
        )

    def _fetched(self, remote: Remote) -> tuple[str, str]:
        branches, head = self._bench.advertised(remote)
        branch = remote.branch or self._repository.branch
        if branch not in branches and not remote.branch and head in branches:
            branch = head  # nobody said which: the one that a clone would get
        if branch not in branches:
            return branch, ""
        if branches[branch] == self._repository.head:
            return branch, self._repository.head
        return branch, self._bench.fetch(remote, branch)

    def _once(self, remote: Remote, branch: str, theirs: str) -> Report | None:
        """Merge with a commit of the remote; None when it moved meanwhile."""
        if remote.name:
            refuse_link_to(self._repository, _tracking(remote, branch))
        bound = agreed.bound_to(self._repository.top, remote.url, branch)
        path = os.path.join(self._options.place.beside(".sync"), f"agreed-{bound[:16]}.json")
        known = agreed.load(path, bound)
        items = self._bench.tree(theirs)
        merged = self._merged(self._base(known, theirs), items, theirs)
        if self._options.trial:
            return self._report("trial", remote, "", merged)
        self._apply(merged)
        if theirs:
            agreed.save(path, bound, theirs, merged.plan.base)
        joint = self._joint(merged)
        tip = joint.on_both(theirs)
        if tip != theirs:
            try:
                self._bench.push(remote, branch, tip)
            except Refused as problem:
                self._told_unless_outrun(remote, branch, theirs, tip, problem)
                return None
            except GitFailed as problem:
                self._move(tip, remote, "")
                return self._unreached(remote, tip, merged, problem)
        if tip:
            agreed.save(path, bound, tip, merged.plan.agreed)
            self._move(tip, remote, branch)
        done = bool(self._received or self._conflicts) or tip != theirs
        return self._report("synced" if done else "unchanged", remote, tip, merged)

    def _base(self, known: agreed.Agreed | None, theirs: str) -> dict[str, str]:
        """Return what both sides last had in common."""
        bench, head = self._bench, self._repository.head
        met = bench.common_ancestor(head, theirs)
        if known is not None:
            if not bench.is_ancestor(known.commit, theirs):
                self._note("The remote's history is another than it was: nothing counts as deleted")
                return {}
            if not met or met == known.commit or not bench.is_ancestor(known.commit, met):
                return known.texts
        return _sound(sides.there(bench.tree(met)))  # as git itself brought it into the folder

    def _told_unless_outrun(
        self, remote: Remote, branch: str, theirs: str, tip: str, problem: Refused
    ) -> None:
        """Return when the remote moved meanwhile, so that a further try may succeed."""
        faster = (
            "fetch first",
            "non-fast-forward",
            "cannot lock",
            "failed to update",
            "incorrect old",
        )
        self._refusal = problem.message
        if any(word in problem.message for word in faster):
            return
        if self._bench.advertised(remote)[0].get(branch, "") != theirs:
            return
        self._move(tip, remote, "")
        raise KeepthreadError(
            f"The remote refuses what is sent: {problem.message}",
            problem.hint or "Your commit is kept on the branch here.",
        )

    def _offline(self, remote: Remote, problem: GitFailed) -> Report:
        report = self.commit_here([f"git says: {problem.message}"])
        outcome = "trial" if self._options.trial else "offline"
        return report._replace(outcome=outcome, remote=redacted(remote.url))

    def _unreached(self, remote: Remote, tip: str, merged: _Merged, problem: GitFailed) -> Report:
        self._note(f"git says: {problem.message}")
        return self._report("offline", remote, tip, merged)

    def _move(self, tip: str, remote: Remote, branch: str) -> None:
        """Let the branch and git's index follow."""
        followed = index_file.follow(self._repository, self._bench, tip)
        self._notes += [note for note in followed if note not in self._notes]
        if remote.name and branch:
            self._repository.git.run("update-ref", _tracking(remote, branch), tip)

    # A folder in the project's repository, or one without a remote.

    def commit_here(self, notes: list[str]) -> Report:
        """Commit what changed in the folder on the branch here.

        Raises:
            KeepthreadError: entries change all the time, or another git process keeps the repository.
        """
        self._notes += notes
        for _ in range(_TRIES):
            with suppress(Conflict):  # an entry was changed while it was read
                return self._commit_once()
        raise KeepthreadError(
            "Entries were changed all the time; nothing is committed", "Try again."
        )

    def _commit_once(self) -> Report:
        repository = self._repository
        levels = self._bench.descend(repository.head, repository.prefix)
        items = levels[-1]
        if not items:
            index_file.refuse_ignored(repository)
        merged = self._merged(_sound(sides.there(items)), items, repository.head)
        if self._options.trial:
            return self._report("trial", None, "", merged)
        self._ignore(merged.yours)
        if not merged.plan.tree:
            return self._report("unchanged", None, repository.head, merged)
        joint = self._joint(merged)
        tip = joint.on_ours(levels[:-1])
        new = joint.tree
        changed = index_file.changes(items, new, repository.prefix)
        index_file.enter(repository, changed)
        if not index_file.advance(repository, tip):
            raise KeepthreadError(
                f"The branch {repository.branch} moved meanwhile; nothing was committed",
                "Sync again.",
            )
        return self._report("committed", None, tip, merged)

    # Both.

    def _merged(self, base: Mapping[str, str], items: Mapping[str, Item], commit: str) -> _Merged:
        repository, memory = self._repository, self._memory
        mine = sides.here(memory, repository.format, self._options.waiting)
        left_out = index_file.left_out(repository, mine.local.texts, base)
        mine = mine._replace(local=mine.local._replace(closed={**mine.local.closed, **left_out}))
        yours = sides.there(items)
        judged = Judged(self._bench, mine, yours, repository.format, memory.secrets, commit)
        judged.load(differing(base, mine.local, yours.texts))
        plan = merge(base, mine.local, yours.texts, judged.judge(), yours.others)
        plan.skipped.extend(yours.skips())
        self._refuse_wipe(base, plan)
        return _Merged(mine, yours, judged, plan)

    def _refuse_wipe(self, base: Mapping[str, str], plan: Plan) -> None:
        gone = sum(name is None for name in plan.tree.values())
        if gone > _FEW and 2 * gone > len(base) and not self._options.allow_deletions:
            raise KeepthreadError(
                f"{gone} of {len(base)} entries are gone from {self._memory.directory.path}; nothing is shared",
                "If that is meant: keepthread memory sync --allow-deletions. If not: git checkout -- .",
            )

    def _apply(self, merged: _Merged) -> None:
        """Bring the folder up to date.

        Raises:
            Conflict: an entry was changed meanwhile.
        """
        self._ignore(merged.yours)
        plan, versions = merged.plan, merged.mine.versions
        known = {row.author for row in self._memory.rows().rows} if plan.write else set()
        texts = {key: merged.judged.text(name) for key, name in plan.write.items()}
        changes = [Change(key, data, versions.get(key, "")) for key, data in texts.items()]
        changes += [Change(key, None, versions[key]) for key in plan.delete if key in versions]
        refused = self._memory.replace_all(changes) if changes else {}
        for key, reason in refused.items():
            plan.skipped.append(Skip(key, "remote", reason))
            for agreement in (plan.base, plan.agreed):
                agreement.pop(key, None)
        done = [one.key for one in changes if one.key not in refused]
        self._received.deleted.extend(key for key in done if key not in texts)
        self._received.changed.extend(key for key in done if key in texts and key in versions)
        self._received.added.extend(key for key in done if key in texts and key not in versions)
        self._conflicts |= {(one.key, one.kept_as): one.detail for one in plan.conflicts}
        writers = {merged.judged.writer(plan.write[key]) for key in done if key in texts}
        self._authors |= writers - known - {""}

    def _ignore(self, yours: There) -> None:
        """Keep what is not shared out of git's sight, unless the team has rules of its own."""
        theirs = yours.items.get(sides.IGNORE)
        ours = object_name(b"blob", IGNORED, self._repository.format)
        if theirs is None or theirs.oid == ours:
            ignore(self._memory)

    def _joint(self, merged: _Merged) -> Joint:
        given, secrets = merged.judged.given, self._memory.secrets
        return Joint(self._repository, self._bench, merged.yours, merged.plan, given, secrets)

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def _is_unseen(self) -> bool:
        """Return whether something of the folder stays out of sessions until its user has looked at it."""
        decisions = trust.read(self._options.place.private_path)
        root = os.path.realpath(self._memory.directory.path)
        standing, known = trust.standing_now(decisions, root), trust.known_authors(decisions, root)
        if standing == trust.TRUSTED:
            return known is not None and not self._authors <= known
        return standing != trust.REFUSED

    def _report(self, outcome: str, remote: Remote | None, commit: str, merged: _Merged) -> Report:
        plan, versions = merged.plan, merged.mine.versions
        received = Changes(*(sorted({*found}) for found in self._received))
        if received and self._is_unseen():
            self._note(
                "Sessions are not shown all of it before you say so: keepthread memory trust"
            )
        conflicts = [KeptBoth(*pair, said) for pair, said in self._conflicts.items()]
        if self._options.trial:
            received = Changes(
                [key for key in plan.write if key not in versions],
                [key for key in plan.write if key in versions],
                plan.delete,
            )
            conflicts = plan.conflicts
        return Report(
            "project" if self._repository.prefix else "own",
            outcome,
            self._repository.branch,
            commit,
            redacted(remote.url) if remote else "",
            received,
            sent(merged.yours, merged.plan),
            conflicts,
            plan.skipped,
            sorted(self._authors),
            self._notes,
        )


def _tracking(remote: Remote, branch: str) -> str:
    return f"refs/remotes/{remote.name}/{branch}"


def _sound(tree: There) -> dict[str, str]:
    """Return the texts of a tree that were taken from it, or could have been."""
    return {key: name for key, name in tree.texts.items() if key not in tree.refused}
