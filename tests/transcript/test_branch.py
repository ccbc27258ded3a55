"""The live branch: rewinds, broken links, sidechains and replayed copies."""

from __future__ import annotations

import pytest

from tests.support.session import SessionFile
from tests.transcript.views import calls, read, said, typed


def test_a_rewound_prompt_is_abandoned_with_what_followed(session: SessionFile) -> None:
    session.user("goal")
    fork = session.assistant("ready")
    session.user("use curl")
    session.edit("/home/dev/proj/curl.py")
    session.rewind(fork)
    session.user("use httpie")
    session.assistant("with httpie")

    transcript = read(session)

    assert typed(transcript) == ["goal", "use httpie"]
    assert [m.text for m in transcript.abandoned] == ["use curl"]
    assert calls(transcript) == []


def test_a_rewind_is_seen_through_what_the_host_put_between(session: SessionFile) -> None:
    """Attachments, system and progress records lie between the answer and the prompts."""
    session.user("goal")
    fork = session.assistant("ready")
    session.attachment("hook_success", content="")
    session.user("first try")
    session.assistant("hm")
    session.rewind(fork)
    session.system("turn_duration", durationMs=5)
    session.progress()
    session.user("second try")

    transcript = read(session)

    assert typed(transcript) == ["goal", "second try"]
    assert [m.text for m in transcript.abandoned] == ["first try"]


def test_rewinding_to_the_very_start(session: SessionFile) -> None:
    root = session.progress(hookEvent="SessionStart")
    session.user("first try")
    session.assistant("hm")
    session.rewind(root)
    session.user("second try")

    assert typed(read(session)) == ["second try"]


def test_several_rewinds_leave_the_last_branch(session: SessionFile) -> None:
    fork = session.assistant("ready")
    for words in ("one", "two", "three"):
        session.rewind(fork)
        session.user(words)
        session.assistant(f"answer to {words}")

    transcript = read(session)

    assert (typed(transcript), said(transcript, "reply")) == (
        ["three"],
        ["ready", "answer to three"],
    )
    assert [m.text for m in transcript.abandoned] == ["one", "two"]


def test_going_back_to_the_first_branch_abandons_the_second(session: SessionFile) -> None:
    fork = session.assistant("ready")
    session.user("one")
    kept = session.assistant("answer one")
    session.rewind(fork)
    session.user("two")
    session.rewind(kept)
    session.assistant("more on one")

    assert typed(read(session)) == ["one"]


def test_parallel_calls_are_no_rewind(session: SessionFile) -> None:
    """Results hang under their own call lines; the next line follows the last result only."""
    session.user("goal")
    for number in range(3):
        block = {"type": "tool_use", "id": f"t{number}", "name": "Read", "input": {}}
        call = session.assistant(block, message_id="m1")
        session.result(f"t{number}", f"r{number}")
        session.rewind(call)
    session.result("t9", "of no call")
    session.assistant("all read")

    transcript = read(session)

    assert [c.result.text for c in calls(transcript)] == ["r0", "r1", "r2"]
    assert said(transcript, "reply") == ["all read"]


def test_slash_command_lines_under_one_parent_are_no_rewind(session: SessionFile) -> None:
    parent = session.assistant("ready")
    session.command("/model", "opus")
    session.rewind(parent)
    session.user("<local-command-stdout>Set model</local-command-stdout>")
    session.rewind(parent)
    session.user("go on")

    assert typed(read(session)) == ["/model opus", "go on"]


def test_a_missing_parent_is_repaired_by_file_order(session: SessionFile) -> None:
    session.user("goal")
    session.assistant("working")
    session.rewind("never-written")
    session.user("next")
    session.assistant("done")

    transcript = read(session)

    assert typed(transcript) == ["goal", "next"]
    assert transcript.abandoned == []


def test_an_accepted_plan_is_a_new_root_that_goes_on(session: SessionFile) -> None:
    session.user("plan the parser")
    session.assistant("here is the plan")
    session.rewind(None)
    session.user("Implement the following plan:\n\n# Parser")
    session.edit("/home/dev/proj/parser.py")

    transcript = read(session)

    assert typed(transcript) == ["plan the parser"]
    assert said(transcript, "plan") != []
    assert len(calls(transcript)) == 1


def test_a_child_written_before_its_parent(session: SessionFile) -> None:
    session.user("goal")
    a = session.envelope(
        type="assistant", message={"id": "m", "content": [{"type": "text", "text": "early"}]}
    )
    b = session.envelope(type="user", message={"content": "typed"}, parentUuid=a["uuid"])
    session.record(b)
    session.record(a)

    assert typed(read(session)) == ["goal", "typed"]


@pytest.mark.parametrize("length", [1, 2, 5])
def test_cycles_end(session: SessionFile, length: int) -> None:
    uuids = [f"u{n}" for n in range(length)]
    for number, uuid in enumerate(uuids):
        session.user(f"prompt {number}", uuid=uuid, parentUuid=uuids[(number + 1) % length])

    assert typed(read(session)) == [f"prompt {n}" for n in range(length)]


def test_inline_sidechains_are_not_the_users(session: SessionFile) -> None:
    """Twenty subagent prompts; the goal and the next step come from the main chain (B11)."""
    session.user("goal")
    for number in range(20):
        session.sidechain(f"subagent task {number}", "subagent reply")
    session.assistant("next step: ship")
    session.sidechain("late subagent task")

    transcript = read(session)

    assert said(transcript) == ["goal", "next step: ship"]
    assert transcript.position == session.last


def test_growing_copies_of_one_message_are_said_once_with_the_last_words(
    session: SessionFile,
) -> None:
    """A resume replays old turns under new uuids (B6)."""
    for words in ("Fix", "Fix the", "Fix the parser"):
        session.assistant(words, message_id="msg_1")
    session.assistant("Fix the", message_id="msg_1")

    assert said(read(session), "reply") == ["Fix the parser"]


def test_different_blocks_of_one_message_stay(session: SessionFile) -> None:
    session.assistant("First I look.", "Then I write.", message_id="msg_1")

    assert said(read(session), "reply") == ["First I look.", "Then I write."]


def test_the_same_line_four_times_is_said_once(session: SessionFile) -> None:
    record = session.envelope(type="user", message={"role": "user", "content": "only once"})
    for _ in range(4):
        session.record(record)

    assert typed(read(session)) == ["only once"]


def test_a_prompt_replayed_under_a_new_uuid_is_said_once(session: SessionFile) -> None:
    stamp = "2026-11-01T10:00:00.123Z"
    session.user("goal", timestamp=stamp)
    session.assistant("answer", message_id="m1")
    session.rewind(None)
    session.user("goal", timestamp=stamp)
    session.assistant("answer", message_id="m1")
    session.user("next")

    transcript = read(session)

    assert said(transcript) == ["goal", "answer", "next"]
    assert transcript.abandoned == []


def test_a_call_replayed_under_a_new_uuid_is_one_call(session: SessionFile) -> None:
    block = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    for words in ("first", "second"):
        session.assistant(block, message_id="m1")
        session.result("t1", words)

    assert [call.result.text for call in calls(read(session))] == ["second"]


def test_what_a_person_said_twice_stands_twice(session: SessionFile) -> None:
    session.user("continue")
    session.assistant("ok")
    session.user("continue")

    assert typed(read(session)) == ["continue", "continue"]
