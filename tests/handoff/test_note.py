"""The note of a typed /handoff: told from every other prompt, left as data, taken once."""

from __future__ import annotations

import os

import pytest

from keepthread.handoff.note import LIMIT, leave_note, note_in, take_note
from tests.support.session import SESSION


@pytest.mark.parametrize(
    ("prompt", "note"),
    [
        ("/handoff", ""),
        ("/handoff mind the moons", "mind the moons"),
        ("  /handoff   mind\nthe moons  ", "mind\nthe moons"),
        ("/handoff\nmind the moons", "mind the moons"),
        ("/keepthread-handoff x", "x"),
        ("/keepthread:handoff x", "x"),
        ("/handoff $(touch x); `id`", "$(touch x); `id`"),
        ("/handoffs x", None),
        ("/other:handoff x", None),
        ("handoff x", None),
        ("please /handoff x", None),
        ("", None),
        ("   ", None),
        ("/", None),
    ],
)
def test_only_the_command_itself_has_a_note(prompt, note):
    assert note_in(prompt) == note


def test_a_long_note_is_cut():
    assert note_in("/handoff " + "x" * 50_000) == "x" * LIMIT


def test_a_note_is_taken_once_and_is_private(tmp_path):
    state = str(tmp_path / "state")
    leave_note(state, SESSION, "mind the 🌒 \ud83d")
    [folder] = (tmp_path / "state" / "sessions").iterdir()
    assert all(path.stat().st_mode & 0o077 == 0 for path in [folder, *folder.iterdir()])
    assert take_note(state, SESSION) == "mind the 🌒 ?"
    assert take_note(state, SESSION) == ""


def test_the_last_note_counts_and_each_session_has_its_own(tmp_path):
    for words in ("first", "second"):
        leave_note(str(tmp_path), SESSION, words)
    leave_note(str(tmp_path), "../../other", "theirs")
    assert take_note(str(tmp_path), SESSION) == "second"
    assert take_note(str(tmp_path), "../../other") == "theirs"


@pytest.mark.parametrize("what", ["folder", "link", "fifo"])
def test_something_else_in_its_place_is_no_note(tmp_path, what):
    leave_note(str(tmp_path), SESSION, "x")
    [path] = tmp_path.glob("sessions/*/note")
    path.unlink()
    {
        "folder": path.mkdir,
        "link": lambda: path.symlink_to("/etc/hostname"),
        "fifo": lambda: os.mkfifo(path),
    }[what]()
    assert take_note(str(tmp_path), SESSION) == ""
