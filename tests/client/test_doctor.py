"""doctor and status beside the real client: what ran is seen, what the host left out is named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.client.story import ASK, RULE, variables
from tests.support.client import Client
from tests.support.fetch_client import PINNED

pytestmark = [pytest.mark.client, pytest.mark.usefixtures("hooks")]

SOURCE = Path(__file__).parents[2] / "src"


def keepthread(client: Client, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "keepthread", *arguments],
        cwd=client.project,
        env=client.environment() | {"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def checks(client: Client) -> dict[str, Any]:
    found = json.loads(keepthread(client, "doctor", "--json").stdout)["checks"]
    return {check["name"]: check for check in found}


def compacted(client: Client, *more: str) -> None:
    session = client.prompt(f"{RULE} {ASK}", None, *more).session
    client.prompt("/compact", session, *more)
    assert any(one.get("subtype") == "compact_boundary" for one in client.records(session))


def test_after_a_compaction_nothing_is_wrong_and_the_hooks_were_seen(client: Client) -> None:
    """By the log and the transcript alone; the client's version is its own word."""
    variables(client, ENGINE="facts")
    compacted(client)
    found = checks(client)

    assert [name for name, check in found.items() if not check["ok"]] == []
    assert found["hooks fire"]["detail"].startswith("pre_compact, session_start, post_compact")
    assert f" is {PINNED}" in found["client"]["detail"]
    status = keepthread(client, "status").stdout.splitlines()
    assert any(line.startswith("Handoff      partial (engine_facts), by facts") for line in status)
    assert "Compactions  1" in status


def test_hooks_that_the_host_left_out_are_named(client: Client) -> None:
    """A run without hooks looks like a folder that is not trusted."""
    variables(client, ENGINE="facts")
    compacted(client, "--settings", '{"disableAllHooks": true}')
    found = checks(client)

    assert [name for name, check in found.items() if not check["ok"]] == ["hooks fire"]
    assert found["hooks fire"]["detail"].startswith("never ran here: pre_compact, session_start")
