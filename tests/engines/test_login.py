"""How each way to log in is recognised from variables and files alone, and the flags that follow."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from keepthread.engines.login import find

KEY = "sk-ant-api03-" + "k" * 40


def write(path: Path, value: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def stored(home: Path) -> None:
    write(home / ".claude" / ".credentials.json", {"claudeAiOauth": {"accessToken": "sk-ant-oat"}})


def login(home: Path, platform: str = "linux", **env: str):
    return find(env, str(home / ".claude"), platform)


@pytest.mark.parametrize(
    "env",
    [
        {"CLAUDE_CODE_USE_BEDROCK": "1"},
        {"CLAUDE_CODE_USE_VERTEX": "true"},
        {"CLAUDE_CODE_USE_FOUNDRY": "1"},
        {"ANTHROPIC_AUTH_TOKEN": "token"},
        {"ANTHROPIC_API_KEY": KEY},
    ],
)
def test_clouds_tokens_and_keys_go_bare(home, env):
    found = login(home, **env)
    assert (found.flags, found.drop) == (("--bare",), ())


def test_a_cloud_that_is_switched_off_is_none(home):
    assert login(home, CLAUDE_CODE_USE_BEDROCK="0") is None


def test_an_oauth_token_and_a_stored_login_need_safe_mode(home):
    assert login(home, CLAUDE_CODE_OAUTH_TOKEN="t").flags == ("--safe-mode",)
    stored(home)
    assert login(home).flags == ("--safe-mode",)


def test_a_stray_key_gives_way_to_a_stored_login(home):
    stored(home)
    found = login(home, ANTHROPIC_API_KEY=KEY)
    assert (found.flags, found.drop) == (("--safe-mode",), ("ANTHROPIC_API_KEY",))


@pytest.mark.parametrize("moved", [False, True])
def test_a_key_its_user_approved_wins_over_a_stored_login(home, moved):
    stored(home)
    place = home / ".claude" / ".claude.json" if moved else home / ".claude.json"
    write(place, {"customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []}})
    env = {"CLAUDE_CONFIG_DIR": str(home / ".claude")} if moved else {}
    assert login(home, ANTHROPIC_API_KEY=KEY, **env).flags == ("--bare",)


def test_a_key_in_the_users_settings_was_chosen(home):
    stored(home)
    write(home / ".claude" / "settings.json", {"env": {"ANTHROPIC_API_KEY": KEY}})
    assert login(home).flags == ("--bare",)


def test_a_helper_is_passed_on_alone_and_no_key_beside_it(home):
    stored(home)
    settings = {"apiKeyHelper": "/opt/key 'x'", "hooks": {}, "env": {"A": "b"}}
    write(home / ".claude" / "settings.json", settings)
    found = login(home, ANTHROPIC_API_KEY=KEY)
    assert found.flags[:2] == ("--bare", "--settings")
    assert json.loads(found.flags[2]) == {"apiKeyHelper": "/opt/key 'x'"}
    assert found.drop == ("ANTHROPIC_API_KEY",)


def test_a_stored_console_key_needs_safe_mode(home):
    write(home / ".claude.json", {"primaryApiKey": KEY})
    assert login(home).flags == ("--safe-mode",)


def test_a_keychain_is_a_perhaps_where_there_is_one(home):
    write(home / ".claude.json", {"oauthAccount": {"emailAddress": "dev@example.org"}})
    found = login(home, "darwin")
    assert found.flags == ("--safe-mode",)
    assert "perhaps" in found.why
    assert "example.org" not in found.why
    assert login(home, "linux") is None


@pytest.mark.parametrize(
    "content", [b"{", b"[]", b'{"claudeAiOauth": 5}', b"\xff\xfe", b"[" * 99_999]
)
def test_broken_files_hold_no_login(home, content):
    (home / ".claude").mkdir()
    for name in (".credentials.json", "settings.json"):
        (home / ".claude" / name).write_bytes(content)
    (home / ".claude.json").write_bytes(content)
    assert login(home) is None


def test_no_secret_is_in_what_is_said(home):
    for env in (
        {"ANTHROPIC_API_KEY": KEY},
        {"ANTHROPIC_AUTH_TOKEN": KEY},
        {"CLAUDE_CODE_OAUTH_TOKEN": KEY},
    ):
        assert KEY not in login(home, **env).why
