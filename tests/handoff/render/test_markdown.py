"""The person's document holds every section and keeps its shape."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, given, settings

from keepthread.handoff.render.markdown import MARKER, PARTIAL, render_markdown
from tests.support.handoffs import make_empty, make_handoff, make_partial
from tests.support.strategies import OVERRIDES

TEN = [
    "Session Started",
    "Task",
    "Completed Tasks",
    "Current State",
    "Constraints",
    "Files Touched",
    "Issues Discovered",
    "Open Questions",
    "Next Steps",
    "Resume Prompt",
]


def titles(text: str) -> list[str]:
    """Return the second-level headings outside code blocks."""
    found, fence = [], ""
    for line in text.splitlines():
        mark = re.match(r"\s*(?:- )?(`{3,})[^`]*$", line)
        if mark and not fence:
            fence = mark[1]
        elif fence and line.strip() == fence:
            fence = ""
        elif not fence and line.startswith("## "):
            found.append(line[3:])
    return found


def test_the_ten_headings_come_first_in_their_order():
    for handoff in (make_handoff(), make_partial(), make_empty()):
        assert titles(render_markdown(handoff))[:10] == TEN


def test_audit_and_origin_come_last():
    assert titles(render_markdown(make_handoff()))[-2:] == ["Audit", "About This Document"]


def test_a_complete_document_begins_with_the_marker():
    assert render_markdown(make_handoff()).splitlines()[0] == MARKER


def test_a_partial_begins_with_its_mark_and_then_the_marker():
    lines = render_markdown(make_partial()).splitlines()

    assert "HANDOFF_AUTO_PARTIAL" == PARTIAL == lines[0]
    assert next(line for line in lines[1:] if line) == MARKER


def test_a_partial_holds_the_last_messages_word_for_word_and_no_raw_records():
    text = render_markdown(
        make_partial(facts={"user_messages": [{"text": "one\n  two {x}", "source": "u1"}] * 12})
    )

    assert "one\n  two {x}" in text
    assert '{"' not in text
    assert "Last Turns" in titles(text)
    assert "Earlier Messages" in titles(text)


def test_every_fact_of_the_session_is_in_the_document():
    handoff = make_handoff()
    text = render_markdown(handoff)
    facts = handoff["facts"]

    wanted = [
        *(said["text"] for said in facts["user_messages"]),
        *(each["command"] for each in facts["commands"]),
        *(each["text"] for each in facts["identifiers"]),
        *(each["error"] for each in facts["errors"]),
        *(each["path"] for each in handoff["files_touched"]),
        *facts["pins"],
        *handoff["next_steps"],
        facts["plan"],
        facts["git"]["head"],
    ]
    assert [item for item in wanted if item not in text] == []


def test_a_table_cell_holds_pipes_and_line_ends():
    bad = [{"path": "a|b.py", "status": "read", "summary": "one\ntwo | three"}]
    rows = [
        line
        for line in render_markdown(make_handoff(files_touched=bad)).splitlines()
        if line.startswith("| ")
    ]

    assert rows[-1] == r"| `a\|b.py` | read | one two \| three |"


def test_a_code_block_outlives_the_backquotes_inside_it():
    text = render_markdown(make_handoff(facts={"plan": "```\n## Task\n````\n## Audit"}))

    assert titles(text).count("Audit") == 1
    assert "`````text\n```" in text


def test_a_code_span_outlives_the_backquotes_inside_it():
    commands = [{"command": "echo `date` ``x``", "outcome": "ok", "count": 1}]

    assert "``` echo `date` ``x`` ``` (ok)" in render_markdown(
        make_handoff(facts={"commands": commands})
    )


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(OVERRIDES)
def test_no_content_adds_or_hides_a_heading(overrides):
    text = render_markdown(make_handoff(**overrides))

    found = titles(text)
    assert found[:10] == TEN
    assert found[-2:] == ["Audit", "About This Document"]
    assert len(found) == len(set(found))
    text.encode("utf-8")
