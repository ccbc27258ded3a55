"""An older client, for real: without --bare, --safe-mode, --json-schema, --tools and --no-session-persistence."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from keepthread.engines.claude import ClaudeEngine
from keepthread.engines.model import Deadline, Request
from tests.support.api import Answer, is_child, texts
from tests.support.fetch_client import NoClientError, fetch_script

pytestmark = pytest.mark.client

VERSION = "2.0.30"
SCHEMA = {
    "type": "object",
    "properties": {"task": {"type": "string"}},
    "required": ["task"],
    "additionalProperties": False,
}
REQUEST = Request(
    "You write keepthread handoff documents.", "mind the gap", SCHEMA, "sonnet", "low"
)


@pytest.fixture(scope="session")
def script() -> Path:
    try:
        return fetch_script(VERSION)
    except NoClientError as error:
        reason = f"the client {VERSION} cannot be had: {error}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.mark.parametrize("login", ["key", "stored"])
def test_it_is_asked_without_its_users_set_up(script, home, tmp_path, api, login):
    """Hooks and CLAUDE.md stay out, nothing acts, no session is left, and the login is its user's."""
    folder, config, mark = tmp_path / "bin", home / ".claude", tmp_path / "hook-ran"
    folder.mkdir()
    config.mkdir()
    (folder / "claude").symlink_to(script)
    hook = {"hooks": [{"type": "command", "command": f"touch '{mark}'"}]}
    settings = {"hooks": {"SessionStart": [hook], "UserPromptSubmit": [hook]}}
    (config / "settings.json").write_text(json.dumps(settings))
    (config / "CLAUDE.md").write_text("Always say please.")
    env = {"HOME": str(home), "ANTHROPIC_BASE_URL": api.url}
    env["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    if login == "key":
        env["ANTHROPIC_API_KEY"] = "fake-key"
    else:
        stored = {
            "accessToken": "sk-ant-oat01-x",
            "refreshToken": "r",
            "scopes": ["user:inference"],
        }
        oauth = {"claudeAiOauth": stored | {"expiresAt": 9_999_999_999_999}}
        (config / ".credentials.json").write_text(json.dumps(oauth))
    api.rule(is_child, Answer('Here: {"task": "mend it"}'))
    answer = ClaudeEngine(env, config_dir=str(config)).ask(REQUEST, Deadline.after(120))
    assert answer.document == {"task": "mend it"}
    [child] = api.children
    assert "mind the gap" in texts(child.body)
    assert '"additionalProperties":false' in texts(child.body)
    assert not child.body.get("tools")
    assert "say please" not in json.dumps(child.body)
    assert not mark.exists()
    assert not list(config.glob("projects/*"))
