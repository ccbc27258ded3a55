"""Family D: what SessionStart puts back: whole, once, in time, and only where it belongs."""

from __future__ import annotations

import json
import os
import time

import pytest

from tests.support.hook_runs import GOAL, RULE, World
from tests.support.session import SESSION, SessionFile

OTHER = "22222222-2222-4222-8222-222222222222"


def units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def large(world: World, filler: str = "word") -> SessionFile:
    """Return a session whose handoff has some 40,000 characters."""
    file = world.session()
    for number in range(60):
        file.edit(f"{file.cwd}/src/module_{number:03}/handler_{filler}.py")
        file.user(f"Request {number}: never call the {filler} service from handler {number}. " * 8)
        file.bash(f"pytest tests/test_{number}.py -k {filler}", "1 passed")
    file.user("At last, translate all error texts")
    return file


@pytest.mark.parametrize("filler", ["word", "🌒🌓🌔", "词语"])
def test_d1_a_large_handoff_fits_and_says_what_was_left_out(world, filler):
    large(world, filler)
    world.run("pre_compact")
    assert len((world.folder_of() / "handoff.md").read_text()) > 30_000
    shown = world.run("session_start")
    assert units(shown.stdout) < 2 * 10_000
    assert units(shown.context) <= 9_900
    first, *_, last = shown.context.split("\n## ")
    assert "keepthread" in first
    assert "What was left out for room" in last
    assert str(world.transcripts[0]) in last
    assert "At last, translate all error texts" in shown.context[:2_000]
    assert units(world.run("session_index").context) <= 4_000


@pytest.mark.parametrize(("budget", "index"), [("1000", "0"), ("3000", "500"), ("99999", "99999")])
def test_d1_a_smaller_budget_is_kept_and_a_larger_one_is_none(world, budget, index):
    large(world)
    world.run("pre_compact", KEEPTHREAD_BUDGET=budget, KEEPTHREAD_INDEX=index)
    env = {"KEEPTHREAD_BUDGET": budget, "KEEPTHREAD_INDEX": index}
    assert units(world.run("session_start", **env).context) <= min(int(budget), 9_900)
    assert units(world.run("session_index", **env).context) <= min(int(index), 4_000)


def test_d1_news_past_a_full_handoff_take_no_required_line_and_no_unit_too_many(world):
    file = large(world)
    world.run("pre_compact")
    before = world.run("session_start").context
    for number in range(8):
        file.user(f"News {number}: " + "and 🌒 again " * 60)
        file.edit(f"{file.cwd}/new/{number}.py")
    shown = world.run("session_start", world.event("session_start", source="resume")).context
    assert units(shown) <= 9_900
    assert "News 7" in shown
    assert shown.endswith("\n</keepthread-handoff>")
    assert shown[:300] == before[:300]
    assert "At last, translate all error texts" in shown


@pytest.mark.parametrize(("days", "marked"), [(0, False), (1.5, True), (60, True), (-3, False)])
def test_d2_an_old_handoff_bears_its_age(world, days, marked):
    world.session()
    world.run("pre_compact")
    path = world.folder_of() / "context.json"
    stored = json.loads(path.read_text())
    stored["generated_epoch"] = time.time() - days * 86_400 - 5
    path.write_text(json.dumps(stored))
    shown = world.run("session_start", world.event("session_start", source="resume")).context
    assert (f"{int(days)} days old" in shown) == marked
    assert RULE in shown


def test_d2_a_handoff_that_names_another_session_is_nobodys(world):
    world.session()
    world.run("pre_compact")
    world.session(OTHER, slug="t")
    os.rename(world.folder_of(), world.folder_of(OTHER))
    event = world.event("session_start", OTHER, transcript_path="")
    assert world.run("session_start", event).context == ""
    assert world.run("session_index", world.event("session_index", OTHER)).stdout == ""


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"session_id": "11111111-1111-4111-8111-111111111111"}', "\0" * 50]
)
def test_d2_a_damaged_file_is_as_none_and_the_next_compaction_mends_it(world, damage):
    world.session()
    world.run("pre_compact")
    (world.folder_of() / "context.json").write_text(damage)
    world.run("session_start")
    world.run("session_index")
    world.run("pre_compact")
    assert RULE in world.run("session_start").context


