"""Family C: which compaction an event stands for, and what it is worth: the rules of positions, ordinals and calls."""

from __future__ import annotations

import json
import os
import signal

import pytest

from tests.support.fake_claude import NAG
from tests.support.hook_runs import ANSWER, GOAL, JUDGED, RULE, until
from tests.support.session import SESSION

FILLER = "The tide of Brest comes later than the one of Le Havre. " * 500  # 7,000 tokens


def test_c1_nine_events_for_one_state_of_the_session_are_one_call_and_one_handoff(world, asked):
    world.session()
    for _ in range(3):
        world.run("pre_compact")
    world.settled()
    stored = world.handoff()
    assert (stored["meta"]["status"], stored["task"]) == ("complete", JUDGED)
    for _ in range(6):
        world.run("pre_compact")
    assert world.handoff() == stored
    assert len(asked.calls) == 1
    outcomes = [line["outcome"] for line in world.log("pre_compact")]
    assert outcomes == ["partial"] + ["unchanged"] * 8


def test_c1_nine_events_at_the_same_moment_are_one_call(world, asked):
    asked.answer(ANSWER, sleep=2)
    world.session()
    running = [world.start("pre_compact") for _ in range(9)]
    for process in running:
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (0, b"")
        world.check_output("pre_compact", out.decode())
    world.settled()
    assert len(asked.calls) == 1
    assert world.handoff()["meta"]["status"] == "complete"


def test_c1_a_subagents_compaction_is_not_the_sessions(world, asked):
    world.session()
    for hook in ("pre_compact", "session_start", "session_index", "post_compact"):
        event = world.event(hook, agent_id="a1", compact_summary="a subagent's summary of its work")
        assert world.run(hook, event).stdout == ""
    assert not world.state.exists()
    assert asked.calls == []


def test_c1_a_file_that_grows_without_talk_has_not_moved(world, asked):
    file = world.session()
    world.run("pre_compact")
    world.settled()
    stored = world.handoff()
    file.attachment("prompt_snapshot", text="x" * 2_000)
    file.system("api_request_shape", shape={"tools": 12})
    file.command("/compact")
    world.run("pre_compact")
    assert world.handoff() == stored
    assert len(asked.calls) == 1


def test_c2_little_that_is_new_is_a_facts_update_and_buys_no_call(world, asked):
    file = world.session()
    world.run("pre_compact")
    world.settled()
    file.user("Also keep the order of the readings")
    world.run("pre_compact")
    stored = world.handoff()
    assert (stored["meta"]["status"], stored["meta"]["reason"]) == ("partial", "engine_facts")
    assert len(asked.calls) == 1
    shown = world.run("session_start").context
    assert "Also keep the order of the readings" in shown
    assert RULE in shown
    assert "A fixed count of lines" in shown
    assert JUDGED in shown
    assert "from the handoff" in shown


def test_c2_much_that_is_new_buys_one(world, asked):
    file = world.session()
    world.run("pre_compact")
    world.settled()
    file.bash("cat tides.txt", FILLER)
    file.user("Also keep the order of the readings")
    world.run("pre_compact")
    world.settled()
    assert len(asked.calls) == 2
    assert world.handoff()["meta"]["status"] == "complete"


def test_c2_little_that_is_new_while_the_model_answers_waits_for_that_answer(world, asked):
    asked.answer(ANSWER, sleep=2)
    file = world.session()
    world.run("pre_compact")
    file.bash("sort --check readings", "in order")
    world.run("pre_compact")
    world.settled()
    assert len(asked.calls) == 1
    stored = world.handoff()
    assert "sort --check readings" in json.dumps(stored["facts"]["commands"])
    assert stored["constraints"]["ruled_out"][0]["approach"] == "A fixed count of lines"


def test_c3_the_ordinal_counts_the_boundaries_in_the_file(world):
    file = world.session()
    world.run("pre_compact")
    assert world.handoff()["meta"]["ordinal"] == 1
    file.boundary()
    file.user("Go on with the test")
    world.run("pre_compact")
    assert world.handoff()["meta"]["ordinal"] == 2
    file.boundary()
    file.boundary()
    file.user("And now the documentation")
    world.run("pre_compact")
    assert world.handoff()["meta"]["ordinal"] == 4


