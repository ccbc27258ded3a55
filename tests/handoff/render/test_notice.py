"""The person gets one short line."""

from __future__ import annotations

import unicodedata

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepthread.handoff.render.notice import render_notice
from keepthread.handoff.units import units
from tests.support.handoffs import make_handoff, make_partial
from tests.support.strategies import OVERRIDES, TEXT


def test_it_says_what_was_restored_and_where_the_rest_is():
    assert (
        render_notice(make_handoff(), document="docs/handoff-context.md")
        == "keepthread: handoff restored (8 files, 3 rules); the whole of it: docs/handoff-context.md"
    )


def test_it_says_why_a_handoff_is_partial():
    line = render_notice(make_partial(), document="")

    assert (
        line
        == "keepthread: partial handoff restored, since the model did not answer in time (8 files, 3 rules)"
    )


def test_a_choice_is_no_failure():
    assert "partial" not in render_notice(
        make_partial(meta={"reason": "engine_facts"}), document=""
    )


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(OVERRIDES, TEXT | st.just(""))
def test_it_is_one_short_line_whatever_the_handoff(overrides, document):
    line = render_notice(make_handoff(**overrides), document=document)

    assert units(line) < 300
    assert not [
        character
        for character in line
        if unicodedata.category(character) in ("Cc", "Zl", "Zp", "Cs")
    ]
