"""The host's own records: files, tasks, plans, titles, links and errors."""

from __future__ import annotations

import pytest

from tests.support.session import SessionFile
from tests.transcript.views import notes, read, said


def test_the_file_history_is_one_note_that_remembers_what_was_created(session: SessionFile) -> None:
    """The last snapshot lists all files; only an earlier one knows that a file is new."""
    session.snapshot({"a.py": True})
    session.snapshot({"a.py": True, "C:\\new.py": False}, update=True)
    session.user("more")
    session.snapshot({"a.py": True, "C:\\new.py": True, "b.py": True})

    assert notes(read(session), "file_history") == [
        {"files": {"C:\\new.py": False, "a.py": True, "b.py": True}}
    ]


def test_a_cut_last_snapshot_leaves_the_one_before_it(session: SessionFile) -> None:
    session.snapshot({"a.py": True, "b.py": False})
    session.raw('{"type":"file-history-snapshot","messageId":"m","snapshot":{"trackedFi\n')

    transcript = read(session)

    assert notes(transcript, "file_history") == [{"files": {"a.py": True, "b.py": False}}]
    assert transcript.skipped == 1


def test_a_snapshot_without_files_says_nothing(session: SessionFile) -> None:
    session.snapshot({})

    assert notes(read(session), "file_history") == []


def test_what_is_glued_behind_a_snapshot_is_not_lost(session: SessionFile) -> None:
    session.snapshot({"a.py": True})
    session.raw(session.path.read_bytes().rstrip(b"\n"))
    session.user("glued words")
    session.snapshot({"a.py": True})

    assert said(read(session), "prompt") == ["glued words"]


@pytest.mark.parametrize(
    ("kind", "fields", "note", "data"),
    [
        ("edited_text_file", {"filename": "/a", "snippet": "x"}, "edited_file", {"path": "/a"}),
        (
            "nested_memory",
            {"path": "/p/CLAUDE.md", "content": {}},
            "nested_memory",
            {"path": "/p/CLAUDE.md"},
        ),
        ("plan_mode", {"planFilePath": "/plan.md"}, "plan_file", {"path": "/plan.md"}),
        ("plan_mode_exit", {"planFilePath": "/plan.md"}, "plan_file", {"path": "/plan.md"}),
        ("file", {"filename": "/b", "content": {"type": "text"}}, "mentioned_file", {"path": "/b"}),
        ("compact_file_reference", {"filename": "/c"}, "mentioned_file", {"path": "/c"}),
        (
            "task_reminder",
            {"content": [{"id": "1", "subject": "write", "status": "pending", "blocks": []}]},
            "tasks",
            {"tasks": [{"id": "1", "subject": "write", "status": "pending"}]},
        ),
    ],
)
def test_attachments_that_carry_facts(
    session: SessionFile, kind: str, fields: dict[str, object], note: str, data: dict[str, object]
) -> None:
    session.attachment(kind, **fields)

    assert notes(read(session), note) == [data]


@pytest.mark.parametrize(
    "kind",
    [
        "task_reminder",
        "hook_success",
        "skill_listing",
        "prompt_snapshot",
        "nested_memory",
        "unheard_of",
    ],
)
def test_attachments_that_carry_none(session: SessionFile, kind: str) -> None:
    session.attachment(kind, content=[])

    assert read(session).items == []


def test_noise_keeps_its_place_in_the_chain(session: SessionFile) -> None:
    """Records that are never parsed still link what hangs below them."""
    session.user("goal")
    for kind in ("hook_success", "prompt_snapshot", "deferred_tools_delta"):
        session.attachment(kind, content='{"a":"}}"}', stdout='{"uuid":"fake"}')
    session.progress("bash_progress", output="x" * 3000)
    session.progress(
        "agent_progress", message={"type": "user", "message": {"content": "not the user"}}
    )
    fork = session.last
    session.user("first try")
    session.rewind(fork)
    session.user("second try")

    transcript = read(session)

    assert said(transcript) == ["goal", "second try"]
    assert [m.text for m in transcript.abandoned] == ["first try"]


def test_hook_context_is_injected(session: SessionFile) -> None:
    session.attachment("hook_additional_context", content=["remember the handoff"], hookName="x")

    assert said(read(session), "injected") == ["remember the handoff"]


def test_the_users_title_goes_before_the_hosts_and_the_last_wins(session: SessionFile) -> None:
    session.record({"type": "summary", "summary": "of another session", "leafUuid": "elsewhere"})
    session.record({"type": "custom-title", "customTitle": "mine, old", "sessionId": "s"})
    session.record({"type": "custom-title", "customTitle": "mine", "sessionId": "s"})
    session.record({"type": "ai-title", "aiTitle": "the host's", "sessionId": "s"})

    assert notes(read(session), "title") == [{"text": "mine"}]


def test_a_summary_is_a_title_only_of_its_own_session(session: SessionFile) -> None:
    session.record({"type": "summary", "summary": "of another session", "leafUuid": "elsewhere"})
    assert notes(read(session), "title") == []

    leaf = session.user("goal")
    session.record({"type": "summary", "summary": "of this one", "leafUuid": leaf})
    assert notes(read(session), "title") == [{"text": "of this one"}]


def test_links_recaps_and_retries(session: SessionFile) -> None:
    for _ in range(2):
        session.record(
            {"type": "pr-link", "prNumber": 7, "prUrl": "https://h/pr/7", "sessionId": "s"}
        )
    session.system("away_summary", content="Merged all. Next: ship.")
    session.system("api_error", error={"formatted": "Unable to connect", "connection": {}})
    session.system("api_error", error={"status": 529})
    session.system("api_error", error=None)

    transcript = read(session)

    assert notes(transcript, "pr") == [{"number": 7, "url": "https://h/pr/7"}]
    assert notes(transcript, "away_summary") == [{"text": "Merged all. Next: ship."}]
    assert notes(transcript, "api_error") == [
        {"text": "Unable to connect"},
        {"text": "529"},
        {"text": "API error"},
    ]


def test_old_user_lines_repeat_the_todos(session: SessionFile) -> None:
    todos = [{"content": "write", "status": "pending", "activeForm": "writing"}]
    for words in ("one", "two"):
        session.user(words, todos=todos)
    session.user("three", todos=[{**todos[0], "status": "completed"}])

    assert [note["todos"][0]["status"] for note in notes(read(session), "todos")] == [
        "pending",
        "completed",
    ]
