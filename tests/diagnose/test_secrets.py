"""Secrets that lie in the state folder already: named, never shown, and redacted where they are."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from keepthread import redact
from keepthread.diagnose import secrets
from keepthread.handoff import inject
from tests.support.cli import Person
from tests.support.session import SESSION

TOKEN = "gh" + "p_" + "a1B2" * 9
OTHER = "AKI" + "A" + "A1B2C3D4E5F6G7H8"


@pytest.fixture
def person(person: Person, monkeypatch: pytest.MonkeyPatch) -> Person:
    """Return someone who has keepthread and a handoff that an earlier version stored with its secrets."""
    person.ok("install")
    with monkeypatch.context() as before:
        before.setattr(redact, "text", lambda value, secrets=(): value)
        before.setattr(redact, "document", lambda value, secrets=(): value)
        session = person.session()
        session.user(f"Log in with {TOKEN} and\nthen go on. " + "Never skip the tests. " * 20)
        session.bash(f"deploy --as {OTHER}", "done")
        person.set(KEEPTHREAD_ENGINE="facts")
        person.ok("handoff")
    return person


def folder(person: Person) -> Path:
    """Return where the session is kept."""
    return person.state / "sessions" / SESSION


def stored(person: Person) -> bytes:
    """Return everything that is stored of the session."""
    return b"".join(path.read_bytes() for path in folder(person).iterdir() if path.is_file())


def check(person: Person) -> dict[str, Any]:
    """Run doctor and return what it found about stored secrets."""
    checks = person.json("doctor", "--json")["checks"]
    return next(one for one in checks if one["name"] == "stored secrets")


def test_doctor_names_session_and_rule_and_never_the_value(person: Person) -> None:
    """And how to get rid of them."""
    assert TOKEN.encode() in stored(person)

    ran = person.run("doctor")
    found = check(person)

    assert ran.code == 1
    assert not found["ok"]
    assert f"{SESSION}: aws-access-key, github-token" in found["detail"]
    assert found["fix"].startswith("keepthread doctor --fix")
    assert TOKEN[4:] not in ran.out + ran.err
    assert OTHER[4:] not in ran.out + ran.err


def test_fix_redacts_in_place_and_keeps_everything_else(person: Person) -> None:
    """Times too, so that nothing gets younger; what is shown can still be cut."""
    before = {path.name: path.stat().st_mtime_ns for path in folder(person).iterdir()}
    at = folder(person).stat().st_mtime_ns

    printed = person.run("doctor", "--fix").out

    assert "redacted: aws-access-key, github-token in " in printed
    assert TOKEN.encode() not in stored(person)
    assert OTHER.encode() not in stored(person)
    assert {path.name: path.stat().st_mtime_ns for path in folder(person).iterdir()} == before
    assert folder(person).stat().st_mtime_ns == at
    assert check(person)["ok"]
    assert person.stored()["meta"]["session_id"] == SESSION
    assert "[REDACTED:github-token]" in person.ok("show")
    context = json.loads((folder(person) / "context.json").read_text())
    assert "[REDACTED:github-token]" in context["text"]
    assert len(context["cuts"]) > 1
    for budget in range(2_000, 9_000, 500):
        text = inject.compose(context, {"asks": [], "edits": []}, budget, 0.0, {})
        assert len(text) <= budget
        assert "[REDACTED" not in text.rpartition("[REDACTED:")[2] or text.count("[") == text.count(
            "]"
        )


def test_fix_changes_nothing_where_there_is_nothing_to_mend(person: Person) -> None:
    """Doing it twice is doing it once."""
    person.run("doctor", "--fix")
    before = person.files()

    assert "redacted" not in person.run("doctor", "--fix").out.replace("[REDACTED", "")
    assert person.files() == before


def test_exact_values_of_the_environment_are_found_too(person: Person) -> None:
    """In whatever form they are."""
    person.run("doctor", "--fix")
    (folder(person) / "host-summary.md").write_text("it said zeppelin-9-lakehurst")
    person.set(WIDGET_TOKEN="zeppelin-9-lakehurst")

    assert f"{SESSION}: environment" in check(person)["detail"]
    person.run("doctor", "--fix")
    assert (folder(person) / "host-summary.md").read_text() == "it said [REDACTED:environment]"


@pytest.mark.skipif(os.name == "nt", reason="POSIX modes")
def test_fix_makes_the_state_private_again(person: Person) -> None:
    """All of ours, but for the virtual environment; what a link leads to stays."""
    outside = person.home / "outside"
    outside.write_text("")
    outside.chmod(0o644)
    (person.state / "sessions" / "link").symlink_to(outside)
    (person.state / "venv").mkdir()
    program = person.state / "venv" / "python"
    program.write_text("")
    for path in (person.state, folder(person), folder(person) / "handoff.json", program):
        path.chmod(0o755)

    printed = person.run("doctor", "--fix").out

    modes = [stat.S_IMODE(path.stat().st_mode) for path in (person.state, folder(person))]
    assert modes == [0o700, 0o700]
    assert stat.S_IMODE((folder(person) / "handoff.json").stat().st_mode) == 0o600
    assert [stat.S_IMODE(path.stat().st_mode) for path in (program, outside)] == [0o755, 0o644]
    assert f"made private: {person.state}\n" in printed


def test_the_search_is_bounded_and_says_so(person: Person) -> None:
    """Ten thousand sessions are not all looked through at each call."""
    assert secrets.search(str(person.state), (), seconds=-1) == ([], 0, 1)
    assert secrets.search(str(person.home / "none"), (), seconds=1) == ([], 0, 0)


def test_json_keeps_its_shape_with_fix(person: Person) -> None:
    """What was mended is told on standard error."""
    ran = person.run("doctor", "--fix", "--json")

    assert set(json.loads(ran.out)) == {"checks"}
    assert "redacted: " in ran.err
