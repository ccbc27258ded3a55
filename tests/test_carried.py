"""Handoffs over time: each stays beside its successor, two can be compared, and one can be carried elsewhere."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest

from keepthread.errors import KeepthreadError
from keepthread.handoff import history
from keepthread.handoff.retention import Limits, tidy
from keepthread.host import clipboard
from tests.support.cli import ASK, RULE, Person
from tests.support.session import SESSION, SessionFile

OTHER = "22222222-2222-4222-8222-222222222222"
LATER = "Now write the tide table of next year into docs/table.md"
TOKEN = "ghp_" + "A1b2C3d4E5" * 3 + "F6g7H8"


@pytest.fixture
def person(person: Person) -> Person:
    """Give the test somebody in a project, who asks no model."""
    person.set(KEEPTHREAD_ENGINE="facts")
    return person


@pytest.fixture
def moved(person: Person) -> SessionFile:
    """A session with two handoffs: an ask and an edit lie between them."""
    file = person.session()
    person.ok("handoff")
    file.user(LATER)
    file.write(f"{person.project}/docs/table.md", "| day | tide |\n")
    person.ok("handoff")
    return file


def folder(person: Person) -> Path:
    """Return the folder of the session."""
    return person.state / "sessions" / SESSION


def test_the_handoffs_of_a_session_are_listed_oldest_first(person: Person, moved: SessionFile):
    lines = person.ok("show", "--session", SESSION, "--list").splitlines()
    assert [line.split()[0] for line in lines] == ["1", "2"]
    assert all("before compaction 1  partial (engine_facts), by facts" in line for line in lines)


def test_the_lists_are_there_for_programs_too(person: Person, moved: SessionFile):
    [row] = person.json("show", "--list", "--format", "json")
    assert row == {
        "session": SESSION,
        "generated_at": person.stored()["meta"]["generated_at"],
        "status": "partial",
        "project": str(person.project),
        "task": person.stored()["task"],
    }
    rows = person.json("show", "--session", SESSION, "--list", "--format", "json")
    assert [(row["number"], row["ordinal"], row["engine"]) for row in rows] == [
        (1, 1, "facts"),
        (2, 1, "facts"),
    ]


def test_a_session_is_known_by_how_its_id_begins(person: Person, moved: SessionFile):
    assert person.ok("show", "--session", SESSION[:8]) == person.ok("show", "--session", SESSION)
    ran = person.run("show", "--session", SESSION[:3])
    assert (ran.code, f"No handoff is stored for session {SESSION[:3]}" in ran.err) == (1, True)


def test_a_beginning_of_two_sessions_is_refused(person: Person, moved: SessionFile):
    twin = f"{SESSION[:8]}-9999-4999-8999-999999999999"
    person.session(session=twin)
    person.ok("handoff", "--session", twin)
    ran = person.run("handoff", "--from", SESSION[:8])
    assert (ran.code, f"{SESSION[:8]!r} begins 2 sessions" in ran.err) == (1, True)


def test_the_difference_names_what_came_and_what_went(person: Person, moved: SessionFile):
    text = person.ok("diff", "1", "2", "--session", SESSION)
    assert "+ docs/table.md (created)" in text
    assert LATER in text
    assert RULE not in text.partition("## Files")[2]
    back = person.ok("diff", "2", "1")
    assert "- docs/table.md (created)" in back
    assert "They say the same." in person.ok("diff", "2", SESSION)


def test_a_number_that_is_not_kept_is_refused(person: Person, moved: SessionFile):
    ran = person.run("diff", "1", "7")
    assert (ran.code, "There is no handoff 7 of this session, which has 2" in ran.err) == (1, True)


def test_an_upgrade_of_the_same_handoff_is_no_other_handoff(person: Person, moved: SessionFile):
    person.ok("handoff")
    assert len(history.earlier(str(folder(person)))) == 1


def test_so_many_are_kept_and_no_more(person: Person, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(history, "KEPT", 3)
    file = person.session()
    for number in range(6):
        file.user(f"Part {number}: {LATER}")
        person.ok("handoff")
    kept = history.earlier(str(folder(person)))
    assert [f"Part {n}" in json.dumps(one) for n, one in zip((2, 3, 4), kept, strict=True)] == [
        True
    ] * 3
    assert "Part 5" in json.dumps(person.stored())


def test_where_links_are_not_possible_the_file_is_copied(
    person: Person, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    file = person.session()
    person.ok("handoff")
    file.user(LATER)
    person.ok("handoff")
    [path] = (folder(person) / history.FOLDER).iterdir()
    assert ASK in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_damaged_history_is_left_out_and_harms_nothing(person: Person, moved: SessionFile):
    [path] = (folder(person) / history.FOLDER).iterdir()
    path.write_text("{")
    (path.parent / "7-7-complete.json").symlink_to("/etc/passwd")
    (path.parent / "1-1-complete.json").mkdir()
    assert len(person.ok("show", "--session", SESSION, "--list").splitlines()) == 1
    moved.user("And one more thing")
    person.ok("handoff")
    assert "And one more thing" in json.dumps(person.stored())


def test_retention_takes_the_history_and_keeps_the_handoff(person: Person, moved: SessionFile):
    person.session(session=OTHER)
    person.ok("handoff", "--session", OTHER)
    before = (folder(person) / "handoff.json").read_bytes()
    os.utime(folder(person), (time.time() - 99, time.time() - 99))
    tidy(str(person.state), Limits(sessions=1, days=0))
    assert not (folder(person) / history.FOLDER).exists()
    assert (folder(person) / "handoff.json").read_bytes() == before


def test_doctor_finds_a_secret_in_an_earlier_handoff_and_mends_it(
    person: Person, moved: SessionFile
):
    [path] = (folder(person) / history.FOLDER).iterdir()
    path.write_text(path.read_text().replace(ASK, f"{ASK} with {TOKEN}"))
    found = {check["name"]: check for check in person.json("doctor", "--json")["checks"]}
    secret = next(check for check in found.values() if SESSION in check["detail"])
    assert not secret["ok"]
    assert TOKEN not in json.dumps(found)
    person.run("doctor", "--fix")
    assert TOKEN not in path.read_text()


def test_a_session_is_carried_into_another_project(person: Person, moved: SessionFile):
    elsewhere = person.home / "elsewhere"
    person.go(elsewhere)
    text = person.ok("handoff", "--from", SESSION[:13])
    assert text.startswith(
        f"The work of another session (Claude Code session {SESSION}, in {person.project}"
    )
    assert RULE in text
    assert LATER in text
    assert list(elsewhere.iterdir()) == []


def test_a_session_without_a_handoff_is_carried_by_its_facts_and_nothing_is_stored(person: Person):
    person.session()
    text = person.ok("handoff", "--from", SESSION)
    assert RULE in text
    assert ASK in text
    assert not (person.state / "sessions" / SESSION).exists()


def test_what_is_carried_holds_no_secret(person: Person, moved: SessionFile):
    path = folder(person) / "handoff.json"
    path.write_text(path.read_text().replace(LATER, f"{LATER} with {TOKEN}"))
    for form in ("context", "md", "json"):
        assert TOKEN not in person.ok("handoff", "--from", SESSION, "--format", form)


def test_an_unknown_session_is_named(person: Person):
    ran = person.run("handoff", "--from", "no-such-session")
    assert ran.code == 1
    assert "neither a handoff nor a transcript of session 'no-such-session'" in ran.err


@pytest.mark.parametrize(
    "words", [["--from", ""], ["--transcript", ""], ["--to", ""], ["--out", ""]]
)
def test_an_empty_name_is_not_taken_for_none(person: Person, words: list[str]) -> None:
    """As a variable that is not set: a handoff nobody asked for would be taken, paid for and stored."""
    ran = person.run("handoff", *words)

    assert ran.code == 2 and "it is empty" in ran.err
    assert not (person.state / "sessions").exists()
    assert person.run("diff", "", "1").code == 2


@pytest.mark.parametrize("option", ["--transcript", "--session", "--engine", "--note"])
def test_from_goes_with_nothing_that_makes_a_handoff(
    person: Person, moved: SessionFile, option: str
):
    ran = person.run("handoff", "--from", SESSION, option, "facts")
    assert (ran.code, "--from takes what is stored" in ran.err) == (2, True)


def test_to_a_file_is_private_and_to_the_clipboard_goes_on_stdin(
    person: Person, moved: SessionFile
):
    told = person.ok("handoff", "--from", SESSION, "--to", "note.md")
    assert told == "Written to note.md\n"
    written = person.project / "note.md"
    assert written.stat().st_mode & 0o777 == 0o600
    program = person.home / "bin" / "xsel"
    program.parent.mkdir(exist_ok=True)
    program.write_text(
        f"#!{sys.executable} -I\nimport sys\nopen({str(person.home / 'copied')!r}, 'wb')"
        ".write(repr(sys.argv[1:]).encode() + sys.stdin.buffer.read())\n"
    )
    program.chmod(0o755)
    person.set(PATH=f"{program.parent}:/usr/bin:/bin", DISPLAY=":0")
    told = person.ok("handoff", "--from", SESSION, "--to", "clipboard")
    copied = (person.home / "copied").read_bytes()
    assert told == "In the clipboard (xsel)\n"
    assert copied == b"['--clipboard', '--input']" + written.read_bytes()


def test_without_a_clipboard_the_remedy_is_named(person: Person, moved: SessionFile):
    ran = person.run("handoff", "--from", SESSION, "--to", "clipboard")
    assert (ran.code, "There is no desktop here; or name a file: --to FILE" in ran.err) == (1, True)


def test_each_system_has_its_programs():
    """By the documentation of each; run nowhere but on Linux."""
    assert [c[0] for c in clipboard.programs("darwin", {})] == ["pbcopy"]
    assert [c[0] for c in clipboard.programs("win32", {})] == ["powershell.exe"]
    both = {"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0", "WSL_DISTRO_NAME": "Debian"}
    assert [c[0] for c in clipboard.programs("linux", both)] == [
        "wl-copy",
        "xclip",
        "xsel",
        "powershell.exe",
    ]


def test_a_clipboard_program_that_fails_is_named(tmp_path: Path):
    program = tmp_path / "pbcopy"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(KeepthreadError, match="failed with 3"):
        clipboard.copy("text", {"PATH": str(tmp_path)}, "darwin")
