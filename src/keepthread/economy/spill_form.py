"""The short form of a long result: its head, what tells most of the middle, its tail, and where the whole lies.

Lines of ours begin with "[keepthread:"; all the others are the result's own, in their order, a long one with its middle
left out. The last lines are always the result's: that is where a command says what it came to.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

from keepthread.economy import spill_outline as outline
from keepthread.redact import hidden

_HEAD, _TAIL = 0.25, 0.45  # of the room; the middle has what they leave
_LINE = 600  # characters of one line in head or tail
_MIDDLE_LINE = 240
_SKETCH = 600
_CRUMB = 60
_UNSEEN = re.compile(
    "|".join(
        f"(?:{one})"
        for one in (
            hidden.ANSI,
            hidden.CONTROLS,
            hidden.INVISIBLE,
            hidden.JOINERS,
            hidden.SELECTORS,
        )
    )
)
_POSES = re.compile(r"\W?\s*keepthread\s*:", re.IGNORECASE)
_NAMED = (outline.ERROR, outline.WARNING)


def short_form(text: str, path: str, room: int) -> str:
    """Return the short form of a result in about `room` characters; the same arguments give the same form.

    Args:
        text: the whole result, secrets taken out.
        path: where it lies.
        room: characters for its own lines and the sketch of it; what ours say of gaps comes on top.
    """
    lines = text.split("\n")
    longest = max(_LINE, room // min(len(lines), 4))
    head = _fitting(lines, int(room * _HEAD), longest)
    tail = _fitting(reversed(lines[head:]), int(room * _TAIL), longest) if len(lines) > head else 0
    end = len(lines) - tail
    kinds = [
        "" if at < head or at >= end else outline.kind_of(line) for at, line in enumerate(lines)
    ]
    sketched = [_flat(line) for line in outline.sketch(text, lines)]
    left = room - sum(min(len(line), longest) for line in (*lines[:head], *lines[end:]))
    middle = outline.telling(kinds, lines, left - sum(map(len, sketched)))
    shown = _without_crumbs([*range(head), *middle, *range(end, len(lines))], lines)
    kept = {
        at: _cut(lines[at], longest if at < head or at >= end else _MIDDLE_LINE) for at in shown
    }
    gone = Counter(kind for at, kind in enumerate(kinds) if kind in _NAMED and at not in kept)
    return "\n".join([_header(text, lines, path, gone), *_body(kept, head, sketched)])


def _without_crumbs(shown: Sequence[int], lines: Sequence[str]) -> list[int]:
    """Return the lines shown and those between them that are no longer than what would be said of the gap."""
    full: list[int] = []
    for at in shown:
        between = range(full[-1] + 1, at) if full else range(0)
        if sum(len(lines[one]) + 1 for one in between) <= _CRUMB:
            full += between
        full.append(at)
    return full


def _fitting(lines: Iterable[str], room: int, longest: int) -> int:
    """Return how many lines fit, at least one."""
    count = 0
    for line in lines:
        room -= min(len(line), longest) + 1
        if room < 0 and count:
            break
        count += 1
    return count


def _header(text: str, lines: Sequence[str], path: str, gone: Counter[str]) -> str:
    unseen = " and ".join(f"{gone[kind]} more of {kind}" for kind in _NAMED if gone[kind])
    more = f" Lines left out below: {unseen}." if unseen else ""
    return (
        f"[keepthread: shortened. The whole result, {len(lines)} lines and {len(text)} characters, secrets taken out,"
        f" is in {path}: search it, or read a part of it, when what is left out matters.{more}]"
    )


def _body(kept: dict[int, str], head: int, sketched: Sequence[str]) -> list[str]:
    """Return the lines of the result that are shown, with a line of ours wherever some are left out."""
    body: list[str] = []
    following = 0
    for at, line in kept.items():
        if at > following:
            gap = f"lines {following + 1} to {at}" if at > following + 1 else f"line {at}"
            body.append(f"[keepthread: {gap} left out]")
        body.append(_harmless(line))
        following = at + 1
        if following == head:
            body += [f"[keepthread: {line}]" for line in sketched]
    return body


def _cut(line: str, longest: int) -> str:
    if len(line) <= longest:
        return line
    start = longest * 2 // 3
    end = len(line) - (longest - start)
    return f"{line[:start]} [... {end - start} characters ...] {line[end:]}"


def _flat(line: str) -> str:
    """Return a line of the sketch bounded and without what could end our line: names in it are foreign."""
    plain = " ".join(line.split())[:_SKETCH]
    return _harmless(plain).replace("[", "(").replace("]", ")")


def _harmless(line: str) -> str:
    """Return a line of the result that cannot be taken for one of ours; nearly all are what they were."""
    if line.isascii() and "\x1b" not in line and "keepthread" not in line.lower():
        return line
    plain = unicodedata.normalize("NFKC", _UNSEEN.sub("", line))
    return _POSES.sub(" (keepthread) ", plain) if _POSES.search(plain) else line