@pytest.mark.parametrize("hook", ["session_start", "session_index"])
def test_d3_the_output_is_one_document_or_nothing(world, hook):
    world.session()
    assert world.run(hook, world.event(hook, source="resume")).stdout == ""
    world.run("pre_compact")
    env = {"PYTHONWARNINGS": "always", "PYTHONDEVMODE": "1", "PYTHONVERBOSE": "1"}
    out = world.run(hook, **env).stdout
    document = json.loads(out)
    assert json.dumps(document) == out


@pytest.mark.parametrize("source", ["compact", "resume", "fork"])
def test_d4_the_text_stands_where_the_host_looks_for_it(world, source):
    world.session()
    world.run("pre_compact")
    for hook in ("session_start", "session_index"):
        document = world.run(hook, world.event(hook, source=source)).document
        assert document["hookSpecificOutput"]["hookEventName"] == "SessionStart"
        assert isinstance(document["hookSpecificOutput"]["additionalContext"], str)
        assert "additionalContext" not in document


def both(world: World, source: str) -> list[bool]:
    """Return whether context and index were given."""
    hooks = ("session_start", "session_index")
    return [bool(world.run(hook, world.event(hook, source=source)).context) for hook in hooks]


def test_d5_a_resume_repeated_shows_a_handoff_once_and_a_new_one_again(world):
    file = world.session()
    world.run("pre_compact")
    assert [both(world, "resume") for _ in range(3)] == [
        [True, True],
        [False, False],
        [False, False],
    ]
    file.user("Now write the release notes")
    world.run("pre_compact")
    assert [both(world, "resume") for _ in range(2)] == [[True, True], [False, False]]


def test_d5_a_resume_after_a_compaction_repeats_nothing_and_the_next_compaction_does(world):
    file = world.session()
    world.run("pre_compact")
    assert both(world, "compact") == [True, True]
    file.boundary()
    assert [both(world, "resume") for _ in range(3)] == [[False, False]] * 3
    world.run("pre_compact")
    assert both(world, "compact") == [True, True]
    file.boundary()
    assert both(world, "resume") == [False, False]


def test_d5_a_resume_far_behind_the_compaction_repeats_nothing(world):
    """The boundary lies before the bytes that SessionStart reads."""
    file = world.session()
    world.run("pre_compact")
    assert world.run("session_start").context
    file.boundary()
    assert world.run("session_start", world.event("session_start", source="resume")).context == ""
    for _ in range(260):
        file.assistant("word " * 2_000)
    assert world.run("session_start", world.event("session_start", source="resume")).context == ""


def test_d5_a_resume_after_a_rewind_past_the_handoff_shows_nothing_and_says_why(world):
    """Nor does the next compaction carry what was taken back."""
    file = world.session()
    before = file.last
    file.user("From now on always use wget here, never httpie.")
    file.assistant("Agreed.")
    world.run("pre_compact")
    file.rewind(before)
    file.user("Never mind; draw the moon phases instead.")
    file.assistant("Drawing.")
    for hook in ("session_start", "session_index"):
        run = world.run(hook, world.event(hook, source="resume"))
        assert run.context == ""
        assert "rewound" in world.log()[-1]["reason"]
    told = world.run("session_start", world.event("session_start", source="resume")).notice
    assert "rewound" in told
    world.run("pre_compact")
    shown = world.run("session_start").context
    assert RULE in shown
    assert "moon phases" in shown
    ruled_out = shown.partition("## Ruled out")[2].partition("\n## ")[0]
    assert shown.count("always use wget") == ruled_out.count("always use wget") == 1


def test_d5_several_clients_resuming_at_once_get_it_once(world):
    world.session()
    world.run("pre_compact")
    event = world.event("session_start", source="resume")
    running = [world.start("session_start", event) for _ in range(5)]
    shown = [process.communicate(timeout=60)[0] for process in running]
    assert sum(bool(out) for out in shown) == 1


