"""One line of the file -> the records on it: glued ones, and the whole one behind a cut one, included.

Standard library only, and light: SessionStart reads through this module too.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The host cuts records in the middle; raw control characters do occur in what others wrote.
_DECODER = json.JSONDecoder(strict=False)
_DIGITS = 18  # kept of an integer that is too long for Python to read
# Compiled when met: most lines are whole, and start-up is paid for at each session.
_START = (
    r'\{"(?:parentUuid|type|uuid|sessionId|isSidechain|message|operation|timestamp|leafUuid|messageId'
    r'|summary|attachment|userType|cwd)":'
)
_BLANK = " \t\r\n\x00\ufeff"
# Enough for any real line; on a hostile one the work is bounded, in attempts and in characters.
_ATTEMPTS = 100
_WORK = 32 << 20
_PROMPT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
_IMPOSSIBLE = 1_000_000_000  # tokens; no API's figure, and no reckoning is made with it


def parse(line: bytes) -> tuple[list[tuple[int, dict[str, Any]]], int]:
    """Return the records on a line, each with the index of its first character, and how many could not be read."""
    text = line.decode("utf-8", "replace")
    found: list[tuple[int, dict[str, Any]]] = []
    skipped = 0
    index = _past_blanks(text, 0)
    attempts = min(_ATTEMPTS, 3 + _WORK // (len(text) + 1))
    while index < len(text):
        value, end = _value(text, index)
        if isinstance(value, dict):
            found.append((index, value))
            index = _past_blanks(text, end)
        else:
            skipped += 1
            index, attempts = _next_record(text, index + 1, attempts)
    return found, skipped


def first(line: bytes) -> dict[str, Any]:
    """Return the first record on a line, {} when there is none."""
    records = parse(line)[0]
    return records[0][1] if records else {}


def reported(usage: Any, *, answer: bool = True) -> int:
    """Return the tokens in context by the `usage` of an answer, with the answer itself or without; 0: it says none."""
    if not isinstance(usage, dict):
        return 0
    values = (usage.get(name) for name in (*_PROMPT, *(("output_tokens",) if answer else ())))
    return sum(value for value in values if type(value) is int and 0 < value < _IMPOSSIBLE)


def _value(text: str, index: int) -> tuple[Any, int]:
    """Return the JSON value at `index` and where it ends, or -1 when there is none."""
    if text[index] not in '{["':
        return None, -1
    try:
        return _DECODER.raw_decode(text, index)
    except json.JSONDecodeError:
        return None, -1
    except ValueError:  # an integer past Python's limit of digits
        return _with_long_integers(text, index)
    except RecursionError:
        return None, -1


def _with_long_integers(text: str, index: int) -> tuple[Any, int]:
    decoder = json.JSONDecoder(strict=False, parse_int=lambda digits: int(digits[:_DIGITS]))
    try:
        return decoder.raw_decode(text, index)
    except (ValueError, RecursionError):
        return None, -1


def _next_record(text: str, index: int, attempts: int) -> tuple[int, int]:
    """Return where the next whole record begins (the text's length when none does), and the attempts left."""
    pattern = re.compile(_START)
    while attempts:
        start = pattern.search(text, index)
        if not start:
            break
        attempts -= 1
        _, end = _value(text, start.start())
        # What is nested in the cut record is followed by a comma or a bracket, never by a record.
        if end >= 0:
            rest = _past_blanks(text, end)
            if rest == len(text) or text[rest] == "{":
                return start.start(), attempts
        index = start.start() + 1
    return len(text), attempts


def _past_blanks(text: str, index: int) -> int:
    while index < len(text) and text[index] in _BLANK:
        index += 1
    return index
