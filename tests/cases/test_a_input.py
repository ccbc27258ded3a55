"""Family A: what stands on stdin, and which file is the session's transcript."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
from pathlib import Path

import pytest

from keepthread.host.locations import config_dir
from tests.support.hook_runs import GOAL, NEXT, RULE, World
from tests.support.session import SESSION, SessionFile

OTHER = "22222222-2222-4222-8222-222222222222"


def named(world: World, kind: str) -> object:
    """Return a transcript_path that is of no use, by kind."""
    fifo = world.config / "fifo"
    if kind == "a FIFO":
        os.mkfifo(fifo)
    return {
        "empty": "",
        "left out": ...,
        "null": None,
        "a number": 7,
        "with a tilde": f"~/.claude/projects/s/{SESSION}.jsonl",
        "a folder": str(world.config / "projects" / "s"),
        "absent": str(world.config / "projects" / "s" / "gone.jsonl"),
        "relative": f"projects/s/{SESSION}.jsonl",
        "a FIFO": str(fifo),
        "a device": "/dev/zero",
        "with a NUL": f"{world.config}/x\0.jsonl",
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "empty",
        "left out",
        "null",
        "a number",
        "with a tilde",
        "a folder",
        "absent",
        "relative",
        "a FIFO",
        "a device",
        "with a NUL",
    ],
)
def test_a1_a_path_of_no_use_is_looked_up_by_the_sessions_id(world, kind):
    world.session(slug="-home-dev-proj")
    if kind == "with a tilde":
        world.session(slug="s")
    event = world.event("pre_compact", transcript_path=named(world, kind), trigger="manual")
    run = world.run("pre_compact", event)
    assert RULE in run.stdout
    assert world.handoff()["task"] == GOAL
    [line] = world.log()
    assert (line["outcome"], line["reason"]) == ("partial", "engine_facts")


def test_a1_without_any_transcript_a_partial_says_so_and_the_person_is_told(world):
    run = world.run("pre_compact", world.event("pre_compact", transcript_path=""))
    assert run.stdout == ""
    meta = world.handoff()["meta"]
    assert (meta["status"], meta["reason"]) == ("partial", "no_transcript")
    [line] = world.log()
    assert line["reason"] == "no_transcript"
    shown = world.run("session_start", world.event("session_start", transcript_path=""))
    assert "the transcript could not be read" in shown.notice


def test_a1_a_transcript_that_is_gone_leaves_the_earlier_handoff_as_it_is(world):
    world.session()
    world.run("pre_compact")
    before = world.handoff()
    world.transcripts[0].unlink()
    world.run("pre_compact")
    assert world.handoff() == before
    assert world.log()[-1]["reason"] == "no_transcript"
    assert RULE in world.run("session_start").context


@pytest.mark.parametrize(
    "content", [b"", b"\n\n", b"no JSON at all\n" * 50, b"\0" * 5_000, b"[]\n1\n"]
)
def test_a1_a_file_without_talk_is_no_transcript_and_asks_no_model(world, claude, content):
    world.session(talk=False).raw(content)
    env = claude.env(world.home, KEEPTHREAD_ENGINE="")
    for _ in range(2):
        assert world.run("pre_compact", **env).stdout == ""
    assert world.handoff()["meta"]["reason"] == "no_transcript"
    assert world.worker() == {}


def aged(file: SessionFile, hours: float) -> None:
    status = file.path.stat()
    when = status.st_mtime - hours * 3600
    os.utime(file.path, (when, when))


def test_a2_a_newer_file_of_this_session_wins_over_a_frozen_one(world):
    frozen = world.session(name=OTHER, talk=False)
    frozen.user("An old request that was done long ago")
    aged(frozen, 2)
    world.session()
    event = world.event("pre_compact", transcript_path=str(frozen.path))
    world.run("pre_compact", event)
    handoff = world.handoff()
    assert handoff["task"] == GOAL
    assert handoff["meta"]["transcript"]["path"] == str(world.transcripts[1])
    [line] = world.log()
    assert str(world.transcripts[1]) in line["detail"]
    assert (
        RULE
        in world.run(
            "session_start", world.event("session_start", transcript_path=str(frozen.path))
        ).context
    )


def test_a2_the_newer_one_may_lie_in_another_projects_folder(world):
    frozen = world.session()
    aged(frozen, 2)
    moved = world.session(slug="-worktree")
    moved.user("Now mend the tide tables of Brest as well")
    world.run("pre_compact")
    assert world.handoff()["meta"]["transcript"]["path"] == str(moved.path)


def test_a2_a_newer_file_of_another_session_is_not_used(world):
    own = world.session()
    aged(own, 2)
    foreign = world.session(OTHER, talk=False)
    foreign.user("A wholly different job about invoices")
    misnamed = world.session(OTHER, slug="t", name=SESSION, talk=False)
    misnamed.user("A wholly different job about invoices")
    world.run("pre_compact")
    assert world.handoff()["meta"]["transcript"]["path"] == str(own.path)
    assert "invoices" not in json.dumps(world.handoff())


def test_a3_an_id_missing_on_stdin_is_read_off_the_transcripts_name(world):
    world.session()
    world.run("pre_compact", world.event("pre_compact", session_id=...))
    assert world.handoff()["task"] == GOAL


@pytest.mark.parametrize("hook", ["pre_compact", "session_start", "session_index"])
def test_a3_without_id_and_path_nothing_is_done_and_nothing_shown(world, hook):
    world.session("")
    event = world.event(hook, session_id="", transcript_path="")
    assert world.run(hook, event).stdout == ""
    assert not (world.state / "sessions").exists()
    [line] = world.log()
    assert line["outcome"] == "ignored"


def test_a4_stdin_wins_over_the_environment(world):
    world.session()
    run = world.run("pre_compact", TRANSCRIPT_PATH="/nonexistent", CLAUDE_TRANSCRIPT_PATH="/none")
    assert RULE in run.stdout


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b'"x"', b"7", b"null", b"{", b'{"session_id": "x"', b"\xff\xfe\0", b"[" * 100_000],
)
def test_a4_what_is_no_event_is_answered_with_nothing_and_one_line(world, data):
    for hook in ("pre_compact", "session_start"):
        assert world.run(hook, data).stdout == ""
    outcomes = [line["outcome"] for line in world.log()]
    assert outcomes == ["ignored", "ignored"]


@pytest.mark.parametrize(
    "fields",
    [
        {"session_id": ["x"], "transcript_path": {"a": 1}, "cwd": 5},
        {"custom_instructions": None, "trigger": None, "cwd": None},
        {"custom_instructions": "x" * 300_000, "trigger": "something new"},
        {"hook_event_name": "SomethingNew", "unknown": {"deep": [1, 2]}},
        {"agent_id": None},
        {"agent_id": ""},
    ],
)
def test_a4_fields_of_any_type_and_size_do_no_harm(world, fields):
    world.session()
    world.run("pre_compact", world.event("pre_compact", **fields))
    if "session_id" not in fields:
        assert world.handoff()["task"] == GOAL


def test_a5_a_byte_order_mark_before_the_event_is_no_matter(world):
    world.session()
    event = b"\xef\xbb\xbf" + json.dumps(world.event("pre_compact")).encode()
    assert RULE in world.run("pre_compact", event).stdout


@pytest.mark.parametrize("words", ['—\\"b', '日本語\\"', "\\ud83d lone"])
def test_a5_the_event_is_utf_8_whatever_the_locale_says(world, words):
    world.session()
    event = json.dumps(world.event("pre_compact", custom_instructions="@")).replace("@", words)
    env = {"PYTHONIOENCODING": "cp932:surrogateescape", "LC_ALL": "C"}
    assert RULE in world.run("pre_compact", event.encode(), **env).stdout


def test_a5_a_stdin_that_is_never_closed_is_not_waited_for(world):
    world.session()
    process = subprocess.Popen(
        world.command("pre_compact"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=world.env(),
        cwd=world.cwd,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(world.event("pre_compact")).encode())
    process.stdin.flush()
    out = process.stdout.read()
    assert process.wait(60) == 0
    process.stdin.close()
    process.stdout.close()
    assert RULE in out.decode()


def test_a5_a_stdin_that_is_closed_from_the_start_is_an_empty_one(world):
    command = world.command("pre_compact")
    command[2] = command[2].replace(".py'", ".py' <&-")
    done = subprocess.run(command, env=world.env(), cwd=world.cwd, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("tail", [b"", b"}" * 2_000_000])
def test_a5_a_huge_stdin_ends_in_time(world, tail):
    event = json.dumps(world.event("post_compact", compact_summary="word " * 1_000_000)).encode()
    world.run("post_compact", event + tail)
    stored = world.folder_of() / "host-summary.md"
    assert stored.exists() == (not tail)


def test_a6_a_configuration_folder_elsewhere_holds_everything(world, tmp_path):
    world.session()
    alt = tmp_path / "alt"
    path = alt / "projects" / "s" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(world.transcripts[0].read_bytes())
    event = world.event("pre_compact", transcript_path="")
    assert RULE in world.run("pre_compact", event, CLAUDE_CONFIG_DIR=str(alt)).stdout
    assert (alt / "keepthread" / "sessions" / SESSION / "context.json").exists()
    assert not world.state.exists()


@pytest.mark.parametrize("value", ["relative/config", "~/.claude"])
def test_a6_a_relative_configuration_folder_is_refused_without_harm(world, value):
    world.session()
    assert world.run("pre_compact", CLAUDE_CONFIG_DIR=value).stdout == ""
    assert not world.state.exists()


@pytest.mark.parametrize("place", ["relative", "/nonexistent/home", "/dev/null", "a file"])
def test_a6_a_home_that_is_no_folder_is_not_made(world, place):
    world.session()
    if place == "a file":
        place = str(world.folder / "file")
        Path(place).touch()
    assert world.run("pre_compact", HOME=place).stdout == ""
    assert not Path(place).is_dir()


def test_a6_without_home_it_is_the_users_and_never_the_root_of_the_file_system(monkeypatch):
    monkeypatch.delenv("HOME")
    monkeypatch.delenv("USERPROFILE")
    own = os.path.join(pwd.getpwuid(os.getuid()).pw_dir, ".claude")
    assert {config_dir({}), config_dir({"HOME": ""})} == {own}
    monkeypatch.setenv("HOME", "")
    assert config_dir({"HOME": ""}) == own


def test_a7_next_steps_of_the_assistant_survive(world):
    world.session()
    world.run("pre_compact")
    assert NEXT in world.run("session_start").context
