"""What is left of a secret when a name or a cut text holds only a part of it."""

from __future__ import annotations

import pytest

from keepthread import redact
from keepthread.redact.pieces import cut, formed, is_piece, parts
from keepthread.redact.rules import Known
from tests.redact.samples import FORMED, letters
from tests.support.planted import letters as chance

TOKEN = "sk-a" + "nt-api03-" + letters(40, "Qa1Zx2Sw3E") + "-" + letters(40, "p9Ol8Ik7Uj") + "AA"


@pytest.mark.parametrize(
    ("rule", "token"), [(rule, token) for rule, token in FORMED if any(map(str.isdigit, token))]
)
def test_a_token_is_found_wherever_it_stands_and_by_its_rule(rule, token):
    for text in (
        f"take {token} now",
        f"export A={token} && b",
        f'{{"a": "{token}"}}',
        f"`{token}`",
    ):
        found = formed(["nothing here", text])

        assert token in found
        assert found[found.index(token)].rule == rule


def test_a_token_is_found_with_something_unseen_inside():
    assert formed([f"“{TOKEN[:9]}\u200b{TOKEN[9:]}”, \x1b[1m{TOKEN[:30]}\x1b[0m{TOKEN[30:]}"]) == [
        TOKEN
    ]


def test_hashes_ids_paths_and_examples_are_no_tokens():
    texts = [
        "d41d8cd98f00b204e9800998ecf8427e",
        "11111111-1111-4111-8111-111111111111",
        "/home/dev/proj/src/secret_service/token_store2.py",
        "ghp_" + "x" * 36,
    ]

    assert formed(texts) == []


def test_the_random_parts_of_a_token_are_known_and_its_words_are_not():
    known = parts([Known(TOKEN, "anthropic-key"), "staging-database-Xk29fhQ1"])

    assert known == [TOKEN[13:53], TOKEN[54:], "Xk29fhQ1"]
    assert [part.rule for part in known] == ["anthropic-key", "anthropic-key", "secret"]


def test_beginnings_and_endings_are_found_where_a_text_was_cut():
    part = chance("cut", 40)
    text = f"export A=sk-ant-api03-{part[:14]}… and …{part[-12:]}, not {part[:7]}"

    assert cut(text, [part]) == [part[:14], part[-12:]]
    assert (
        cut(text, [TOKEN]) == []
    )  # its parts are looked for, not the prefix that all such tokens share


def test_a_name_that_is_a_piece_of_a_secret_is_told_from_a_word_that_occurs_in_one():
    whole = f"{TOKEN}\nmy-session-store1"

    assert is_piece(TOKEN[20:26], whole)
    assert not is_piece(TOKEN[20:25], whole)
    assert not is_piece("session", whole)
    assert not is_piece("session-store", whole)


def test_a_mark_bears_the_name_of_the_rule_that_found_the_secret():
    assert (
        redact.text("it is Qa1Zx2Sw3E", [Known("Qa1Zx2Sw3E", "anthropic-key")])
        == "it is [REDACTED:anthropic-key]"
    )
    assert redact.text("it is Qa1Zx2Sw3E", [Known("Qa1Zx2Sw3E")]) == "it is [REDACTED:secret]"
    assert redact.text(f"it is {TOKEN}", [Known(TOKEN)]) == "it is [REDACTED:anthropic-key]"
    assert redact.text("it is Qa1Zx2Sw3E", ["Qa1Zx2Sw3E"]) == "it is [REDACTED:environment]"
