"""The log: one line per run, no forged one, and never a reason to fail."""

from __future__ import annotations

import json
import os
import stat

import pytest

from keepthread import log


def record(state, **changes):
    given = {"event": "PreCompact", "session": "s1", "outcome": "stored"}
    log.record(str(state), **{**given, **changes})


def test_a_run_is_one_line_with_the_documented_fields(tmp_path):
    record(tmp_path, reason="timeout", engine="claude", seconds=1.23456)

    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    entry = json.loads(lines[0])

    assert len(lines) == 1
    assert list(entry) == ["time", "event", "session", "outcome", "reason", "engine", "seconds"]
    assert entry["seconds"] == 1.235
    assert entry["time"].endswith("Z")
    assert log.read(str(tmp_path), limit=10) == [entry]


def test_a_detail_is_there_only_when_given(tmp_path):
    record(tmp_path, detail="why")
    record(tmp_path)

    assert [entry.get("detail") for entry in log.read(str(tmp_path), limit=9)] == ["why", None]


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_log_and_folder_are_private(tmp_path):
    state = tmp_path / "a" / "state"
    before = os.umask(0)
    try:
        record(state)
    finally:
        os.umask(before)

    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "log.jsonl").stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "value",
    [
        'x\n{"time":"2026","event":"forged"}',
        "\x1b[2J\x07",
        "\u2028\u2029\x85",
        "\ud83d",
        "y" * 5_000,
    ],
)
def test_no_value_forges_a_line_or_reaches_the_terminal(tmp_path, value):
    for name in ("event", "session", "outcome", "reason", "engine", "detail"):
        record(tmp_path, **{name: value})

    data = (tmp_path / "log.jsonl").read_bytes()
    entries = log.read(str(tmp_path), limit=100)

    assert data.count(b"\n") == len(entries) == 6
    assert all(str(v).isprintable() and len(str(v)) <= 400 for e in entries for v in e.values())


@pytest.mark.parametrize("obstacle", ["file", "folder", "nul"])
def test_a_log_that_cannot_be_written_harms_nobody(tmp_path, obstacle):
    state = tmp_path / "state"
    if obstacle == "file":
        state.write_text("")
    elif obstacle == "folder":
        (state / "log.jsonl").mkdir(parents=True)
    else:
        state = tmp_path / "a\0b"

    record(state)

    assert log.read(str(state), limit=5) == []


def test_a_full_disk_harms_nobody(tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    record(tmp_path)


def test_torn_lines_and_what_is_no_entry_are_left_out(tmp_path):
    record(tmp_path, session="one")
    with (tmp_path / "log.jsonl").open("ab") as file:
        file.write(b'\n\xff\xfe\nnull\n[1]\n{"a": 1}\n{"time":"2026","event":"Pre')
    record(tmp_path, session="glued")
    record(tmp_path, session="last")

    assert [entry["session"] for entry in log.read(str(tmp_path), limit=9)] == [
        "one",
        "glued",
        "last",
    ]


def test_the_last_entries_are_returned_oldest_first_across_a_rotation(tmp_path, monkeypatch):
    monkeypatch.setattr(log, "ROTATE_AT", 1_000)
    for number in range(20):
        record(tmp_path, session=str(number))

    assert (tmp_path / "log.jsonl.1").exists()
    assert [entry["session"] for entry in log.read(str(tmp_path), limit=9)] == [
        str(number) for number in range(11, 20)
    ]


@pytest.mark.parametrize("limit", [0, 1, 2, 100])
def test_no_more_than_the_limit_is_returned(tmp_path, limit):
    for number in range(3):
        record(tmp_path, session=str(number))

    sessions = [entry["session"] for entry in log.read(str(tmp_path), limit=limit)]

    assert sessions == ["0", "1", "2"][max(0, 3 - limit) :]
