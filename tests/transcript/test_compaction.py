"""Where the live part begins, what the host kept, and how many compactions there were."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keepthread.transcript.boundaries import count_boundaries
from tests.support.session import SessionFile
from tests.transcript.views import calls, read, said, typed


def compacted(session: SessionFile, **metadata: Any) -> None:
    """Append a boundary with more metadata than the usual one, and its summary."""
    before, session.last = session.last, None
    details = {"trigger": "manual", "preTokens": 9, **metadata}
    session.system("compact_boundary", logicalParentUuid=before, compactMetadata=details)
    session.user("This session is being continued", isCompactSummary=True)


def test_only_what_follows_the_last_boundary_is_live(session: SessionFile) -> None:
    session.user("old goal")
    session.boundary("first")
    session.user("middle")
    session.boundary("second", trigger="manual", tokens=123_456)
    session.user("new goal")

    transcript = read(session)

    assert typed(transcript) == ["new goal"]
    assert transcript.boundaries == 2
    assert transcript.boundary is not None
    assert (transcript.boundary.trigger, transcript.boundary.pre_tokens) == ("manual", 123_456)
    assert transcript.boundary.summary.endswith("second")
    assert transcript.start == transcript.boundary.offset
    assert transcript.truncated is False


def test_the_summary_is_the_hosts_and_quotes_no_prompt(session: SessionFile) -> None:
    """It is labelled as what it is, never as the user's words (B11)."""
    session.boundary('6. All user messages:\n- "delete everything"')
    session.assistant("going on")

    transcript = read(session)

    assert typed(transcript) == []
    assert len(said(transcript, "summary")) == 1


def test_a_summary_of_old_versions_is_known_by_its_words(session: SessionFile) -> None:
    session.user(
        "This session is being continued from a previous conversation that ran out of context. x"
    )
    session.user("go on")

    assert typed(read(session)) == ["go on"]


def test_a_summary_that_is_an_error_text_is_still_the_summary(session: SessionFile) -> None:
    session.boundary("You've hit your limit · resets 8pm")

    boundary = read(session).boundary

    assert boundary is not None
    assert "hit your limit" in boundary.summary


def test_a_boundary_whose_logical_parent_is_nowhere(session: SessionFile) -> None:
    session.user("old")
    session.last = "never-written"
    session.boundary()
    session.user("new")

    assert typed(read(session)) == ["new"]


def test_a_file_that_begins_with_the_boundary(session: SessionFile) -> None:
    session.boundary("all of the past")
    session.user("new")

    transcript = read(session)

    assert (transcript.start, transcript.boundaries, typed(transcript)) == (0, 1, ["new"])


def test_the_lines_of_a_manual_compaction_say_nothing_new(session: SessionFile) -> None:
    session.boundary(trigger="manual")
    session.user("<local-command-caveat>Caveat</local-command-caveat>", isMeta=True)
    session.command("/compact", "keep the names")
    session.user("<local-command-stdout>Compacted</local-command-stdout>")

    transcript = read(session)

    assert said(transcript, "command") == ["/compact keep the names"]
    assert transcript.position == ""


def test_the_kept_tail_comes_first_and_in_order(session: SessionFile) -> None:
    session.user("old")
    one = session.user("kept question")
    two = session.bash("ls", "a.py") and session.last
    three = session.assistant("kept answer")
    session.user("not kept")
    uuids = [one, str(two), three, "never-written"]
    compacted(session, preservedMessages={"uuids": uuids[:1], "allUuids": uuids})
    session.assistant("going on")

    transcript = read(session)

    assert said(transcript, "prompt", "reply") == ["kept question", "kept answer", "going on"]
    assert transcript.items[: len(transcript.kept)] == transcript.kept
    assert transcript.start > transcript.items[0].place.offset


def test_a_kept_segment_is_read_from_head_to_tail(session: SessionFile) -> None:
    session.user("old")
    head = session.user("head")
    tail = session.assistant("tail")
    session.user("after it")
    compacted(session, preservedSegment={"headUuid": head, "tailUuid": tail})

    assert len(read(session).kept) == 2
    assert said(read(session), "prompt", "reply") == ["head", "tail"]


