"""Family C: what a facts update keeps of a complete handoff, and the words of the user that outlive compactions."""

from __future__ import annotations

import json

import pytest

from tests.support.hook_runs import ANSWER, GOAL, JUDGED, World
from tests.support.session import SessionFile

QUOTED = 'Please also make parse_line handle quoted fields like "a|b" before anything else.'
PLANNED = "The parser is half done; next I will handle quoted fields in parse_line."
NOTE = "don't forget the loader tests"
TOO_LITTLE = "too little was new since the last complete handoff for another model call"


def completed(world: World) -> SessionFile:
    """Return a session with a complete handoff."""
    file = world.session()
    world.run("pre_compact")
    world.settled()
    assert world.handoff()["meta"]["status"] == "complete"
    return file


def markdown(world: World) -> str:
    """Return the stored document."""
    return (world.folder_of() / "handoff.md").read_text()


def compacted(world: World, file: SessionFile) -> str:
    """Let a compaction take place; return what the model is given."""
    world.run("pre_compact")
    world.settled()
    file.boundary()
    return world.run("session_start").context


def test_c2_a_facts_update_keeps_the_judgement_as_it_was(world, asked):
    file = completed(world)
    before = world.handoff()
    file.user("thanks")
    file.assistant("Working on it.")
    world.run("pre_compact")
    stored = world.handoff()
    assert stored["meta"]["status"] == "partial"
    assert stored["task"].startswith(JUDGED)
    assert stored["next_steps"][0].startswith(ANSWER["next_steps"][0])
    assert stored["current_state"]["in_flight"].startswith(ANSWER["in_flight"])
    assert stored["resume_prompt"].startswith(before["resume_prompt"])
    assert "from the handoff" in stored["next_steps"][0]
    summaries = [
        {entry["path"]: entry["summary"] for entry in each["files_touched"]}
        for each in (before, stored)
    ]
    assert summaries[0]["src/importer.py"] == summaries[1]["src/importer.py"] == "Reads a day."


def test_c2_what_was_edited_since_is_told_as_it_is_now(world, asked):
    file = completed(world)
    file.edit(f"{file.cwd}/src/importer.py", new="def footer(line): ...")
    world.run("pre_compact")
    summaries = {entry["path"]: entry["summary"] for entry in world.handoff()["files_touched"]}
    assert summaries["src/importer.py"] != "Reads a day."
    assert "footer" in summaries["src/importer.py"]


def test_c2_an_update_of_an_update_still_has_it_and_the_new_ask_in_front(world, asked):
    file = completed(world)
    for text in ("thanks", QUOTED):
        file.user(text)
        world.run("pre_compact")
    stored = world.handoff()
    assert QUOTED in stored["next_steps"][0]
    assert stored["next_steps"][1].startswith(ANSWER["next_steps"][0])
    assert stored["task"].startswith(JUDGED)
    assert len(asked.calls) == 1


def test_c2_an_update_says_truly_why_no_model_was_asked(world, asked):
    file = completed(world)
    file.user("thanks")
    world.run("pre_compact")
    run = world.run("session_start")
    assert TOO_LITTLE in run.context.splitlines()[0]
    assert TOO_LITTLE in markdown(world)
    assert "last complete one, updated" in run.notice
    assert "as chosen in the settings" not in run.context + markdown(world) + run.notice


def test_c2_what_was_chosen_in_the_settings_is_called_that(world):
    world.session()
    world.run("pre_compact")
    assert "as chosen in the settings" in markdown(world)


def test_c2_the_users_own_words_bear_no_age(world):
    file = world.session()
    world.run("pre_compact")
    file.user(QUOTED)
    world.run("pre_compact")
    assert world.handoff()["task"].startswith(GOAL)
    assert "from the handoff" not in world.handoff()["task"]


