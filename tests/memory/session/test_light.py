"""What the Stop hook costs when nothing is to be done, and who looks after its files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from keepthread.handoff.alive import stamp
from keepthread.handoff.retention import STAMP, Limits, tidy
from tests.memory.session.conftest import MEMORY, Kept
from tests.support.api import Answer
from tests.test_house_rules import HEAVY, LIGHT, PROBE, ROOT


def test_looking_at_the_transcript_loads_nothing_heavy(kept: Kept, tmp_path: Path) -> None:
    """The rule needs the end of the file, the standard library and a few small modules."""
    kept.state.joinpath("sessions").mkdir()
    kept.folder_of().mkdir()
    size = kept.talk.path.stat().st_size
    known = {"model": {"size": size - 3_000, "tokens": 12_000}, "read": {"path": "x", "size": 0}}
    (kept.folder_of() / "memory-state.json").write_text(json.dumps(known))
    listing = tmp_path / "modules.json"
    subprocess.run(
        [sys.executable, "-I", "-c", PROBE, str(ROOT / "src"), "stop", str(listing)],
        input=json.dumps(kept.event("stop")).encode(),
        env=kept.env(KEEPTHREAD_ENGINE=""),
        check=True,
        timeout=60,
    )
    modules = set(json.loads(listing.read_text()))

    assert kept.log("stop") == []
    assert "keepthread.transcript.growth" in modules
    assert {m for m in modules if m.startswith("keepthread")} <= LIGHT
    assert modules & HEAVY == set()


def test_retention_looks_after_the_memory_and_spares_one_that_is_being_written(kept: Kept) -> None:
    """Beyond the sessions that are kept whole it goes, as the rest that can be made again."""
    kept.run("pre_compact")
    kept.api.rule(lambda body: True, Answer(json.dumps(MEMORY)))
    kept.stop()
    newer = kept.state / "sessions" / "22222222-2222-4222-8222-222222222222"
    newer.mkdir()
    state = kept.folder_of() / "memory-state.json"
    known = state.read_text()
    state.write_text(json.dumps(json.loads(known) | {"state": "running", **stamp(os.getpid())}))
    os.utime(kept.folder_of(), (1e9, 1e9))
    _tidy(kept)
    assert kept.document()["form"] == "model"

    state.write_text(known)
    os.utime(kept.folder_of(), (newer.stat().st_mtime - 9,) * 2)
    _tidy(kept)
    names = {path.name for path in kept.folder_of().iterdir()}
    assert names & {"session-memory.json", "session-memory.md"} == set()
    assert {"handoff.json", "context.json"} <= names


def _tidy(kept: Kept) -> None:
    (kept.state / STAMP).unlink(missing_ok=True)
    tidy(str(kept.state), Limits(sessions=1, days=0))
