"""The context now: the API's own figure, what is an estimate and says so, and what fills the context."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from keepthread.economy.gauge import contributors, gauge, model_in_force, shown, told
from keepthread.economy.pace import pace
from keepthread.host.thresholds import thresholds
from keepthread.transcript.read import read_transcript
from tests.support.session import SessionFile

MODEL = "claude-sonnet-4-6"


@pytest.fixture
def session(tmp_path: Path) -> SessionFile:
    """Return an empty session."""
    return SessionFile(tmp_path / "a.jsonl")


def measured(
    session: SessionFile, model: str = MODEL, **env: str
) -> tuple[dict[str, Any], list[str]]:
    """Return the gauge of a session and its lines."""
    point = thresholds(model, env)
    found = gauge(read_transcript(str(session.path)), point, pace(str(session.path)))
    return found, told(found, point)


def grown(session: SessionFile, *sizes: int) -> None:
    """Hold turns that end with so many tokens."""
    for size in sizes:
        session.user("Go on with the next part.")
        session.assistant("Done.", tokens=size - 23)


def test_the_figure_is_the_apis_own(session: SessionFile) -> None:
    """Input, what the cache gave and took, and the answer."""
    grown(session, 40_000, 50_000)
    found, lines = measured(session)

    assert {name: one for name, one in found.items() if name != "contributors"} == {
        "tokens": 50_000,
        "estimated": False,
        "window": 200_000,
        "share": 0.25,
        "since": 0,
        "threshold": 167_000,
        "to_compaction": 117_000,
        "growth_per_turn": 10_000,
        "turns_left": 11,
    }
    assert lines == [
        "Context      50,000 tokens, 25% of 200,000",
        "Compaction   in 117,000 tokens, at 167,000; ~ est 11 turns, 10,000 tokens each",
    ]


def test_what_came_after_the_answer_is_an_estimate_of_its_own(session: SessionFile) -> None:
    """It brings compaction nearer, and is marked."""
    grown(session, 50_000)
    session.user("x" * 40_000)
    found, lines = measured(session)

    assert found["tokens"] == 50_000
    assert 9_000 < found["since"] < 11_000
    assert found["to_compaction"] == 117_000 - found["since"]
    assert lines[0].endswith(f"; ~ est {found['since']:,} more since")
    assert lines[1].startswith(f"Compaction   in ~ est {found['to_compaction']:,} tokens")


def test_before_the_first_answer_all_of_it_is_an_estimate(session: SessionFile) -> None:
    """And says so."""
    session.user("x" * 4_000)
    found, lines = measured(session)

    assert found["estimated"] and 900 < found["tokens"] < 1_100
    assert lines[0].startswith("Context      ~ est ")


def test_after_a_compaction_the_old_figure_is_never_told(session: SessionFile) -> None:
    """Unknown, until an answer brings a new one."""
    grown(session, 160_000)
    session.boundary("What was done.")
    session.user("Go on.")
    unknown, lines = measured(session)
    session.assistant("Going on.", tokens=29_977)
    known, _ = measured(session)

    for name in ("tokens", "share", "to_compaction", "growth_per_turn", "turns_left"):
        assert unknown[name] is None, name
    assert lines[0] == "Context      unknown until the next answer: it was compacted"
    assert (known["tokens"], known["to_compaction"]) == (30_000, 137_000)


def test_a_context_over_the_point_is_due(session: SessionFile) -> None:
    """The distance is never negative."""
    grown(session, 150_000, 170_000)
    found, lines = measured(session)

    assert (found["to_compaction"], found["turns_left"]) == (0, 0)
    assert lines[1].startswith("Compaction   due, at 167,000")


@pytest.mark.parametrize(
    ("model", "env", "text"),
    [
        ("claude-haiku-4-5", {}, "only when the API refuses: this model has no earlier point"),
        (MODEL, {"DISABLE_AUTO_COMPACT": "1"}, "off by DISABLE_AUTO_COMPACT"),
        ("my-model", {}, "in 917,000 tokens, at 967,000, if the model's window is that large"),
        ("", {}, "unknown until a model answers"),
    ],
)
def test_where_there_is_no_point_the_reason_is_told(
    session: SessionFile, model: str, env: dict[str, str], text: str
) -> None:
    """No figure stands for one that is not known."""
    grown(session, 50_000)
    _, lines = measured(session, model, **env)

    assert lines[1] == f"Compaction   {text}"


def test_the_largest_are_told_by_tool_file_and_server(session: SessionFile) -> None:
    """By the size of calls and results, which are estimates; those before a compaction are gone."""
    session.read(f"{session.cwd}/old.py", "o z\n" * 10000)
    session.boundary("What was done.")
    session.user("Look at both files.")
    session.read(f"{session.cwd}/src/a.py", "a z\n" * 2000)
    session.read(f"{session.cwd}/src/a.py", "a z\n" * 2000)
    session.read("/etc/b.conf", "b z\n" * 1000)
    session.bash("make", "c z\n" * 5000)
    session.tool("mcp__git hub__list_\x07it", {}, "d z\n" * 500)
    session.write(f"{session.cwd}/src/new.py", "e z\n" * 2500)
    screen = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A"}}
    session.tool("mcp__browser__shot", {}, [screen, screen])
    session.assistant("Done.", tokens=50_000)
    kinds = contributors(read_transcript(str(session.path)))

    assert [(one["name"], one["tokens"], one["results"]) for one in kinds["tools"]] == [
        ("Read", 5_018, 3),
        ("Bash", 5_004, 1),
        ("mcp__browser__shot", 3_003, 1),
        ("Write", 2_522, 1),
        ("mcp__git hub__list_?it", 500, 1),
    ]
    assert [(one["name"], one["tokens"]) for one in kinds["files"]] == [
        ("src/a.py", 4_014),
        ("src/new.py", 2_522),
        ("/etc/b.conf", 1_004),
    ]
    assert kinds["servers"] == [
        {"name": "browser", "tokens": 3_003, "results": 1},
        {"name": "git hub", "tokens": 500, "results": 1},
    ]
    assert measured(session)[1][-1] == (
        "Largest      ~ est Read 5,018, Bash 5,004, mcp__browser__shot 3,003;"
        " files: src/a.py 4,014, src/new.py 2,522, /etc/b.conf 1,004; MCP: browser 3,003, git hub 500"
    )


def test_a_name_of_somebody_elses_is_bounded_and_harmless() -> None:
    """A terminal obeys control characters, and a bidirectional mark turns a line round."""
    assert shown("a\x1b[2Jb\u202ec\nd\x9b") == "a?[2Jb?c?d?"
    assert len(shown("x" * 5_000)) == 161


@pytest.mark.parametrize(
    ("tokens", "chosen", "model"),
    [
        (50_000, "", MODEL),
        (50_000, "sonnet[1m]", f"{MODEL}[1m]"),
        (50_000, f"{MODEL}[1m]", f"{MODEL}[1m]"),
        (50_000, "opus[1m]", MODEL),
        (50_000, "[1m]", MODEL),
        (50_000, MODEL, MODEL),
        (250_000, "", f"{MODEL}[1m]"),
    ],
)
def test_the_large_window_is_told_by_the_choice_or_by_the_size(
    tokens: int, chosen: str, model: str
) -> None:
    """A transcript names the model without it."""
    assert model_in_force(MODEL, tokens, chosen) == model
    assert model_in_force("claude-opus-5-5", 250_000, "opus[1m]") == "claude-opus-5-5"
    assert model_in_force("", 0, "opus") == "opus"