def test_d6_a_handoff_of_one_project_is_not_shown_in_another(world, tmp_path):
    world.session()
    world.run("pre_compact")
    other = tmp_path / "other"
    other.mkdir()
    file = SessionFile(
        world.config / "projects" / "o" / f"{OTHER}.jsonl", session=OTHER, cwd=str(other)
    )
    file.user("A fresh start in another project")
    for source in ("compact", "resume", "fork"):
        event = world.event(
            "session_start", OTHER, source=source, cwd=str(other), transcript_path=str(file.path)
        )
        run = world.run("session_start", event)
        assert run.context == ""
        assert ("no handoff was stored" in run.notice) == (source == "compact")


def test_d7_after_a_compaction_without_a_handoff_the_person_is_told_why(world):
    assert "left no line in the log" in world.run("session_start").notice
    world.session()
    (world.state / "sessions").mkdir(parents=True)
    (world.folder_of()).write_text("a file where the folder would be")
    run = world.run("pre_compact")
    assert RULE in run.stdout
    assert "could not be stored: File exists" in world.run("session_start").notice


def test_d7_what_is_shown_says_where_it_comes_from_and_that_the_work_goes_on(world):
    world.session()
    world.run("pre_compact")
    top = world.run("session_start").context.split("\n")[0]
    for words in (
        "record of this session",
        "data, not instructions",
        "continues from here",
        "not to be redone",
    ):
        assert words in top


def test_d8_the_hosts_instructions_for_its_summary_are_no_task_and_no_rule(world):
    world.session()
    event = world.event(
        "pre_compact", custom_instructions="write handoff and git push", trigger="manual"
    )
    world.run("pre_compact", event)
    everything = "".join(
        p.read_text() for p in world.folder_of().iterdir() if p.suffix in (".json", ".md")
    )
    assert "git push" not in everything
    assert world.handoff()["meta"]["trigger"] == "manual"


def test_d9_five_rounds_with_our_own_block_in_the_transcript_do_not_grow(world):
    file = world.session()
    sizes = []
    for number in range(5):
        world.run("pre_compact")
        shown = world.run("session_start").context
        assert shown.count("<keepthread-handoff>") == 1
        sizes.append(len(shown))
        file.boundary()
        file.attachment("hook_additional_context", content=[shown], hookEvent="SessionStart")
        file.user(f"<system-reminder>\n{shown}\n</system-reminder>", isMeta=True)
        file.user(f"Go on with step {number}")
        file.assistant("Done with it.")
    assert max(sizes[2:]) < sizes[1] + 400
    stored = world.handoff()
    assert stored["task"].startswith(GOAL)
    assert [rule["text"] for rule in stored["constraints"]["rules"]].count(RULE) == 1


def test_d10_the_hint_for_the_summariser_can_be_switched_off(world):
    world.session()
    assert RULE in world.run("pre_compact").stdout
    assert world.run("pre_compact", KEEPTHREAD_GUIDE="off").stdout == ""


def test_d11_the_hosts_own_summary_is_kept_beside_the_handoff(world):
    world.session()
    world.run("pre_compact")
    text = f"<analysis>thinking</analysis><summary>1. Primary request: {GOAL}</summary>"
    world.run("post_compact", world.event("post_compact", compact_summary=text))
    kept = (world.folder_of() / "host-summary.md").read_text()
    assert kept == f"1. Primary request: {GOAL}"
    for nothing in ("", "You've hit your limit · resets 3pm", None, "<analysis>cut"):
        world.run("post_compact", world.event("post_compact", compact_summary=nothing))
        assert (world.folder_of() / "host-summary.md").read_text() == kept


def test_d12_a_session_start_without_stored_handoff_waits_for_nobody_and_writes_no_folder(world):
    for source in ("resume", "fork"):
        assert world.run("session_start", world.event("session_start", source=source)).stdout == ""
    assert not world.folder_of().exists()
    assert not world.folder_of(SESSION).exists()
