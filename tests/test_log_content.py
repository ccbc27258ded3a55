"""The log says what was done and never what was said: every event and command, with words planted everywhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.cli import Person
from tests.support.hook_runs import World
from tests.support.session import SESSION

WORD = "zanzibar"  # in front of a number: where it was planted
SECRET = "gh" + "p_" + "a1B2" * 9


@pytest.fixture
def world(tmp_path: Path, home: Path) -> World:
    """Return a project whose session holds planted words in everything that people, tools and files say."""
    world = World(tmp_path, home)
    world.variables(SOURCES="compact,resume,fork,clear")
    session = world.session(talk=False)
    session.user(f"{WORD}01 is the goal, and never touch {WORD}02. The token is {SECRET}")
    session.assistant(f"I found {WORD}03.")
    session.bash(f"echo {WORD}04 && make {WORD}05", f"{WORD}06: error", is_error=True)
    session.edit(f"{world.project}/src/{WORD}07.py", f"{WORD}08", f"{WORD}09")
    session.user(f"now {WORD}10")
    (world.project / f"{WORD}11.txt").write_text(f"{WORD}12")
    return world


def everything(world: World) -> list[tuple[str, dict[str, object]]]:
    """Return each hook with an event that carries words of its own."""
    return [
        ("user_prompt_submit", {"prompt": f"/handoff {WORD}20"}),
        ("user_prompt_submit", {"prompt": f"/pin {WORD}21 {SECRET}"}),
        ("user_prompt_submit", {"prompt": f"{WORD}22"}),
        ("pre_compact", {"custom_instructions": f"{WORD}23"}),
        ("session_start", {"source": "compact", "session_title": f"{WORD}24"}),
        ("session_index", {"source": "compact"}),
        ("post_compact", {"compact_summary": f"<summary>{WORD}25</summary>"}),
        ("session_end", {"reason": "clear", "last_assistant_message": f"{WORD}26"}),
        (
            "session_start",
            {"source": "clear", "session_id": "88888888-8888-4888-8888-888888888888"},
        ),
        (
            "pre_compact",
            {"transcript_path": f"/nowhere/{WORD}27.jsonl", "session_id": f"{WORD}-id"},
        ),
        ("pre_compact", {"cwd": f"/{WORD}28"}),
        ("session_start", {"transcript_path": [f"{WORD}29"]}),
        ("post_compact", {"compact_summary": 7}),
    ]


def test_no_event_leaves_words_in_the_log(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole runs, also those that fail."""
    from tests.support import hook_runs

    monkeypatch.setitem(hook_runs.NAMES, "session_end", "SessionEnd")
    for hook, fields in everything(world):
        event = world.event(hook) | fields
        process = world.start(hook, event)
        process.communicate(timeout=60)
        assert process.returncode == 0

    said = (world.state / "log.jsonl").read_text()
    assert {entry["event"] for entry in world.log()} >= {
        "pre_compact", "session_start", "session_index", "post_compact", "session_end",
    }  # fmt: skip
    for word in [f"{WORD}{number:02}" for number in range(1, 30) if number != 27]:
        assert word not in said, word
    assert SECRET not in said


def test_a_state_that_cannot_be_written_leaves_reasons_and_no_words(world: World) -> None:
    """A folder stands where a file should be."""
    (world.folder_of() / "handoff.json" / "x").mkdir(parents=True)
    (world.folder_of() / "note").mkdir()
    for hook, fields in everything(world)[:7]:
        world.start(hook, world.event(hook) | fields).communicate(timeout=60)

    said = (world.state / "log.jsonl").read_text()
    assert '"failed"' in said
    assert WORD not in said.replace(str(world.project), "")


def test_no_command_leaves_words_in_the_log(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without an engine, right and wrong."""
    person = Person(home, capsys, monkeypatch)
    person.session().user(f"{WORD}01 and {SECRET}")
    person.has_claude(answer={"task": f"{WORD}02"})
    for arguments in (
        ("handoff", "--note", f"{WORD}03"),
        ("handoff", "--engine", "facts"),
        ("handoff", "--engine", f"{WORD}04"),
        ("handoff", "--transcript", f"{WORD}05"),
        ("show", "--session", f"{WORD}06"),
        ("pin", f"{WORD}07"),
        ("pin", f"{WORD}08 {SECRET}"),
        ("unpin", "9"),
        ("logs", "--since", f"{WORD}09"),
        ("status",),
    ):
        person.run(*arguments)

    said = (person.state / "log.jsonl").read_text()
    assert SESSION in said
    assert WORD not in said
    assert SECRET not in said
    assert os.stat(person.state / "log.jsonl").st_mode & 0o777 == 0o600
