"""Which file is a session's transcript, and which session is a project's newest."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keepthread.host.sessions import find_transcript, newest_session
from tests.support.session import SESSION

OTHER = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def config(home: Path) -> Path:
    return home / ".claude"


def transcript(config: Path, slug: str, name: str, *, hours_ago: float = 0) -> Path:
    path = config / "projects" / slug / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}\n")
    when = path.stat().st_mtime - hours_ago * 3600
    os.utime(path, (when, when))
    return path


def found(named: object, config: Path, session: str = SESSION, *, belongs: bool = True) -> str:
    return find_transcript(str(named), session, str(config), lambda path, session: belongs)


def test_the_file_that_the_host_names_is_it(config):
    path = transcript(config, "p", SESSION)
    assert found(path, config) == str(path)


def test_a_file_of_any_name_and_place_is_taken_at_the_hosts_word(config, tmp_path):
    path = tmp_path / "elsewhere.jsonl"
    path.touch()
    assert found(path, config) == str(path)
    assert found(path, config, "no uuid") == str(path)


def test_what_is_no_regular_file_is_looked_up_by_the_id(config, tmp_path):
    path = transcript(config, "p", SESSION)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for named in (
        "",
        tmp_path,
        fifo,
        tmp_path / "gone",
        "p/x.jsonl",
        "/dev/null",
        "a\0b",
        "~nobody/x",
    ):
        assert found(named, config) == str(path), named


def test_a_tilde_is_the_home(config):
    path = transcript(config, "p", OTHER)
    assert found(f"~/.claude/projects/p/{OTHER}.jsonl", config) == str(path)


def test_a_newer_file_of_the_session_wins_when_it_belongs_to_it(config):
    named = transcript(config, "p", OTHER, hours_ago=2)
    newer = transcript(config, "p", SESSION)
    assert found(named, config) == str(newer)
    assert found(named, config, belongs=False) == str(named)


def test_an_older_file_of_the_session_does_not(config):
    named = transcript(config, "p", OTHER)
    transcript(config, "q", SESSION, hours_ago=2)
    assert found(named, config) == str(named)


def test_of_several_by_the_id_the_newest_is_it(config):
    transcript(config, "a", SESSION, hours_ago=3)
    newest = transcript(config, "b", SESSION, hours_ago=1)
    transcript(config, "c", SESSION, hours_ago=2)
    assert found("", config) == str(newest)


@pytest.mark.parametrize("session", ["../../secret", "", "x", f"{SESSION}/../x", SESSION.upper()])
def test_an_id_that_is_no_uuid_is_never_part_of_a_path(config, session):
    transcript(config, "p", "x")
    (config / "secret.jsonl").touch()
    assert found("", config, session) == ""


def test_without_anything_there_is_none(config):
    assert found("", config) == ""
    assert newest_session(str(config), "/home/dev/proj") == ""


def test_the_newest_session_of_a_project_is_no_subagents_and_no_folder(config):
    transcript(config, "-home-dev-proj", OTHER, hours_ago=2)
    newest = transcript(config, "-home-dev-proj", SESSION, hours_ago=1)
    transcript(config, "-home-dev-proj", "agent-x")
    transcript(config, "-home-dev-other", "33333333-3333-4333-8333-333333333333")
    (config / "projects" / "-home-dev-proj" / "folder.jsonl").mkdir()
    assert newest_session(str(config), "/home/dev/proj") == str(newest)


@pytest.mark.parametrize(
    ("project", "folder"),
    [
        ("/home/dev/a_b.c d", "-home-dev-a-b-c-d"),
        ("/p/项目", "-p---"),
        ("/p/🌒", "-p---"),
    ],
)
def test_a_projects_folder_is_named_as_the_host_names_it(config, project, folder):
    path = transcript(config, folder, SESSION)
    assert newest_session(str(config), project) == str(path)


def test_a_long_projects_folder_bears_the_hosts_hash(config):
    project = "/home/dev/" + "x" * 250
    number = 0
    for unit in project:
        number = ((number << 5) - number + ord(unit)) & 0xFFFFFFFF
    signed = abs(number - (1 << 32) if number >= 1 << 31 else number)
    digits = ""
    while signed:
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[signed % 36] + digits
        signed //= 36
    path = transcript(config, f"{('-home-dev-' + 'x' * 250)[:200]}-{digits}", SESSION)
    assert newest_session(str(config), project) == str(path)
