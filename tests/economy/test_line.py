"""The status line as a whole process: one line, whatever the host gives, and only what is known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from keepthread import log
from keepthread.handoff.store import write_worker
from keepthread.host.config import load, store_resolved
from tests.support.cli import DOCUMENT, Person
from tests.support.session import SESSION

HOOK = Path(__file__).resolve().parents[2] / "hooks" / "status_line.py"
MODEL = "claude-sonnet-4-6"


def given(person: Person, *, model: str = MODEL, window: int = 200_000, **more: Any) -> bytes:
    """Return what the host hands its status line (recorded from 2.1.332), with 84,000 tokens in context."""
    usage = {"input_tokens": 3, "output_tokens": 10, "cache_read_input_tokens": 83_987}
    context = {"context_window_size": window, "current_usage": usage, "used_percentage": 42}
    fields = {
        "session_id": SESSION,
        "transcript_path": "",
        "cwd": str(person.project),
        "model": {"id": model, "display_name": "Sonnet"},
        "version": "2.1.332",
        "context_window": context,
    }
    return json.dumps({**fields, **more}).encode()


def line(person: Person, data: bytes, **env: str) -> str:
    """Run the hook and return its line; it always ends with 0 and prints one."""
    done = subprocess.run(
        [sys.executable, "-I", str(HOOK)],
        input=data,
        capture_output=True,
        env={"HOME": str(person.home), "PATH": "/usr/bin:/bin", **env},
        timeout=60,
        check=True,
    )
    text = done.stdout.decode()
    assert done.stderr == b""
    assert text and text.isprintable() and len(text) <= 120
    return text


def test_context_distance_and_handoff(person: Person) -> None:
    """The host's numbers, the growth of the last turns, and how fresh the handoff is."""
    session = person.session()
    for size in (60_000, 70_000, 80_000):
        session.user("Go on with the next part.")
        session.assistant("Done.", tokens=size)
    person.has_claude().answer(DOCUMENT)
    person.ok("handoff")
    context = person.state / "sessions" / SESSION / "context.json"
    stored = json.loads(context.read_text())
    context.write_text(json.dumps({**stored, "generated_epoch": time.time() - 750}))

    assert line(person, given(person, transcript_path=str(session.path))) == (
        "context 42% of 200k | 83k to compaction, ~ est 8 turns | handoff complete 12 min"
    )


def test_a_partial_says_why_and_a_worker_that_it_writes(person: Person) -> None:
    """What a person can act on."""
    person.session()
    person.run("handoff")

    assert line(person, given(person)).endswith(" s | ! no_login")
    write_worker(str(person.state), SESSION, {"state": "running", "pid": os.getpid()})
    (person.state / "sessions" / SESSION / "worker.json").write_text(
        json.dumps({"state": "running", "pid": os.getpid(), "monotonic": time.monotonic()})
    )
    assert line(person, given(person)).endswith(" s | being written")


def test_a_failed_run_is_marked_until_a_handoff_follows(person: Person) -> None:
    """Only this session's, and only for an hour."""
    log.record(str(person.state), event="pre_compact", session=SESSION, outcome="failed")
    log.record(str(person.state), event="stop", session="another", outcome="failed")

    assert line(person, given(person)).endswith("no handoff yet | ! pre_compact failed")
    old = (person.state / "log.jsonl").read_text().replace('{"time":"20', '{"time":"19')
    (person.state / "log.jsonl").write_text(old)
    assert line(person, given(person)).endswith("no handoff yet")


def test_after_a_compaction_the_old_figure_is_never_shown(person: Person) -> None:
    """The host gives null then; the transcript may still end before the boundary."""
    session = person.session()
    session.assistant("Done.", tokens=160_000)
    context = {"context_window_size": 200_000, "current_usage": None, "used_percentage": None}
    data = given(person, transcript_path=str(session.path), context_window=context)

    assert line(person, data) == "context unknown | compacts at 167k | no handoff yet"
    assert line(person, given(person, context_window=context)).startswith("context new | ")


def test_without_the_hosts_numbers_the_transcripts_are_taken(person: Person) -> None:
    """Older hosts give none; a terminal has none."""
    session = person.session()
    session.assistant("Done.", tokens=83_977)
    data = given(person, transcript_path=str(session.path), context_window={})

    assert line(person, data).startswith("context 42% of 200k | 83k to compaction")
    assert person.ok("statusline").startswith("context 42% of 200k | 83k to compaction")
    session.user("x" * 300_000)
    assert line(person, data).startswith("context unknown |")  # no answer stands near the end


