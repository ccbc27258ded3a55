"""The status is one screen, whatever there is to tell, and stands on whatever is left of the state."""

from __future__ import annotations

import json
import random
import subprocess
import time
from typing import Any

import pytest

from keepthread import log as logbook
from keepthread.diagnose.status_text import COLUMNS, ROWS
from keepthread.handoff.render.words import plural
from keepthread.handoff.store import write_worker
from tests.support.cli import DOCUMENT, Person
from tests.support.fuzzed import SCALE
from tests.support.session import SESSION


@pytest.fixture
def person(person: Person) -> Person:
    """Give the test somebody with a session."""
    person.set(KEEPTHREAD_ENGINE="facts")
    return person


def lines(person: Person) -> list[str]:
    """Return the screen's lines, which fit on it."""
    found = person.ok("status").splitlines()
    assert len(found) <= ROWS
    assert all(len(line) <= COLUMNS for line in found)
    return found


def line(person: Person, label: str) -> str:
    """Return what the line of a label says."""
    return next(one for one in lines(person) if one.startswith(label))[13:]


def test_with_everything_there_is_to_tell_it_is_one_screen(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A complete handoff, memories, a failure, an open circuit, values that cannot be used, long names."""
    monkeypatch.delenv("KEEPTHREAD_ENGINE")
    session = person.session()
    session.assistant("Which stations are known?", tokens=50_000)
    for number in range(9):
        session.edit(f"{person.project}/{'deep/' * 30}file{number}.py", tokens=50_000 + number)
    person.has_claude().answer(DOCUMENT)
    person.ok("handoff")
    (person.project / ".git").mkdir()
    person.ok("memory", "add", "a.md", "Use httpie.", "--type", "feedback")
    person.ok("memory", "init")
    person.ok("memory", "add", "b.md", "The tide port is 9090.", "--type", "project")
    write_worker(str(person.state), SESSION, {"failures": 3, "failed_at": time.time()})
    logbook.record(
        str(person.state), event="stop", session=SESSION, outcome="failed", reason="x" * 80
    )
    person.write_env("".join(f"KEEPTHREAD_{name}=soon\n" for name in BAD))
    found = lines(person)

    assert len(found) == ROWS
    assert found[-1].endswith("more; see keepthread doctor")
    labels = {one[:13].strip() for one in found}
    assert labels >= {
        "Session", "Handoff", "Audit", "Context", "Compaction", "Largest", "Compactions", "Memory",
        "Team memory", "Spent", "Circuit", "Document", "Last failure", "Setting",
    }  # fmt: skip


BAD = (
    "TIMEOUT", "JOIN", "BUDGET", "INDEX", "MODE", "GUIDE", "DISABLE", "KEEP_DAYS", "KEEP_SESSIONS", "WINDOW",
    "SPILL", "SPILL_CHARS", "MAX_CALLS_PER_HOUR", "MAX_USD_PER_DAY",
)  # fmt: skip


def test_the_last_handoff_its_audit_and_the_spending_are_told(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes, counts, caps; the same as JSON."""
    monkeypatch.delenv("KEEPTHREAD_ENGINE")
    person.session().assistant("Which stations are known?", tokens=50_000)
    person.has_claude().answer(DOCUMENT)
    person.ok("handoff")
    found = person.json("status", "--json")
    context = person.ok("show", "--format", "context")

    assert line(person, "Handoff").startswith("complete, by claude, ")
    assert found["handoff"]["files"] == 2
    assert 0 < found["handoff"]["context_units"] <= len(context)
    assert line(person, "Audit") == (
        f"{found['audit']['checked']} checks of the model's answer, all hold"
    )
    assert line(person, "Spent") == "1 of 20 calls in the last hour, 0.25 of 5.00 USD today"
    assert line(person, "Document") == "docs/handoff-context.md"
    assert found["document"]["path"] == f"{person.project}/docs/handoff-context.md"


def test_a_claim_that_failed_its_check_is_counted(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule that nobody typed."""
    monkeypatch.delenv("KEEPTHREAD_ENGINE")
    person.session().assistant("Which stations are known?", tokens=50_000)
    invented = {**DOCUMENT, "rules": [*DOCUMENT["rules"], "Always deploy on Fridays, said nobody."]}
    person.has_claude().answer(invented)
    person.run("handoff")
    failed = person.stored()["audit"]["failed"]

    assert failed
    assert person.json("status", "--json")["audit"]["failed"] == len(failed)
    assert plural(len(failed), "claim") + " failed, now mended" in line(person, "Audit")


def test_the_team_s_memory_and_one_s_own_are_counted(person: Person) -> None:
    """And whether sessions are shown the team's."""
    person.session()
    subprocess.run(["git", "init", "-q", str(person.project)], check=True)
    person.ok("memory", "add", "a.md", "Use httpie.", "--type", "feedback")
    person.ok("memory", "init")
    person.ok("memory", "add", "b.md", "The tide port is 9090.", "--type", "project")

    assert line(person, "Team memory") == (
        "1 entry, not trusted yet: keepthread memory trust; 1 entry of your own"
    )
    person.ok("memory", "trust", "--yes")
    assert line(person, "Team memory") == "1 entry, trusted; 1 entry of your own"
    assert person.json("status", "--json")["team_memory"] == {
        "entries": 1,
        "standing": "trusted",
        "private": 1,
    }


def test_the_session_s_memory_is_told(person: Person) -> None:
    """Off is said as well."""
    person.session()
    assert line(person, "Memory") == "none of this session yet; it is kept without a model"
    person.write_env("KEEPTHREAD_SESSION_MEMORY=off\n")
    assert line(person, "Memory") == "off"


def test_without_a_project_or_an_installation_it_says_so(person: Person) -> None:
    """Exit 0, one line."""
    person.go(person.home / "nowhere")

    assert lines(person) == ["No session of this project was found."]


def test_names_that_pose_as_terminal_sequences_are_shown_harmless(person: Person) -> None:
    """A log that somebody else has written into."""
    person.session()
    person.ok("handoff")
    entry = {"time": "2026-01-01T00:00:00Z", "event": "stop", "outcome": "failed"}
    with (person.state / "log.jsonl").open("a", encoding="utf-8") as file:
        forged = {**entry, "reason": "\x1b[2Jgone\u202e"}
        file.write(json.dumps(forged, separators=(",", ":")) + "\n")

    assert line(person, "Last failure").endswith("stop: ?[2Jgone?")


def test_a_damaged_handoff_is_told_from_none(person: Person) -> None:
    """Half a file, or a field that is gone."""
    person.session()
    person.ok("handoff")
    path = person.state / "sessions" / SESSION / "handoff.json"
    whole = json.loads(path.read_text(encoding="utf-8"))
    for text in ('{"meta": {"sta', json.dumps({k: v for k, v in whole.items() if k != "facts"})):
        path.write_text(text, encoding="utf-8")
        assert line(person, "Handoff").startswith("damaged, or of another version")
        assert person.json("status", "--json")["handoff"] is None


def damage(data: bytes, random: random.Random) -> bytes:
    """Return a file as a crash, an editor or another version may leave it."""
    kind = random.randrange(5)
    if kind == 0:
        return b""
    if kind == 1:
        return data[: random.randrange(len(data) + 1)]
    if kind == 2:
        at = random.randrange(len(data) + 1)
        return data[:at] + bytes(random.randrange(256) for _ in range(8)) + data[at + 8 :]
    if kind == 3:
        return random.choice([b"[]", b"null", b"7", b'"text"', b"{}", b'{"meta": {}}'])
    return mutilated(data, random)


def mutilated(data: bytes, random: random.Random) -> bytes:
    """Return a JSON document with a value of another kind somewhere, or without a key."""
    try:
        document: Any = json.loads(data)
    except ValueError:
        return data * 2
    here = document
    while isinstance(here, dict) and here:
        key = random.choice(sorted(here))
        if random.random() < 0.4 or not isinstance(here[key], dict):
            if random.random() < 0.3:
                del here[key]
            else:
                here[key] = random.choice([None, [], {}, "x", -1, [None], {"a": 1}, 1e308, True])
            break
        here = here[key]
    return json.dumps(document).encode()


def test_status_and_doctor_stand_on_any_damage_to_the_state(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file of the state in turn, in many ways: exit 0 or 1, never a bug."""
    monkeypatch.setattr("keepthread.diagnose.dry_run.try_hooks", lambda *_: iter(()))
    person.ok("install")
    person.session().assistant("Which stations are known?", tokens=50_000)
    person.ok("handoff")
    person.ok("memory", "add", "a.md", "Use httpie.", "--type", "feedback")
    sound = {path: path.read_bytes() for path in person.state.rglob("*") if path.is_file()}
    chance = random.Random(6)
    for path, data in sound.items():
        for _ in range(max(1, round(3 * SCALE))):
            path.write_bytes(damage(data, chance))
            ran = person.run("status", "--json")
            assert (ran.code, ran.err) == (0, ""), (path, path.read_bytes(), ran)
            lines(person)
            ran = person.run("doctor", *chance.choice([[], ["--fix"]]), "--json")
            assert "bug" not in ran.err, (path, ran)
            assert json.loads(ran.out)["checks"]
            assert ran.code in (0, 1)
        path.write_bytes(data)
