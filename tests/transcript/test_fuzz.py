"""Whatever the bytes, nothing raises, and what comes out encodes."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepthread.transcript.earlier import earlier_prompts
from keepthread.transcript.read import read_transcript
from keepthread.transcript.tail import belongs, since, uuids_from_end
from tests.support.session import SESSION, SessionFile


def sample(folder: Path) -> bytes:
    """Return a transcript with a bit of everything."""
    session = SessionFile(folder / "sample.jsonl")
    session.user("goal ä🎈")
    session.progress("bash_progress", output="x")
    session.edit("/a.py")
    session.boundary("past")
    session.queue("enqueue", "more")
    session.reject("Bash", {"command": "rm"}, "no")
    session.attachment("task_reminder", content=[{"id": "1", "subject": "s", "status": "pending"}])
    session.snapshot({"/a.py": False})
    session.assistant("reply")
    content = session.path.read_bytes()
    session.path.unlink()
    return content


def read_all_ways(path: Path) -> None:
    """Read a file with every function of the room."""
    transcript = read_transcript(str(path))
    repr(transcript).encode("utf-8")
    earlier_prompts(str(path), transcript.size)
    json.dumps(since(str(path), 0), ensure_ascii=False).encode("utf-8")
    uuids_from_end(str(path))
    belongs(str(path), SESSION)


def test_a_transcript_cut_anywhere_is_read(tmp_path: Path) -> None:
    content = sample(tmp_path)
    path = tmp_path / "t.jsonl"

    for cut in range(0, len(content), 37):
        path.write_bytes(content[:cut])
        read_all_ways(path)
        path.write_bytes(content[cut:])
        read_all_ways(path)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_transcript_with_bytes_changed_is_read(
    tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    content = bytearray(sample(folder))
    for _ in range(data.draw(st.integers(1, 12))):
        at = data.draw(st.integers(0, len(content) - 1))
        content[at : at + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=6))
    path = folder / "t.jsonl"
    path.write_bytes(content)

    read_all_ways(path)


KINDS = [
    "user",
    "assistant",
    "attachment",
    "system",
    "queue-operation",
    "file-history-snapshot",
    "custom-title",
    "pr-link",
    "summary",
    "progress",
]
FIELDS = [
    "uuid",
    "parentUuid",
    "message",
    "attachment",
    "subtype",
    "content",
    "toolUseResult",
    "snapshot",
    "todos",
    "operation",
    "compactMetadata",
    "isMeta",
    "origin",
    "timestamp",
    "version",
    "error",
    "leafUuid",
    "customTitle",
    "prUrl",
    "toolDenialKind",
]
INNER = [
    "type",
    "text",
    "content",
    "input",
    "id",
    "tool_use_id",
    "name",
    "kind",
    "prompt",
    "answers",
    "trackedFileBackups",
    "source",
    "origin",
    "usage",
    "model",
    "preservedMessages",
    "preservedSegment",
    "allUuids",
    "headUuid",
    "tailUuid",
    "path",
    "filename",
    "commandMode",
]
WORDS = [
    "text",
    "tool_use",
    "tool_result",
    "image",
    "queued_command",
    "task_reminder",
    "file",
    "a",
    "compact_boundary",
]


def shape(random: Random, depth: int = 0) -> Any:
    """Return a JSON value of any shape, with names and words the reader looks for."""
    kind = random.randrange(9 if depth < 4 else 6)
    if kind >= 7:
        return {random.choice(INNER): shape(random, depth + 1) for _ in range(random.randrange(6))}
    if kind == 6:
        return [shape(random, depth + 1) for _ in range(random.randrange(4))]
    return random.choice([None, True, -3, 2.5, 10**30, "", "\ud83d", *WORDS, *WORDS])


@pytest.mark.parametrize("seed", range(20))
def test_records_of_any_shape_are_read(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    path = tmp_path / "t.jsonl"
    for _ in range(10):
        records = [
            {
                **{name: shape(random) for name in random.sample(FIELDS, 7)},
                "type": random.choice(KINDS),
            }
            for _ in range(40)
        ]
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        read_all_ways(path)
