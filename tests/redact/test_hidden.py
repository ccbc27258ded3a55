"""A secret goes as rendering will show it: with the characters that nobody sees taken out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepthread import redact
from keepthread.handoff.frame import defuse, one_line
from keepthread.redact.exposed import exposed
from tests.redact.samples import letters

TOKEN = "ghp_" + letters(36)
UNSEEN = [
    "\u200b", "\u200d", "\u200c\u200c", "\u2060", "\ufeff", "\u00ad", "\u202e", "\ufe0f", "\U000e0041", "\x00", "\x7f",
    "\x1b[31m", "\x1b]0;t\x07", "\x9b1m", "\x1b[0m\u200b\x1b[1m",
]  # fmt: skip


@pytest.mark.parametrize("unseen", UNSEEN)
@pytest.mark.parametrize("place", [1, 3, 4, 20, 39])
def test_a_token_with_something_unseen_inside_goes_whole(unseen, place):
    hidden = TOKEN[:place] + unseen + TOKEN[place:]

    marked = redact.text(f"before {hidden} after")

    assert marked == "before [REDACTED:github-token] after"
    assert redact.text(marked) == marked


@pytest.mark.parametrize("unseen", UNSEEN)
def test_what_is_unseen_in_names_and_given_values_hides_nothing_either(unseen):
    assert "hunter22x" not in defuse(redact.text(f"DB_PASS{unseen}WORD=hun{unseen}ter22x"))
    assert "no form!" not in defuse(
        redact.text(f"ano {unseen}form!b no f{unseen}orm!", ("no form!",))
    )
    assert "hunter22x" in exposed([f"password: hun{unseen}ter22x"])


@pytest.mark.parametrize("end", ["\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_a_token_wrapped_at_a_line_end_of_another_kind_goes(end):
    assert redact.text(f"x {TOKEN[:20]}{end}{TOKEN[20:]} y") == "x [REDACTED:github-token] y"


@pytest.mark.parametrize(
    "text", ["می\u200cخواهم", "👩\u200d👩\u200d👧 ❤\ufe0f", "\x1b[31mred\x1b[0m", "a\u2028b"]
)
def test_a_text_without_a_secret_keeps_what_is_unseen_in_it(text):
    assert redact.text(text) == text


@given(
    st.lists(
        st.sampled_from([*UNSEEN, *"abc \n=", "\u2028", TOKEN[:9], "日本"]) | st.text(max_size=3)
    )
)
def test_what_is_shown_holds_no_token_wherever_something_unseen_stands(pieces):
    text = "x ".join(["", *pieces]).join([TOKEN[:13], TOKEN[13:]]) if not pieces else "".join(
        piece + " " + TOKEN[:n] + (unseen := UNSEEN[n % len(UNSEEN)]) + unseen + TOKEN[n:] + " "
        for n, piece in enumerate(pieces[:36], 1)
    )  # fmt: skip

    clean = redact.text(text)

    assert TOKEN not in defuse(clean)
    assert TOKEN not in one_line(clean)


def test_members_are_withheld_by_their_names_at_any_depth():
    given_away = "D5cUqx2xCHxM99"
    value = {
        "user": "root",
        "password": given_away,
        "env": [
            {"name": "DB_PASSWORD", "value": given_away},
            {"key": "apiKey", "value": given_away},
        ],
        "headers": {"x-api-key": given_away},
        "list": [{"deep": {"client_secret": given_away}}],
        "name": "password",
    }

    clean = redact.withheld(value)

    assert given_away not in str(clean)
    assert given_away not in str(redact.document(value))
    assert (clean["user"], clean["name"]) == ("root", "password")
    assert list(redact.named(value)) == [given_away] * 5
    assert exposed((), [value]) == [given_away]
