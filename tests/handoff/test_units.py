"""Text is measured and cut as the host measures it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepthread.handoff.units import cut, cut_start, head_tail, units

TEXTS = st.text(st.characters() | st.sampled_from("a😀👍\U0001f3fd\u200d\ufe0f👩é\n"))
FAMILY = "👩\u200d👩\u200d👧"


@given(TEXTS)
def test_units_are_those_of_utf_16(text):
    assert len(text.encode("utf-16-le", "surrogatepass")) // 2 == units(text)


@given(TEXTS, st.integers(-3, 60))
def test_a_cut_text_is_a_beginning_that_fits(text, limit):
    head = cut(text, limit)

    assert text.startswith(head)
    assert units(head) <= max(0, limit)


@given(TEXTS, st.integers(-3, 60))
def test_a_text_cut_at_its_start_is_an_end_that_fits(text, limit):
    tail = cut_start(text, limit)

    assert text.endswith(tail)
    assert units(tail) <= max(0, limit)


@given(st.text("abc", min_size=1, max_size=50), st.integers(0, 60))
def test_plain_text_is_cut_to_the_very_unit(text, limit):
    assert text[:limit] == cut(text, limit)
    assert text[max(0, len(text) - limit) :] == cut_start(text, limit)


@pytest.mark.parametrize("limit", range(1, 12))
def test_an_emoji_made_of_several_is_kept_whole_or_not_at_all(limit):
    for text in (FAMILY, "👍🏽", "❤\ufe0f", "1\ufe0f\u20e3"):
        assert cut("ab" + text, limit) in ("a", "ab", "ab" + text)
        assert cut_start(text + "ab", limit) in ("b", "ab", text + "ab")


def test_an_endless_run_of_joiners_costs_no_more_than_its_room():
    assert units(cut("\u200d" * 5_000, 1_000)) == 1_000


@given(TEXTS, st.integers(-3, 80), st.sampled_from(["", " … ", " [… cut …] "]))
def test_head_and_tail_fit(text, limit, note):
    shown = head_tail(text, limit, note)

    assert units(shown) <= max(0, limit)
    assert text == shown or units(text) > limit


def test_head_and_tail_stand_on_both_sides_of_the_note():
    shown = head_tail("begin" + "x" * 1_000 + "end", 100, " [cut] ")

    assert shown.startswith("begin")
    assert " [cut] " in shown
    assert shown.endswith("end")
    assert units(shown) == 100
