"""Whatever a transcript holds, the whole round of hooks works, and what is stored is whole and within its bounds."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepthread.handoff.material import Material
from keepthread.handoff.store import load
from keepthread.transcript.read import read_transcript
from tests.support import counts
from tests.support.arena import Arena
from tests.support.fuzzed import LINES, TEXT, damaged, examples
from tests.support.hook_runs import World
from tests.support.session import SESSION, SessionFile

PROMPT = 6_000  # tokens
pytestmark = pytest.mark.filterwarnings("ignore:Generating overly large repr")


def rich(arena: Arena) -> bytes:
    """Return a transcript with a bit of everything, a compaction in its middle."""
    file = SessionFile(arena.folder / "home" / "rich.jsonl", cwd=str(arena.project))
    file.user("Mend the importer; never touch vendor/")
    file.write(f"{file.cwd}/src/a.py")
    file.tool("TodoWrite", {"todos": [{"content": "Test it", "status": "pending"}]})
    file.boundary("Earlier work.")
    file.bash("pytest -q", "1 failed", is_error=True)
    file.reject("Bash", {"command": "git push"}, "no pushes")
    file.queue("enqueue", "and then the notes")
    file.attachment("queued_command", prompt="write the notes")
    file.sidechain("look for it")
    file.assistant("I will **edit** `src/a.py`.")
    content = file.path.read_bytes()
    file.path.unlink()
    return content


def round_of_hooks(arena: Arena, content: bytes, more: bytes, words: str) -> None:
    """Run every hook over a transcript that then grows, and build the request to the model."""
    arena.reset()
    arena.transcript.write_bytes(content)
    arena.run("pre_compact", arena.event("PreCompact", custom_instructions=words))
    arena.check()
    arena.run("session_start", arena.event("SessionStart"))
    arena.run("session_index", arena.event("SessionStart"))
    arena.run("post_compact", arena.event("PostCompact", compact_summary=f"<summary>{words}"))
    with arena.transcript.open("ab") as file:
        file.write(more)
    arena.run("session_start", arena.event("SessionStart", source="resume"))
    arena.run("user_prompt_submit", arena.event("UserPromptSubmit", prompt=f"/pin {words}"))
    arena.run("pre_compact", arena.event("PreCompact", trigger="manual"))
    arena.check()
    prompt_is_built(arena, words)
    counts.count(counts.RECORDS)


def prompt_is_built(arena: Arena, words: str) -> None:
    """Build the request to the model within its budget."""
    handoff = load(str(arena.state), SESSION)
    assert handoff is not None
    material = Material(handoff, read_transcript(str(arena.transcript)), focus=words, note=words)
    prompt = material.prompt(PROMPT).encode()
    assert len(prompt) + len(material.system().encode()) <= PROMPT * 3
    assert b"</keepthread-handoff>" not in prompt


@examples(60)
@given(lines=st.lists(LINES, max_size=8), more=st.lists(LINES, max_size=2), words=TEXT)
def test_records_of_any_shape(arena: Arena, lines: list[bytes], more: list[bytes], words: str):
    round_of_hooks(arena, b"".join(lines), b"".join(more), words)


@examples(35)
@given(data=st.data())
def test_a_session_whose_bytes_were_damaged(arena: Arena, data: st.DataObject):
    content = data.draw(damaged(rich(arena)))
    cut = data.draw(st.integers(0, len(content)) | st.just(len(content)))
    round_of_hooks(arena, content[:cut], content[cut:], data.draw(TEXT))


@examples(5)
@given(data=st.data())
def test_whole_processes_over_such_a_session(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
):
    folder = tmp_path_factory.mktemp("world")
    home = folder / "home"
    home.mkdir()
    world = World(folder, home)
    file = world.session()
    world.run("pre_compact")
    file.raw(b"".join(data.draw(st.lists(LINES, max_size=6))))
    for hook in ("pre_compact", "session_start", "session_index"):
        world.run(hook)
    assert json.loads((world.folder_of() / "context.json").read_bytes())["text"]
    counts.count(counts.RECORDS)
