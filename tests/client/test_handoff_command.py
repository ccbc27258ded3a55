"""/handoff, typed in a session of the real client."""

from __future__ import annotations

import pytest

from tests.client.story import DOCUMENT, answer_child, begin, settled
from tests.support.api import Answer, texts

pytestmark = [pytest.mark.client, pytest.mark.usefixtures("hooks")]


def test_the_handoff_command_writes_a_checkpoint_with_its_note(client, api):
    answer_child(api, Answer(document=DOCUMENT))
    session = begin(client, api, full=False)
    run = client.prompt("/handoff mind the trailing comma", session)
    assert run.code == 0, run
    stored = settled(client, session)
    assert stored["meta"]["trigger"] == "command"
    assert stored["meta"]["status"] == "complete"
    assert "mind the trailing comma" in texts(api.children[0].body)
    notes = [entry["text"] for entry in stored["facts"]["user_messages"]]
    assert "Note with /handoff: mind the trailing comma" in notes
    assert "trailing comma" not in str(stored["constraints"]["rules"])
    assert "trailing comma" not in str(stored["facts"]["pending_ask"])
    assert not api.summaries


def test_the_handoff_command_costs_no_request_a_word(client, api):
    client.prompt("Hello.")
    assert "/handoff" not in texts(api.talks[0].body)
    assert "keepthread" not in texts(api.talks[0].body)
