"""The commit that a sync makes: the remote's tree with what changed here, on top of what both sides have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from keepthread.errors import KeepthreadError
from keepthread.memory import sides
from keepthread.memory.bench import FILE, Bench, Item, object_name
from keepthread.memory.merging import Plan, Skip
from keepthread.memory.places import IGNORED
from keepthread.memory.repository import Repository, identity
from keepthread.memory.sides import There
from keepthread.memory.sync_report import Changes, title


class Joint:
    """Makes the commit; `tree` holds its paths below the team's folder.

    Args:
        repository: whose branch it is for.
        bench: makes the objects.
        yours: the tree it is based on: the remote's, or the last commit's here.
        plan: what changes in it.
        given: the texts from here by their names.
        secrets: texts that are not to be shared, beside what looks like a secret.
    """

    def __init__(
        self,
        repository: Repository,
        bench: Bench,
        yours: There,
        plan: Plan,
        given: Mapping[str, bytes],
        secrets: Sequence[str] = (),
    ) -> None:
        self._repository = repository
        self._bench = bench
        self._yours = yours
        self._plan = plan
        self._secrets = secrets
        self.tree = self._with_changes(given)

    def _with_changes(self, given: Mapping[str, bytes]) -> dict[str, Item]:
        """Return the tree with our changes; what others keep there beside entries stays."""
        new, texts = dict(self._yours.items), dict(given)
        if self._plan.tree and sides.IGNORE not in new:
            name = object_name(b"blob", IGNORED, self._repository.format)
            texts[name] = IGNORED
            new[sides.IGNORE] = Item(FILE, name, len(IGNORED))
        there = {item.oid for item in self._yours.items.values()}
        self._bench.store([data for name, data in texts.items() if name not in there])
        for path, text in self._plan.tree.items():
            if text is None:
                new.pop(path, None)
            else:
                new[path] = Item(FILE, text, 0)
        return new

    def on_ours(self, above: Sequence[Mapping[str, Item]]) -> str:
        """Return a new commit on top of the branch here; `above` is what the folders above the team's hold."""
        repository, bench = self._repository, self._bench
        tree = bench.graft(above, repository.prefix, bench.write_tree(self.tree))
        return self._commit(tree, [repository.head] if repository.head else [])

    def on_both(self, theirs: str) -> str:
        """Return the commit that holds what is to be shared: theirs, ours, or a new one on top of both.

        Raises:
            KeepthreadError: a commit that is not shared yet holds a secret.
        """
        bench, head = self._bench, self._repository.head
        behind = not head or bench.is_ancestor(head, theirs)
        if not behind:
            self._refuse_secret(head, theirs)
            self._take_others(head, theirs)
        if behind and self.tree == self._yours.items:
            return theirs
        tree = bench.write_tree(self.tree)
        ahead = not behind and (not theirs or bench.is_ancestor(theirs, head))
        if ahead:
            return head if tree == bench.tree_of(head) else self._commit(tree, [head])
        return self._commit(tree, [one for one in (theirs, "" if behind else head) if one])

    def _commit(self, tree: str, parents: Sequence[str]) -> str:
        message = title(sent(self._yours, self._plan))
        return self._bench.commit(tree, parents, message, identity(self._repository))

    def _refuse_secret(self, head: str, theirs: str) -> None:
        found = sides.secret_in(self._bench, head, theirs, self._secrets)
        if found:
            raise KeepthreadError(
                f"A commit that is not shared yet holds a secret in {found[0]!r} (rule {found[1]})",
                "Take it out of the history (git rebase -i, git commit --amend), then sync again.",
            )

    def _take_others(self, head: str, theirs: str) -> None:
        """Add what commits that are not shared yet changed beside entries."""
        bench, there = self._bench, self._yours.items
        mine = sides.there(bench.tree(head))
        base = bench.tree(bench.common_ancestor(head, theirs))
        for path in mine.others:
            old, ours, their = base.get(path), mine.items[path], there.get(path)
            if ours in (old, their):
                continue
            if their == old and not any(name.startswith(f"{path}/") for name in self.tree):
                self.tree[path] = ours
            else:
                reason = "changed there too: theirs is in the commit, yours in its parent"
                self._plan.skipped.append(Skip(path, "here", reason))


def sent(yours: There, plan: Plan) -> Changes:
    """Return the keys that a plan changes in a tree."""
    there, tree = yours.texts, plan.tree
    return Changes(
        [key for key, name in tree.items() if name is not None and key not in there],
        [key for key, name in tree.items() if name is not None and key in there],
        [key for key, name in tree.items() if name is None],
    )
