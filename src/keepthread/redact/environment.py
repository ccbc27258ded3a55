"""The values of secret-looking variables: the only rule that knows secrets of no known form."""

from __future__ import annotations

import re
from collections.abc import Mapping

from keepthread.redact.placeholders import (
    is_number,
    is_path,
    is_placeholder,
    is_plain_url,
    is_wordy,
)

_MINIMUM = 12
_NAME = re.compile(
    r"(?i)(?:^|_)(?:\w*(?:api|access|secret|private|auth|encryption|signing)_?key|key|\w*tokens?|\w*secrets?|"
    r"\w*passw(?:or)?d|\w*passphrase|pass|pwd|\w*credentials?|auth|pat|dsn|cookie)(?:_|\d*$)"
)


def environment_secrets(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values in `env` that are to be replaced wherever they occur, the longest first.

    A value counts when the variable's name looks secret and the value is at least 12 characters and no path, number,
    plain word, or URL without a user.
    """
    found = {value for name, value in env.items() if _NAME.search(name) and _is_secret(value)}
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def _is_secret(value: str) -> bool:
    if len(value) < _MINIMUM or is_placeholder(value):
        return False
    return not (is_path(value) or is_number(value) or is_plain_url(value) or is_wordy(value))
