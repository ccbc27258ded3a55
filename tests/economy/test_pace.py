"""How the context grew from turn to turn, told from the end of a transcript."""

from __future__ import annotations

from pathlib import Path

from keepthread.economy.pace import pace
from tests.support.session import SessionFile


def turns(session: SessionFile, *sizes: int) -> None:
    """Hold turns; each ends with so many tokens in context (23 are the answer's and the prompt's own)."""
    for size in sizes:
        session.user(f"Now the part that makes {size}")
        session.bash("make", "done", tokens=size - 5_000)
        session.assistant("Done.", tokens=size - 23)


def test_growth_is_the_median_of_the_last_turns(tmp_path: Path) -> None:
    """One turn that read a whole book says little about the next."""
    session = SessionFile(tmp_path / "a.jsonl")
    turns(session, 20_000, 24_000, 25_000, 90_000, 93_000)
    found = pace(str(session.path))

    assert found.tokens == 93_000
    assert found.turns == [93_000, 90_000, 25_000, 24_000, 20_000]
    assert found.growth == 4_000
    assert found.model == "claude-sonnet-4-6"


def test_the_first_turn_is_not_closed_by_what_is_no_prompt(tmp_path: Path) -> None:
    """Results, injected words and the host's own commands begin no turn."""
    session = SessionFile(tmp_path / "a.jsonl")
    turns(session, 20_000)
    session.user("Caveat", isMeta=True)
    session.user(
        "<command-name>/context</command-name>\n<command-message>context</command-message>"
    )
    session.user("<local-command-stdout>much</local-command-stdout>")
    session.user([{"type": "image", "source": {}}, 7, None])  # type: ignore[list-item]
    turns(session, 30_000)

    assert pace(str(session.path)).turns == [30_000, 20_000]


def test_what_came_before_a_compaction_does_not_count(tmp_path: Path) -> None:
    """Without an answer since, the size is unknown: the old figure is never told."""
    session = SessionFile(tmp_path / "a.jsonl")
    turns(session, 150_000, 160_000)
    session.boundary("What was done.")
    empty = pace(str(session.path))
    turns(session, 30_000, 34_000)
    found = pace(str(session.path))

    assert (empty.tokens, empty.turns, empty.growth, empty.crossed) == (0, [], 0, True)
    assert (found.turns, found.tokens) == ([34_000, 30_000], 34_000)


def test_a_branch_that_was_rewound_does_not_count(tmp_path: Path) -> None:
    """It is in the file and not in the context."""
    session = SessionFile(tmp_path / "a.jsonl")
    turns(session, 20_000, 30_000)
    fork = session.last
    turns(session, 90_000)
    session.last = fork
    turns(session, 36_000)

    assert pace(str(session.path)).turns == [36_000, 30_000, 20_000]


def test_subagents_and_errors_are_no_answers(tmp_path: Path) -> None:
    """Their usage is another context's, or none."""
    session = SessionFile(tmp_path / "a.jsonl")
    turns(session, 20_000)
    last = session.last
    session.assistant("Found it.", tokens=700, isSidechain=True)
    session.last = last
    session.model = "<synthetic>"
    session.assistant("API Error", tokens=900)

    assert pace(str(session.path)).tokens == 20_000


def test_only_the_end_is_read(tmp_path: Path) -> None:
    """A long session costs no more than a short one."""
    session = SessionFile(tmp_path / "a.jsonl")
    turns(session, *range(20_000, 120_000, 1_000))
    found = pace(str(session.path), limit=20_000)

    assert 2 < len(found.turns) < 30
    assert found.growth == 1_000


def test_no_transcript_tells_nothing(tmp_path: Path) -> None:
    """A folder, a missing file, a name that no system can hold."""
    for path in (str(tmp_path), str(tmp_path / "none"), "\0", ""):
        assert (pace(path).tokens, pace(path).turns) == (0, [])
