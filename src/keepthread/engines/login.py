"""How the host's own program would log in, found out from variables and files alone, and the flags that follow."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SAFE = "--safe-mode"
BARE = "--bare"

CLOUDS = {
    "CLAUDE_CODE_USE_BEDROCK": "Amazon Bedrock",
    "CLAUDE_CODE_USE_VERTEX": "Google Vertex AI",
    "CLAUDE_CODE_USE_FOUNDRY": "Microsoft Foundry",
}

_KEY = "ANTHROPIC_API_KEY"
# Where a stored login may lie in the system's own keychain, which only its owner can open.
_KEYCHAINS = ("darwin", "win32")
# The host's own state file grows with its user's projects.
_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Login:
    """One way to log in.

    Attributes:
        why: what was found, for `doctor`; holds no secret.
        flags: the child's flags.
        drop: variables that must not reach the child, since they would win over this login.
    """

    why: str
    flags: tuple[str, ...]
    drop: tuple[str, ...] = ()


def find(env: Mapping[str, str], config_dir: str, platform: str) -> Login | None:
    """Return how the host's program would log in, or None when nothing was found.

    `--bare` is the smallest request, but never reads a stored login or CLAUDE_CODE_OAUTH_TOKEN; `--safe-mode`
    reads them. A subscription goes before an API key that merely lies in the environment, since the host would ask
    before it uses such a key, but takes it unasked in print mode.

    Args:
        env: the environment the child would inherit.
        config_dir: the host's configuration folder.
        platform: as `sys.platform`.
    """
    settings = _load(os.path.join(config_dir, "settings.json"))
    state = _state(env, config_dir)
    subscription = _subscription(env, config_dir, state, platform)
    return (
        _cloud(env, settings)
        or _token(env, settings)
        or _key(env, settings, state, alone=not subscription)
        or _helper(settings)
        or _as_login(subscription)
    )


def _cloud(env: Mapping[str, str], settings: dict[str, Any]) -> Login | None:
    for variable, name in CLOUDS.items():
        if _value(variable, env, settings).lower() in ("1", "true", "yes", "on"):
            return Login(f"{name} ({variable} is set)", (BARE,))
    return None


def _token(env: Mapping[str, str], settings: dict[str, Any]) -> Login | None:
    if _value("ANTHROPIC_AUTH_TOKEN", env, settings):
        return Login("ANTHROPIC_AUTH_TOKEN", (BARE,))
    return None


def _key(
    env: Mapping[str, str], settings: dict[str, Any], state: dict[str, Any], *, alone: bool
) -> Login | None:
    if _block(settings).get(_KEY):
        return Login(f"{_KEY} in the user's settings", (BARE,))
    key = env.get(_KEY, "")
    if key and (alone or _approved(key, state)):
        return Login(_KEY, (BARE,))
    return None


def _helper(settings: dict[str, Any]) -> Login | None:
    helper = settings.get("apiKeyHelper")
    if isinstance(helper, str) and helper.strip():
        only = json.dumps({"apiKeyHelper": helper})
        return Login("apiKeyHelper in the user's settings", (BARE, "--settings", only), (_KEY,))
    return None


def _as_login(subscription: str) -> Login | None:
    # The program would prefer a key to the login.
    return Login(subscription, (SAFE,), (_KEY,)) if subscription else None


def _subscription(
    env: Mapping[str, str], config_dir: str, state: dict[str, Any], platform: str
) -> str:
    if env.get("CLAUDE_CODE_OAUTH_TOKEN"):
        return "CLAUDE_CODE_OAUTH_TOKEN"
    stored = _load(os.path.join(config_dir, ".credentials.json")).get("claudeAiOauth")
    if isinstance(stored, dict) and stored.get("accessToken"):
        return "the stored login of the host"
    if state.get("primaryApiKey"):
        return "the stored key of the host's console login"
    if platform in _KEYCHAINS and isinstance(state.get("oauthAccount"), dict):
        return "perhaps a login in the system's keychain: an account is noted, the keychain was not opened"
    return ""


def _approved(key: str, state: dict[str, Any]) -> bool:
    responses = state.get("customApiKeyResponses")
    approved = responses.get("approved") if isinstance(responses, dict) else None
    return isinstance(approved, list) and key[-20:] in approved


def _value(name: str, env: Mapping[str, str], settings: dict[str, Any]) -> str:
    # The child reads this block of the user's settings too, even with --bare.
    block = _block(settings).get(name)
    return block if isinstance(block, str) and block else env.get(name, "")


def _block(settings: dict[str, Any]) -> dict[str, Any]:
    block = settings.get("env")
    return block if isinstance(block, dict) else {}


def _state(env: Mapping[str, str], config_dir: str) -> dict[str, Any]:
    inside = os.path.join(config_dir, ".claude.json")
    # Without CLAUDE_CONFIG_DIR the file lies beside ~/.claude, not in it.
    return _load(inside if env.get("CLAUDE_CONFIG_DIR") else f"{config_dir}.json") or _load(inside)


def _load(path: str) -> dict[str, Any]:
    # An unreadable or broken file is the host's to complain about; for us it holds no login.
    try:
        if os.path.getsize(path) > _LARGEST:
            return {}
        with open(path, encoding="utf-8-sig") as file:
            value = json.load(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