def test_c3_an_event_without_a_compaction_leaves_the_ordinal_alone(world):
    file = world.session()
    world.run("pre_compact")
    file.user("Go on with the test")
    world.run("pre_compact")
    assert world.handoff()["meta"]["ordinal"] == 1


def test_c3_a_second_compaction_without_talk_between_loses_nothing(world, asked):
    file = world.session()
    file.user("Now write the release notes")
    world.run("pre_compact")
    world.settled()
    first, calls = world.run("session_start").context, len(asked.calls)
    file.boundary()
    world.run("pre_compact")
    assert world.run("session_start").context == first
    assert "Now write the release notes" in first
    assert len(asked.calls) == calls


def test_c3_an_unanswered_ask_outlives_a_second_compaction_in_the_middle_of_its_work(world):
    file = world.session()
    file.user("Now write the release notes for all nine stations")
    file.bash("ls stations", "nine")
    world.run("pre_compact")
    file.boundary()
    file.bash("cat stations/1", "one")
    file.edit(f"{file.cwd}/NOTES.md")
    world.run("pre_compact")
    ask = world.run("session_start").context.split("## Task")[0]
    assert "Now write the release notes for all nine stations" in ask


def test_c4_a_partial_never_overwrites_a_complete_one_of_the_same_position(world, asked):
    world.session()
    world.run("pre_compact")
    world.settled()
    stored = world.handoff()
    world.run("pre_compact", KEEPTHREAD_ENGINE="facts")
    world.run("pre_compact", KEEPTHREAD_TIMEOUT="1")
    assert world.handoff() == stored


def called(asked, times):
    return lambda: len(asked.calls) == times


def test_c5_a_killed_worker_is_followed_by_one_more_and_no_third(world, asked):
    asked.behave(sleep=60)
    world.session()
    for number in (1, 2, 3):
        world.run("pre_compact")
        if number < 3:
            until(called(asked, number))
            os.kill(world.worker()["pid"], signal.SIGKILL)
            for pid in asked.alive():
                os.kill(pid, signal.SIGKILL)
    assert len(asked.calls) == 2
    notice = world.run("session_start").notice
    assert "ended without an answer" in notice


def test_c5_after_a_killed_worker_the_next_one_completes_the_handoff(world, asked):
    asked.answer(ANSWER, sleep=60)
    world.session()
    world.run("pre_compact")
    until(lambda: len(asked.calls) == 1)
    os.kill(world.worker()["pid"], signal.SIGKILL)
    for pid in asked.alive():
        os.kill(pid, signal.SIGKILL)
    asked.answer(ANSWER)
    world.run("pre_compact")
    world.settled()
    assert world.handoff()["meta"]["status"] == "complete"


def test_c6_three_failures_in_a_row_open_the_circuit(world, asked):
    asked.behave(stdout="", exit=1)
    file = world.session()
    for number in range(4):
        file.bash(f"cat tides-{number}", FILLER)
        world.run("pre_compact")
        world.settled()
    assert len(asked.calls) == 3
    assert world.handoff()["meta"]["reason"] == "circuit_open"
    assert "failed several times in a row" in world.run("session_start").notice


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        ({"stdout": NAG, "exit": 1}, "no login for the model was found"),
        ({"stdout": "You've hit your limit · resets 3pm"}, "rate limit was reached"),
        ({"stdout": ""}, "the model's answer was no handoff"),
    ],
)
def test_c6_a_failed_call_is_told_to_the_person_and_its_text_is_no_summary(
    world, asked, behaviour, words
):
    asked.behave(**behaviour)
    world.session()
    world.run("pre_compact")
    world.settled()
    shown = world.run("session_start")
    assert words in shown.notice
    assert RULE in shown.context
    said = behaviour["stdout"]
    assert not said or said not in shown.context


def test_c7_in_wait_mode_the_hook_returns_with_the_complete_handoff(world, asked):
    asked.answer(ANSWER, sleep=1)
    world.session()
    world.run("pre_compact", KEEPTHREAD_MODE="wait")
    assert world.handoff()["meta"]["status"] == "complete"


def test_c7_in_wait_mode_a_hanging_model_is_waited_for_until_the_timeout(world, asked):
    asked.behave(sleep=60, deaf=True, children=["child", "session"])
    world.session()
    world.run("pre_compact", KEEPTHREAD_MODE="wait", KEEPTHREAD_TIMEOUT="1")
    world.settled()
    assert world.handoff()["meta"]["reason"] == "timeout"
    assert asked.alive() == []


