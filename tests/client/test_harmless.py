"""Whatever is broken, compaction happens and nothing leaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.client.story import (
    DOCUMENT,
    RULE,
    answer_child,
    assert_holds_the_thread,
    begin,
    compacted,
    go_on,
    log,
    settled,
    summarise_slowly,
    turn,
    variables,
    write,
)
from tests.support.api import Answer

pytestmark = [pytest.mark.client, pytest.mark.usefixtures("hooks")]


@pytest.mark.parametrize("lost", [".", "src", "hooks", "src/keepthread/handlers.py"])
def test_with_the_installation_deleted_compaction_still_happens(
    client, api, copied_hooks: Path, tmp_path: Path, lost: str
):
    session = begin(client, api)
    # At one stroke: what the session's hooks have left running may still write its byte code there.
    (copied_hooks / lost).resolve().rename(tmp_path / "gone")
    go_on(client, api, session)
    assert client.prompt("Go on.", session).code == 0


def test_without_a_transcript_the_session_goes_on(client, api):
    run = client.converse("Hello.", "/compact", "Go on.", persist=False)
    assert run.code == 0
    assert len(api.summaries) == 1
    assert len(api.talks) == 2
    [line] = [line for line in log(client) if line["event"] == "pre_compact"]
    assert line["reason"] == "no_transcript"


def test_where_nothing_can_be_written_in_the_project_the_job_is_done_all_the_same(client, api):
    variables(client, ENGINE="facts")
    session = begin(client, api)
    (client.project / "docs").write_text("a file where the folder would be")
    mode = client.project.stat().st_mode
    client.project.chmod(0o555)
    try:
        go_on(client, api, session)
    finally:
        client.project.chmod(mode)
    assert_holds_the_thread(api.talks[-1].body)


def test_where_no_state_can_be_written_compaction_happens(client, api):
    state = client.config / "keepthread"
    session = begin(client, api)
    if state.exists():
        state.rename(client.config / "gone")
    state.write_text("a file where the folder would be")
    go_on(client, api, session)


def test_a_secret_in_the_session_reaches_neither_child_nor_disk(client, api):
    summarise_slowly(client, api)
    answer_child(api, Answer(document=DOCUMENT))
    secret = "ghp_" + "Ab3" * 12
    turn(api, "Look at the token", write(client, "token.txt", secret), Answer("Seen."))
    session = client.prompt(f"Look at the token {secret} and store it.").session
    client.compact(session)
    client.prompt("Go on.", session)
    settled(client, session)
    assert all(secret not in json.dumps(request.body) for request in api.children)
    assert api.children
    state = client.config / "keepthread"
    kept = [path for path in state.rglob("*") if path.is_file()]
    assert len(kept) > 4
    assert not [path for path in kept if secret.encode() in path.read_bytes()]


def test_every_file_of_the_state_is_private(client, api):
    variables(client, ENGINE="facts")
    compacted(client, api)
    for path in (client.config / "keepthread").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_the_document_for_people_is_written_and_kept_out_of_git(client, api):
    variables(client, ENGINE="facts")
    compacted(client, api)
    document = client.project / "docs" / "handoff-context.md"
    assert RULE in document.read_text()
    excluded = (client.project / ".git" / "info" / "exclude").read_text()
    assert "docs/handoff-context.md" in excluded
