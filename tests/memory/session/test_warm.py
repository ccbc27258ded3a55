"""A compaction that finds the memory warm asks no model; one that does not is as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from keepthread.handoff.schema import validate
from tests.memory.session.conftest import MEMORY, RULE, Kept
from tests.support.api import Answer
from tests.support.hook_runs import until

ASK = "And now let the importer count the readings of station 9414290."


@pytest.fixture
def warm(kept: Kept) -> Kept:
    """Return a world whose memory a model has just written."""
    kept.api.rule(lambda body: True, Answer(json.dumps(MEMORY)))
    kept.stop()
    assert kept.document()["form"] == "model"
    kept.api.requests.clear()
    return kept


def compact(kept: Kept, **env: str) -> dict[str, Any]:
    """Run PreCompact, wait for its worker, and return the handoff."""
    kept.run("pre_compact", kept.event("pre_compact"), **{"KEEPTHREAD_ENGINE": ""} | env)
    kept.settled()
    return kept.handoff()


def test_a_warm_memory_and_the_facts_since_make_a_complete_handoff_without_a_call(
    warm: Kept,
) -> None:
    """With what was asked and edited since, by the same schema and audit; nothing of it bears an age."""
    warm.talk.user(ASK)
    warm.talk.edit(f"{warm.project}/src/count.py")
    handoff = compact(warm)

    assert validate(handoff) == []
    assert (handoff["meta"]["status"], handoff["meta"]["engine"]) == ("complete", "session-memory")
    assert handoff["meta"]["reason"] is None
    assert handoff["audit"]["checked"]
    assert handoff["task"] == f"{MEMORY['task']}\nSince then: {ASK}"
    assert ASK in handoff["next_steps"][0]
    assert any(entry["path"] == "src/count.py" for entry in handoff["files_touched"])
    assert any(RULE in rule["text"] for rule in handoff["constraints"]["rules"])
    assert "(from the handoff" not in json.dumps(handoff)
    assert warm.api.requests == []
    assert "run" not in warm.worker()

    assert MEMORY["task"] in warm.run("session_start").context


def test_after_it_the_next_compaction_counts_from_there(warm: Kept) -> None:
    """A facts update while little is new, as after every complete handoff."""
    compact(warm)
    warm.talk.user(ASK)
    assert compact(warm)["meta"]["engine"] == "facts-update"
    assert warm.api.requests == []


def test_a_memory_that_is_newer_than_the_last_handoff_completes_the_next_one(warm: Kept) -> None:
    """However little was said since, as long as the API has counted enough for an extraction."""
    compact(warm)
    warm.talk.boundary("Earlier work on tides.")
    warm.talk.user("Now write the docs.")
    warm.talk.assistant("I begin with the footer.", tokens=9_000)
    warm.grow(16_000)
    warm.stop()
    asked = len(warm.api.requests)
    handoff = compact(warm)

    assert asked > 0 and len(warm.api.requests) == asked
    assert (handoff["meta"]["status"], handoff["meta"]["engine"]) == ("complete", "session-memory")
    assert "(from the handoff" not in json.dumps([handoff["task"], handoff["next_steps"]])


def test_a_claim_that_the_last_check_contradicts_does_not_survive_the_warm_path(kept: Kept) -> None:
    """What was true a moment ago is held against the facts of now."""
    worked = "The tests of the importer pass (pytest -q tests/test_importer.py)."
    kept.talk.bash("pytest -q tests/test_importer.py", "3 passed in 0.1s")
    kept.talk.assistant("They pass.", tokens=12_500)
    kept.api.rule(lambda body: True, Answer(json.dumps(MEMORY | {"works": [worked]})))
    kept.stop()
    assert worked in kept.document()["handoff"]["current_state"]["works"]
    kept.api.requests.clear()
    kept.talk.bash("pytest -q tests/test_importer.py", "1 failed, 2 passed in 0.1s", is_error=True)
    handoff = compact(kept)

    assert handoff["meta"]["engine"] == "session-memory"
    assert worked not in handoff["current_state"]["works"]
    assert kept.api.requests == []


def test_a_new_task_is_told_also_when_a_word_to_go_on_came_after_it(warm: Kept) -> None:
    """And no older ask stands as the last one."""
    warm.talk.user(f"Leave the importer. {ASK}")
    warm.talk.assistant("I start with the count.", tokens=12_300)
    warm.talk.user("ok, go on")
    handoff = compact(warm)

    assert handoff["meta"]["engine"] == "session-memory"
    assert ASK in handoff["task"]
    assert ASK in handoff["next_steps"][0]
    assert ASK in handoff["resume_prompt"]
    assert sum("the user's last ask" in step for step in handoff["next_steps"]) == 1


def test_what_the_agent_said_since_stands_with_what_the_memory_says(warm: Kept) -> None:
    """Where the work is, and what comes next: the memory's steps may be done."""
    warm.talk.bash("pytest -q tests/test_footer.py", "4 passed in 0.1s", tokens=12_400)
    warm.talk.assistant("The test passes. Next I will update the changelog.", tokens=12_500)
    handoff = compact(warm)

    assert handoff["meta"]["engine"] == "session-memory"
    assert handoff["next_steps"][0] == "Next I will update the changelog."
    assert set(MEMORY["next_steps"]) < set(handoff["next_steps"])
    in_flight = handoff["current_state"]["in_flight"]
    assert in_flight.startswith(MEMORY["in_flight"])
    assert "The test passes." in in_flight


