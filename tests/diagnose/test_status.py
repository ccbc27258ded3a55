"""status: spans in words, and the windows of the models it knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from keepthread.diagnose.status import _age
from keepthread.diagnose.status_text import _span
from keepthread.host.windows import window_of
from tests.support.cli import Person


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "unknown time"),
        (0, "0 s"),
        (59, "59 s"),
        (60, "1 min"),
        (3_599, "59 min"),
        (3_600, "1 h"),
        (90_000, "1 d"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(seconds: int | None, words: str) -> None:
    """As people say it."""
    assert _span(seconds) == words


def test_an_age_cannot_be_negative_and_a_damaged_stamp_has_none() -> None:
    """Clocks are set back; files are edited."""
    assert _age("2999-01-01T00:00:00Z") == 0
    assert _age("yesterday") is None


@pytest.mark.parametrize(
    ("model", "window"),
    [
        ("claude-sonnet-4-6", 200_000),
        ("claude-sonnet-4-6[1m]", 1_000_000),
        ("claude-opus-5-5", 1_000_000),
        ("claude-opus-4-6", 200_000),
        ("claude-haiku-4-5", 200_000),
        ("gpt-7", None),
        ("", None),
    ],
)
def test_the_window_of_a_model(model: str, window: int | None) -> None:
    """Unknown models have no share."""
    assert window_of(model) == window


def test_a_long_list_is_cut_and_says_how_much_more_there_is(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousand sessions are nobody's reading."""
    person = Person(home, capsys, monkeypatch)
    monkeypatch.setattr("keepthread.diagnose.status._LISTED", 2)
    person.set(KEEPTHREAD_ENGINE="facts")
    for number in range(4):
        person.session(session=f"{number}1111111-1111-4111-8111-111111111111")
        person.ok("handoff", "--session", f"{number}1111111-1111-4111-8111-111111111111")

    lines = person.ok("show", "--list").splitlines()

    assert len(lines) == 3
    assert lines[2] == "… and 2 older ones; see `keepthread show --session ID`"
