"""At how many tokens one's own sessions were compacted, from the boundaries in their transcripts; bounded reading."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from keepthread.transcript.boundaries import MARK, is_boundary
from keepthread.transcript.lines import lines, open_regular, size_of
from keepthread.transcript.parse import parse

FILES = 40  # the newest transcripts of all projects
_EACH = 32 << 20  # bytes of one, from its end
_ALL = 256 << 20  # bytes of all together
_MODEL = re.compile(rb'"model":"([A-Za-z0-9][A-Za-z0-9._:@/\[\]-]{0,99})"')


class Seen(NamedTuple):
    """One compaction: the model that had answered before it ("" unknown), who asked for it, the tokens before it."""

    model: str
    trigger: str
    tokens: int


def observed(config_dir: str) -> list[dict[str, Any]]:
    """Return the compactions of the newest sessions: [{model, trigger, count, least, median, most}], tokens."""
    groups: dict[tuple[str, str], list[int]] = defaultdict(list)
    left = _ALL
    for path in _newest(os.path.join(config_dir, "projects")):
        if left <= 0:
            break
        read, found = _boundaries(path, min(_EACH, left))
        left -= read
        for one in found:
            groups[one.model, one.trigger].append(one.tokens)
    return [
        {"model": model, "trigger": trigger, "count": len(sizes), **_spread(sorted(sizes))}
        for (model, trigger), sizes in sorted(groups.items())
    ]


def last_model(path: str) -> str:
    """Return the model that answered last in a session, be it before a compaction; "" when none did."""
    try:
        with open_regular(path) as file:
            size = size_of(file)
            for _, _, line in lines(file, size, max(0, size - _EACH)):
                if name := _model_in(line):
                    return name
    except OSError:
        pass  # unreadable: it tells nothing
    return ""


def _model_in(line: bytes) -> str:
    if b'"assistant"' not in line or b'"isSidechain":true' in line:
        return ""
    found = _MODEL.search(line)
    return found.group(1).decode("ascii") if found else ""


def _spread(sizes: list[int]) -> dict[str, int]:
    return {"least": sizes[0], "median": sizes[len(sizes) // 2], "most": sizes[-1]}


def _newest(folder: str) -> list[str]:
    found = sorted(_transcripts(folder), reverse=True)
    return [path for _, path in found[:FILES]]


def _transcripts(folder: str) -> Iterator[tuple[float, str]]:
    for project in _entries(folder):
        for entry in _entries(project.path) if project.is_dir(follow_symlinks=False) else ():
            if entry.name.endswith(".jsonl") and entry.is_file(follow_symlinks=False):
                yield _mtime(entry), entry.path


def _mtime(entry: os.DirEntry[str]) -> float:
    try:
        return entry.stat().st_mtime
    except OSError:
        return 0.0  # gone since it was listed


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            return list(listing)
    except OSError:
        return []


def _boundaries(path: str, limit: int) -> tuple[int, list[Seen]]:
    """Return how many bytes were read, and the compactions among them that say their size."""
    found: list[Seen] = []
    waiting: list[Seen] = []  # for the answer before them, which names the model
    try:
        with open_regular(path) as file:
            size = size_of(file)
            floor = max(0, size - limit)
            for _, _, line in lines(file, size, floor):
                if MARK in line:
                    waiting += _in_line(line)
                elif waiting and (name := _model_in(line)):
                    found += [one._replace(model=name) for one in waiting]
                    waiting = []
    except OSError:
        return 0, []  # unreadable: it tells nothing
    return size - floor, [*found, *waiting]


def _in_line(line: bytes) -> Iterator[Seen]:
    for _, raw in parse(line)[0]:
        details = raw.get("compactMetadata")
        if is_boundary(raw) and isinstance(details, dict):
            tokens, trigger = details.get("preTokens"), details.get("trigger")
            if isinstance(tokens, int) and tokens > 0:
                yield Seen("", "manual" if trigger == "manual" else "auto", tokens)
