"""The memories in the real client: what is trusted stands in the first request, once; and the slash commands."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.client.conftest import ROOT
from tests.client.story import begin, injected, variables
from tests.support.api import last_text, talk_texts, texts
from tests.support.client import Client

pytestmark = [pytest.mark.client, pytest.mark.usefixtures("hooks")]
BODY = "The gateway drops curl's default headers; call it with httpie."


def keep(client: Client, *arguments: str) -> None:
    """Run `keepthread memory` in the project."""
    subprocess.run(
        [sys.executable, "-m", "keepthread", "memory", *arguments],
        cwd=client.project,
        env=client.environment() | {"PYTHONPATH": str(ROOT / "src"), "PATH": os.defpath},
        check=True,
        capture_output=True,
        timeout=120,
    )


def entry(client: Client) -> None:
    """Put an entry into the team's memory as a pull does."""
    keep(client, "init")
    path = client.project / ".claude" / "team-memory" / "http" / "gateway.md"
    path.parent.mkdir()
    path.write_text(f"---\ntype: project\nauthor: Ada\n---\n{BODY}\n")


def test_an_entry_is_in_the_first_request_once_it_is_trusted_and_not_before(client, api):
    variables(client, ENGINE="facts")
    entry(client)
    client.prompt("Hello.")
    assert BODY not in texts(api.talks[0].body)

    keep(client, "trust", "--yes")
    api.requests.clear()
    run = client.prompt("Hello again.")
    assert f"> {BODY}" in injected(api.talks[0].body)
    client.prompt("And on.", run.session)
    assert talk_texts(api.talks[-1].body).count(BODY) == 1


def test_an_entry_is_there_again_after_a_compaction_that_wiped_it(client, api):
    variables(client, ENGINE="facts")
    entry(client)
    keep(client, "trust", "--yes")
    session = begin(client, api)
    client.prompt("Go on then.", session)
    assert len(api.summaries) == 1
    assert talk_texts(api.talks[-1].body).count(BODY) == 1


def test_remember_lists_what_is_kept_and_asks_for_a_yes(client, api):
    variables(client, ENGINE="facts")
    keep(client, "add", "me.md", BODY, "--type", "feedback", "--description", "the gateway")
    run = client.prompt("/remember the gateway needs httpie")

    assert run.code == 0, run
    said = last_text(api.talks[0].body)
    assert "the gateway needs httpie" in said
    assert "private/feedback" in said
    assert "before a clear yes" in said
    assert "memory add KEY --type TYPE" in said
    assert "!`" not in said


def test_memory_check_gives_the_findings_to_the_model(client, api):
    variables(client, ENGINE="facts")
    keep(client, "add", "me.md", BODY, "--type", "feedback", "--expires", "2020-01-01")
    run = client.prompt("/memory-check")

    assert run.code == 0, run
    assert "remark: me.md (private): expired: since 2020-01-01" in last_text(api.talks[0].body)


def test_the_memory_commands_cost_no_request_a_word(client, api):
    client.prompt("Hello.")
    assert "/remember" not in texts(api.talks[0].body)
    assert "memory-check" not in texts(api.talks[0].body)
