"""The host's own summary, kept by PostCompact, serves the next compaction when no model of ours has answered."""

from __future__ import annotations

import pytest

from tests.client.story import (
    FULL,
    RULE,
    answer_child,
    compacted,
    folder,
    handoff,
    injected,
    settled,
    turn,
    variables,
    write,
)
from tests.support.api import Answer, FakeApi, is_summariser, texts
from tests.support.client import Client

pytestmark = [pytest.mark.client, pytest.mark.usefixtures("hooks")]

PENDING = "Describe the lattice tolerance in the operators' manual"
PROBLEM = "The sandbox crane answers late, so its timeout was doubled"
SUMMARY = f"""<analysis>The scratchpad about lattices.</analysis>
<summary>
1. Primary Request and Intent: the gantry parser.
6. All user messages:
   - "never bother with manuals"
5. Problem Solving:
   - {PROBLEM}
7. Pending Tasks:
   - {PENDING}
</summary>"""


def second_compaction(client: Client, api: FakeApi, summary: str) -> str:
    """Compact twice, the first time with this summary; return the session's id."""
    api.rule(is_summariser, Answer(summary), times=1)
    session, _ = compacted(client, api)
    turn(api, "Write one more.", write(client, "src/more.py"), Answer("Yes.", input_tokens=FULL))
    client.converse("Write one more.", "What next?", resume=session)
    assert len(api.summaries) == 2
    return session


def test_what_it_adds_is_in_the_context_of_the_next_compaction_and_is_no_rule(client, api):
    """Labelled as a summary's words; without the scratchpad, and never the user's."""
    variables(client, ENGINE="facts")
    session = second_compaction(client, api, SUMMARY)
    text = injected(api.talks[-1].body)
    line = next(line for line in text.splitlines() if PENDING in line)
    assert "(from the host's summary)" in line
    assert PROBLEM in text
    stored = handoff(client, session)
    assert [rule["text"] for rule in stored["constraints"]["rules"]] == [RULE]
    assert "scratchpad" not in text


def test_it_is_in_the_childs_prompt_of_the_next_compaction(client, api):
    """The child failed the first time; the second time it is told what the host's summary said."""
    variables(client, JOIN="30")
    answer_child(api, Answer("kaput", status=400, error="invalid_request_error"))
    session = second_compaction(client, api, SUMMARY)
    settled(client, session)
    prompt = texts(api.children[-1].body)
    assert f"{PENDING} (from the host's summary)" in prompt


def test_the_text_of_an_error_in_the_place_of_a_summary_is_ignored(client, api):
    """Nothing of it is kept."""
    variables(client, ENGINE="facts")
    session = second_compaction(
        client, api, "<summary>API Error: 529 overloaded\n7. Pending Tasks:\n- Retry</summary>"
    )
    assert "from the host's summary" not in injected(api.talks[-1].body)
    assert "API Error" not in (folder(client, session) / "host-summary.md").read_text()
