"""The host's summariser is told, in plain text, what to keep word for word."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepthread.handoff.hint import render_hint
from keepthread.handoff.units import units
from tests.support.handoffs import make_empty, make_handoff
from tests.support.strategies import OVERRIDES


def test_the_ask_the_rules_and_the_names_are_to_be_kept():
    text = render_hint(make_handoff())

    for words in (
        "now make the retry test pass, then run the whole suite",
        "use httpie, never curl",
        "The ledger sandbox is wiped every Friday at 18:00 UTC.",
        "src/billing/refunds.py",
        "LedgerClient.refund",
    ):
        assert words in text


def test_a_session_of_which_nothing_is_known_gives_no_hint():
    assert render_hint(make_empty()) == ""


def test_names_fill_the_room_that_is_left():
    identifiers = [{"text": f"name_{n:04d}", "kind": "name", "near": ""} for n in range(500)]
    text = render_hint(make_handoff(facts={"identifiers": identifiers}))

    assert "name_0000" in text
    assert 1_100 < units(text) <= 1_200


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(OVERRIDES, st.integers(0, 1_500))
def test_it_is_plain_text_within_its_limit(overrides, limit):
    text = render_hint(make_handoff(**overrides), limit=limit)

    assert units(text) <= limit
    assert not text.startswith(("{", "["))
    assert "<system-reminder" not in text
    text.encode("utf-8")
