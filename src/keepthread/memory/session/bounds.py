"""How large a memory may be: each part is bounded by itself, so that the whole stays under 12,000 tokens.

Sizes are bytes of UTF-8; three of them count as a token, as in the prompts. Code and its output have about three, prose
has four, so the whole is rather smaller than it is taken to be.
"""

from __future__ import annotations

from collections.abc import Sequence

from keepthread.handoff.units import cut
from keepthread.handoff.wording import distinct

LARGEST = 12_000  # tokens
BYTES_PER_TOKEN = 3
TITLE = 160  # characters
LINE = 600  # characters of one entry
# Bytes that each part may have in the rendering; with the headings the sum stays under LARGEST.
ROOM = {
    "current_state": 4_800,
    "task": 5_400,
    "files": 4_500,
    "workflow": 1_800,
    "errors": 5_400,
    "codebase_documentation": 3_000,
    "learnings": 2_400,
    "results": 4_200,
    "worklog": 2_700,
}
MOST = {"workflow": 15, "codebase_documentation": 30, "learnings": 30, "worklog": 60}


def fitting(texts: Sequence[str], room: int) -> list[str]:
    """Return the first texts that have room together, each bounded, none twice."""
    kept: list[str] = []
    for text in distinct([cut(text, LINE) for text in texts], len(texts)):
        room -= size(text) + 3  # the bullet and the line's end
        if room < 0:
            break
        kept.append(text)
    return kept


def newest(texts: Sequence[str], room: int, most: int) -> list[str]:
    """Return the last texts that have room together, in their order."""
    return fitting(list(reversed(texts))[:most], room)[::-1]


def size(text: str) -> int:
    """Return the bytes that a text takes in UTF-8."""
    return len(text.encode("utf-8", "replace"))