@pytest.mark.parametrize("word", ["go on", "continue", "weiter", "THIRDTURN go on."])
def test_c3_an_open_ask_outlives_any_number_of_compactions(world, word):
    file = world.session(talk=False)
    file.user("Write src/parser.py with parse_line. Never use the re module.")
    file.write(f"{file.cwd}/src/parser.py")
    file.assistant("Wrote src/parser.py.")
    file.user(QUOTED)
    file.assistant(PLANNED)
    for _ in range(4):
        file.user(word)
        shown = compacted(world, file)
        ask = world.handoff()["facts"]["pending_ask"]["text"]
        assert QUOTED in ask
        assert word in ask
        assert QUOTED in shown
        assert not world.handoff()["next_steps"][0].startswith(word)
        assert "Since then: " + word not in world.handoff()["task"]
        file.assistant("Working on it.")


def test_c3_what_was_asked_before_another_ask_stays_as_an_earlier_one(world):
    file = world.session(talk=False)
    file.user("Write src/parser.py with parse_line.")
    file.user(QUOTED)
    file.assistant("I will.")
    compacted(world, file)
    file.user("Now rename the module to fields.py first, please.")
    for _ in range(2):
        shown = compacted(world, file)
        assert f"An earlier ask, perhaps still open: {QUOTED}" in shown
        assert QUOTED in markdown(world)
        file.user("go on")


def test_c3_an_ask_that_was_worked_on_and_ended_is_not_told_again(world):
    file = world.session(talk=False)
    file.user("Write src/parser.py with parse_line.")
    file.user(QUOTED)
    file.assistant(PLANNED)
    compacted(world, file)
    file.user("go on")
    file.edit(f"{file.cwd}/src/parser.py")
    file.assistant("parse_line handles quoted fields.")
    compacted(world, file)
    file.user("Now document the release process in docs/release.md.")
    shown = compacted(world, file)
    assert "An earlier ask" not in shown


@pytest.mark.parametrize("rule", ["use tabs, never spaces", "antworte auf Deutsch"])
def test_c3_a_rule_typed_between_two_compactions_hides_no_ask_and_is_told_once(world, rule):
    file = world.session(talk=False)
    file.user("Write src/parser.py with parse_line.")
    file.write(f"{file.cwd}/src/parser.py")
    compacted(world, file)
    file.user(QUOTED)
    file.assistant(PLANNED)
    file.user(rule)
    compacted(world, file)
    file.edit(f"{file.cwd}/src/parser.py")
    shown = compacted(world, file)

    assert QUOTED in shown
    assert f"An earlier ask, perhaps still open: {rule}" not in shown
    assert f"Since then: {QUOTED}" in world.handoff()["task"]
    assert [each["text"] for each in world.handoff()["constraints"]["rules"]] == [rule]


WAYS = {
    "record": lambda file, text: file.command("/handoff", text),
    "typed": lambda file, text: file.user(f"/handoff {text}"),
    "plugin": lambda file, text: file.command("/keepthread:handoff", text),
    "queued": lambda file, text: (
        file.queue("enqueue", f"/keepthread-handoff {text}"),
        file.queue("dequeue"),
    ),
    "pin": lambda file, text: file.command("/pin", f"--session {text}"),
    "pin queued": lambda file, text: (file.queue("enqueue", f"/pin {text}"), file.queue("dequeue")),
    "local": lambda file, text: file.command("/compact", text),
}


@pytest.mark.parametrize("way", WAYS)
def test_c3_a_command_of_ours_is_no_ask_no_rule_and_no_task(world, way):
    file = world.session()
    WAYS[way](file, NOTE)
    file.user("<!-- keepthread command: written -->\nNever start on that step.")
    world.run("pre_compact")
    stored = world.handoff()
    told = {name: value for name, value in stored.items() if name not in ("facts", "audit", "meta")}
    assert NOTE not in json.dumps(told)
    assert "Never start" not in json.dumps(stored)
    assert "/handoff" not in stored["facts"]["pending_ask"]["text"]
    assert stored["facts"]["rejections"] == []


@pytest.mark.parametrize("way", ["record", "typed", "plugin"])
def test_c3_the_note_stays_in_sight_through_compactions(world, way):
    file = world.session()
    WAYS[way](file, NOTE)
    for _ in range(3):
        shown = compacted(world, file)
        assert f"Note with /handoff: {NOTE}" in shown
        assert f"Note with /handoff: {NOTE}" in markdown(world)
        file.user("go on")
        file.assistant("Working on it.")
