"""Entries: read as people and the host write them, written so that they are read back the same."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepthread.memory.entries import FIELDS, Entry, decoded, is_expired, parse, render, when
from keepthread.memory.errors import BadEntry
from tests.support.fuzzed import examples

NOW = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)
WHOLE = """---
name: use-httpie
description: "Call the API with httpie: never with curl"
type: feedback
scope: team
author: Ada Lovelace
created: 2026-05-01T10:00:00Z
updated: 2026-05-02T09:30:00Z
expires: 2027-01-01
---
The gateway drops curl's default headers.
"""


def test_every_field_is_read_and_written_back_alike():
    """Byte for byte, when it was written by us."""
    entry = parse(WHOLE)

    assert entry.description == "Call the API with httpie: never with curl"
    assert (entry.type, entry.scope, entry.expires) == ("feedback", "team", "2027-01-01")
    assert entry.body == "The gateway drops curl's default headers.\n"
    assert render(entry) == WHOLE


@pytest.mark.parametrize(
    "head",
    [
        "type: feedback",
        "metadata:\n  type: feedback",
        "metadata:\n  node_type: memory\n  type: 'feedback'\n  originSessionId: x",
        "type: feedback\nmetadata:\n  type: project",
        'type: "feedback"  ',
        "tags:\n- a\n- b\ntype: feedback",
    ],
)
def test_the_type_counts_at_the_top_and_under_metadata(head):
    """The host writes the one or the other; the top wins."""
    assert parse(f"---\n{head}\n---\nx").type == "feedback"


def test_keys_that_are_not_ours_are_kept():
    """With the lines that belong to them."""
    head = "name: a\nmodified: 2026-01-01\ntags:\n  - x\n\n  - y\nmetadata:\n  node_type: memory\n  type: user"
    text = f"---\n{head}\n---\nbody"
    entry = parse(text)
    again = parse(render(entry))

    assert entry == again
    assert entry.other == (
        "modified: 2026-01-01",
        *("tags:", "  - x", "", "  - y"),
        *("metadata:", "  node_type: memory"),
    )


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("", ""),
        ("no head\n", "no head\n"),
        ("\ufeff---\nname: a\n---\nb", "b"),
        ("---\r\nname: a\r\n---\r\nb\r\n", "b\n"),
        ("----\nx", "----\nx"),
        ("---\n---\nb", "b"),
    ],
)
def test_a_head_is_optional_and_its_line_ends_do_not_matter(text, body):
    """Windows editors write others, and some a mark at the start."""
    assert parse(text).body == body


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain words", "plain words"),
        ("it's: a # mark", "it's: a"),
        ("'it''s: a # mark'", "it's: a # mark"),
        ('"tab\\t \\u00e9"', "tab\t é"),
        (">-\n  folded\n  lines", "folded lines"),
        ("first\n  second", "first second"),
        ("", ""),
    ],
)
def test_a_value_may_be_plain_quoted_or_folded(value, text):
    """As in YAML, as far as single texts go."""
    assert parse(f"---\ndescription: {value}\n---\n").description == text


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("name: a", 1),
        ("just words\n---", 2),
        ("name: a\ntype: rule\n---", 3),
        ("name: a\nname: b\n---", 3),
        ("name: [a, b]\n---", 2),
        ("name:\n- a\n---", 2),
        ("name: &x a\n---", 2),
        ("name: !!python/object a\n---", 2),
        ('name: "a\n---', 2),
        ("name: 'a\n---", 2),
        ("scope: everyone\n---", 2),
        ("expires: soon\n---", 2),
        ("expires: 2026-02-31\n---", 2),
        (f"description: {'x' * 501}\n---", 2),
        ("metadata:\n  a: b\n  type: rule\n---", 4),
    ],
)
def test_a_malformed_head_is_refused_with_the_line(head, line):
    """Not guessed at."""
    with pytest.raises(BadEntry) as caught:
        parse(f"---\n{head}\n")

    assert caught.value.line == line


def test_bytes_that_are_no_text_are_no_entry():
    """With the key and the line."""
    with pytest.raises(BadEntry) as caught:
        decoded(b"---\nname: a\xff\n---\n", "k.md")

    assert (caught.value.key, caught.value.line) == ("k.md", 2)


@pytest.mark.parametrize(
    ("expires", "over"),
    [
        ("", False),
        ("2026-06-01", False),
        ("2026-05-31", True),
        ("2026-06-01T11:59:00Z", True),
        ("2026-06-01T13:00:00+0200", True),
        ("2026-06-01T12:30:00", False),
    ],
)
def test_a_date_lasts_until_its_end(expires, over):
    """A time until that moment."""
    assert is_expired(Entry(expires=expires), NOW) is over


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
DATES = st.sampled_from(("", "2026-01-31", "2026-01-31T10:00:00Z", "2026-01-31T10:00:00+02:00"))
ENTRIES = st.builds(
    Entry,
    body=TEXT.map(lambda text: text.replace("\r\n", "\n").removeprefix("\ufeff")),
    name=TEXT,
    description=TEXT
    | st.sampled_from(("true", "12", "- a", "# b", "a: b", "'", '"', "---", " x ", "[", "\u2028")),
    type=st.sampled_from(("", "user", "project")),
    author=TEXT,
    scope=st.sampled_from(("", "team", "private")),
    created=DATES,
    updated=DATES,
    expires=DATES,
    other=st.sampled_from(((), ("tags:", "  - a"), ("x: y",))),
)


@given(ENTRIES)
@examples(500)
def test_what_is_written_is_read_back_the_same(entry):
    """Whatever the fields hold."""
    assert parse(render(entry)) == entry


@given(
    st.text(max_size=200)
    | st.lists(
        st.sampled_from(
            (
                "---\n",
                "name: ",
                "a\n",
                "metadata:\n",
                "  type: user\n",
                '"',
                "'",
                ">\n",
                "- x\n",
                "\n",
                "#",
            )
        ),
        max_size=20,
    ).map("".join)
)
@examples(500)
def test_any_text_is_an_entry_or_refused(text):
    """And one that was accepted is stable."""
    try:
        entry = parse(text)
    except BadEntry:
        return
    assert parse(render(entry)) == entry


def test_every_field_is_documented_in_the_module():
    """The example at the top names all of them."""
    from keepthread.memory import entries

    assert all(f"\n    {name}: " in (entries.__doc__ or "") for name in FIELDS)
    assert when("2026-01-31").tzinfo is timezone.utc


def test_a_line_of_spaces_takes_no_longer_than_its_length():
    """One that grew with the square of it would keep every start waiting; a comment ends a value all the same."""
    parse(f"---\ndescription: a{' ' * 400}b # c\n---\n")
    assert parse("---\ndescription: a  # b # c\n---\n").description == "a"
    with pytest.raises(BadEntry, match="longer than"):
        parse(f"---\ndescription: a{' ' * 1_000_000}b\n---\n")
