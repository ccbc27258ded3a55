"""What one's own transcripts show of compactions, and `keepthread thresholds` as a whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from keepthread.economy import observed as module
from keepthread.economy.observed import observed
from tests.support.cli import Person
from tests.support.session import SESSION, SessionFile

OTHER = "22222222-2222-4222-8222-222222222222"


def compacted(path: Path, model: str, *sizes: int, trigger: str = "auto") -> None:
    """Write a session that was compacted at each of these sizes."""
    session = SessionFile(path)
    session.model = model
    for size in sizes:
        session.user("Go on.")
        session.assistant("Done.", tokens=size)
        session.boundary("What was done.", tokens=size, trigger=trigger)
    session.user("Go on.")


def test_compactions_are_told_by_model_and_by_who_asked(tmp_path: Path) -> None:
    """Over all projects; a subagent's and a printed boundary are none."""
    compacted(tmp_path / "projects/a/1.jsonl", "claude-sonnet-4-6", 166_000, 168_000, 171_000)
    compacted(tmp_path / "projects/b/2.jsonl", "claude-sonnet-4-6", 60_000, trigger="manual")
    compacted(tmp_path / "projects/b/3.jsonl", "claude-opus-5-5", 967_100)
    talk = SessionFile(tmp_path / "projects/b/4.jsonl")
    talk.user('{"type":"system","subtype":"compact_boundary","compactMetadata":{"preTokens":9}}')
    (tmp_path / "projects/b/link.jsonl").symlink_to(tmp_path / "projects/b/3.jsonl")

    assert observed(str(tmp_path)) == [
        _group("claude-opus-5-5", "auto", 1, 967_100, 967_100, 967_100),
        _group("claude-sonnet-4-6", "auto", 3, 166_000, 168_000, 171_000),
        _group("claude-sonnet-4-6", "manual", 1, 60_000, 60_000, 60_000),
    ]


def _group(*values: Any) -> dict[str, Any]:
    names = ("model", "trigger", "count", "least", "median", "most")
    return dict(zip(names, values, strict=True))


def test_reading_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest files, the end of each, and no more than so much in all."""
    compacted(tmp_path / "projects/a/1.jsonl", "claude-sonnet-4-6", *[150_000] * 50)
    monkeypatch.setattr(module, "_EACH", 5_000)
    few = observed(str(tmp_path))[0]["count"]
    monkeypatch.setattr(module, "_ALL", 0)

    assert 0 < few < 10
    assert observed(str(tmp_path)) == []


def test_nothing_and_nonsense_show_nothing(tmp_path: Path) -> None:
    """A file in place of the folder, sizes of other types."""
    session = SessionFile(tmp_path / "projects/a/1.jsonl")
    for tokens in ("many", None, -1, 1.5):
        session.system("compact_boundary", compactMetadata={"preTokens": tokens})
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "projects").write_text("no folder")

    assert observed(str(tmp_path)) == observed(str(tmp_path / "elsewhere")) == []


def test_thresholds_of_the_session_at_hand(person: Person) -> None:
    """With what is in force, where it comes from, and one's own compactions beside it."""
    session = person.session()
    session.assistant("Done.", tokens=168_000)
    session.boundary("What was done.", tokens=168_000)
    session.user("Go on.")
    session.assistant("Done.", tokens=20_000)
    settings = person.config / "settings.json"
    settings.write_text(json.dumps({"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "80"}}))

    assert person.ok("thresholds").splitlines() == [
        f"Model        claude-sonnet-4-6 (session {SESSION})",
        "Window       200,000 (the model's own)",
        "Reserve      20,000 for an answer",
        "Effective    180,000",
        "Warning      124,000",
        "Compacts     at 144,000",
        "Hard stop    177,000",
        f"In force     CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=80 ({settings})",
        "Yours        auto: 1 at 168,000 to 168,000, median 168,000 (claude-sonnet-4-6)",
        "Measured on  client 2.1.332",
    ]


def test_right_after_a_compaction_the_point_is_known_and_the_figure_is_not(person: Person) -> None:
    """The model that answered before it answers again; a subagent's is another one's."""
    session = person.session()
    session.assistant("Done.", tokens=168_000)
    session.model = "claude-haiku-4-5"
    session.sidechain("Look around.")
    session.boundary("What was done.", tokens=168_000)
    lines = person.ok("status").splitlines()

    assert "Context      unknown until the next answer: it was compacted" in lines
    assert "Compaction   at 167,000" in lines
    model = f"Model        claude-sonnet-4-6 (session {SESSION})"
    assert person.ok("thresholds", "--model", " ").splitlines()[0] == model


def test_thresholds_as_json_begin_with_the_documented_shape(person: Person) -> None:
    """Scripts rely on it."""
    person.set(CLAUDE_CODE_AUTO_COMPACT_WINDOW="120000")
    found = person.json("thresholds", "--model", "claude-haiku-4-5", "--json")
    shape = ("window", "output_reserve", "effective", "threshold", "warning", "hard_stop")

    assert [found[name] for name in shape] == [120_000, 20_000, 100_000, 87_000, 67_000, 177_000]
    assert (found["model"], found["fires_early"], found["client"]) == (
        "claude-haiku-4-5",
        True,
        "2.1.332",
    )
    assert found["in_force"] == {
        "CLAUDE_CODE_AUTO_COMPACT_WINDOW": {"value": "120000", "source": "environment"}
    }


def test_models_that_wait_for_the_api_are_named_as_such(person: Person) -> None:
    """And no point is made up for them."""
    lines = person.ok("thresholds", "--model", "claude-haiku-4-5").splitlines()

    assert "Compacts     only when the API refuses" in "\n".join(lines)
    assert not any(line.startswith(("Warning", "Hard stop")) for line in lines)
    assert "a smaller window compacts only when" in person.ok("thresholds", "--model", "mine")


def test_without_a_session_and_a_choice_no_model_is_assumed(person: Person) -> None:
    """A choice counts, with where it was made."""
    assert person.ok("thresholds").startswith("Model        none known here")
    person.config.mkdir(exist_ok=True)
    (person.config / "settings.json").write_text('{"model": "opus"}')
    assert person.ok("thresholds").startswith(
        f"Model        opus ({person.config / 'settings.json'})"
    )
    person.set(ANTHROPIC_MODEL="claude-sonnet-4-6[1m]")
    assert "Model        claude-sonnet-4-6[1m] (ANTHROPIC_MODEL, environment)" in person.ok(
        "thresholds"
    )


def test_status_warns_of_a_large_transcript_only_when_asked(person: Person) -> None:
    """Off by default."""
    size = person.session().path.stat().st_size
    assert "Transcript" not in person.ok("status")
    person.write_env("KEEPTHREAD_MAX_TRANSCRIPT_BYTES=100\n")

    assert f"Transcript   {size:,} bytes, over KEEPTHREAD_MAX_TRANSCRIPT_BYTES (100)" in person.ok(
        "status"
    )
    assert person.json("status", "--json")["context"]["transcript_bytes"] == size
