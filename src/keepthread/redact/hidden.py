"""Characters that nobody sees. Rendering takes them out, so redaction must see a text as if they were gone.

A zero-width character inside a token would otherwise hide it from every pattern, and the token would stand whole in
what is shown.
"""

from __future__ import annotations

import re

ANSI = r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}[@-~]|\x1b\][^\x07\x1b\n]{0,512}(?:\x07|\x1b\\)|\x1b[@-Z\\-_]"
LINE_ENDS = r"\r\n?|[\x0b\x0c\x85\u2028\u2029]"
CONTROLS = r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]"

# Zero-width, bidirectional, fillers, tags.
INVISIBLE = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
JOINERS = "[\u200c\u200d]+"
SELECTORS = "[\ufe00-\ufe0f]+"  # can carry hidden bytes

_GONE = f"(?:{ANSI}|{CONTROLS}|{INVISIBLE}|{JOINERS}|{SELECTORS})+"
# One set of characters, which is searched for ten times as fast as the forms above; most texts have none of them.
_FIRST = CONTROLS[:-1] + INVISIBLE[1:-1] + JOINERS[1:-2] + SELECTORS[1:-1].replace("]", "") + "]"
_ENDS = dict.fromkeys(map(ord, "\x0b\x0c\x85\u2028\u2029"), "\n")


def runs(value: str) -> list[tuple[int, int]]:
    """Return where nothing is shown, in order, each as (start, end)."""
    if not re.search(_FIRST, value):
        return []
    return [match.span() for match in re.finditer(_GONE, value)]


def plain_ends(value: str) -> str:
    """Return `value` with every line end that is one character as a line feed: places stay as they were."""
    return value.translate(_ENDS) if re.search("[\x0b\x0c\x85\u2028\u2029]", value) else value


def shown(value: str) -> str:
    """Return `value` without what nobody sees."""
    return plain_ends(re.sub(_GONE, "", value) if re.search(_FIRST, value) else value)
