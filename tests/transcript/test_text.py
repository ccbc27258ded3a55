"""Texts are safe to carry, whatever they held."""

from __future__ import annotations

import pytest

from keepthread.transcript.text import bounded, carried, clean, without_base64
from keepthread.transcript.wording import without_reminders

REMINDER = "<system-reminder>\nthis is a reminder\n</system-reminder>"


@pytest.mark.parametrize(
    ("dirty", "expected"),
    [
        ("plain", "plain"),
        ("a\x00b", "ab"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://a\x1b\\link", "link"),
        ("\x1b]unfinished " + "x" * 2000, "unfinished " + "x" * 2000),
        ("end\x1b", "end"),
        ("ok \ud83d", "ok \ufffd"),
        ("\U0001f600 fine", "\U0001f600 fine"),
    ],
)
def test_control_sequences_and_lone_surrogates_go(dirty: str, expected: str) -> None:
    assert clean(dirty) == expected
    clean(dirty).encode("utf-8")


def test_clean_is_idempotent_on_nested_escapes() -> None:
    text = "\x1b\x1b[31m[31mx\x00\x1b[0m"

    assert clean(clean(text)) == clean(text)


def test_base64_is_replaced_wherever_it_starts() -> None:
    for start in (0, 1, 300, 511, 513):
        text = " " * start + "QUJD" * 400 + "== after"

        assert without_base64(text) == " " * start + "[base64] after"


def test_long_words_that_are_no_base64_stay() -> None:
    path = "/".join(["some-folder_name"] * 200)

    assert without_base64(path) == path


def test_the_bound_keeps_head_and_tail_and_names_the_gap() -> None:
    assert bounded("a" * 10 + "b" * 30 + "c" * 10, 10, 10) == (
        "a" * 10 + "\n[... 30 characters cut ...]\n" + "c" * 10
    )
    assert bounded("short", 10, 10) == "short"
    assert bounded("abcdef", 2, 0) == "ab\n[... 4 characters cut ...]\n"


def test_a_cut_never_leaves_half_a_character() -> None:
    """Our own cut beside an emoji still encodes."""
    for length in range(8):
        carried("\U0001f600" * 20, length, length).encode("utf-8")


def test_reminders_at_start_and_end_go() -> None:
    assert without_reminders(f"content\n\n{REMINDER}\n") == "content"
    assert without_reminders(f"{REMINDER}\ncontent") == "content"
    assert without_reminders(f"{REMINDER}\n{REMINDER}") == ""


def test_reminder_tags_inside_the_text_stay() -> None:
    """A file that speaks of the tag is content, also when a real reminder follows it."""
    text = f"const a = '{REMINDER}';\nrest"

    assert without_reminders(text) == text
    assert without_reminders(f"{text}\n\n{REMINDER}") == text
    assert without_reminders("ends in a string '<system-reminder>x</system-reminder>") == (
        "ends in a string '<system-reminder>x</system-reminder>"
    )


def test_thousands_of_reminders_do_not_hang() -> None:
    assert without_reminders((REMINDER + "\n") * 50_000) != "x"