def test_what_a_check_has_mended_since_is_no_longer_broken_and_no_other_claim_goes(
    kept: Kept,
) -> None:
    """A failed `ls` says nothing of tools."""
    kept.talk.bash("pytest -q", "2 failed, 1 passed in 0.1s", is_error=True)
    kept.talk.bash("ls", "", is_error=True)
    kept.talk.assistant("They fail.", tokens=12_500)
    judged = {"broken": ["pytest -q fails with two errors."], "works": ["All tools answer."]}
    kept.api.rule(lambda body: True, Answer(json.dumps(MEMORY | judged)))
    kept.stop()
    assert judged["broken"][0] in kept.document()["handoff"]["current_state"]["broken"]
    kept.talk.bash("pytest -q", "3 passed in 0.1s")
    handoff = compact(kept)

    assert handoff["meta"]["engine"] == "session-memory"
    assert handoff["current_state"]["broken"] == []
    assert handoff["current_state"]["works"] == judged["works"]


def much(warm: Kept) -> None:
    """Say more than a fresh memory may lag behind."""
    warm.talk.user(ASK)
    warm.talk.assistant("Many words of what I have found out. " * 800)


def rewound(warm: Kept) -> None:
    """Take the last words back and say others."""
    records = [json.loads(line) for line in warm.talk.path.read_text().splitlines()]
    last = [r for r in records if r["type"] == "user" and isinstance(r["message"]["content"], str)]
    warm.talk.rewind(last[-1]["parentUuid"])
    warm.talk.user("No, mend the exporter instead, and never mind the importer.")
    warm.talk.assistant("The exporter it is.", tokens=2_000)


def compacted(warm: Kept) -> None:
    """Let a compaction come between."""
    warm.talk.boundary("Earlier work on tides.")
    warm.talk.user(ASK)
    warm.talk.assistant("I look at it.", tokens=4_000)


def damaged(warm: Kept) -> None:
    """Leave a memory that does not meet the schema."""
    memory = warm.document()
    memory["handoff"]["next_steps"] = "none"
    (warm.folder_of() / "session-memory.json").write_text(json.dumps(memory))


def by_code(warm: Kept) -> None:
    """Leave a memory that no model wrote."""
    (warm.folder_of() / "session-memory.json").write_text(
        json.dumps(warm.document() | {"form": "facts"})
    )


def off(warm: Kept) -> None:
    """Turn it off again."""
    warm.choose("off")


@pytest.mark.parametrize("change", [much, rewound, compacted, damaged, by_code, off])
def test_a_memory_that_is_not_warm_leaves_everything_to_the_worker(warm: Kept, change: Any) -> None:
    """The model is asked as without a memory."""
    change(warm)
    handoff = compact(warm)

    assert handoff["meta"]["engine"] != "session-memory"
    until(lambda: len(warm.api.requests) > 0)


def test_with_an_open_circuit_the_warm_memory_still_completes_the_handoff(warm: Kept) -> None:
    """It needs nobody's answer."""
    import time

    worker = warm.folder_of() / "worker.json"
    worker.write_text(json.dumps({"failures": 3, "failed_at": time.time()}))
    handoff = compact(warm)

    assert (handoff["meta"]["status"], handoff["meta"]["engine"]) == ("complete", "session-memory")


def test_by_facts_alone_no_memory_of_a_model_is_used(warm: Kept) -> None:
    """KEEPTHREAD_ENGINE=facts is a choice."""
    assert compact(warm, KEEPTHREAD_ENGINE="facts")["meta"]["reason"] == "engine_facts"
