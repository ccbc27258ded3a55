"""/clear and /pin in the real client."""

from __future__ import annotations

import pytest

from tests.client.conftest import ROOT, install
from tests.client.story import RULE, compacted, injected, log, script, variables
from tests.support.api import last_text, talk_texts

pytestmark = [pytest.mark.client, pytest.mark.usefixtures("hooks")]
PIN = "Never say 'done' before `make check` is green; ask $USER && wait."


def test_what_clear_ends_is_offered_to_the_session_after_it(client, api):
    variables(client, ENGINE="facts", SOURCES="compact,resume,fork,clear")
    install(client, ROOT)
    script(client, api, full=False)

    run = client.converse(RULE, "/clear", "What were we at?")

    assert run.code == 0, run
    assert [line["event"] for line in log(client)].count("session_end") == 1, log(client)
    told = injected(api.talks[-1].body)
    assert told.startswith("From the session before"), told[:300]
    assert RULE in told
    client.prompt("And a session of its own.")
    assert "From the session before" not in injected(api.talks[-1].body)


def test_a_pin_typed_in_the_client_is_kept_word_for_word_through_a_compaction(client, api):
    variables(client, ENGINE="facts")
    run = client.prompt(f"/pin {PIN}")
    assert run.code == 0, run
    assert f"Pinned in the project {client.project}: {PIN}" in last_text(api.talks[-1].body)

    _, request = compacted(client, api)

    assert f"- {PIN}" in injected(request)
    assert "Pins" in talk_texts(request)


def test_a_pin_with_a_secret_is_refused_in_the_client_and_the_secret_is_stored_nowhere(client, api):
    variables(client, ENGINE="facts")
    secret = "gh" + "p_" + "a1B2" * 9
    run = client.prompt(f"/pin use {secret}")

    state = client.config / "keepthread"
    stored = [path.read_bytes() for path in state.rglob("*") if path.is_file()]
    assert [data for data in stored if secret.encode() in data] == []
    assert not (state / "pins").exists()
    assert "holds a secret (rule github-token)" in run.stdout + run.stderr + str(run.result)
