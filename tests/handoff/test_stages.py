"""Long sessions: turns, blocks that are never cut, parts by size, and requests made again in another size."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from keepthread.handoff.material import Material
from keepthread.handoff.stages import (
    PARTS_MOST,
    RECENT_LEAST,
    blocks,
    last_turns,
    split,
    turns,
    weight,
    without_oldest,
)
from keepthread.transcript.model import (
    Boundary,
    Call,
    Item,
    Message,
    Place,
    Result,
    Tokens,
    Transcript,
)
from tests.support.handoffs import make_partial

GOAL = "Port the parser to the new interface and keep every test green."


def said(text: str, at: int, *, by: str = "user") -> Message:
    speaker, via = ("user", "prompt") if by == "user" else ("assistant", "reply")
    return Message(speaker, via, text, Place(at, f"u{at}"))  # type: ignore[arg-type]


def call(at: int, answered: int | None, *, size: int = 200, failed: bool = False) -> Call:
    result = None
    if answered is not None:
        result = Result("r" * size, failed, False, Place(answered, f"r{answered}"))
    return Call(f"c{at}", "Bash", {"command": f"make part{at}"}, Place(at, f"u{at}"), result=result)


def talk(number: int, *, size: int = 200, goal: str = GOAL) -> list[Item]:
    """Return `number` turns of an ask, a call with a result of `size` bytes, and a reply."""
    items: list[Item] = [said(goal, 0)]
    for turn in range(1, number):
        at = turn * 100
        items += [
            said(f"Ask {turn:04}.", at),
            call(at + 10, at + 20, size=size),
            said(f"Reply {turn:04}.", at + 30, by="agent"),
        ]
    return items


def transcript(items: list[Item], **more: Any) -> Transcript:
    return replace(Transcript(path="/t.jsonl", size=1), items=items, **more)


def test_a_turn_is_what_was_typed_and_what_answers_it() -> None:
    """Messages typed one after the other belong together; what stands before the first is a turn of its own."""
    items: list[Item] = [call(1, 2), said("a", 3), said("b", 4), call(5, 6), said("c", 7)]
    assert [len(turn) for turn in turns(items)] == [1, 3, 1]


def test_calls_side_by_side_stay_with_all_their_results() -> None:
    """The second call was made before the first was answered."""
    items: list[Item] = [
        said("a", 1),
        call(10, 40),
        call(20, 50),
        said("done", 60, by="agent"),
        call(70, 80),
    ]
    assert [len(block) for block in blocks(items)] == [1, 2, 1, 1]


def test_a_failed_or_aborted_call_holds_no_block_open() -> None:
    """Its result may have come much later, or never."""
    items = [call(10, 90, failed=True), call(20, 30), call(40, None), call(50, 60)]
    assert [len(block) for block in blocks(items)] == [1, 1, 1, 1]


def test_calls_still_running_at_the_end_stay_together() -> None:
    """They are one unfinished block."""
    items: list[Item] = [said("a", 1), call(10, 20), call(30, None), call(40, None)]
    assert [len(block) for block in blocks(items)] == [1, 1, 2]


@pytest.mark.parametrize("keep", [0.8, 0.5, 0.1, 0.0])
def test_the_oldest_turns_are_left_out_until_the_rest_fits(keep: float) -> None:
    """The first ask stays, and so does the latest turn."""
    whole = transcript(talk(50))
    shortened = without_oldest(whole, keep)
    items = shortened.transcript.items
    assert items[0] == whole.items[0]
    assert items[-1] == whole.items[-1]
    total, left = (sum(map(weight, part)) for part in (whole.items, items))
    assert left <= max(total * keep + weight(items[0]), 600)
    assert shortened.turns == len(turns(whole.items)) - len(turns(items[1:]))
    assert "Ask 0049." in [item.text for item in items if isinstance(item, Message)]
    assert shortened.size == total - left


@pytest.mark.parametrize("most", [1, 3, 18])
def test_only_the_last_turns_are_kept_and_the_first_ask(most: int) -> None:
    """The window slides by whole turns: a call never loses its result, nor a result its call."""
    items = talk(20)
    shortened = last_turns(transcript(items), most)

    assert shortened.transcript.items == [items[0], *items[1 + 3 * (19 - most) :]]
    assert shortened.turns == 19 - most  # the goal and the first ask open one turn
    assert shortened.size == sum(map(weight, items[1 : 1 + 3 * (19 - most)]))
    assert all(one.result for one in shortened.transcript.items if isinstance(one, Call))


def test_no_limit_and_a_large_one_leave_all_turns() -> None:
    """Nothing is copied either."""
    whole = transcript(talk(20))

    for most in (0, 20, 500):
        assert last_turns(whole, most) == (whole, 0, 0)


def test_each_engine_has_a_window_of_its_own_and_all_have_one_correction() -> None:
    """What one was told, and in which parts, is nothing to the other."""
    material = Material(make_partial(), transcript(talk(200)))
    short, whole = material.of_last(5), material.of_last(0)
    material.correction = "Mend the task."

    assert "Ask 0195." in short.prompt(20_000) and "Ask 0194." not in short.prompt(20_000)
    assert "the oldest 194 turns" in short.prompt(20_000)
    assert "Ask 0194." in whole.prompt(20_000) and "Left out so that" not in whole.prompt(20_000)
    assert all(one.prompt(20_000).endswith("Mend the task.") for one in (short, whole))


def test_a_window_and_a_smaller_request_leave_out_together() -> None:
    """The line tells of both."""
    material = Material(make_partial(), transcript(talk(200))).of_last(100)
    told = re.search(r"the oldest (\d+) turns", material.prompt(20_000, keep=0.5))

    assert told and 145 <= int(told.group(1)) <= 152


def test_nothing_is_left_out_without_need() -> None:
    """The whole is the whole."""
    whole = transcript(talk(5))
    assert without_oldest(whole, 1.0) == (whole, 0, 0)


def test_a_single_turn_gives_up_its_oldest_blocks() -> None:
    """An agent may work for hours on one ask."""
    items: list[Item] = [said(GOAL, 0), *(call(n * 10, n * 10 + 5) for n in range(1, 40))]
    shortened = without_oldest(transcript(items), 0.5)
    assert shortened.transcript.items[0] == items[0]
    assert shortened.transcript.items[-1] == items[-1]
    assert 15 <= len(shortened.transcript.items) <= 21


def test_what_fits_the_window_is_one_part() -> None:
    """Most sessions do."""
    whole = transcript(talk(50))
    assert split(whole, window=100_000, per_token=3) == [whole]


def test_what_the_host_no_longer_holds_is_no_reason_for_parts() -> None:
    """It clears old results out of its context; the file keeps them."""
    whole = transcript(talk(1_000, size=2_000), tokens=Tokens(90_000, 0))
    assert split(whole, window=100_000, per_token=3) == [whole]
    assert len(split(replace(whole, tokens=Tokens(200_000, 0)), window=100_000, per_token=3)) > 1


@pytest.mark.parametrize("window", [16_000, 60_000, 200_000])
def test_parts_hold_everything_once_and_cut_no_block(window: int) -> None:
    """They are of about one size; the last is the latest part, told as it was."""
    whole = transcript(talk(1_500, size=2_000))
    parts = split(whole, window=window, per_token=3)
    assert [item for part in parts for item in part.items] == whole.items
    assert 2 <= len(parts) <= PARTS_MOST + 1
    sizes = [sum(map(weight, part.items)) for part in parts[:-1]]
    assert max(sizes) < 1.2 * min(sizes)
    assert RECENT_LEAST <= sum(map(weight, parts[-1].items)) < RECENT_LEAST + 5_000
    for part in parts:
        assert all(len(block) == 1 for block in blocks(part.items))


def test_larger_messages_make_smaller_parts() -> None:
    """Otherwise a single one could fill what is meant for many."""
    small = [said("x" * 1_000, n, by="agent") for n in range(1, 201)]
    large = [said("x" * 11_000, n, by="agent") for n in range(1, 19)]
    counts = [
        len(split(transcript([said(GOAL, 0), *items]), window=100_000, per_token=1))
        for items in (small, large)
    ]
    assert counts[0] < counts[1]


def test_the_summary_of_the_host_is_told_with_the_first_part_alone() -> None:
    """It covers what came before that."""
    boundary = Boundary(0, "b", "auto", 170_000, "Earlier: the schema was agreed.")
    whole = transcript(talk(1_000, size=2_000), boundary=boundary)
    parts = split(whole, window=40_000, per_token=3)
    assert [part.boundary is not None for part in parts] == [True] + [False] * (len(parts) - 1)


def note(word: str) -> dict[str, Any]:
    return {
        "task": f"The task of {word}",
        "completed_tasks": [f"done in {word}"],
        "in_flight": "",
        "works": [],
        "broken": [f"broken in {word}"],
        "rules": [],
        "ruled_out": [{"approach": f"approach of {word}", "reason": "it failed"}],
        "file_summaries": [{"path": f"{word}.py", "summary": "holds it"}],
        "issues_discovered": [],
        "open_questions": [],
        "next_steps": [f"step of {word}"],
        "resume_prompt": "",
    }


@pytest.fixture
def long_material() -> Material:
    return Material(make_partial(), transcript(talk(1_000, size=2_000)), focus="the API names")


def test_every_part_is_asked_for_with_the_focus_and_its_number(long_material: Material) -> None:
    """Within the budget, and without the others."""
    prompts = long_material.parts(40_000, 12_000)
    assert len(prompts) == PARTS_MOST
    for number, prompt in enumerate(prompts, 1):
        assert f"part {number} of {PARTS_MOST + 1}" in prompt
        assert "the API names" in prompt
        assert len(prompt.encode()) <= 12_000 * 3
    assert "Ask 0001." in prompts[0]
    assert "Ask 0001." not in prompts[1]


def test_notes_stand_for_the_parts_they_were_made_of(long_material: Material) -> None:
    """The latest part stands as it was, the first ask too; a part without a note is told in brief."""
    parts = long_material.parts(40_000, 12_000)
    notes = [note(f"part{number}") for number in range(len(parts))]
    prompt = long_material.prompt(40_000, notes=[None, *notes[1:]])
    assert len(prompt.encode()) <= 40_000 * 3
    assert GOAL in prompt
    assert "RESULT ok" in prompt
    assert "Reply 0999." in prompt
    for word in ("task of", "done in", "broken in", "approach of", "step of"):
        assert f"{word} part5" in prompt
    assert "step of part0" not in prompt
    assert "Ask 0150." in prompt  # of the part without a note
    assert "Ask 0500." not in prompt


def test_a_smaller_request_says_what_it_leaves_out() -> None:
    """In front of the conversation, with the goal and the earlier handoff kept."""
    handoff = make_partial(task="Mend the cart (from the handoff 2 h ago)")
    material = Material(handoff, transcript(talk(200)))
    prompt = material.prompt(20_000, keep=0.5)
    front = prompt.index("Left out so that this fits: the oldest")
    assert front < prompt.index(GOAL) < prompt.index("Ask 0199.")
    assert "Mend the cart" in prompt
    assert "Ask 0020." not in prompt
    assert "Left out" not in material.prompt(20_000)


def test_a_correction_stands_at_the_end_of_every_size() -> None:
    """Also of the one that a recovery makes."""
    material = Material(make_partial(), transcript(talk(20)))
    material.correction = "Mend this."
    assert material.prompt(20_000).endswith("\n\nMend this.")
    assert material.prompt(9_000, keep=0.4).endswith("\n\nMend this.")


def test_a_handoff_that_was_injected_is_not_nested() -> None:
    """What it said is carried in the facts and the earlier handoff; its copy in the talk is left out."""
    injected = Message(
        "user", "injected", "<keepthread-handoff>\nNESTED\n</keepthread-handoff>", Place(5, "i")
    )
    items = talk(3)
    items.insert(1, injected)
    assert "NESTED" not in Material(make_partial(), transcript(items)).prompt(20_000)
