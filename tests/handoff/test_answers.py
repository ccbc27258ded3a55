"""The audit on a corpus of answers: every bad one is caught by the check named, no good one is touched."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from jsonschema import Draft202012Validator

from keepthread.handoff.audit import audit, faults, retry_note
from keepthread.handoff.checks.case import texts
from keepthread.handoff.evidence import Evidence
from keepthread.handoff.merge import complete, speaks_of
from keepthread.handoff.model import Handoff, ModelAnswer
from keepthread.handoff.schema import answer_schema, validate
from keepthread.handoff.wording import NOT_FOUND
from tests.handoff.answer_corpus import BAD, GOOD, Bad, Good
from tests.handoff.answer_sessions import SESSIONS, answer_to, tell

_MARKS = ("(the ", "(no ", "(a rule", "(as a file", "(not ", NOT_FOUND)


@cache
def told(name: str) -> tuple[Handoff, Evidence]:
    """Return the partial and the evidence of a session."""
    with TemporaryDirectory() as folder:
        return tell(name, Path(folder))


def judged(session: str, answer: ModelAnswer) -> tuple[Handoff, Handoff]:
    """Return the merged handoff and the audited one."""
    Draft202012Validator(answer_schema()).validate(answer)
    partial, evidence = told(session)
    merged = complete(
        partial,
        answer,
        engine="claude",
        rungs=[],
        usage=None,
        cost_usd=None,
        seconds=1.0,
        generated_at="2026-11-01T10:00:00Z",
    )
    result = audit(merged, evidence, answer)
    assert validate(result) == []
    return merged, result


def unmarked(handoff: Handoff) -> str:
    """Return the model's texts that bear no mark, one a line."""
    found = [text for _, text in texts(handoff) if not any(mark in text for mark in _MARKS)]
    return "\n".join([*found, ""])


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_a_bad_answer_is_caught(bad: Bad) -> None:
    """By the check named; what is wrong is gone or marked, and what code cannot mend is asked for again."""
    _, result = judged(bad.session, answer_to(bad.session, **bad.changes))
    entries = result["audit"]["failed"]
    assert bad.check in {entry["check"] for entry in entries}, entries
    assert not bad.gone or bad.gone not in unmarked(result)
    if bad.asks:
        assert bad.check in {entry["check"] for entry in faults(result)}
        assert retry_note(result)


@pytest.mark.parametrize("good", GOOD, ids=lambda good: good.name)
def test_a_good_answer_is_not_touched(good: Good) -> None:
    """Nothing marked, dropped or repaired, and no second call."""
    merged, result = judged(good.session, answer_to(good.session, **good.changes))
    assert result["audit"]["failed"] == []
    assert {**result, "audit": None} == {**merged, "audit": None}
    assert retry_note(result) == ""


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_what_was_put_right_stays_right(bad: Bad) -> None:
    """A second audit changes no text."""
    _, once = judged(bad.session, answer_to(bad.session, **bad.changes))
    twice = audit(once, told(bad.session)[1])
    assert {**twice, "audit": None} == {**once, "audit": None}


def test_a_repaired_handoff_has_what_nobody_can_do_without() -> None:
    """Whatever an answer leaves out: task, rules, ask, steps and the failing check stand there."""
    for session in SESSIONS:
        empty = {"task": "", "next_steps": [], "resume_prompt": "", "rules": [], "broken": []}
        partial, result = told(session)[0], judged(session, answer_to(session, **empty))[1]
        ask = partial["facts"]["pending_ask"]
        assert ask is not None
        assert speaks_of(ask["text"], result["next_steps"][:3])
        assert [rule["text"] for rule in result["constraints"]["rules"]] == [
            rule["text"] for rule in partial["constraints"]["rules"]
        ]
        assert result["task"]
        assert result["facts"] == partial["facts"]


def test_no_secret_stands_in_the_audit_itself() -> None:
    """What was taken out is not quoted where the fault is named."""
    for bad in BAD:
        if bad.check == "secrets":
            _, result = judged(bad.session, answer_to(bad.session, **bad.changes))
            assert bad.gone not in json.dumps(result)


def test_the_corpus_is_as_large_as_promised() -> None:
    """At least 40 bad answers and 20 good ones, to sessions in several languages."""
    assert len({bad.name for bad in BAD}) >= 40
    assert len({good.name for good in GOOD}) >= 20
    assert {good.session for good in GOOD} == set(SESSIONS)
