"""A worker that finishes after SessionStart: what it adds comes with the next prompt, once."""

from __future__ import annotations

import time

import pytest

from tests.client.story import (
    ASK,
    DOCUMENT,
    EDITED,
    JUDGED,
    LEFT,
    RULE,
    answer_child,
    assert_holds_the_thread,
    compacted,
    injected,
    log,
    script,
    settled,
    variables,
)
from tests.support.api import Answer, Body, FakeApi, is_talk, last_text, talk_texts
from tests.support.client import Client

pytestmark = [pytest.mark.client, pytest.mark.usefixtures("hooks")]

STEP = DOCUMENT["next_steps"][0]


def slow_child(client: Client, api: FakeApi) -> None:
    """Let the child answer long after the compaction is through."""
    variables(client, JOIN="0.2")
    answer_child(api, Answer(document=DOCUMENT, sleep=4))


def test_the_late_answer_comes_with_the_next_prompt_once_and_only_what_is_new(client, api):
    slow_child(client, api)
    session, request = compacted(client, api)
    assert_holds_the_thread(request)
    assert JUDGED not in talk_texts(request)
    assert settled(client, session)["meta"]["status"] == "complete"
    client.prompt("Go on.", session)
    told = talk_texts(api.talks[-1].body)
    assert (told.count(JUDGED), told.count(STEP)) == (1, 1)
    new = told[told.index("UserPromptSubmit hook additional context") :]
    assert JUDGED in new
    assert RULE not in new
    client.prompt("And further.", session)
    told = talk_texts(api.talks[-1].body)
    assert (told.count(JUDGED), told.count(STEP)) == (1, 1)
    assert injected(api.talks[-1].body).count(EDITED[1]) > 0
    delivered = [line for line in log(client) if line["event"] == "user_prompt_submit"]
    assert [line["outcome"] for line in delivered] == ["shown"]


def test_in_an_open_session_it_comes_with_the_prompt_after_it(client, api):
    slow_child(client, api)
    script(client, api, full=True)

    def when_the_worker_is_done(_: Body) -> Answer:
        sessions = client.config / "keepthread" / "sessions"
        for _attempt in range(300):
            if list(sessions.glob("*/upgrade.json")):
                break
            time.sleep(0.1)
        return Answer("Skipped.")

    api.rule(
        lambda body: is_talk(body) and ASK in last_text(body), when_the_worker_is_done, times=1
    )
    run = client.converse(RULE, LEFT, ASK, "Go on.", "And further.")
    assert run.code == 0
    counts = [talk_texts(request.body).count(JUDGED) for request in api.talks[-3:]]
    assert counts == [0, 1, 1]
