"""What was needed after a compaction, counted exactly in sessions with planted facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from keepthread.errors import KeepthreadError
from keepthread.evaluate.needed import Compaction, compactions
from tests.support.session import SessionFile

COMMIT = "3f9a1bc"


@pytest.fixture
def session(tmp_path: Path) -> SessionFile:
    """A session in which a good deal is named."""
    session = SessionFile(tmp_path / "s.jsonl")
    session.user("Port load_rows, see https://example.org/spec. Never touch the schema.")
    session.edit("/home/dev/proj/src/rows.py", "def load_rows():", "def load_rows(limitRows):")
    session.read("/home/dev/proj/src/other.py", "1\tdef read_other(): ...")
    session.bash("pytest -q", f"3 passed, {COMMIT}")
    return session


def only(session: SessionFile) -> Compaction:
    """Return the one compaction of the session."""
    (compaction,) = compactions(str(session.path))
    return compaction


def needed(compaction: Compaction) -> set[str]:
    """Return the needed facts without their kinds."""
    return {unit.text for unit in compaction.needed}


def test_what_is_written_after_and_stood_before_is_needed(session: SessionFile) -> None:
    """Words, paths and commands count wherever they stood before: typed, in an input, in an output."""
    session.boundary("summary")
    session.assistant(f"`read_other` came with {COMMIT}, `never_seen` is new.")
    session.user("Look at https://example.org/spec again.")
    session.bash("pytest -q")
    session.bash("pytest -x")
    session.read("/home/dev/proj/src/rows.py")

    assert needed(only(session)) == {
        "read_other",
        COMMIT,
        "https://example.org/spec",
        "pytest -q",
        "src/rows.py",
    }


def test_new_content_is_not_what_the_session_needed(session: SessionFile) -> None:
    """Of an edit the old text and the path count, of a file written only the path, of a heredoc nothing."""
    session.boundary()
    session.write("/home/dev/proj/src/new.py", "import load_rows")
    session.edit("/home/dev/proj/src/rows.py", "limitRows", "read_other")
    session.bash("cat > a <<'EOF'\nread_other\nEOF")

    assert needed(only(session)) == {"src/rows.py", "limitRows"}


def test_outputs_and_the_hosts_words_after_the_boundary_ask_for_nothing(
    session: SessionFile,
) -> None:
    session.boundary("The summary names load_rows.")
    session.user("<task-notification>load_rows</task-notification>")
    session.user("load_rows", isMeta=True)
    session.bash("true", "load_rows")
    session.sidechain("load_rows", "read_other")

    assert needed(only(session)) == set()


def test_what_the_host_kept_verbatim_is_not_needed(session: SessionFile) -> None:
    kept = session.assistant("`kept_name` and `load_rows` are next.")
    session.assistant("`lost_name` too.")
    session.last = None
    session.add(
        type="system",
        subtype="compact_boundary",
        compactMetadata={"preservedMessages": {"allUuids": [kept, "gone"]}},
    )
    session.assistant("`kept_name`, `lost_name`, `read_other`")

    assert needed(only(session)) == {"lost_name", "read_other"}


def test_a_kept_segment_reaches_from_its_head_to_its_tail(session: SessionFile) -> None:
    head = session.assistant("`first_kept`")
    session.assistant("`second_kept`")
    tail = session.assistant("`third_kept`")
    session.assistant("`after_it`")
    session.add(
        type="system",
        subtype="compact_boundary",
        compactMetadata={"preservedSegment": {"headUuid": head, "tailUuid": tail}},
    )
    session.assistant("`first_kept`, `second_kept`, `third_kept`, `after_it`, `read_other`")

    assert needed(only(session)) == {"after_it", "read_other"}


def test_every_boundary_has_its_own_after_and_all_that_was_before(session: SessionFile) -> None:
    session.boundary("first")
    session.assistant("`load_rows` and `mid_name`")
    session.edit("/home/dev/proj/src/mid.py", "x", "y")
    session.user("Go on with the middle part.")
    session.boundary("second")
    session.assistant("`read_other` and `mid_name`")

    first, second = compactions(str(session.path))

    assert (first.ordinal, needed(first)) == (1, {"load_rows"})
    assert (second.ordinal, needed(second)) == (2, {"read_other", "mid_name"})
    assert "second" in second.summary and "second" not in first.summary
    assert (first.edited, second.edited) == (("src/rows.py",), ("src/mid.py",))
    assert (first.rules, second.rules) == (("Never touch the schema.",),) * 2
    assert second.ask == "Go on with the middle part."


def test_a_prompt_from_the_queue_is_the_ask_once_it_was_taken(session: SessionFile) -> None:
    session.queue("enqueue", "And the tests, please.")
    session.queue("remove")
    session.queue("enqueue", "<task-notification>done</task-notification>")
    session.queue("enqueue", "Still waiting.")
    session.boundary()

    assert only(session).ask == "And the tests, please."


def test_a_failed_edit_is_none(session: SessionFile) -> None:
    arguments = {"file_path": "/home/dev/proj/src/no.py", "old_string": "a", "new_string": "b"}
    session.tool("Edit", arguments, "String to replace not found", is_error=True)
    session.boundary()

    assert only(session).edited == ("src/rows.py",)


def test_a_file_without_a_compaction_has_none(session: SessionFile) -> None:
    session.bash("true", '{"subtype":"compact_boundary"}')

    assert compactions(str(session.path)) == []


def test_a_folder_is_no_transcript(tmp_path: Path) -> None:
    with pytest.raises(KeepthreadError, match="no readable transcript"):
        compactions(str(tmp_path))
