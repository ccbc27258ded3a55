"""How the context has grown: what the Stop hook goes by after each turn."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keepthread.transcript.growth import growth
from tests.support.session import SessionFile


@pytest.fixture
def session(tmp_path: Path) -> SessionFile:
    """Return an empty transcript."""
    return SessionFile(tmp_path / "s.jsonl", cwd=str(tmp_path))


def size(session: SessionFile) -> int:
    """Return the transcript's size."""
    return session.path.stat().st_size


def test_the_context_is_input_and_cache_of_the_last_answer(session: SessionFile) -> None:
    """Of the main chain: a subagent's has a context of its own, and what the host made up has none."""
    session.user("go")
    session.assistant("fine", tokens=12_000)
    session.sidechain("look", "seen")
    session.model = "<synthetic>"
    session.assistant("API Error", tokens=99_000)

    assert growth(str(session.path), None).tokens == 12_003
    assert growth(str(session.path), None, end=0).tokens == 0


def test_what_a_compaction_left_is_unknown_until_the_api_has_counted_it(
    session: SessionFile,
) -> None:
    """The figure from before the boundary is never taken for the present one."""
    session.user("go")
    session.assistant("fine", tokens=150_000)
    since = size(session)
    session.boundary("Earlier work.")

    assert growth(str(session.path), None).tokens == 0
    found = growth(str(session.path), since - 10)
    assert (found.tokens, found.crossed) == (0, True)
    session.assistant("on", tokens=30_000)
    session.assistant("and on", tokens=33_000)
    found = growth(str(session.path), since)
    assert (found.tokens, found.lowest, found.crossed) == (33_003, 30_003, True)


def test_calls_count_once_and_since_the_last_prompt_by_themselves(session: SessionFile) -> None:
    """A record that stands in the file twice is one call."""
    session.user("go")
    session.bash("ls")
    since = size(session)
    session.bash("make")
    line = session.path.read_bytes().splitlines()[-2]
    session.raw(line + b"\n")
    session.user("and now?")
    session.bash("pwd")
    session.assistant("There.")

    found = growth(str(session.path), since)
    assert (found.calls, found.calls_of_turn, found.answered) == (2, 1, True)
    session.user("so?")
    session.assistant("So it is.")
    assert growth(str(session.path), since).calls_of_turn == 0


def test_a_turn_without_its_answer_is_not_whole(session: SessionFile) -> None:
    """The host writes its transcript behind the event."""
    session.user("go")
    assert not growth(str(session.path), None).answered
    session.bash("ls")
    assert not growth(str(session.path), None).answered
    session.assistant("Done.")
    assert growth(str(session.path), None).answered


def test_what_lies_beyond_the_limit_is_not_read_and_the_answer_says_so(
    session: SessionFile,
) -> None:
    """A gigabyte costs no more than the last two megabytes."""
    session.user("go")
    for number in range(40):
        session.bash(f"make {number}", "x" * 2_000)

    found = growth(str(session.path), 0, limit=20_000)
    assert found.cut
    assert 0 < found.calls < 40
    assert not growth(str(session.path), 0).cut


@pytest.mark.parametrize("kind", ["absent", "folder", "pipe", "damaged"])
def test_a_transcript_that_cannot_be_read_says_nothing(tmp_path: Path, kind: str) -> None:
    """And no error leaves the function."""
    path = tmp_path / "t"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "damaged":
        path.write_bytes(b'{"type":"assistant","message":{"usage":[1]}}\n{"usage"\n\x00"user"\n')

    found = growth(str(path), 0)
    assert (found.tokens, found.calls, found.answered) == (0, 0, False)
