"""The merge by key, on names of texts alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepthread.memory import keys
from keepthread.memory.merging import Judge, Local, differing, kept_name, merge
from tests.support.fuzzed import examples

FINE = Judge(lambda key, name: "", lambda key: "", lambda key: "Bob Q.")
ONE, TWO, OLD = ("1" * 40, "2" * 40, "0" * 40)


def here(texts, same=None, closed=None):
    """Return a side here."""
    return Local(texts, same or {}, closed or {})


def applied(plan, local):
    """Return what is here after a plan."""
    kept = {key: name for key, name in local.items() if key not in plan.delete}
    return {**kept, **plan.write}


def sent(plan, remote):
    """Return what is there after a plan."""
    return {key: name for key, name in {**remote, **plan.tree}.items() if name is not None}


@pytest.mark.parametrize(
    ("base", "local", "remote", "ends"),
    [
        (None, ONE, None, {"a.md": ONE}),
        (None, None, TWO, {"a.md": TWO}),
        (OLD, ONE, OLD, {"a.md": ONE}),
        (OLD, OLD, TWO, {"a.md": TWO}),
        (OLD, None, OLD, {}),
        (OLD, OLD, None, {}),
        (OLD, None, None, {}),
        (OLD, ONE, ONE, {"a.md": ONE}),
        (None, ONE, ONE, {"a.md": ONE}),
        (OLD, ONE, None, {"a.md": ONE}),
        (OLD, None, TWO, {"a.md": TWO}),
        (OLD, ONE, TWO, {"a.md": ONE, "a (version bob-q-22222222).md": TWO}),
        (None, ONE, TWO, {"a.md": ONE, "a (version bob-q-22222222).md": TWO}),
    ],
)
def test_each_way_in_which_two_sides_can_differ(base, local, remote, ends):
    """Both come out the same, and that is what they agree on."""
    sides = [{"a.md": name} if name else {} for name in (base, local, remote)]
    plan = merge(sides[0], here(sides[1]), sides[2], FINE)

    assert applied(plan, sides[1]) == sent(plan, sides[2]) == plan.agreed == ends
    assert plan.base == sides[2]


NAMES = st.sampled_from([digit * 40 for digit in "012345"])
KEYS = st.sampled_from(
    (
        *("a.md", "A.md", "b.md", "a.md/c.md", "x/a.md", "X/b.md"),
        *("a (version bob-q-22222222).md", "a (version bob-q-11111111).md"),
        "a (version bob-q-22222222) (version bob-q-33333333).md",
    )
)
SIDES = st.dictionaries(KEYS, NAMES, max_size=5)


@given(base=SIDES, local=SIDES, remote=SIDES)
@examples(400)
def test_no_change_is_lost_and_a_second_merge_finds_nothing_to_do(base, local, remote):
    """Whatever the sides hold: each text that is new on a side is in the folder or was there, and in the tree."""
    plan = merge(base, here(local), remote, FINE)
    mine, theirs = applied(plan, local), sent(plan, remote)
    for key, name in local.items():
        if base.get(key) != name:
            assert name in mine.values(), key
    for key, name in remote.items():
        if base.get(key) != name:
            assert name in theirs.values(), key
    again = merge(plan.agreed, here(mine), theirs, FINE)
    known = differing(base, here(local), remote)

    assert (again.write, again.delete, again.tree) == ({}, [], {})
    assert set(plan.write.values()) <= set(known.values())
    assert not {one.key for one in again.conflicts}


@given(base=SIDES, local=SIDES, remote=SIDES)
@examples(400)
def test_a_merge_that_is_cut_off_comes_to_the_same(base, local, remote):
    """After the folder was written, and after the tree was too: no further copies, nothing taken back."""
    plan = merge(base, here(local), remote, FINE)
    mine, theirs = applied(plan, local), sent(plan, remote)
    for known, there in ((base, remote), (plan.base, remote), (base, theirs), (plan.base, theirs)):
        resumed = merge(known, here(mine), there, FINE)

        assert applied(resumed, mine) == mine
        assert sent(resumed, there) == theirs


def test_what_may_not_be_taken_or_shared_is_left_and_stays_unagreed():
    """So that it is looked at again."""
    judge = Judge(
        lambda key, name: "bad" if key == "r.md" else "",
        lambda key: "secret" if key == "l.md" else "",
        lambda key: "",
    )
    plan = merge({"r.md": OLD}, here({"l.md": ONE, "r.md": OLD}), {"r.md": TWO}, judge)

    assert (plan.write, plan.delete, plan.tree) == ({}, [], {})
    assert plan.agreed == {"r.md": OLD}
    assert [one.reason for one in plan.skipped] == ["secret", "bad"]


def test_what_cannot_be_read_here_is_neither_deleted_nor_replaced():
    """A link in its place, or in that of a folder above it."""
    base = {"a/b.md": OLD, "c.md": OLD}
    closed = {"a": "a link", "c.md": "a link"}
    plan = merge(base, here({}, closed=closed), {"a/b.md": TWO, "c.md": OLD}, FINE)

    assert (plan.write, plan.delete, plan.tree) == ({}, [], {})
    assert plan.agreed == base


def test_names_that_are_one_for_some_system_do_not_meet():
    """In folders too, and a file does not take the place of a folder."""
    local = {"Notes.md": ONE, "a.md": ONE, "Dir/x.md": ONE}
    remote = {"notes.md": TWO, "a.md/b.md": TWO, "dir/y.md": TWO}
    plan = merge({}, here(local), remote, FINE)

    assert plan.write == {}
    assert plan.tree == {}
    assert len(plan.skipped) == 6


def test_another_spelling_follows_when_the_old_one_goes():
    """Renamed there: the old file is deleted before the new one is written."""
    plan = merge({"Notes.md": OLD}, here({"Notes.md": OLD}), {"notes.md": OLD}, FINE)

    assert (plan.delete, plan.write) == (["Notes.md"], {"notes.md": OLD})


def test_line_ends_alone_are_no_change():
    """The text is known under the name that it has with the other ones."""
    local = here({"a.md": ONE}, same={"a.md": OLD})

    assert merge({"a.md": OLD}, local, {"a.md": OLD}, FINE).tree == {}
    assert merge({"a.md": OLD}, local, {"a.md": TWO}, FINE).write == {"a.md": TWO}


@pytest.mark.parametrize(
    ("key", "author"),
    [
        ("a.md", "Ada Lovelace"),
        ("x/y/z.md", "../../etc"),
        (f"{'x' * 190}.md", "a" * 500),
        (f"{'你' * 60}.md", "名前"),
        ("/".join(["d" * 120] * 7 + ["e.md"]), "bob"),
    ],
)
def test_the_name_of_a_kept_version_is_a_key(key, author):
    """Whatever the key and the author are."""
    name = kept_name(key, "1" * 40, author)

    assert keys.broken_rule(name) == ""
    assert name.endswith(".md")
