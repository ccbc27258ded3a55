"""Taking a handoff by code: when one is taken, whose it is, what counts as new, and that no secret is in it."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from keepthread import log, worker
from keepthread.handling import compaction
from keepthread.handoff import checkpoint
from keepthread.handoff.checkpoint import Job, mark_of, note_complete, take
from keepthread.handoff.model import Handoff
from keepthread.handoff.publish import Outlet, publish
from keepthread.handoff.store import load, read_worker, update_worker
from keepthread.host.config import Config
from keepthread.host.events import Event
from keepthread.launch import Task
from keepthread.running import Run
from keepthread.transcript.read import read_transcript
from tests.support.handoffs import make_handoff
from tests.support.hook_runs import GOAL, RULE, small_talk
from tests.support.session import SESSION, SessionFile

OTHER = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def file(tmp_path: Path) -> SessionFile:
    made = SessionFile(tmp_path / "projects" / f"{SESSION}.jsonl")
    small_talk(made)
    return made


@pytest.fixture
def outlet(tmp_path: Path) -> Outlet:
    return Outlet(str(tmp_path / "state"), 9_900, 4_000, "off")


def job(file: SessionFile, session: str = SESSION) -> Job:
    return Job(session, str(file.path), "/home/dev/proj", "auto")


def completed(file: SessionFile, outlet: Outlet) -> Handoff:
    """Take a handoff and note it as one that a model has completed."""
    handoff = take(job(file), outlet).handoff
    note_complete(outlet.state, handoff)
    return handoff


def test_the_first_one_is_fresh_and_its_reason_is_that_of_the_caller(file, outlet):
    taken = take(job(file), outlet, reason="circuit_open")
    assert (taken.fresh, taken.new_tokens) == (True, None)
    assert taken.handoff["meta"]["reason"] == "circuit_open"
    assert load(outlet.state, SESSION) == taken.handoff


def test_the_same_position_is_not_taken_again_but_on_demand(file, outlet):
    first = take(job(file), outlet)
    assert take(job(file), outlet) == (first.handoff, False, None, False)
    assert take(job(file), outlet, again=True).fresh


def test_without_uuids_the_size_tells_whether_the_session_has_moved(tmp_path, outlet):
    file = SessionFile(tmp_path / f"{SESSION}.jsonl")
    record = {"type": "user", "message": {"role": "user", "content": GOAL}}
    file.record(record)
    assert take(job(file), outlet).fresh
    assert not take(job(file), outlet).fresh
    file.record({**record, "message": {"role": "user", "content": RULE}})
    assert take(job(file), outlet).fresh


def test_after_a_boundary_without_talk_the_handoff_before_it_stands(file, outlet):
    first = take(job(file), outlet).handoff
    file.boundary()
    for again in (False, True):
        assert take(job(file), outlet, again=again) == (first, False, None, False)
    file.user("And now the moons")
    taken = take(job(file), outlet)
    assert taken.fresh
    assert taken.handoff["meta"]["ordinal"] == 2


def test_without_an_earlier_handoff_a_fresh_boundary_is_still_worth_one_but_no_call(file, outlet):
    file.boundary("1. Primary Request: mend the tides.")
    taken = take(job(file), outlet)
    assert taken.handoff["meta"]["reason"] == "engine_facts"
    assert RULE in json.dumps(taken.handoff)


def test_a_handoff_bears_the_id_its_event_names_whatever_the_file_says(file, outlet):
    assert take(job(file, OTHER), outlet).handoff["meta"]["session_id"] == OTHER
    assert load(outlet.state, OTHER) is not None
    assert load(outlet.state, SESSION) is None
    nowhere = Job("no uuid at all", "", "", "auto")
    assert take(nowhere, outlet).handoff["meta"]["session_id"] == "no uuid at all"


def test_a_fork_carries_on_from_its_parent_and_leaves_it_alone(file, outlet, tmp_path):
    parent = take(job(file), outlet).handoff
    fork = SessionFile(tmp_path / f"{OTHER}.jsonl", session=OTHER)
    fork.raw(file.path.read_bytes())
    fork.rewind(file.last)
    fork.user("Try the other way")
    handoff = take(job(fork, OTHER), outlet).handoff
    assert [rule["text"] for rule in handoff["constraints"]["rules"]] == [RULE]
    assert load(outlet.state, SESSION) == parent


@pytest.mark.parametrize(
    ("words", "few"), [("The tide of Brest is late. " * 40, True), ("tide 17 " * 9_000, False)]
)
def test_new_tokens_are_counted_from_the_last_complete_handoff(file, outlet, words, few):
    completed(file, outlet)
    file.bash("cat tides", words)
    taken = take(job(file), outlet)
    assert taken.new_tokens is not None
    assert (taken.new_tokens < 5_000) == few
    assert taken.handoff["meta"]["reason"] == ("engine_facts" if few else None)


def test_a_model_at_work_counts_as_if_it_had_answered(file, outlet):
    handoff = take(job(file), outlet).handoff
    at_work: dict[str, Any] = {"state": "running", "pid": 1, "mark": mark_of(handoff)}
    update_worker(outlet.state, SESSION, lambda worker: at_work)
    file.bash("ls", "few words")
    assert take(job(file), outlet).handoff["meta"]["reason"] == "engine_facts"
    update_worker(outlet.state, SESSION, lambda worker: {**at_work, "state": "done"})
    file.bash("ls", "few words more")
    assert take(job(file), outlet).handoff["meta"]["reason"] is None


def test_noting_a_complete_one_keeps_what_else_is_known_of_the_worker(outlet):
    update_worker(outlet.state, SESSION, lambda worker: {"failures": 2})
    note_complete(outlet.state, make_handoff())
    worker = read_worker(outlet.state, SESSION)
    assert worker is not None
    assert worker["failures"] == 2
    assert worker["complete"] == mark_of(make_handoff())


def test_with_nowhere_to_store_it_is_taken_all_the_same(file):
    outlet = Outlet("", 9_900, 4_000, "off")
    assert take(job(file), outlet).handoff["task"] == GOAL


@pytest.mark.parametrize("path", ["", "/nonexistent/t.jsonl", "/dev/null"])
def test_a_transcript_that_is_none_leaves_the_earlier_one_or_says_so(file, outlet, path):
    missing = job(file)._replace(transcript_path=path)
    assert take(missing, outlet).handoff["meta"]["reason"] == "no_transcript"
    good = take(job(file), outlet).handoff
    assert good["task"] == GOAL
    assert take(missing, outlet) == (good, False, None, False)


def test_a_store_that_was_killed_before_its_last_step_is_finished(file, outlet, tmp_path):
    handoff = take(job(file), outlet).handoff
    context = tmp_path / "state" / "sessions" / SESSION / "context.json"
    before = context.read_bytes()
    context.unlink()
    assert take(job(file), outlet) == (handoff, False, None, False)
    assert context.read_bytes() == before


def test_a_secret_told_by_its_surroundings_is_out_of_names_and_cut_commands(file, outlet):
    secret = "Zx81-qwlk-9920-vbnm"
    for _ in range(3):
        file.bash(f"deploy --token {secret}", f"LOG=1\npassword: {secret}\nconnected to {secret}")
    handoff = take(job(file), outlet).handoff
    assert secret not in json.dumps(handoff)
    assert not any(name["text"].startswith("[REDACTED") for name in handoff["facts"]["identifiers"])


def ask_of(handoff: Handoff) -> str:
    """Return the ask that waits for an answer."""
    ask = handoff["facts"]["pending_ask"]
    return ask["text"] if ask else ""


def texts(handoff: Handoff) -> str:
    """Return all words of a handoff."""
    return json.dumps(handoff, ensure_ascii=False)


def test_rules_and_asks_of_a_branch_that_was_rewound_are_not_carried(file, outlet):
    """What was ruled before the rewind stays; the words taken back are nowhere but among what was dropped."""
    before = file.last
    file.user("From now on always use wget here, never httpie.")
    file.assistant("Agreed.")
    file.user("Fetch the tables of the harbour now.")
    first = take(job(file), outlet).handoff
    assert "wget" in texts(first)
    file.rewind(before)
    file.user("Never mind; draw the moon phases instead.")
    second = take(job(file), outlet).handoff
    rules = [rule["text"] for rule in second["constraints"]["rules"]]
    assert RULE in rules
    assert "wget" not in json.dumps([rules, second["next_steps"], second["resume_prompt"]])
    assert "tables of the harbour" not in json.dumps(
        [second["task"], second["next_steps"], second["resume_prompt"], second["facts"]]
    )
    assert ask_of(second).startswith("Never mind")


def test_a_rewind_leaves_what_a_model_wrote_of_other_things(file, outlet):
    """Ruled-out approaches and finished work stand in no branch of the talk."""
    before = file.last
    file.user("Fetch the tables of the harbour now.")
    first = take(job(file), outlet).handoff
    first["constraints"]["ruled_out"] = [{"approach": "SVG filters", "reason": "too slow"}]
    first["next_steps"] = ["Fetch the tables"]
    publish(first, outlet)
    file.rewind(before)
    file.user("Never mind; draw the moon phases instead.")
    second = take(job(file), outlet).handoff
    assert second["constraints"]["ruled_out"][0]["approach"] == "SVG filters"
    assert "Fetch the tables" not in json.dumps(second["next_steps"])


def test_a_file_that_was_written_anew_and_smaller_gives_the_newer_handoff(file, outlet):
    for number in range(30):
        file.user(f"Word number {number} of a long talk")
    take(job(file), outlet)
    file.path.write_bytes(b"")
    file.rewind(None)
    file.user("Start over with the tide tables")
    taken = take(job(file), outlet)
    assert (taken.fresh, taken.refused) == (True, False)
    stored = load(outlet.state, SESSION)
    assert stored is not None
    assert ask_of(stored) == "Start over with the tide tables"
    file.user("And then the moons")
    assert not take(job(file), outlet).refused


def test_a_reader_who_was_late_is_refused_and_told_so(file, outlet, monkeypatch):
    """It has read the file before it grew; another process has stored what came since."""
    early = read_transcript(str(file.path))
    file.user("And now the moons")
    newer = take(job(file), outlet).handoff
    monkeypatch.setattr(checkpoint, "_read", lambda path, index: early)
    taken = take(job(file), outlet)
    assert taken.refused
    assert load(outlet.state, SESSION) == newer


def test_a_late_answer_to_a_file_written_anew_is_not_stored_over_it(file, outlet, home):
    """Its handoff is gone; what it judged is carried into the one that stands there now."""
    file.user("A long word " * 400)
    old = take(job(file), outlet).handoff
    file.path.write_bytes(b"")
    file.rewind(None)
    file.user("Start over with the tide tables")
    take(job(file), outlet)
    answered = deepcopy(old)
    answered["meta"]["status"] = "complete"
    env = {"HOME": str(home)}
    worker._store(answered, old, Task(Config(document="off"), env, outlet))
    stored = load(outlet.state, SESSION)
    assert stored is not None
    assert ask_of(stored) == "Start over with the tide tables"


def test_a_refused_save_is_logged_as_one_and_starts_no_worker(file, outlet, home, monkeypatch):
    """The hook has read the file before it grew; another process has stored what came since."""
    state = str(home / ".claude" / "keepthread")
    early = read_transcript(str(file.path))
    file.user("And now the moons")
    take(job(file), outlet._replace(state=state))
    monkeypatch.setattr(checkpoint, "_read", lambda path, index: early)
    monkeypatch.setattr(
        "keepthread.launch.start", lambda *given: pytest.fail("a worker was started")
    )
    event = Event({"session_id": SESSION, "transcript_path": str(file.path), "cwd": str(home)})
    compaction.pre_compact(event, Run("pre_compact", {"HOME": str(home)}, 0.0))
    [line] = log.read(state, limit=9)
    assert (line["outcome"], line["reason"]) == ("unchanged", "a newer handoff is stored")
