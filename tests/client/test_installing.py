"""In the real client: hooks run after install, in every scope, and none after uninstall."""

from __future__ import annotations

import subprocess
import sys

import pytest

from keepthread.host import settings_env
from tests.client.story import assert_holds_the_thread, compacted, folder, injected, log, variables
from tests.support.api import FakeApi
from tests.support.client import Client
from tests.support.installation import ROOT

pytestmark = pytest.mark.client


def keepthread(client: Client, *arguments: str) -> None:
    """Run the program of this checkout in the project."""
    subprocess.run(
        [sys.executable, "-m", "keepthread", *arguments],
        cwd=client.project,
        env=client.environment() | {"PYTHONPATH": str(ROOT / "src")},
        check=True,
        capture_output=True,
    )


@pytest.mark.parametrize("scope", ["project", "local"])
def test_the_hooks_of_one_project_run_there(client: Client, api: FakeApi, scope: str) -> None:
    variables(client, ENGINE="facts")
    keepthread(client, "install", "--scope", scope)
    session, request = compacted(client, api)

    assert_holds_the_thread(request)
    assert (folder(client, session) / "handoff.json").is_file()


@pytest.mark.parametrize("scope", ["user", "local"])
def test_after_an_uninstall_no_hook_runs_and_the_settings_are_as_they_were(
    client: Client, api: FakeApi, scope: str
) -> None:
    """With values in the env block applied between."""
    client.settings({"env": {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "95"}})
    settings = client.config / "settings.json"
    before = settings.read_bytes()
    keepthread(client, "install", "--scope", scope)
    env, where = client.environment(), str(client.project)
    settings_env.apply_here({"MAX_MCP_OUTPUT_TOKENS": "20000"}, env, where, scope=scope)
    keepthread(client, "uninstall", "--scope", scope)
    _, request = compacted(client, api)

    assert settings.read_bytes() == before
    assert injected(request) == ""
    assert log(client) == []
    assert not (client.project / ".claude").exists()


def test_in_user_and_local_scope_the_same_hook_runs_once(client: Client, api: FakeApi) -> None:
    """The host takes equal entries of two files for one."""
    variables(client, ENGINE="facts")
    keepthread(client, "install")
    keepthread(client, "install", "--scope", "local")
    _, request = compacted(client, api)

    assert_holds_the_thread(request)
    assert len([line for line in log(client) if line["event"] == "pre_compact"]) == 1
