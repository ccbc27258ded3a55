"""Pins through the command line, the hooks, and compactions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import Person
from tests.support.hook_runs import World
from tests.support.session import SESSION

FORK = "33333333-3333-4333-8333-333333333333"
PIN = "The sandbox ledger is wiped every Friday;\n  ask Ines before 16:00 («UTC»)."


@pytest.fixture
def world(tmp_path: Path, home: Path) -> World:
    """Return an empty home and a project."""
    return World(tmp_path, home)


def test_pin_list_and_unpin(person: Person) -> None:
    """The whole texts."""
    person.session()

    assert person.ok("pin", "keep\nthis") == f"Pinned in the project {person.project}: keep\nthis\n"
    assert person.ok("pin", "and this", "--session") == f"Pinned in session {SESSION}: and this\n"
    assert person.ok("pin", "--session", "or that") == f"Pinned in session {SESSION}: or that\n"
    assert person.ok("pin", "or that", "--session", SESSION).startswith("Pinned already in session")
    assert (
        person.ok("pins")
        == "1. (project) keep\nthis\n2. (session) and this\n3. (session) or that\n"
    )
    assert person.json("pins", "--json") == {
        "project": ["keep\nthis"],
        "session": ["and this", "or that"],
    }
    assert person.ok("unpin", "2") == "Taken off: and this\n"
    assert person.ok("unpin", "1") == "Taken off: keep\nthis\n"
    assert person.ok("unpin", "1") == "Taken off: or that\n"
    assert person.ok("pins") == "Nothing is pinned here.\n"
    assert person.run("unpin", "1").code == 1
    assert person.run("unpin", "0").code == 2
    assert person.run("pin").code == 1


def test_a_pin_with_a_secret_of_the_environment_is_refused(person: Person) -> None:
    """The exact value, whatever its form."""
    person.set(WIDGET_TOKEN="zeppelin-9-lakehurst")

    ran = person.run("pin", "log in with zeppelin-9-lakehurst")

    assert (ran.code, "rule environment" in ran.err, "zeppelin" in ran.err) == (1, True, False)
    assert person.files() == {}


def test_a_pin_is_in_the_context_of_every_compaction_until_it_is_taken_off(
    person: Person, home: Path, tmp_path: Path
) -> None:
    """Word for word; also when nothing else was said in between."""
    world = World(tmp_path, home)
    person.go(world.project)
    session = world.session()
    person.ok("pin", PIN)

    for _ in range(3):
        world.run("pre_compact")
        assert PIN in world.run("session_start").context
        session.boundary("What was said.")

    person.ok("unpin", "1")
    world.run("pre_compact")
    text = world.run("session_start").context
    assert text
    assert "wiped every Friday" not in text
    assert world.handoff()["facts"]["pins"] == []


def test_a_session_s_pin_is_in_no_other_session_but_in_its_fork(
    person: Person, home: Path, tmp_path: Path
) -> None:
    """A project's one is in all of them."""
    world = World(tmp_path, home)
    person.go(world.project)
    session = world.session()
    person.ok("pin", "of the session", "--session", SESSION)
    person.ok("pin", "of the project")
    world.run("pre_compact")
    fork = world.session(FORK, talk=False)
    fork.path.write_bytes(session.path.read_bytes().replace(SESSION.encode(), FORK.encode()))
    fork.user("Go on here.")
    other = world.session("44444444-4444-4444-8444-444444444444")

    for hook_session in (FORK, other.session):
        world.run("pre_compact", world.event("pre_compact", hook_session))

    assert world.handoff(FORK)["facts"]["pins"] == ["of the project", "of the session"]
    assert world.handoff(other.session)["facts"]["pins"] == ["of the project"]


@pytest.mark.parametrize("command", ["/pin", "/keepthread-pin", "/keepthread:pin"])
def test_the_words_of_a_typed_pin_reach_the_command_as_data(
    person: Person, home: Path, tmp_path: Path, command: str
) -> None:
    """Whatever a shell would make of them."""
    world = World(tmp_path, home)
    person.go(world.cwd)
    world.session()
    words = "never `rm -rf $HOME`; \"quote\" it 'so' && $(this)"
    person.set(CLAUDE_CODE_SESSION_ID=SESSION)

    world.run("user_prompt_submit", world.event("user_prompt_submit", prompt=f"{command} {words}"))
    said = person.ok("pin")

    assert said == f"Pinned in the project {world.project}: {words}\n"
    world.run(
        "user_prompt_submit", world.event("user_prompt_submit", prompt=f"{command} --session x y")
    )
    assert person.ok("pin") == f"Pinned in session {SESSION}: x y\n"
    assert person.run("pin").code == 1  # it was taken up
    person.go(world.project)
    assert person.ok("pins") == f"1. (project) {words}\n2. (session) x y\n"
    world.run("user_prompt_submit", world.event("user_prompt_submit", prompt=command))
    assert person.ok("pin").startswith("1. (project) never")


def test_a_typed_pin_with_a_secret_never_reaches_the_disk(
    person: Person, home: Path, tmp_path: Path
) -> None:
    """The command says which rule found it."""
    world = World(tmp_path, home)
    world.session()
    person.set(CLAUDE_CODE_SESSION_ID=SESSION)
    secret = "gh" + "p_" + "a1B2" * 9

    world.run("user_prompt_submit", world.event("user_prompt_submit", prompt=f"/pin use {secret}"))

    assert all(secret.encode() not in data for data in person.files().values())
    ran = person.run("pin")
    assert (ran.code, "rule github-token" in ran.err, secret in ran.err) == (1, True, False)


def test_nothing_is_left_behind_where_keepthread_is_off(world: World) -> None:
    """Neither text nor folder."""
    world.session()
    world.state.mkdir(parents=True)
    (world.state / "settings.json").write_text(json.dumps({"off_projects": [str(world.project)]}))

    world.run("user_prompt_submit", world.event("user_prompt_submit", prompt="/pin this"))

    assert not world.folder_of().exists()