def test_c8_inside_the_models_own_process_no_hook_does_anything(world, asked):
    world.session()
    for hook in (
        "pre_compact",
        "session_start",
        "session_index",
        "post_compact",
        "user_prompt_submit",
    ):
        assert world.run(hook, KEEPTHREAD_CHILD="1").stdout == ""
    assert not world.state.exists()


def test_c9_switched_off_no_hook_stores_or_shows_anything(world, asked):
    world.session()
    world.run("pre_compact")
    world.settled()
    world.variables(DISABLE="1")
    world.run("pre_compact")
    for hook in ("pre_compact", "session_start", "session_index"):
        assert world.run(hook).stdout == ""
    world.variables()
    for hook in ("pre_compact", "session_start", "session_index"):
        assert world.run(hook, KEEPTHREAD_DISABLE="1").stdout == ""
    assert world.log()[-1]["event"] != "session_index" or not world.log()[-1]["outcome"]


def test_c9_a_project_that_is_off_is_left_alone(world, asked):
    world.variables(OFF_PROJECTS=f"/elsewhere,{world.project}")
    world.session()
    for hook in ("pre_compact", "session_start", "session_index", "post_compact"):
        assert world.run(hook, world.event(hook, compact_summary="A summary.")).stdout == ""
    assert not (world.state / "sessions").exists()
    assert asked.calls == []


def test_c9_in_a_local_only_project_no_model_is_asked(world, asked):
    world.variables(LOCAL_ONLY_PROJECTS=str(world.folder))
    world.session()
    world.run("pre_compact")
    assert world.handoff()["meta"]["reason"] == "engine_facts"
    assert world.worker() == {}
    assert asked.calls == []


def test_c9_only_the_sources_asked_for_are_answered(world):
    world.session()
    world.run("pre_compact")
    for source in ("startup", "clear", "", "something new"):
        event = world.event("session_start", source=source)
        assert world.run("session_start", event).stdout == ""
    world.variables(SOURCES="compact")
    world.run("pre_compact")
    assert world.run("session_start", world.event("session_start", source="resume")).stdout == ""
    assert RULE in world.run("session_start").context


def test_c10_a_new_id_whose_file_holds_the_last_record_gets_that_handoff(world):
    first = world.session()
    world.run("pre_compact")
    fork = "22222222-2222-4222-8222-222222222222"
    copied = first.path.read_bytes().replace(SESSION.encode(), fork.encode())
    (first.path.parent / f"{fork}.jsonl").write_bytes(copied)
    event = world.event("session_start", fork, source="fork")
    shown = world.run("session_start", event)
    assert RULE in shown.context
    assert world.run("session_start", event).context == ""
    index = world.event("session_index", fork, source="fork")
    assert "https://tides.example" in world.run("session_index", index).context


def test_c10_the_forks_own_handoff_carries_the_rules_from_before_its_boundary(world):
    first = world.session()
    world.run("pre_compact")
    first.boundary()
    fork = "22222222-2222-4222-8222-222222222222"
    file = world.session(fork, talk=False)
    file.raw(first.path.read_bytes())
    file.rewind(first.last)
    file.user("Try the other way of telling a footer")
    world.run("pre_compact", world.event("pre_compact", fork))
    handoff = world.handoff(fork)
    assert handoff["meta"]["session_id"] == fork
    assert [rule["text"] for rule in handoff["constraints"]["rules"]] == [RULE]
    assert handoff["task"].startswith(GOAL)
    assert world.handoff(SESSION)["meta"]["session_id"] == SESSION


def test_c10_another_session_without_common_records_gets_nothing(world):
    world.session()
    world.run("pre_compact")
    other = "22222222-2222-4222-8222-222222222222"
    world.session(other)
    run = world.run("session_start", world.event("session_start", other, source="resume"))
    assert run.stdout == ""


def test_c11_what_was_said_after_the_handoff_is_added_as_news(world):
    file = world.session()
    world.run("pre_compact")
    file.user("And translate the error texts")
    file.edit(f"{file.cwd}/src/errors.py")
    shown = world.run("session_start").context
    assert "the user asked: And translate the error texts" in shown
    assert "src/errors.py" in shown