@pytest.mark.parametrize(
    ("model", "window", "env", "start"),
    [
        ("claude-haiku-4-5", 200_000, {}, "context 42% of 200k | compacts when the API refuses |"),
        (MODEL, 1_000_000, {}, "context 8% of 1,000k | compacts when the API refuses |"),
        ("mine", 200_000, {}, "context 84k | 883k to compaction |"),
        (MODEL, 200_000, {"DISABLE_AUTO_COMPACT": "1"}, "context 42% of 200k | compaction off |"),
        (
            MODEL,
            200_000,
            {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "45"},
            "context 42% of 200k | compaction due |",
        ),
    ],
)
def test_the_distance_is_that_of_the_model_and_the_environment(
    person: Person, model: str, window: int, env: dict[str, str], start: str
) -> None:
    """As `keepthread thresholds` reckons it."""
    assert line(person, given(person, model=model, window=window), **env).startswith(start)


def test_the_settings_files_count(person: Person) -> None:
    """What they set beside variables."""
    person.config.mkdir()
    (person.config / "settings.json").write_text('{"autoCompactWindow": 130000}')
    (person.project / ".claude").mkdir()
    (person.project / ".git").mkdir()
    local = person.project / ".claude" / "settings.local.json"

    assert " | 13k to compaction | " in line(person, given(person))
    local.write_text('{"autoCompactWindow": 150000}')
    assert " | 33k to compaction | " in line(person, given(person))


def test_a_large_transcript_is_marked_once_the_limit_is_stored(person: Person) -> None:
    """The hooks store what the user's file says."""
    session = person.session()
    person.write_env("KEEPTHREAD_MAX_TRANSCRIPT_BYTES=100\n")
    store_resolved(str(person.state), load({}, str(person.config)))
    data = given(person, transcript_path=str(session.path))

    assert line(person, data).endswith(" | ! transcript 0 MB")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff\xfe",
        b'{"session_id": 7, "model": [], "context_window": "x", "transcript_path": {}, "cwd": 1}',
        b'{"session_id": "\\u001b[31m", "model": {"id": "\\u001b]0;x"}, "transcript_path": "\\u0000"}',
        b'{"context_window": {"current_usage": {"input_tokens": 1e400}, "context_window_size": "x"}}',
        json.dumps({"model": {"id": "m" * 10_000}, "session_id": "s" * 9_000}).encode(),
        b'{"context_window": {"current_usage": {"input_tokens": 1%s}}}' % (b"0" * 400),
    ],
    ids=["nothing", "array", "empty", "bytes", "types", "control", "numbers", "long", "huge"],
)
def test_whatever_comes_is_answered_with_one_line(person: Person, data: bytes) -> None:
    """A blank row would tell nobody that something is wrong."""
    line(person, data)
    first = line(person, data, HOME="/nonexistent", COLUMNS="-3")
    strange = {"CLAUDE_CODE_MAX_CONTEXT_TOKENS": "9e307", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50"}
    second = line(person, data, COLUMNS="9" * 5_000, DISABLE_COMPACT="1", **strange)
    third = line(person, data, **strange)

    assert "logs" not in first + second + third


def test_a_state_that_is_damaged_shows_none_of_it(person: Person) -> None:
    """Neither control characters nor text of any length."""
    folder = person.state / "sessions" / SESSION
    folder.mkdir(parents=True)
    evil = {"status": "partial", "reason": "\x1b[2J" + "x" * 5_000, "generated_epoch": "soon"}
    (folder / "context.json").write_text(json.dumps(evil))
    (folder / "worker.json").write_text("[")

    assert "| handoff partial of unknown age | ! ?" in line(person, given(person))
    (folder / "context.json").write_text('{"status": "complete", "generated_epoch": NaN}')
    assert "| handoff complete of unknown age" in line(person, given(person))


@pytest.mark.parametrize("columns", [20, 40, 70, 120, 4_000])
def test_the_line_is_never_wider_than_the_terminal(person: Person, columns: int) -> None:
    """Whole parts are left out, not halves of them."""
    text = line(person, given(person), COLUMNS=str(columns))
    whole = line(person, given(person)).split(" | ")

    assert len(text) <= columns
    assert all(part in whole for part in text.split(" | "))


def test_where_keepthread_is_off_it_says_so_and_nothing_of_handoffs(person: Person) -> None:
    """The context is still told."""
    text = line(person, given(person), KEEPTHREAD_DISABLE="1")

    assert text == "context 42% of 200k | 83k to compaction | keepthread off"


def test_the_snippet_is_what_the_host_takes(person: Person) -> None:
    """Run as it stands there, it prints the line."""
    command = json.loads(person.ok("statusline", "--snippet"))["statusLine"]
    done = subprocess.run(
        command["command"],
        shell=True,
        input=given(person),
        capture_output=True,
        env={"HOME": str(person.home), "PATH": "/usr/bin:/bin"},
        timeout=60,
        check=True,
    )

    assert command["type"] == "command"
    assert done.stdout.decode() == "context 42% of 200k | 83k to compaction | no handoff yet"


def test_nothing_is_stored_for_a_line(person: Person) -> None:
    """The host asks after every message."""
    line(person, given(person))

    assert not (person.home / ".claude").exists()
