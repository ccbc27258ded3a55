"""A profile as one marked block in a file of the user's: a shell's start file, or any other that exports variables.

Every byte outside the block stays, and taking the block out gives back the file as it was. The begin mark says what
else is ours: the line break before it, and the file itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from keepthread.errors import KeepthreadError
from keepthread.host import settings_file
from keepthread.host.settings_file import Snapshot

BEGIN, END = b"# >>> keepthread profile ", b"# <<< keepthread profile <<<"
_BLOCK = re.compile(
    rb"^# >>> keepthread profile (?P<name>[a-z0-9_-]{1,40})(?P<ours>(?: \+newline)?(?: \+file)?) >>>(?P<eol>\r?\n)"
    rb"(?P<body>(?:(?!# [<>]{3} keepthread profile ).*\n)*?)"
    rb"# <<< keepthread profile <<<(?:\r?\n|\Z)",
    re.MULTILINE,
)
_SAFE = re.compile(r"[\w@%+=:,./-]*", re.ASCII)
_NAMED = re.compile(
    rb"^[ \t]*(?:export[ \t]+|set[ \t]+-\w+[ \t]+)?([A-Za-z_]\w*)[ =]", re.MULTILINE
)
UNREAD = (
    "The client does not read ~/.claude/.env by itself (measured): these values count only where your shell "
    "reads this file before it starts the client. `keepthread profile apply` without --env-file needs no shell"
)


class Change(NamedTuple):
    """What becomes of a file: its path with links followed, its bytes before and after (None: no file), and notes."""

    path: str
    before: bytes | None
    after: bytes | None
    notes: list[str]

    @property
    def changed(self) -> bool:
        """Whether any byte differs."""
        return self.before != self.after


def put(path: str, name: str, values: Mapping[str, str], *, dry_run: bool = False) -> Change:
    """Put a profile's block into a file, in the place of an earlier one; without values it is taken out.

    Raises:
        KeepthreadError: the file cannot be read or written, is read-only, was written by another program in the same
            moment, or holds half a block; it is unchanged.
    """
    real = os.path.realpath(path)
    snapshot = settings_file.read(real)
    before = snapshot.data
    bare, ours, at = _without(before or b"", path)
    if not values:
        return _done(snapshot, _rest(before, bare, ours), [], dry_run)
    created = before is None or b"+file" in ours
    lines = b"\r\n" if b"\r\n" in bare and bare.count(b"\r\n") * 2 > bare.count(b"\n") else b"\n"
    head, tail = (bare, b"") if at is None else (bare[:at], bare[at:])
    gap = lines if head and not head.endswith(b"\n") else b""
    marks = (b" +newline" if gap else b"") + (b" +file" if created else b"")
    fish = real.endswith(".fish")
    body = [_assignment(key, value, fish).encode() for key, value in values.items()]
    block = lines.join([BEGIN + name.encode() + marks + b" >>>", *body, END, b""])
    named = {found.decode() for found in _NAMED.findall(bare)}
    notes = [f"{key} is set elsewhere in {path} too" for key in values if key in named]
    return _done(snapshot, head + gap + block + tail, notes, dry_run)


def _without(data: bytes, path: str) -> tuple[bytes, bytes, int | None]:
    """Return a file without our block, what else of it is ours, and where the block stood."""
    found = list(_BLOCK.finditer(data))
    if len(found) != data.count(BEGIN) or len(found) != data.count(END) or len(found) > 1:
        line = data[: max(data.find(BEGIN), data.find(END), 0)].count(b"\n") + 1
        raise KeepthreadError(
            f"{path}:{line}: the block of keepthread is not whole", "Take its lines out by hand."
        )
    if not found:
        return data, b"", None
    block = found[0]
    start = block.start()
    if b"+newline" in block["ours"] and block.end() == len(data):  # else it divides lines now
        start -= len(block["eol"])
    return data[:start] + data[block.end() :], block["ours"], start


def _rest(before: bytes | None, bare: bytes, ours: bytes) -> bytes | None:
    return None if before is None or (b"+file" in ours and not bare) else bare


def _done(snapshot: Snapshot, after: bytes | None, notes: list[str], dry_run: bool) -> Change:
    change = Change(snapshot.real, snapshot.data, after, notes)
    if not change.changed:
        return change
    settings_file.check_writable(snapshot)
    folder = os.path.dirname(snapshot.real)
    if not os.path.isdir(folder):
        raise KeepthreadError(f"{snapshot.path} cannot be written: there is no folder {folder}")
    if not dry_run:
        _carry_out(snapshot, after)
    return change


def _carry_out(snapshot: Snapshot, after: bytes | None) -> None:
    try:
        if after is None:
            settings_file.remove(snapshot)
        else:
            settings_file.write(snapshot, after, keep=False)
    except settings_file.ChangedError as problem:
        raise KeepthreadError(
            f"Another program wrote {snapshot.path} just now", "Nothing was changed. Try again."
        ) from problem


def _assignment(name: str, value: str, fish: bool) -> str:
    if "'" in value or "\\" in value:
        raise KeepthreadError(
            f"The value of {name} holds a quote or backslash, which shells read in different ways"
        )
    text = value if _SAFE.fullmatch(value) else f"'{value}'"
    return f"set -gx {name} {text}" if fish else f"export {name}={text}"
