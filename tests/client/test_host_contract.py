"""What keepthread relies on in the host, pinned on the real client. A failure here means that the host has changed."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from tests.support.api import Answer, FakeApi, last_text, talk_texts
from tests.support.client import Client, python
from tests.support.recorder import Recorder, Seen, context

pytestmark = pytest.mark.client

FULL = 170_000  # over the 167,000 at which this model's sessions compact
_MEET = """
import os, sys, time
mine, other = sys.argv[1:]
open(mine, "w").close()
for _ in range(400):
    if os.path.exists(other):
        print("we met")
        break
    time.sleep(0.05)
"""
_WAIT = """
import json, sys, time
path = json.load(sys.stdin)["transcript_path"]
for _ in range(1000):
    lines = open(path, encoding="utf-8").read().splitlines()
    if any(sys.argv[1] in line and '"type":"user"' in line for line in lines):
        print("it is there")
        break
    time.sleep(0.01)
"""
EVENTS = ("SessionStart", "UserPromptSubmit", "PreCompact", "PostCompact", "Stop", "SessionEnd")


def watch(recorder: Recorder, client: Client) -> None:
    """Note every event and answer none."""
    for event in EVENTS:
        recorder.add(event)
    recorder.install(client)


def fill(client: Client, api: FakeApi, *more: str) -> str:
    """Hold two turns after which the context is full; the next prompt compacts by itself."""
    api.rule("second words", Answer(input_tokens=FULL))
    run = client.converse("first words", "second words", *more)
    assert run.code == 0, run
    return run.session


def typed(seen: Seen) -> list[str]:
    """Return the texts of the transcript's user records; a queue's record of a prompt may stand there earlier."""
    records = [json.loads(line) for line in seen.transcript.splitlines() if line.endswith("}")]
    return [record["message"]["content"] for record in records if record["type"] == "user"]


def test_a_manual_compaction_fires_its_events_in_order(client, api, recorder):
    watch(recorder, client)
    session = client.prompt("first words").session
    before = len(recorder.labels)
    client.compact(session)
    client.prompt("after", session)
    assert recorder.labels[:before] == [
        "SessionStart(startup)",
        "UserPromptSubmit",
        "Stop",
        "SessionEnd",
    ]
    assert recorder.labels[before:][:5] == [
        "SessionStart(resume)",
        "PreCompact(manual)",
        "SessionStart(compact)",
        "PostCompact(manual)",
        "SessionEnd",
    ]


def test_an_automatic_compaction_fires_its_events_before_the_turn_goes_on(client, api, recorder):
    watch(recorder, client)
    session = fill(client, api)
    before = len(recorder.labels)
    client.prompt("third words", session)
    assert recorder.labels[before:] == [
        "SessionStart(resume)",
        "UserPromptSubmit",
        "PreCompact(auto)",
        "SessionStart(compact)",
        "PostCompact(auto)",
        "Stop",
        "SessionEnd",
    ]


def test_the_boundary_is_written_after_the_hooks_and_the_prompt_after_its_own(
    client, api, recorder
):
    watch(recorder, client)
    session = fill(client, api)
    client.prompt("third words", session)
    calls = {seen.label: seen for seen in recorder.seen}
    assert "third words" not in typed(calls["UserPromptSubmit"])
    for label in ("SessionStart(compact)", "PostCompact(auto)"):
        assert "third words" in typed(calls[label])
        assert "compact_boundary" not in calls[label].transcript
    kinds = [record.get("subtype") for record in client.records(session)]
    assert kinds.count("compact_boundary") == 1


def test_the_pending_prompt_is_in_the_file_soon_after_precompact_began(
    client, api, recorder, tmp_path
):
    """Not at once: the host writes its transcript in batches, and a fast hook is there up to 50 ms before it."""
    script = tmp_path / "wait.py"
    script.write_text(_WAIT)
    recorder.command("PreCompact", python(script, '"content":"third words"'))
    recorder.install(client)
    fill(client, api, "third words")
    assert "it is there" in last_text(api.summaries[0].body)


def test_the_fields_of_the_compaction_events_are_those_we_read(client, api, recorder):
    watch(recorder, client)
    session = client.prompt("first words").session
    client.compact(session, "keep the API names")
    calls = {seen.label: seen.input for seen in recorder.seen}
    transcript = str(client.transcript(session))
    for label in ("PreCompact(manual)", "SessionStart(compact)", "PostCompact(manual)"):
        assert calls[label]["session_id"] == session
        assert calls[label]["transcript_path"] == transcript
        assert calls[label]["cwd"] == str(client.project)
        assert "agent_id" not in calls[label]
    assert calls["PreCompact(manual)"]["custom_instructions"] == "keep the API names"
    assert "go on." in calls["PostCompact(manual)"]["compact_summary"]


def test_without_words_the_custom_instructions_are_null(client, api, recorder):
    watch(recorder, client)
    client.compact(client.prompt("first words").session)
    calls = {seen.label: seen.input for seen in recorder.seen}
    assert calls["PreCompact(manual)"]["custom_instructions"] is None


def test_what_precompact_prints_reaches_the_summariser_as_instructions(client, api, recorder):
    recorder.add("PreCompact", "Keep the word xylophone.")
    recorder.install(client)
    client.compact(client.prompt("first words").session, "and the word zither")
    [request] = api.summaries
    instructions = last_text(request.body).partition("Additional Instructions:")[2]
    assert "and the word zither" in instructions
    assert "Keep the word xylophone." in instructions


@pytest.mark.parametrize(
    ("answer", "code"), [("", 2), (json.dumps({"decision": "block", "reason": "no"}), 0)]
)
def test_a_precompact_hook_that_blocks_stops_the_compaction(client, api, recorder, answer, code):
    recorder.add("PreCompact", answer, code=code)
    recorder.install(client)
    run = client.compact(client.prompt("first words").session)
    assert "blocked by PreCompact hook" in run.stdout + run.stderr
    assert not api.summaries


def test_a_missing_script_blocks_compaction_unless_its_command_ends_in_exit_0(
    client, api, recorder
):
    gone = f"{sys.executable} -I /nonexistent/gone.py"
    recorder.command("PreCompact", gone)
    recorder.install(client)
    session = client.prompt("first words").session
    client.compact(session)
    assert not api.summaries

    client.settings({})
    guarded = Recorder(client.home / "guarded")
    guarded.command("PreCompact", f"{gone} || exit 0")
    guarded.install(client)
    client.compact(session)
    assert len(api.summaries) == 1


@pytest.mark.parametrize("code", [1, 127])
def test_a_precompact_hook_that_fails_otherwise_does_not_block(client, api, recorder, code):
    recorder.add("PreCompact", "", code=code)
    recorder.install(client)
    client.compact(client.prompt("first words").session)
    assert len(api.summaries) == 1


def test_two_outputs_of_9900_units_each_arrive_whole_in_the_next_request(client, api, recorder):
    first, second = "é" * 9_890 + "first-end.", "x" * 9_889 + "second-end."
    recorder.add("SessionStart", context(first), matcher="compact")
    recorder.add("SessionStart", context(second), matcher="compact")
    recorder.install(client)
    session = fill(client, api)
    client.prompt("third words", session)
    text = talk_texts(api.talks[-1].body)
    assert first in text
    assert second in text


def test_an_output_over_10000_units_is_replaced_by_a_preview(client, api, recorder):
    recorder.add("SessionStart", context("x" * 9_990 + " far too long"), matcher="compact")
    recorder.install(client)
    session = client.prompt("first words").session
    client.compact(session)
    client.prompt("second words", session)
    text = talk_texts(api.talks[-1].body)
    assert "<persisted-output>" in text
    assert "far too long" not in text


def test_what_sessionstart_put_in_is_replayed_on_resume(client, api, recorder):
    recorder.add("SessionStart", context("the word xylophone"), matcher="compact")
    recorder.install(client)
    session = client.prompt("first words").session
    client.compact(session)
    for words in ("second words", "third words"):
        client.prompt(words, session)
        assert talk_texts(api.talks[-1].body).count("the word xylophone") == 1


def test_a_system_message_beside_the_context_is_not_sent_to_the_model(client, api, recorder):
    document = json.loads(context("the word xylophone")) | {"systemMessage": "for the person"}
    recorder.add("SessionStart", json.dumps(document), matcher="compact")
    recorder.install(client)
    session = fill(client, api)
    client.prompt("third words", session)
    text = talk_texts(api.talks[-1].body)
    assert "the word xylophone" in text
    assert "for the person" not in text


def test_the_environment_of_a_hook_names_session_project_and_process(client, api, recorder):
    watch(recorder, client)
    session = client.prompt("first words").session
    client.compact(session)
    calls = {seen.label: seen.env for seen in recorder.seen}
    for label in ("PreCompact(manual)", "SessionStart(compact)"):
        assert calls[label]["CLAUDECODE"] == "1"
        assert calls[label]["CLAUDE_PROJECT_DIR"] == str(client.project)
        assert calls[label]["CLAUDE_CODE_SESSION_ID"] == session
        assert calls[label]["CLAUDE_PID"].isdigit()
        assert not any("MODEL" in name for name in calls[label])
    assert "CLAUDE_ENV_FILE" in calls["SessionStart(compact)"]
    assert "CLAUDE_ENV_FILE" not in calls["PreCompact(manual)"]


def test_the_hooks_of_one_event_run_side_by_side(client, api, recorder, tmp_path):
    script = tmp_path / "meet.py"
    script.write_text(_MEET)
    names = [str(tmp_path / "one"), str(tmp_path / "two")]
    recorder.command("PreCompact", python(script, *names))
    recorder.command("PreCompact", python(script, *reversed(names)))
    recorder.install(client)
    client.compact(client.prompt("first words").session)
    [request] = api.summaries
    assert last_text(request.body).count("we met") == 2


def test_a_process_with_its_own_session_outlives_the_client(client, api, recorder, tmp_path):
    script, done = tmp_path / "detach.py", tmp_path / "done"
    work = f"import time; time.sleep(2); open({str(done)!r}, 'w').close()"
    script.write_text(
        "import subprocess, sys\n"
        f"subprocess.Popen([sys.executable, '-c', {work!r}], start_new_session=True,\n"
        "    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
    )
    recorder.command("PreCompact", python(script))
    recorder.install(client)
    client.compact(client.prompt("first words").session)
    appears(done)


def appears(path: Path) -> None:
    """Wait for a file."""
    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"{path} never appeared")
