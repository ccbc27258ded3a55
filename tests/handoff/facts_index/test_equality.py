"""With an index a compaction comes to what it comes to without one, wherever the index stopped; and it knows more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.handoff.facts_index.talk import handoff, indexed, same_reading, steps
from tests.support.session import SESSION, SessionFile

# What an index adds to a handoff that no earlier one stands behind: words and edits from before the compaction.
_MORE = (
    "files_touched",
    "resume_prompt",
    "current_state",
    "facts",
    "open_questions",
    "session_started",
)


@pytest.fixture
def file(tmp_path: Path) -> SessionFile:
    return SessionFile(tmp_path / "proj" / f"{SESSION}.jsonl")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.mark.parametrize("every", [1, 2, 3, 7, 19, 40])
def test_the_reading_is_the_same_wherever_the_index_stopped(
    file: SessionFile, state: Path, every: int
) -> None:
    compared = 0
    for at in steps(file, every, 120, compactions=True):
        if at % every == 0:
            indexed(file, state)
        compared += same_reading(file, state)

    assert compared > 70


@pytest.mark.parametrize("every", [1, 4, 11, 30])
def test_without_a_compaction_the_handoff_is_the_same(
    file: SessionFile, state: Path, tmp_path: Path, every: int
) -> None:
    for at in steps(file, 100 + every, 90, compactions=False):
        if at % every == 0:
            indexed(file, state)
        if at % 9 == 0:
            assert handoff(file, state) == handoff(file, tmp_path / "without")


@pytest.mark.parametrize("every", [1, 5, 17])
def test_with_a_handoff_at_each_compaction_the_handoff_is_the_same(
    file: SessionFile, state: Path, tmp_path: Path, every: int
) -> None:
    """Then there is nothing that only the index knows."""
    for at in steps(file, 200 + every, 120, compactions=True):
        if at % every == 0:
            indexed(file, state)
        if at % 23 == 22:
            assert handoff(file, state) == handoff(file, tmp_path / "without")


@pytest.mark.parametrize("every", [1, 6, 25])
def test_behind_a_compaction_without_a_handoff_the_index_only_adds(
    file: SessionFile, state: Path, tmp_path: Path, every: int
) -> None:
    for number, at in enumerate(steps(file, 300 + every, 100, compactions=True)):
        if at % every == 0:
            indexed(file, state)
        if number % 10 == 9:
            known, plain = handoff(file, state), handoff(file, tmp_path / f"without{number}")
            (state / "sessions" / SESSION / "handoff.json").unlink()
            differing = {name for name in plain if known[name] != plain[name]}

            assert differing <= set(_MORE)
            assert _is_more(known, plain)


def _is_more(known: dict[str, Any], plain: dict[str, Any]) -> bool:
    said = [entry["source"] for entry in known["facts"]["user_messages"]]
    paths = [entry["path"] for entry in known["files_touched"]]
    return all(entry["source"] in said for entry in plain["facts"]["user_messages"]) and all(
        entry["path"] in paths for entry in plain["files_touched"]
    )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10_000), every=st.integers(1, 50), number=st.integers(1, 70))
def test_the_reading_is_the_same_for_any_session(
    tmp_path_factory: pytest.TempPathFactory, seed: int, every: int, number: int
) -> None:
    folder = tmp_path_factory.mktemp("session")
    file = SessionFile(folder / f"{SESSION}.jsonl")
    for at in steps(file, seed, number, compactions=True):
        if at % every == 0:
            indexed(file, folder / "state")

    assert same_reading(file, folder / "state")


def test_a_line_that_is_being_written_is_left_to_the_next_time(
    file: SessionFile, state: Path
) -> None:
    file.user("Go.")
    file.edit("/home/dev/proj/src/a.py")
    content = file.path.read_bytes()
    for cut in range(len(content) // 2, len(content), 41):
        file.path.write_bytes(content[:cut])
        indexed(file, state)
        assert same_reading(file, state)
    file.path.write_bytes(content)

    assert indexed(file, state) == "appended"
    assert same_reading(file, state)
