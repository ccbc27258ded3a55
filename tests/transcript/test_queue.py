"""Prompts typed while the agent worked stand in the queue's records, and often nowhere else."""

from __future__ import annotations

from tests.support.session import SessionFile
from tests.transcript.views import read, said, typed


def test_a_prompt_removed_mid_turn_is_emitted_where_it_was_typed(session: SessionFile) -> None:
    session.user("goal")
    session.queue("enqueue", "do we need to force push now?")
    session.bash("git push")
    session.queue("remove")
    session.assistant("pushed")

    transcript = read(session)

    assert said(transcript) == ["goal", "do we need to force push now?", "pushed"]
    assert said(transcript, "queued") == ["do we need to force push now?"]


def test_a_dequeued_prompt_that_follows_as_a_record_is_said_once(session: SessionFile) -> None:
    session.queue("enqueue", "then the tests")
    session.assistant("done")
    session.queue("dequeue")
    session.user("then the tests")

    assert typed(read(session)) == ["then the tests"]


def test_the_same_words_twice_in_the_queue_are_matched_one_to_one(session: SessionFile) -> None:
    session.queue("enqueue", "continue")
    session.queue("dequeue")
    session.user("continue")
    session.queue("enqueue", "continue")
    session.queue("remove")
    session.assistant("went on")

    assert typed(read(session)) == ["continue", "continue"]


def test_one_record_answers_for_one_queue_entry(session: SessionFile) -> None:
    session.queue("enqueue", "continue")
    session.queue("enqueue", "continue")
    session.queue("remove")
    session.queue("dequeue")
    session.user("continue")

    assert typed(read(session)) == ["continue", "continue"]


def test_an_earlier_record_with_the_same_words_does_not_count(session: SessionFile) -> None:
    session.user("yes")
    session.assistant("and now?")
    session.queue("enqueue", "yes")
    session.queue("remove")

    assert typed(read(session)) == ["yes", "yes"]


def test_what_was_pulled_back_or_still_waits_was_not_sent(session: SessionFile) -> None:
    session.queue("enqueue", "is it still running?")
    session.queue("popAll", "is it still running?")
    session.queue("enqueue", "waiting")

    assert typed(read(session)) == []


def test_notices_and_local_commands_are_passed_over_in_turn(session: SessionFile) -> None:
    for text in (
        "<task-notification>\n<task-id>b</task-id>",
        '{"task_id":"b","task_type":"local_bash"}',
        "/rate-limit-options",
        "the real one",
        "",
    ):
        session.queue("enqueue", text)
    for _ in range(7):
        session.queue("remove")

    assert typed(read(session)) == ["the real one"]


def test_a_removal_that_names_its_text_removes_that_one(session: SessionFile) -> None:
    session.queue("enqueue", "first")
    session.queue("enqueue", "second")
    session.queue("remove", "second")

    assert typed(read(session)) == ["second"]


def test_content_as_a_list_of_blocks(session: SessionFile) -> None:
    session.queue("enqueue", [{"type": "text", "text": "look here"}, {"type": "image"}])
    session.queue("remove")

    assert typed(read(session)) == ["look here"]


def test_a_queued_command_attachment_is_typed_and_matches_its_queue_entry(
    session: SessionFile,
) -> None:
    session.queue("enqueue", "also the docs")
    session.attachment("queued_command", prompt="also the docs", commandMode="prompt")
    session.queue("remove", "also the docs")

    transcript = read(session)

    assert said(transcript, "queued") == ["also the docs"]
    assert transcript.position == session.last


def test_a_queued_notification_is_not_typed(session: SessionFile) -> None:
    session.attachment("queued_command", prompt="agent done", commandMode="task-notification")
    session.attachment(
        "queued_command", prompt="ci failed", commandMode="prompt", origin={"kind": "monitor"}
    )

    transcript = read(session)

    assert typed(transcript) == []
    assert said(transcript, "notification") == ["agent done", "ci failed"]


def test_a_notice_that_was_never_taken_out_does_not_hold_a_prompt_back(
    session: SessionFile,
) -> None:
    session.queue("enqueue", "<task-notification>\n<task-id>b</task-id>")
    session.assistant("working")
    session.queue("enqueue", "check again")
    session.queue("remove")
    session.assistant("checked")

    assert typed(read(session)) == ["check again"]
