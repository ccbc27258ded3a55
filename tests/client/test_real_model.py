"""A whole compaction of the real client with a real, very small model behind the `openai` engine.

Its prose is worthless and its pace is the machine's, so only the plumbing is held: the request reached it, its rung is
told, and the thread is kept whatever it said. Runs where KEEPTHREAD_TEST_MODEL asks for a real model.
"""

from __future__ import annotations

import os

import pytest

from tests.client.story import (
    LEFT,
    RULE,
    assert_holds_the_thread,
    go_on,
    script,
    settled,
    turn,
    variables,
)
from tests.support.api import Answer, FakeApi
from tests.support.client import Client
from tests.support.llama import model_python, serving

WINDOW = 4_096  # tokens: the first request is larger, the server refuses it, and it is made to fit
LONG = "Explain the gantry at length."

pytestmark = [
    pytest.mark.client,
    pytest.mark.skipif(
        not os.environ.get("KEEPTHREAD_TEST_MODEL"),
        reason="KEEPTHREAD_TEST_MODEL does not ask for a real model",
    ),
]


def test_a_compaction_with_a_real_model_keeps_the_thread(
    client: Client, api: FakeApi, hooks: None
) -> None:
    """The model answers or the deadline ends it; either way the next request holds rule, files and ask."""
    with serving(model_python(), WINDOW) as address:
        variables(
            client,
            ENGINE="llama.cpp",
            LLAMA_CPP_BASE_URL=address,
            WINDOW="16000",
            PROMPT_TOKENS="9000",
            TIMEOUT="45",
            MODE="wait",
        )
        script(client, api, full=True)
        turn(
            api,
            LONG,
            Answer("\n".join(f"Part {n}: the parser reads column {n}." for n in range(500))),
        )
        session = client.prompt(RULE).session
        client.prompt(LONG, session)
        client.prompt(LEFT, session)
        go_on(client, api, session)
        body = api.talks[-1].body
        meta = settled(client, session)["meta"]

    assert_holds_the_thread(body)
    assert meta["rungs"][0]["engine"] == "llama.cpp"
    assert meta["rungs"][0]["result"] in ("ok", "timeout", "bad_answer")
