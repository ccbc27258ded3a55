"""Following the log: what is new, whatever was rotated away."""

from __future__ import annotations

import pytest

from keepthread.diagnose.logs import Entry, _added


def lines(text: str) -> list[Entry]:
    return [{"event": letter} for letter in text]


@pytest.mark.parametrize(
    ("before", "now", "new"),
    [
        ("", "ab", "ab"),
        ("ab", "ab", ""),
        ("ab", "abc", "c"),
        ("abcd", "cdef", "ef"),
        ("aaaa", "aaab", "b"),
        ("ab", "xy", "xy"),
        ("ab", "", ""),
    ],
)
def test_only_what_came_after_is_new(before: str, now: str, new: str) -> None:
    """The oldest lines may be gone; all of them, when it was rotated twice between two looks."""
    assert _added(lines(before), lines(now)) == lines(new)
