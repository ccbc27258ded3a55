"""What the middle of a long result is made of: the lines that tell most, and a sketch of data, matches and changes."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

ERROR, RESULT, WARNING, TITLE = "errors", "results", "warnings", "titles"
_KINDS: Sequence[tuple[str, re.Pattern[str]]] = (
    (
        RESULT,
        re.compile(
            r"^=*[ \t]*(?:\d+ \w+, )*\d+ (?:passed|failed|passing|failing|pass|fail|examples?|problems?)\b"
            r"|^[ \t]*Tests?(?: Suites| Files| run)?:?[ \t]+\d|^test result: |^Ran \d+ test|^(?:OK|FAILED)(?: \(|$)"
            r"|^Found \d+ error|^Success: no issues|^All checks passed|BUILD (?:SUCC|FAIL)|^Build (?:succ|FAIL)"
            r"|^(?:FAIL|---? FAIL)\b|^FAILED |^ERROR \S+::|\bfound \d+ vulnerabilit|^exit(?:ed)?\b.{0,20}\bcode\b",
            re.IGNORECASE,
        ),
    ),
    (
        ERROR,
        re.compile(
            r"\b(?:error|errors|exception|fatal|panic(?:ked)?|critical|failed|failure|failures|traceback"
            r"|cannot|could not|unable to|denied|refused|not found|no such|undefined|unresolved|segfault|killed)\b"
            r"|\w(?:Error|Exception)\b|^E {2,}|[✗✘✖❌]|^ {2}File \".{1,200}\", line \d+|Caused by:"
            r"|^\s+at .{1,200}:\d+(?::\d+)?\)?$|^goroutine \d+",
            re.IGNORECASE,
        ),
    ),
    (WARNING, re.compile(r"\bwarn(?:ing|ings|ed)?\b|\bdeprecat|⚠", re.IGNORECASE)),
    (TITLE, re.compile(r"^#{1,4} \S|^(?:diff --git|commit [0-9a-f]{7,40}\b|@@ |=== |--- a/)")),
)
_NO_ERROR = re.compile(
    r"\b(?:0|no) (?:errors?|failed|failures?|warnings?)\b|errors?[:=] ?0\b", re.IGNORECASE
)
_MATCH = re.compile(r"^((?:[A-Za-z]:)?[^\s:][^:\n]{0,300}):(\d+)[:-]")
_CHANGED = re.compile(r"^diff --git (?:a/)?(\S{1,300}) ")
_NUMBERS = re.compile(r"\d+")
_SHOWN = 240  # characters of one line
_JSON_LIMIT = 4_000_000  # characters
_KEYS = 12
_LISTED = 8
_DEPTH = 3


def kind_of(line: str) -> str:
    """Return what a line tells of: errors, results, warnings, titles; "" for an ordinary one."""
    start = line[: _SHOWN * 2]
    for kind, pattern in _KINDS:
        if pattern.search(start) and not (kind == ERROR and _NO_ERROR.search(start)):
            return kind
    return ""


def telling(kinds: Sequence[str], lines: Sequence[str], room: int) -> list[int]:
    """Return the indices of the lines to be shown, in order: those that tell most, within `room` characters.

    Results and errors go before warnings, and those before titles; of lines that differ in numbers alone, one. `kinds`
    holds what each line tells of, "" also for one that is shown already.
    """
    chosen: list[int] = []
    seen: set[str] = set()
    for wanted in ((RESULT,), (ERROR,), (WARNING,), (TITLE,)):
        for at, kind in enumerate(kinds):
            if kind not in wanted:
                continue
            alike = _NUMBERS.sub("0", lines[at].strip())[:120] if kind != RESULT else lines[at]
            cost = min(len(lines[at]), _SHOWN) + 40  # the gap before it is named in a line of ours
            if alike in seen or cost > room:
                continue
            seen.add(alike)
            chosen.append(at)
            room -= cost
    return sorted(chosen)


def sketch(text: str, lines: Sequence[str]) -> list[str]:
    """Return what the whole consists of, in a few lines: JSON by its keys, matches and changes by their files."""
    parsed = _json(text)
    if parsed is not None:
        return [f"as JSON it is {_outline(parsed, 0)}"]
    changed = _per_file_changes(lines)
    if changed:
        return [f"changes by file: {_listed(changed.items())}"]
    matches = Counter(found[1] for line in lines if (found := _MATCH.match(line)))
    if len(matches) > 1 and matches.total() * 2 > len(lines):
        most = sorted(matches.items(), key=lambda item: -item[1])
        return [f"{matches.total()} matches in {len(matches)} files: {_listed(most)}"]
    return []


def _json(text: str) -> Any:
    if text.lstrip()[:1] not in ("{", "[") or len(text) > _JSON_LIMIT:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _outline(value: Any, depth: int) -> str:
    if isinstance(value, dict):
        if depth >= _DEPTH:
            return f"object of {len(value)}"
        members = [
            f"{str(key)[:40]}: {_outline(value[key], depth + 1)}" for key in list(value)[:_KEYS]
        ]
        more = [f"{len(value) - _KEYS} more"] if len(value) > _KEYS else []
        return "{" + ", ".join(members + more) + "}"
    if isinstance(value, list):
        first = f" of {_outline(value[0], depth + 1)}" if value and depth < _DEPTH else ""
        return f"array of {len(value)}" + (f", each{first}" if first else "")
    if isinstance(value, str):
        return f"text of {len(value)}" if len(value) > 40 else "text"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    return "number"


def _per_file_changes(lines: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    name, added, removed = "", 0, 0
    for line in [*lines, "diff --git end end"]:
        start = _CHANGED.match(line)
        if start:
            if name:
                found[name] = f"+{added} -{removed}"
            name, added, removed = start[1], 0, 0
        elif name and line[:1] == "+" and line[:3] != "+++":
            added += 1
        elif name and line[:1] == "-" and line[:3] != "---":
            removed += 1
    return found


def _listed(items: Iterable[tuple[str, object]]) -> str:
    every = list(items)
    shown = ", ".join(f"{name[:120]} {figure}" for name, figure in every[:_LISTED])
    left = len(every) - _LISTED
    return f"{shown}, and {left} more files" if left > 0 else shown
