"""What stands where a secret would, and is none: examples, references to variables, words."""

from __future__ import annotations

import re
from itertools import pairwise

MARK = "[REDACTED:"

# Patterns are plain texts here: re compiles and keeps each when it is first needed, and most runs need none.

_REFERENCE = (
    r"[$%<{@*&]"  # $NAME ${NAME} $(command) %NAME% <token> {{ name }} *** and YAML anchors
    r"|\[REDACTED"
    r"|(?:os\.(?:environ|getenv)|process\.env|import\.meta|ENV\[|env[.(\[]|getenv|secrets?[.:\[]|vault:|var\.|"
    r"self\.|this\.|args\.|config[.\[]|settings\.|op://|arn:|file:|data:)"
)
_EXPRESSION = (
    r"\](?:[*+?.]|\{[0-9])|\{[0-9]{1,4},[0-9]{0,4}\}"  # the form of a secret: [a-z0-9]{20,}
)
_EXAMPLE = (
    "example", "changeme", "change-me", "change_me", "placeholder", "your-", "your_", "yourtoken", "yourkey",
    "yourpassword", "dummy", "xxx", "***", "...", "…", "${", "$(", "{{", "not-needed", "redacted", "<your",
    "insert-", "replace-", "replace_", "os.environ", "process.env",
)  # fmt: skip
_WORDS = frozenset(
    (
        "true", "false", "none", "null", "nil", "undefined", "required", "optional", "enabled", "disabled",
        "string", "integer", "boolean", "unknown", "password", "passwd", "passphrase", "pass", "secret",
        "token", "apikey", "api_key", "api-key", "credentials", "bearer", "basic", "default", "anonymous",
        "username", "missing", "invalid", "expired", "hidden", "masked", "str", "int", "bool", "any", "object",
    )
)  # fmt: skip
_NUMBER = r"[-+]?[\d.,_]+(?:[eE][-+]?\d+)?(?:[kKmMgG%]|ms|s)?"
_WORDY = r"[A-Za-z]+(?:[ _.:/-]+[A-Za-z]+)*[.!?:]?"
_PATH = r"(?:~|\.{1,2})?/[\w.@+~-]+(?:/|$)|[A-Za-z]:\\|\\\\|[\w.-]+(?:/[\w.-]+)*\.\w{1,5}$"
_URL = r"[a-zA-Z][a-zA-Z0-9+.-]{1,20}://[^\s@]*$"
_CALL = (
    r"(?:[Uu]?[Ii]nt|[Ff]loat|BigU?[Ii]nt|complex|utf-?|sha-?|[Bb]ase)[0-9]{1,3}\w*$"
    r"|[A-Za-z_$][\w.$:]*[(\[]"
    r"|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+[);,]*$"
)


def is_placeholder(value: str) -> bool:
    """Return whether this is a reference, an example or a plain word, and no secret of its own."""
    if re.match(_REFERENCE, value) or re.search(_EXPRESSION, value):
        return True
    lower = value.lower()
    return lower in _WORDS or any(part in lower for part in _EXAMPLE)


def is_example(token: str) -> bool:
    """Return whether a text in a vendor's format is the vendor's example: EXAMPLE in it, or all of it crossed out."""
    lower = token.lower()
    return "example" in lower or len(set(lower[-20:]) - set("x*._-")) == 0


def is_number(value: str) -> bool:
    """Return whether this is a number, with separators, exponent or unit."""
    return re.fullmatch(_NUMBER, value) is not None


def is_path(value: str) -> bool:
    """Return whether this is the path of a file."""
    return re.match(_PATH, value) is not None


def is_random(value: str) -> bool:
    """Return whether lower case, upper case and digits take turns as they do in random text, and in no path."""
    kinds = ["a" if c.islower() else "A" if c.isupper() else "0" for c in value if c.isalnum()]
    turns = sum(one != other for one, other in pairwise(kinds))
    return len(kinds) >= 16 and turns >= len(kinds) * 0.4


def is_plain_url(value: str) -> bool:
    """Return whether this is a URL without a user in it."""
    return re.match(_URL, value) is not None


def is_wordy(value: str) -> bool:
    """Return whether this is made of words: an identifier, a phrase, a dotted name; no digit, no sign."""
    return re.fullmatch(_WORDY, value) is not None


def is_code(value: str) -> bool:
    """Return whether this is a call, an index, an attribute, or a type with a number in its name."""
    return re.match(_CALL, value) is not None


def classes(value: str) -> int:
    """Return how many of these occur: lower case, upper case, digits, others."""
    kinds = {
        "a" if c.islower() else "A" if c.isupper() else "0" if c.isdigit() else "-" for c in value
    }
    return len(kinds)


def is_mixed(value: str) -> bool:
    """Return whether letters and digits both occur, as they do in random text."""
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
