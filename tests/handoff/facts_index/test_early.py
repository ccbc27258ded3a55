"""With an index nothing early is forgotten: from before the bound of a reading, and from before a compaction."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keepthread.handoff.facts_index.opened import opened
from keepthread.handoff.facts_index.update import update
from keepthread.transcript.record import Budget
from tests.handoff.facts_index.talk import handoff, index_of, indexed, same_reading
from tests.support.session import SESSION, SessionFile

RULE = "Never touch `legacy_table`, whatever happens."
BULK = "A" * 3_000_000  # base64, as of an image: long on the disk and nothing in the context


@pytest.fixture
def file(tmp_path: Path) -> SessionFile:
    return SessionFile(tmp_path / "proj" / f"{SESSION}.jsonl")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def early(file: SessionFile) -> None:
    file.user("Port the billing module to the new ledger.")
    file.user(RULE)
    file.edit("/home/dev/proj/src/early.py")
    file.write("/home/dev/proj/src/fresh.py")
    file.write("/home/dev/proj/src/gone.py")
    file.bash("rm src/gone.py")
    file.reject("Edit", {"file_path": "/home/dev/proj/src/refused.py"}, "no, leave that one")
    file.tool("Edit", {"file_path": "/home/dev/proj/src/failed.py"}, "no such text", is_error=True)


def bulk(file: SessionFile, megabytes: int) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "i/p", "data": BULK}}
    for _ in range(megabytes // 3 + 1):
        file.tool("mcp__browser__shot", {}, [image])


def paths(taken: dict) -> set[str]:
    return {entry["path"] for entry in taken["files_touched"] if entry["status"] != "read"}


def test_from_before_a_compaction_without_a_handoff(
    file: SessionFile, state: Path, tmp_path: Path
) -> None:
    """Where without an index only the last 16 MB are searched for typed words, and for no files."""
    early(file)
    indexed(file, state)
    bulk(file, 17)
    file.boundary("Earlier work.")
    file.user("Go on with the importer.")
    file.edit("/home/dev/proj/src/late.py")
    indexed(file, state)
    known, plain = handoff(file, state), handoff(file, tmp_path / "without")

    assert RULE not in json.dumps(plain)
    assert RULE in [rule["text"] for rule in known["constraints"]["rules"]]
    assert RULE in [entry["text"] for entry in known["facts"]["user_messages"]]
    assert known["task"].startswith("Port the billing module")
    assert paths(plain) == {"src/late.py"}
    assert paths(known) == {"src/late.py", "src/early.py", "src/fresh.py", "src/gone.py"}
    status = {entry["path"]: entry["status"] for entry in known["files_touched"]}
    assert (status["src/fresh.py"], status["src/gone.py"]) == ("created", "deleted")


def test_also_when_the_compaction_came_behind_the_index(file: SessionFile, state: Path) -> None:
    early(file)
    indexed(file, state)
    file.user("Always answer in English.")
    file.edit("/home/dev/proj/src/between.py")
    file.boundary("Earlier work.")
    file.user("Go on with the importer.")
    known = handoff(file, state)

    rules = [rule["text"] for rule in known["constraints"]["rules"]]
    assert RULE in rules
    assert "Always answer in English." in rules
    assert {"src/early.py", "src/between.py"} <= paths(known)


def test_from_before_a_compaction_that_came_after_the_last_handoff(
    file: SessionFile, state: Path
) -> None:
    file.user("Port the billing module to the new ledger.")
    file.edit("/home/dev/proj/src/first.py")
    handoff(file, state)
    file.boundary("One.")
    early(file)
    indexed(file, state)
    file.boundary("Two, of which nobody told us.")
    file.user("Go on with the importer.")
    indexed(file, state)
    known = handoff(file, state)

    assert RULE in [rule["text"] for rule in known["constraints"]["rules"]]
    assert {"src/early.py", "src/first.py"} <= paths(known)
    assert known["task"].startswith("Port the billing module")


def test_from_before_the_bound_of_a_reading(file: SessionFile, state: Path, tmp_path: Path) -> None:
    early(file)
    indexed(file, state)
    bulk(file, 70)
    file.user("Go on with the importer.")
    indexed(file, state)
    known, plain = handoff(file, state), handoff(file, tmp_path / "without")

    assert RULE not in json.dumps(plain)
    assert RULE in [rule["text"] for rule in known["constraints"]["rules"]]
    assert {"src/early.py", "src/fresh.py"} <= paths(known)
    assert same_reading(file, state)


def test_also_when_the_index_begins_with_a_file_beyond_the_bound(
    file: SessionFile, state: Path
) -> None:
    early(file)
    bulk(file, 70)
    file.user("Go on with the importer.")

    assert indexed(file, state) == "rebuilt"
    known = handoff(file, state)
    assert RULE in [rule["text"] for rule in known["constraints"]["rules"]]
    assert {"src/early.py", "src/fresh.py"} <= paths(known)
    assert same_reading(file, state)


def test_more_than_a_reading_carries_is_kept_as_an_outline(
    file: SessionFile, state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the live part is read as ever, and the index stays small, until the next compaction."""
    monkeypatch.setattr(Budget.__init__, "__defaults__", (400_000,))
    early(file)
    output = "the words of an output, and more of them\n" * 1_000
    for number in range(20):
        file.bash(f"cat part{number}", output)
        if number % 4 == 0:
            indexed(file, state)
    indexed(file, state)

    assert index_of(state).stat().st_size < 100_000
    assert same_reading(file, state)
    assert handoff(file, state) == handoff(file, tmp_path / "without")
    file.user("Go on.")
    assert indexed(file, state) == "appended"
    assert same_reading(file, state)
    file.boundary("Earlier.")
    file.user("And now the docs.")
    indexed(file, state)
    index = opened(str(state), SESSION, str(file.path))
    assert index is not None
    assert index.known is not None
    assert same_reading(file, state)


def test_of_files_edited_again_and_again_the_outline_keeps_the_last_edit(
    file: SessionFile, state: Path
) -> None:
    early(file)
    for number in range(2_000):
        file.edit(f"/home/dev/proj/src/part{number % 3}.py")
    file.boundary("Earlier.")
    file.user("Go on.")
    update(str(file.path), SESSION, str(state))

    assert index_of(state).stat().st_size < 20_000
    assert {"src/part0.py", "src/part1.py", "src/part2.py"} <= paths(handoff(file, state))
