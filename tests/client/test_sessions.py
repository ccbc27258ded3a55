"""A handoff is bound to its session: shown once, to the session it belongs to or one that continues it."""

from __future__ import annotations

import json

import pytest

from tests.client.story import (
    ASK,
    DOCUMENT,
    FULL,
    JUDGED,
    LEFT,
    RULE,
    answer_child,
    asked,
    begin,
    compacted,
    handoff,
    injected,
    log,
    script,
    settled,
    summarise_slowly,
    turn,
    variables,
    write,
)
from tests.support.api import Answer, talk_texts

pytestmark = [pytest.mark.client, pytest.mark.usefixtures("hooks")]


def test_resuming_shows_the_context_once_and_not_twice(client, api):
    variables(client, ENGINE="facts")
    script(client, api, full=True)
    session = client.converse(RULE, LEFT, ASK, "And mend the docs.").session
    first_line = injected(api.talks[-1].body).splitlines()[0]
    for words in ("Go on.", "And further."):
        client.prompt(words, session)
        assert talk_texts(api.talks[-1].body).count(first_line) == 1
    for hook in ("session_start", "session_index"):
        assert [line["outcome"] for line in log(client) if line["event"] == hook] == [
            "shown",
            "shown before",
            "shown before",
        ]


def test_a_compaction_without_a_precompact_of_its_own_shows_the_handoff_again(client, api):
    """The host may swap in a summary prepared ahead: the event before it is missing then."""
    variables(client, ENGINE="facts")
    session, request = compacted(client, api)
    first_line = injected(request).splitlines()[0]
    settings = client.config / "settings.json"
    hooks = json.loads(settings.read_text())
    del hooks["hooks"]["PreCompact"]
    settings.write_text(json.dumps(hooks))
    client.compact(session)
    client.prompt("Go on.", session)
    text = injected(api.talks[-1].body)
    assert text.count(first_line) == 1
    assert RULE in text
    shown = [x["event"] for x in log(client) if x["outcome"] == "shown"]
    assert sorted(shown) == ["session_index"] * 2 + ["session_start"] * 2


def test_a_fork_gets_the_handoff_of_the_session_it_continues_once(client, api):
    variables(client, ENGINE="facts")
    session, request = compacted(client, api)
    first_line = injected(request).splitlines()[0]
    fork = client.prompt("Try it another way.", session, "--fork-session")
    assert fork.session != session
    text = injected(api.talks[-1].body)
    assert text.count(first_line) == 1
    assert RULE in text


def test_a_new_session_of_the_same_project_is_shown_nothing(client, api):
    variables(client, ENGINE="facts")
    compacted(client, api)
    client.prompt("Something else.")
    assert "keepthread" not in injected(api.talks[-1].body)
    assert RULE not in talk_texts(api.talks[-1].body)


def test_a_second_compaction_keeps_the_rule_of_before_the_first(client, api):
    variables(client, ENGINE="facts")
    session, _ = compacted(client, api)
    turn(api, "Write one more.", write(client, "src/more.py"), Answer("Yes.", input_tokens=FULL))
    client.prompt("Write one more.", session)
    client.prompt("What next?", session)
    assert len(api.summaries) == 2
    text = injected(api.talks[-1].body)
    assert RULE in text
    assert "src/more.py" in text
    assert text.count(injected(api.talks[-1].body).splitlines()[0]) == 1
    assert handoff(client, session)["meta"]["ordinal"] == 2


def test_compacting_twice_without_news_does_not_ask_the_child_again(client, api):
    summarise_slowly(client, api)
    answer_child(api, Answer(document=DOCUMENT))
    session = begin(client, api, full=False)
    client.compact(session)
    before = asked(api)
    client.compact(session)
    assert len(api.summaries) == 2
    assert asked(api) == before > 0
    assert settled(client, session)["task"].startswith(JUDGED)  # with its age behind it
