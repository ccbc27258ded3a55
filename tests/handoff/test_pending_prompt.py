"""The prompt that met the full context: the host writes its record a moment after PreCompact has fired."""

from __future__ import annotations

import threading
from pathlib import Path

from keepthread.handoff import checkpoint
from keepthread.handoff.checkpoint import Job, take
from keepthread.handoff.model import Trigger
from keepthread.handoff.publish import Outlet
from tests.support.session import SESSION, SessionFile

ASK = "Now rename the importer to ledger_reader."


def session(folder: Path) -> SessionFile:
    """Write a session whose last words are the assistant's."""
    file = SessionFile(folder / f"{SESSION}.jsonl", cwd=str(folder))
    file.user("Read the ledger files.")
    file.assistant("All of them are read.")
    return file


def pending(file: SessionFile, state: Path, trigger: Trigger) -> str:
    """Take a handoff and return its pending ask."""
    job = Job(SESSION, str(file.path), "", trigger)
    ask = take(job, Outlet(str(state), 9_900, 4_000, "off")).handoff["facts"]["pending_ask"]
    return ask["text"] if ask else ""


def test_an_automatic_compaction_waits_a_moment_for_the_prompt(tmp_path, monkeypatch) -> None:
    """What arrives while the hook looks is the pending ask."""
    monkeypatch.setattr(
        checkpoint, "_PROMPT_LAG", 30.0
    )  # the test's machine may be slow; the prompt ends the wait
    file = session(tmp_path)
    late = threading.Timer(0.05, file.user, args=(ASK,))
    late.start()

    ask = pending(file, tmp_path / "state", "auto")
    late.join()

    assert ask == ASK


def test_growth_without_talk_is_not_taken_for_the_prompt(tmp_path, monkeypatch) -> None:
    """The host writes records of its own at the same time; the wait goes on, and ends without a prompt."""
    monkeypatch.setattr(checkpoint, "_PROMPT_LAG", 0.2)
    file = session(tmp_path)
    other = threading.Timer(0.02, file.record, args=({"type": "mode", "mode": "normal"},))
    other.start()

    ask = pending(file, tmp_path / "state", "auto")
    other.join()

    assert ask == "Read the ledger files."


def test_a_manual_compaction_waits_for_nothing(tmp_path, monkeypatch) -> None:
    """/compact is typed after the answer, so no prompt is on its way."""
    monkeypatch.setattr(checkpoint, "_with_pending_prompt", lambda _: 1 / 0)

    assert pending(session(tmp_path), tmp_path / "state", "manual") == "Read the ledger files."
