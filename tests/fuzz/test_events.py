"""Whatever comes on stdin, a hook ends with 0, prints what the host takes, and leaves the handoff before it whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import counts
from tests.support.arena import Arena
from tests.support.fuzzed import PIECES, VALUE, damaged, deep, dumped, events, examples
from tests.support.hook_runs import NAMES, RULE, World
from tests.support.session import SESSION

HOOKS = sorted(NAMES)
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")


def answered(arena: Arena, hook: str, data: bytes) -> None:
    """Run the hook on these bytes and check everything."""
    arena.reset()
    arena.run(hook, data)
    arena.check(unchanged=True)
    counts.count(counts.EVENTS)


@pytest.mark.parametrize("hook", HOOKS)
@examples(13)
@given(data=st.data())
def test_an_event_by_its_schema_with_any_values(arena: Arena, hook: str, data: st.DataObject):
    paths = (str(arena.transcript), str(arena.home), str(arena.fifo), "/dev/zero",
             "/proc/self/mem", str(arena.project / "gone.jsonl"), f"~/{SESSION}.jsonl")  # fmt: skip
    folders = (
        str(arena.project),
        str(arena.home / ".claude"),
        str(arena.transcript),
        "/nonexistent",
    )
    event = data.draw(events(NAMES[hook], paths, folders))
    answered(arena, hook, dumped(event, escaped=data.draw(st.booleans())))


@pytest.mark.parametrize("hook", HOOKS)
@examples(4)
@given(data=st.data())
def test_an_event_whose_bytes_were_damaged(arena: Arena, hook: str, data: st.DataObject):
    good = arena.event(NAMES[hook], prompt="/pin keep", compact_summary="<summary>x</summary>")
    answered(arena, hook, data.draw(damaged(good)))


ANYTHING = (
    st.binary(max_size=300)
    | st.lists(st.sampled_from(PIECES)).map(
        lambda pieces: "".join(pieces).encode("utf-8", "replace")
    )
    | VALUE.map(dumped)
    | st.integers(1, 30_000).map(deep)
    | st.just(json.dumps({"session_id": SESSION}).encode("utf-16"))
)


@examples(10)
@given(hook=st.sampled_from(HOOKS), data=ANYTHING)
def test_what_is_no_event_at_all(arena: Arena, hook: str, data: bytes):
    answered(arena, hook, data)


@examples(5)
@given(data=st.data())
def test_a_whole_process_given_such_an_event(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
):
    folder = tmp_path_factory.mktemp("world")
    home = folder / "home"
    home.mkdir()
    world = World(folder, home)
    path = world.session().path
    world.run("pre_compact")
    hook = data.draw(st.sampled_from(HOOKS))
    # Folders have another name in every example: what is drawn must not depend on it.
    good = dumped(world.event(hook, transcript_path="@PATH@", cwd="@FOLDER@"))
    by_schema = events(NAMES[hook], ("@PATH@",), ("@FOLDER@",)).map(dumped)
    event = data.draw(by_schema | damaged(good))
    event = event.replace(b"@PATH@", str(path).encode())
    world.run(hook, event.replace(b"@FOLDER@", str(world.project).encode()))
    assert RULE in json.dumps(world.handoff())
    counts.count(counts.EVENTS)
    assert Path(world.folder_of() / "context.json").exists()
