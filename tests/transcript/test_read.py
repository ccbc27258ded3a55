"""Any file is read: what can be recovered is, what cannot is counted, and nothing raises."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from keepthread.errors import KeepthreadError
from keepthread.transcript.earlier import earlier_prompts
from keepthread.transcript.read import read_transcript
from tests.support.session import SESSION, SessionFile
from tests.transcript.views import calls, read, said, typed


def line(session: SessionFile, words: str) -> bytes:
    """Return one user record as a line without its end."""
    record = session.envelope(type="user", message={"role": "user", "content": words})
    session.last = record["uuid"]
    return json.dumps(record, separators=(",", ":")).encode()


def test_cut_and_glued_records_do_not_end_the_reading(session: SessionFile) -> None:
    """The goal stands on line 40, behind a cut record and a glued pair (B1)."""
    session.user("one")
    session.assistant("two")
    session.raw(line(session, "lost")[:90] + line(session, "recovered") + b"\n")
    session.assistant("four")
    session.raw(line(session, "glued A") + line(session, "glued B") + b"\n")
    for number in range(34):
        session.assistant(f"line {number}")
    session.user("the real goal")

    transcript = read(session)

    assert typed(transcript) == ["one", "recovered", "glued A", "glued B", "the real goal"]
    assert transcript.skipped == 1
    assert session.path.read_bytes().count(b"\n") == 40


def test_places_name_the_byte_where_a_record_begins(session: SessionFile) -> None:
    session.user("älter 🎈")
    session.raw(line(session, "glued ä") + line(session, "glued B") + b"\n")
    content = session.path.read_bytes()

    for item in read(session).items:
        record, _ = json.JSONDecoder().raw_decode(content[item.place.offset :].decode())
        assert record["uuid"] == item.place.uuid


def test_line_separators_inside_a_record_do_not_split_it(session: SessionFile) -> None:
    """U+2028, U+0085, vertical tab and form feed are content; CRLF ends are blank (B3)."""
    record = session.envelope(type="user", message={"content": "a\u2028b\x85c\x0bd\x0ce"})
    session.raw(json.dumps(record, ensure_ascii=False) + "\r\n")
    session.raw(line(session, "next") + b"\r\n")

    transcript = read(session)

    assert typed(transcript) == ["a\u2028b\x85c\x0bd\x0ce", "next"]
    assert transcript.skipped == 0


def test_lone_surrogates_become_replacement_characters(session: SessionFile) -> None:
    """Everything that is carried encodes (B10)."""
    session.user("ok \ud83d…")
    session.tool(
        "Write",
        {"file_path": "/a\udc00", "content": "\ud83d"},
        "\ud83d",
        data={"x\ud83d": "\ud83d"},
    )
    session.assistant("said \udfff")
    session.queue("enqueue", "queued \ud83d")
    session.queue("remove")
    session.snapshot({"\ud83d.py": True})

    transcript = read(session)

    assert typed(transcript) == ["ok \ufffd…", "queued \ufffd"]
    repr(transcript).encode("utf-8")
    json.dumps([call.input for call in calls(transcript)], ensure_ascii=False).encode("utf-8")


def test_control_sequences_are_stripped(session: SessionFile) -> None:
    session.user("see \x1b[31mred\x1b[0m\x00")
    session.bash("ls", "\x1b[1mbold\x1b[0m\x00")

    transcript = read(session)

    assert typed(transcript) == ["see red"]
    assert calls(transcript)[0].result.text == "bold"


def test_comments_bom_nuls_and_blank_lines(session: SessionFile) -> None:
    session.raw(b"\xef\xbb\xbf// a comment\n// another\n\n")
    session.raw(b"\x00\x00" + line(session, "goal") + b"\x00\n[]\n12\n\n")
    session.raw(line(session, "invalid \xff".replace("\xff", "@")).replace(b"@", b"\xff") + b"\n")

    transcript = read(session)

    assert typed(transcript) == ["goal", "invalid \ufffd"]
    assert transcript.skipped == 4


def test_a_last_line_that_is_still_being_written(session: SessionFile) -> None:
    session.user("goal")
    session.raw(line(session, "half written")[:80])

    transcript = read(session)

    assert (typed(transcript), transcript.skipped) == (["goal"], 1)


def test_unknown_records_are_no_error(session: SessionFile) -> None:
    session.record({"type": "frame-link", "frameUrl": "https://x", "path": "/a"})
    session.record({"type": "agent-setting"})
    session.record({"type": "content-replacement", "uuid": "x", "replacements": [1]})
    session.add(type="from-the-future", payload={"message": {"content": "not said"}})
    session.user("goal")

    transcript = read(session)

    assert (said(transcript), transcript.skipped) == (["goal"], 0)


def test_an_empty_file_is_an_empty_transcript(session: SessionFile) -> None:
    transcript = read(session)

    assert (transcript.items, transcript.size, transcript.position, transcript.truncated) == (
        [],
        0,
        "",
        False,
    )


@pytest.mark.parametrize("kind", ["missing", "folder", "fifo", "unreadable", "empty", "nul"])
def test_what_is_no_readable_file_is_said_so(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "t.jsonl"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "unreadable":
        path.touch(mode=0o000)
        if os.access(path, os.R_OK):
            pytest.skip("this user may read everything")
    name = {"empty": "", "nul": "a\0b"}.get(kind, str(path))

    with pytest.raises(KeepthreadError) as caught:
        read_transcript(name)

    assert "no readable transcript" in caught.value.message
    assert caught.value.hint


def test_the_file_is_not_touched(session: SessionFile) -> None:
    """The host's sweep goes by the modification time."""
    session.user("goal")
    session.boundary()
    os.utime(session.path, (1, 1))
    content = session.path.read_bytes()

    read(session)
    earlier_prompts(str(session.path), 100)

    assert (session.path.read_bytes(), session.path.stat().st_mtime) == (content, 1)


