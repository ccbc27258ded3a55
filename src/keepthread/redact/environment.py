"""The values of secret-looking variables: the only rule that knows secrets of no known form."""

from __future__ import annotations

from collections.abc import Mapping

from keepthread.redact.placeholders import (
    is_number,
    is_path,
    is_placeholder,
    is_plain_url,
    is_wordy,
)

_MINIMUM = 12
_WORDS = frozenset(
    (
        "KEY", "KEYS", "TOKEN", "TOKENS", "SECRET", "SECRETS", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "PWD",
        "AUTH", "CREDENTIAL", "CREDENTIALS", "PAT", "DSN", "COOKIE", "JWT",
    )
)  # fmt: skip
_ENDINGS = (
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "APIKEY",
    "ACCESSKEY",
    "SECRETKEY",
    "PRIVATEKEY",
)


def environment_secrets(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values in `env` that are to be replaced wherever they occur, the longest first.

    A value counts when the variable's name looks secret and the value is at least 12 characters and no path, number,
    plain word, or URL without a user.
    """
    found = {value for name, value in env.items() if _names_secret(name) and _is_secret(value)}
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def _names_secret(name: str) -> bool:
    parts = [part.rstrip("0123456789") for part in name.upper().replace("-", "_").split("_")]
    return any(part in _WORDS or part.endswith(_ENDINGS) for part in parts)


def _is_secret(value: str) -> bool:
    if len(value) < _MINIMUM or is_placeholder(value):
        return False
    return not (is_path(value) or is_number(value) or is_plain_url(value) or is_wordy(value))
