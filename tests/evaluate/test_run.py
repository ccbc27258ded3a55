"""The evaluation as a whole: files found, systems measured, the same figures in every run, counts and not content."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from keepthread.errors import KeepthreadError
from keepthread.evaluate.report import document, eval_text, totals
from keepthread.evaluate.run import Result, evaluate, transcripts
from keepthread.evaluate.score import LEAST
from tests.support.session import SessionFile

NAMES = [f"ledger_part_{number}" for number in range(LEAST)]


def write(path: Path) -> SessionFile:
    """Write a session whose host summary holds four of the ten names that are used again."""
    session = SessionFile(path)
    session.user("Port the ledger. Always run the linter.")
    session.edit("/home/dev/proj/src/ledger.py", "\n".join(NAMES), "nothing")
    session.boundary(" ".join(NAMES[:4]))
    session.assistant(" ".join(NAMES))
    return session


def stable(result: Result) -> str:
    """Return the JSON output without what differs from run to run."""
    found = dict(document(result), seconds=0)
    for boundary in result.boundaries:
        boundary["seconds"] = 0
    return json.dumps(found)


def test_every_system_is_counted_exactly(tmp_path: Path) -> None:
    write(tmp_path / "s.jsonl")

    (boundary,) = evaluate([str(tmp_path)], jobs=1).boundaries

    assert boundary["needed"] == LEAST and boundary["scored"]
    assert boundary["systems"]["host"]["held"] == 4
    assert boundary["systems"]["context+index"]["held"] == LEAST
    assert boundary["systems"]["host+context"]["held"] == LEAST
    assert (boundary["rules"], boundary["edited"], boundary["ask"]) == (1, 1, True)
    ours = boundary["systems"]["context"]
    assert (ours["rules"], ours["edited"], ours["ask"]) == (1, 1, True)
    assert ours["units"] <= 9_900 and boundary["systems"]["tail"]["units"] <= 9_900


def test_each_text_keeps_to_its_size(tmp_path: Path) -> None:
    session = SessionFile(tmp_path / "s.jsonl")
    for number in range(400):
        session.edit(f"/home/dev/proj/src/part_{number}.py", f"old_name_{number}", "new")
    session.boundary()
    session.assistant(" ".join(f"old_name_{number}" for number in range(100)))

    (boundary,) = evaluate([str(tmp_path)], jobs=1).boundaries
    sizes = {name: system["units"] for name, system in boundary["systems"].items()}

    assert 9_000 < sizes["tail"] <= 9_900
    assert sizes["context"] <= 9_900 and sizes["context+index"] <= 9_900 + 4_000 + 1
    assert sizes["context+index 2000"] <= 9_900 + 2_000 + 1


def test_two_runs_in_one_process_and_in_two_give_the_same(tmp_path: Path) -> None:
    for number in range(3):
        write(tmp_path / f"s{number}.jsonl")

    one, two = (evaluate([str(tmp_path)], jobs=jobs, show=True) for jobs in (1, 2))

    assert stable(one) == stable(two)


def test_a_boundary_after_which_next_to_nothing_was_needed_is_not_scored(tmp_path: Path) -> None:
    session = write(tmp_path / "s.jsonl")
    session.boundary("again")
    session.assistant("ledger_part_1 is done.")

    result = evaluate([str(session.path)])
    sums = totals(result.boundaries, result.files)

    assert [boundary["scored"] for boundary in result.boundaries] == [True, False]
    assert (sums["compactions"], sums["boundaries"], sums["needed"]) == (2, 1, LEAST)


def test_the_second_handoff_knows_the_first(tmp_path: Path) -> None:
    """Rules from before the first compaction are carried through the second, as in life."""
    session = write(tmp_path / "s.jsonl")
    session.user("Go on with the next part of the work.")
    session.boundary("again")

    second = evaluate([str(session.path)]).boundaries[1]

    assert second["rules"] == second["systems"]["context"]["rules"] == 1


def test_sessions_are_found_below_folders_and_subagents_are_not(tmp_path: Path) -> None:
    for name in ("a/s.jsonl", "a/agent-1.jsonl", "a/subagents/t.jsonl", "a/notes.txt", "b.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    found = transcripts([str(tmp_path), str(tmp_path / "b.jsonl")])

    assert found == [str(tmp_path / "a" / "s.jsonl"), str(tmp_path / "b.jsonl")]


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(KeepthreadError, match="no such file"):
        evaluate([str(tmp_path / "gone")])
    with pytest.raises(KeepthreadError, match="No transcripts"):
        evaluate([str(tmp_path)])


def test_a_file_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    write(tmp_path / "s.jsonl")
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(b'\xff{"type":"system","subtype":"compact_boundary"\n{]\n')

    result = evaluate([str(tmp_path), str(broken), "/dev/null"])

    assert len(result.boundaries) == 1
    assert [each["file"] for each in result.unread] == ["/dev/null"]


def test_the_table_holds_counts_and_content_only_when_asked(tmp_path: Path) -> None:
    session = write(tmp_path / "s.jsonl")
    session.assistant("spoken_later")
    steps: list[tuple[int, int]] = []

    plain = eval_text([str(session.path)], progress=lambda *step: steps.append(step))
    as_json = json.loads(eval_text([str(session.path)], as_json=True))

    assert "1 of 1 compactions scored in 1 file, 10 needed facts" in plain
    assert "ledger_part" not in plain
    assert steps == [(1, 1)]
    assert set(as_json["boundaries"][0]) >= {"file", "ordinal", "needed", "systems"}
    assert "ledger_part" not in json.dumps(as_json)


def test_show_names_what_was_missed(tmp_path: Path) -> None:
    session = SessionFile(tmp_path / "s.jsonl")
    session.user("Look around.")
    for number in range(300):
        body = "\n".join(f"def some_function_{number}_{at}(): ..." for at in range(20))
        session.read(f"/home/dev/proj/deep/f{number}.py", body)
    session.boundary()
    session.assistant(" ".join(f"some_function_{number}_9" for number in range(0, 300, 10)))

    shown = eval_text([str(session.path)], show=True)

    assert "Missed after s.jsonl#1:" in shown
    assert "some_function_0_9" in shown


def test_no_compaction_is_said(tmp_path: Path) -> None:
    SessionFile(tmp_path / "s.jsonl").user("hello")

    assert eval_text([str(tmp_path)]) == "No compaction in 1 file."
    assert document(evaluate([str(tmp_path)]))["totals"]["systems"] == {}
