"""The host's event: read within a bounded time, and whatever its fields hold, texts."""

from __future__ import annotations

import json
import os
import threading
import time

import pytest

from keepthread.host import events
from keepthread.host.events import parse, read_stdin


@pytest.fixture
def pipe():
    """Both ends of a pipe; what is still open at the end is closed."""
    ends = list(os.pipe())
    yield ends
    for end in ends:
        if end >= 0:
            os.close(end)


def closed_after(pipe, data: bytes) -> None:
    os.write(pipe[1], data)
    os.close(pipe[1])
    pipe[1] = -1


def test_fields_of_another_type_are_empty():
    event = parse(b'{"session_id": 5, "cwd": null, "trigger": [], "agent_id": {}, "source": true}')
    assert event is not None
    fields = (event.session_id, event.cwd, event.trigger, event.agent_id, event.source)
    assert fields == ("", "", "", "", "")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b'"x"',
        b"7",
        b"null",
        b"{",
        b'{"a": 1}x',
        b"[" * 100_000,
        b'{"a": ' + b"9" * 9_999 + b"}",
    ],
)
def test_what_is_no_object_is_no_event(data):
    assert parse(data) is None


def test_a_byte_order_mark_and_broken_utf_8_are_borne():
    event = parse(b'\xef\xbb\xbf{"session_id": "a\xffb"}')
    assert event is not None
    assert event.session_id == "a\ufffdb"


def test_a_lone_surrogate_never_leaves_the_event():
    event = parse(b'{"prompt": "ok \\ud83d", "cwd": "\\ud83d\\ude00"}')
    assert event is not None
    assert event.prompt.encode() == b"ok ?"
    assert event.cwd == "\U0001f600"


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"session_id": "a", "transcript_path": "/p/b.jsonl"}, "a"),
        ({"transcript_path": "/p/b.jsonl"}, "b"),
        ({"session_id": "", "transcript_path": ""}, ""),
        ({"session_id": None, "transcript_path": "/p/"}, ""),
        ({"session_id": "x" * 9_000, "transcript_path": "/p/b.jsonl"}, "b"),
        ({"session_id": "x" * 9_000, "transcript_path": "/p/" + "y" * 9_000}, ""),
    ],
)
def test_a_missing_id_is_read_off_the_transcript(event, expected):
    parsed = parse(json.dumps(event).encode())
    assert parsed is not None
    assert parsed.session_id == expected


def test_stdin_is_read_to_its_end(pipe):
    closed_after(pipe, b'{"a": 1}   \n')
    assert read_stdin(pipe[0]) == b'{"a": 1}   \n'


def test_a_document_that_comes_in_pieces_is_waited_for(pipe):
    def write() -> None:
        for piece in (b'{"a": {"b": 1}', b', "c": "}"', b"}"):
            time.sleep(0.4)
            os.write(pipe[1], piece)

    writer = threading.Thread(target=write)
    writer.start()
    data = read_stdin(pipe[0])
    writer.join()
    assert parse(data) is not None


def test_a_writer_that_stays_silent_is_left_after_a_while(pipe, monkeypatch):
    monkeypatch.setattr(events, "_PATIENCE", 0.3)
    assert read_stdin(pipe[0]) == b""
    os.write(pipe[1], b'{"a": ')
    assert read_stdin(pipe[0]) == b'{"a": '


def test_no_more_than_the_limit_is_read(pipe, monkeypatch):
    monkeypatch.setattr(events, "LIMIT", 10)
    os.write(pipe[1], b"x" * 40)
    assert len(read_stdin(pipe[0])) == 40
    os.write(pipe[1], b"x" * 40)
    assert os.read(pipe[0], 99) == b"x" * 40


def test_a_closed_stdin_is_an_empty_one(pipe):
    os.close(pipe[0])
    number, pipe[0] = pipe[0], -1
    assert read_stdin(number) == b""
