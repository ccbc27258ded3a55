"""Secrets in what is stored already: an earlier version may have known fewer forms of them."""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from keepthread import files, redact
from keepthread.handoff.history import FOLDER as EARLIER
from keepthread.handoff.lock import locked

_LIMIT = 8 * 1024 * 1024  # bytes of one file
_MARK = re.compile(r"\[REDACTED:([a-z0-9-]{1,40})\]")
_MARKERS = ("shown-", ".")  # files without words


class Leak(NamedTuple):
    """A stored file that holds secrets: where, of which session or project, found by which rules."""

    path: str
    owner: str
    rules: list[str]


class Search(NamedTuple):
    """What a search came to: the leaks, and how many of how many folders there was time for."""

    leaks: list[Leak]
    searched: int
    folders: int


def search(state: str, secrets: Sequence[str], *, seconds: float) -> Search:
    """Return which stored files hold secrets, the oldest session first; nothing is changed.

    Args:
        state: the state folder.
        secrets: texts that count as secrets wherever they stand.
        seconds: after so long the rest is left out.
    """
    until = time.monotonic() + seconds
    folders = _folders(state)
    leaks: list[Leak] = []
    for number, folder in enumerate(folders):
        if time.monotonic() > until:
            return Search(leaks, number, len(folders))
        leaks += _in_folder(folder, secrets)
    return Search(leaks, len(folders), len(folders))


def mend(leaks: Sequence[Leak], secrets: Sequence[str]) -> list[str]:
    """Put marks in the place of the secrets, in the files themselves; return those that could not be written."""
    failed = []
    for leak in leaks:
        folder = os.path.dirname(leak.path)
        try:
            times = [os.stat(path) for path in (leak.path, folder)]
            with locked(folder):
                data = files.read_regular(leak.path, _LIMIT)
                files.write_private(leak.path, _clean(data, secrets))
            for path, status in zip((leak.path, folder), times, strict=True):
                os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # no younger for it
        except OSError:
            failed.append(leak.path)
    return failed


def _folders(state: str) -> list[str]:
    """Return the folders that hold stored texts, the one changed longest ago first."""
    found: list[tuple[float, str]] = []
    with suppress(OSError), os.scandir(os.path.join(state, "sessions")) as listing:
        folders = [entry for entry in listing if entry.is_dir(follow_symlinks=False)]
        found = [(entry.stat(follow_symlinks=False).st_mtime, entry.path) for entry in folders]
    pins = os.path.join(state, "pins")
    every = [pins] * os.path.isdir(pins)
    for _, path in sorted(found):
        inner = os.path.join(path, EARLIER)
        every += [path, inner] if os.path.isdir(inner) else [path]
    return every


def _in_folder(folder: str, secrets: Sequence[str]) -> Iterator[Leak]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return  # gone this instant
    for name in names:
        path = os.path.join(folder, name)
        if name.startswith(_MARKERS):
            continue
        with suppress(OSError):  # no regular file, or not ours to read
            rules = _rules(files.read_regular(path, _LIMIT), secrets)
            if rules:
                yield Leak(path, _owner(folder), rules)


def _owner(folder: str) -> str:
    above, name = os.path.split(folder)
    return os.path.basename(above) if name == EARLIER else name


def _rules(data: bytes, secrets: Sequence[str]) -> list[str]:
    text = data.decode("utf-8", "replace")
    value = _parsed(text)
    clean = redact.document(value, secrets)
    if clean == value:
        return []
    new = Counter(_MARK.findall(_joined(clean))) - Counter(_MARK.findall(_joined(value)))
    return sorted(new) or ["secret-value"]


def _clean(data: bytes, secrets: Sequence[str]) -> bytes:
    value = _parsed(data.decode("utf-8", "replace"))
    clean = redact.document(value, secrets)
    if isinstance(value, str):
        return str(clean).encode("utf-8", "replace")
    if isinstance(value.get("cuts"), list) and isinstance(value.get("text"), str):
        clean["cuts"] = _moved(value["text"], clean["text"], value["cuts"], secrets)
    return (json.dumps(clean) + "\n").encode()


def _moved(text: str, clean: str, cuts: Sequence[Any], secrets: Sequence[str]) -> list[int]:
    """Return the places at which the text without secrets may end; one inside a secret is none any more."""
    found = []
    for cut in cuts:
        start = redact.text(text[:cut], secrets) if isinstance(cut, int) else ""
        if start and clean.startswith(start):
            found.append(len(start))
    return found


def _parsed(text: str) -> Any:
    """Return the object that the text is, or the text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def _joined(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