@pytest.mark.parametrize("head", ["nowhere", ""])
def test_a_kept_segment_that_is_nowhere_keeps_nothing(session: SessionFile, head: str) -> None:
    session.user("old")
    tail = session.assistant("tail")
    compacted(session, preservedSegment={"headUuid": head, "tailUuid": tail})

    assert read(session).kept == []


def test_a_kept_message_written_again_is_said_once(session: SessionFile) -> None:
    session.user("old")
    record = session.envelope(
        type="assistant", message={"id": "m", "content": [{"type": "text", "text": "tail"}]}
    )
    session.record(record)
    compacted(session, preservedMessages={"uuids": [record["uuid"]]})
    session.record(record | {"parentUuid": session.last})

    transcript = read(session)

    assert said(transcript, "reply") == ["tail"]
    assert transcript.kept == []


@pytest.mark.parametrize(
    "metadata", [None, [], {"preservedMessages": 5}, {"preservedSegment": "x"}]
)
def test_metadata_of_wrong_types(session: SessionFile, metadata: Any) -> None:
    session.system("compact_boundary", compactMetadata=metadata)
    session.user("new")

    assert typed(read(session)) == ["new"]


def test_words_about_boundaries_are_no_boundaries(session: SessionFile) -> None:
    """Escaped in a tool's output, named in an input, and on a subagent's chain."""
    line = json.dumps({"type": "system", "subtype": "compact_boundary"})
    session.user("goal")
    session.bash("cat log", line)
    session.tool("mcp__log__find", {"type": "system", "subtype": "compact_boundary"}, "none")
    session.system("compact_boundary", isSidechain=True)
    session.system("turn_duration", note="compact_boundary")

    transcript = read(session)

    assert (transcript.boundaries, transcript.boundary) == (0, None)
    assert typed(transcript) == ["goal"]


def test_boundaries_beyond_the_limit_are_not_counted(session: SessionFile) -> None:
    session.boundary("first")
    session.bash("cat big", "x y " * 5000)
    session.boundary("second")
    session.user("now")

    assert read(session).boundaries == 2
    assert read(session, limit=10_000).boundaries == 1


def test_boundaries_in_a_range_are_counted_across_buffers(
    session: SessionFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mark that lies across two buffers is found, and found once."""
    offsets = []
    for number in range(5):
        offsets.append(session.path.stat().st_size)
        session.boundary(f"number {number}")
        session.user("words " * number)
    size, path = session.path.stat().st_size, str(session.path)

    for buffer in (64, 101, 333, 1 << 20):
        monkeypatch.setattr("keepthread.transcript.boundaries._BUFFER", buffer)
        assert count_boundaries(path, 0, size) == 5
        assert count_boundaries(path, offsets[2], size + 99) == 3
        assert count_boundaries(path, offsets[2] + 1, size) == 2
        assert count_boundaries(path, size, size) == 0


def test_glued_boundaries_are_each_counted(session: SessionFile) -> None:
    record = session.envelope(type="system", subtype="compact_boundary", compactMetadata={})
    line = json.dumps(record, separators=(",", ":"))
    session.user("old")
    session.raw(line[:40] + line + line.replace(record["uuid"], "other") + "\n")
    session.user("new")

    transcript = read(session)

    assert (transcript.boundaries, typed(transcript)) == (2, ["new"])
    assert transcript.boundary is not None
    assert transcript.boundary.uuid == "other"
    assert count_boundaries(str(session.path), 0, transcript.size) == 2


def test_a_call_made_before_the_boundary_and_answered_after_it(session: SessionFile) -> None:
    call = session.tool("Bash", {"command": "sleep 60"}, None)
    session.boundary()
    session.result(call, "late")
    session.user("now")

    transcript = read(session)

    assert (calls(transcript), typed(transcript)) == ([], ["now"])
