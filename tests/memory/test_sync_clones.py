"""Three clones and one remote: they come to the same, and nothing that was acknowledged is lost."""

from __future__ import annotations

import os

import pytest

from keepthread import files
from keepthread.memory.directory import Directory
from keepthread.memory.git import Git
from tests.support.fuzzed import SCALE
from tests.support.team_clones import Clone, bare, settle, texts
from tests.support.team_loop import loop

STEPS = ((Git, "run"), (files, "write_private"), (Directory, "write"), (Directory, "delete"))


def test_three_clones_in_a_loop_come_to_the_same_and_lose_nothing(tmp_path):
    """With conflicts, races, kills and a remote that is away."""
    outcome = loop(tmp_path, rounds=max(4, round(8 * SCALE)))

    assert outcome.changes > 10
    assert outcome.kept_versions > 0
    assert outcome.raced > 0
    assert outcome.offline > 0
    assert outcome.faults() == 0, outcome


def killed_at(clone: Clone, step: int) -> bool:
    """Sync in a process that dies when it is about to take a step; return whether it got that far."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    left = [step]

    def counted(real):
        def call(*arguments, **more):
            left[0] -= 1
            if left[0] < 0:
                os._exit(9)
            return real(*arguments, **more)

        return call

    try:
        for owner, name in STEPS:
            setattr(owner, name, counted(getattr(owner, name)))
        clone.sync()
    finally:
        os._exit(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_sync_that_dies_at_any_step_is_taken_up_by_the_next(tmp_path):
    """Before each start of git and each write of a file, in a merge with a conflict, a deletion and additions."""
    remote = bare(tmp_path / "remote.git")
    ada = Clone(tmp_path, "ada", remote)
    ada.add("both.md", "old")
    ada.sync()
    bob = Clone(tmp_path, "bob", remote)
    bob.sync()
    step, number = 0, 0
    while killed_at(bob, step):
        number += 1
        settle([bob, ada], 2)
        versions = [key for key in bob.texts() if "(version" in key]
        assert ada.texts() == bob.texts() == texts(remote)
        assert len(versions) == number - 1, versions
        last = {f"bob-{number - 1}.md"} if number > 1 else set()
        assert set(bob.texts()) - {*versions} == {
            *("both.md", *(f"ada-{one}.md" for one in range(1, number)), *last)
        }
        assert (ada.status(), bob.status()) == ("", "")
        for clone in (ada, bob):
            clone.edit("both.md", f"as {clone.name} says, {number}")
            clone.add(f"{clone.name}-{number}.md", f"{clone.name} {number}")
        if number > 1:
            ada.rm(f"bob-{number - 1}.md")
        ada.sync()
        step += max(1, round(6 / SCALE))

    assert number > 5 * min(1, SCALE)