def test_reading_up_to_an_offset_is_reading_the_file_as_it_was(session: SessionFile) -> None:
    """A session that grows from call to call: an end gives each earlier state back."""
    states = []
    for number in range(6):
        session.user(f"prompt {number}")
        session.bash("ls", "x")
        if number == 3:
            session.boundary("so far")
        states.append((session.path.stat().st_size, read(session)))

    for size, before in states:
        again = read(session, end=size)
        assert again == before
        assert again.size == size


def test_the_limit_cuts_what_is_oldest(session: SessionFile) -> None:
    for number in range(50):
        session.user(f"prompt {number}")

    transcript = read(session, limit=3_000)

    assert transcript.truncated is True
    assert transcript.start >= transcript.size - 3_000
    assert typed(transcript)[-1] == "prompt 49"
    assert 1 < len(typed(transcript)) < 20
    assert transcript.skipped == 0


def test_position_is_the_last_record_of_the_talk(session: SessionFile) -> None:
    """Command output, injected words, notices, system records and noise do not move it."""
    session.user("goal")
    reply = session.assistant("done")
    end = session.path.stat().st_size
    session.user("caveat", isMeta=True)
    session.command("/compact")
    session.user("<local-command-stdout>Compacted</local-command-stdout>")
    session.user("<task-notification>x</task-notification>")
    session.user("[Request interrupted by user]")
    session.system("turn_duration", durationMs=1)
    session.attachment("hook_success")
    session.sidechain("task")

    transcript = read(session)

    assert (transcript.position, transcript.position_offset) == (reply, end)


@pytest.mark.parametrize("last", ["prompt", "call", "result", "rejection", "queued_command"])
def test_each_kind_of_talk_is_a_position(session: SessionFile, last: str) -> None:
    session.user("goal")
    if last == "call":
        session.tool("Bash", {"command": "ls"}, None)
    elif last == "result":
        session.bash("ls", "a")
    elif last == "rejection":
        session.reject("Bash", {"command": "rm"})
    elif last == "queued_command":
        session.attachment("queued_command", prompt="more", commandMode="prompt")

    assert read(session).position == session.last


def test_where_and_when_the_session_ran(session: SessionFile) -> None:
    session.record({"type": "mode", "mode": "normal", "sessionId": SESSION})
    session.user("old", timestamp="2026-10-31T08:00:00.000Z")
    session.boundary()
    session.cwd, session.branch, session.model = "/home/dev/proj/wt", "topic", "claude-opus-5"
    session.assistant("new")
    session.user("late", timestamp="2026-11-01T09:59:00.000Z")
    session.user("written later, said earlier", timestamp="2026-11-01T09:00:01.000Z")

    transcript = read(session)

    assert transcript.session_started == "2026-10-31T08:00:00.000Z"
    assert transcript.last_timestamp == "2026-11-01T09:59:00.000Z"
    assert (transcript.cwd, transcript.git_branch) == ("/home/dev/proj/wt", "topic")
    assert (transcript.model, transcript.version) == ("claude-opus-5", "2.1.332")
    assert transcript.session_id == SESSION


def test_the_file_name_says_which_session_it_is(tmp_path: Path) -> None:
    """A fork's copied lines may name another session; a file of another name goes by its records."""
    other = "22222222-2222-4222-8222-222222222222"
    named = SessionFile(tmp_path / f"{other}.jsonl")
    named.user("goal")
    unnamed = SessionFile(tmp_path / "export.jsonl")
    unnamed.user("goal")

    assert read(named).session_id == other
    assert read(unnamed).session_id == SESSION


def test_an_api_limit_at_the_end_is_seen(session: SessionFile) -> None:
    session.user("goal")
    session.model = "<synthetic>"
    session.assistant("You've hit your limit · resets 9pm", isApiErrorMessage=True)

    assert said(read(session), "error") == ["You've hit your limit · resets 9pm"]


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak is read from /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """What lies before the live part costs nothing: 300 MB of it, in a process of its own."""
    session = SessionFile(tmp_path / "big.jsonl")
    session.bash("cat big", "words " * 5_000)
    block = session.path.read_bytes() * 300
    with session.path.open("ab") as file:
        for _ in range(35):
            file.write(block)
    session.boundary()
    session.user("goal")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]);"
        "from keepthread.transcript.read import read_transcript;"
        "t = read_transcript(sys.argv[2]); print(t.boundaries, len(t.items));"
        "print(*[line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')])"
    )

    output = subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            code,
            str(Path(__file__).parents[2] / "src"),
            str(session.path),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    assert session.path.stat().st_size > 300 << 20
    assert output[:2] == ["1", "2"]
    assert int(output[2]) < 60_000
