"""The main job in the real client: after a compaction the next request holds the rule, the files and the ask."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.client.story import (
    ASK,
    DOCUMENT,
    EDITED,
    FULL,
    JUDGED,
    RULE,
    answer_child,
    asked,
    assert_holds_the_thread,
    begin,
    compacted,
    edit,
    go_on,
    injected,
    settled,
    summarise_slowly,
    turn,
    variables,
    write,
)
from tests.support.api import Answer, FakeApi, is_summariser, last_text, talk_texts, texts
from tests.support.client import Client

pytestmark = [pytest.mark.client, pytest.mark.usefixtures("hooks")]

NAG = {
    "type": "result",
    "subtype": "success",
    "is_error": True,
    "result": "Not logged in · Please run /login",
    "session_id": "22222222-2222-4222-8222-222222222222",
    "total_cost_usd": 0,
}
TOKEN = "sk-ant-oat01-" + "a" * 40


def failing(client: Client, api: FakeApi) -> None:
    answer_child(api, Answer("kaput", status=500))


def hanging(client: Client, api: FakeApi) -> None:
    variables(client, JOIN="0.2", TIMEOUT="3")
    answer_child(api, Answer(hang=True))


def chatting(client: Client, api: FakeApi) -> None:
    client.env["MAX_STRUCTURED_OUTPUT_RETRIES"] = "1"
    answer_child(api, Answer("I am sorry, I cannot help with that."))


def nagging(client: Client, api: FakeApi) -> None:
    program(client, f"cat >/dev/null\nprintf '%s' '{json.dumps(NAG)}'\nexit 1\n")


def absent(client: Client, api: FakeApi) -> None:
    client.env["PATH"] = "/usr/bin:/bin"


def program(client: Client, script: str) -> None:
    """Put another `claude` first on PATH: the hooks see it, the client itself is started by its full path."""
    folder = client.home / "bin"
    folder.mkdir()
    (folder / "claude").write_text(f"#!/bin/sh\n{script}")
    (folder / "claude").chmod(0o755)
    client.env["PATH"] = f"{folder}:/usr/bin:/bin"


def test_with_the_child_answering_the_next_request_holds_the_complete_handoff(client, api):
    summarise_slowly(client, api)
    answer_child(api, Answer(document=DOCUMENT, input_tokens=900, output_tokens=300))
    session, request = compacted(client, api)
    assert_holds_the_thread(request)
    assert JUDGED in injected(request)
    assert DOCUMENT["next_steps"][0] in injected(request)
    stored = settled(client, session)
    assert stored["meta"]["status"] == "complete"
    assert stored["meta"]["engine"] == "claude"
    assert asked(api) == 1


@pytest.mark.parametrize(
    ("child", "reasons"),
    [
        (failing, {"overload", "bad_answer"}),
        (hanging, {"timeout"}),
        (chatting, {"bad_answer"}),
        (nagging, {"no_login"}),
        (absent, {"no_login"}),
    ],
)
def test_without_the_childs_answer_the_next_request_holds_the_same_facts(
    client, api, child: Callable[[Client, FakeApi], None], reasons: set[str]
):
    child(client, api)
    session, request = compacted(client, api)
    assert_holds_the_thread(request)
    meta = settled(client, session)["meta"]
    assert (meta["status"], meta["reason"] in reasons) == ("partial", True), meta


def test_the_child_and_the_hosts_summary_overlap(client, api):
    summarise_slowly(client, api)

    def after_the_summary_was_asked_for(_: object) -> Answer:
        api.wait(is_summariser)  # a hook that waited for the child would never let this come
        return Answer(document=DOCUMENT)

    answer_child(api, after_the_summary_was_asked_for)
    _, request = compacted(client, api)
    assert JUDGED in injected(request)


def test_in_wait_mode_the_handoff_is_complete_before_the_summary_is_asked_for(client, api):
    variables(client, MODE="wait", JOIN="0")
    answer_child(api, Answer(document=DOCUMENT))
    _, request = compacted(client, api)
    assert JUDGED in injected(request)
    assert api.children[-1].at < api.summaries[0].at


def test_a_compaction_in_the_middle_of_a_turn_keeps_the_ask_that_the_host_drops(client, api):
    variables(client, ENGINE="facts")
    session = begin(client, api, full=False)
    last = write(client, "src/gantry/late.py", tokens=FULL)
    turn(api, ASK, edit(client, EDITED[1]), last)
    run = client.prompt(ASK, session)
    assert run.code == 0
    assert len(api.summaries) == 1
    request = api.talks[-1].body
    assert_holds_the_thread(request)
    assert "src/gantry/late.py" in injected(request)
    assert ASK not in talk_texts(request).replace(injected(request), "")


def test_when_the_resumed_session_compacts_at_once_the_next_request_holds_the_thread_too(
    client, api
):
    variables(client, ENGINE="facts")
    go_on(client, api, begin(client, api))
    assert_holds_the_thread(api.talks[-1].body)


def test_after_a_manual_compaction_the_next_prompts_request_holds_the_thread(client, api):
    summarise_slowly(client, api)
    answer_child(api, Answer(document=DOCUMENT))
    session = begin(client, api, full=False)
    client.compact(session, "keep the parser's name")
    client.prompt("Go on.", session)
    text = injected(api.talks[-1].body)
    assert RULE in text
    assert JUDGED in text
    assert all(path in text for path in EDITED)
    assert settled(client, session)["meta"]["trigger"] == "manual"
    assert "keep the parser's name" in texts(api.children[0].body)


def test_precompacts_hint_reaches_the_hosts_summariser_and_is_no_json(client, api):
    variables(client, ENGINE="facts")
    compacted(client, api)
    instructions = last_text(api.summaries[0].body).partition("Additional Instructions:")[2]
    hint = instructions.partition("REMINDER:")[0].strip()
    assert hint
    assert not hint.startswith(("{", "["))


def test_a_stored_subscription_login_answers_the_child(client, api):
    summarise_slowly(client, api)
    login(client)
    answer_child(api, Answer(document=DOCUMENT))
    session, request = compacted(client, api)
    assert JUDGED in injected(request)
    assert api.children[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert settled(client, session)["meta"]["status"] == "complete"


def login(client: Client) -> None:
    """Store a subscription login and take the key away."""
    client.env["ANTHROPIC_API_KEY"] = None
    account = {
        "accessToken": TOKEN,
        "refreshToken": "sk-ant-ort01-" + "b" * 40,
        "expiresAt": 4_000_000_000_000,
        "scopes": ["user:inference", "user:profile"],
        "subscriptionType": "max",
    }
    path = client.config / ".credentials.json"
    path.write_text(json.dumps({"claudeAiOauth": account}))
    path.chmod(0o600)
