"""What can go wrong with a memory, each with the fields that a caller may branch on.

    MemoryProblem (a KeepthreadError)
    ├── PathRejected   the key breaks the grammar: key, rule, repaired
    ├── Unsafe         what stands at the key is no plain file of this directory: key, rule
    ├── NotFound       there is no such entry: key
    ├── BadEntry       the text is no entry: key, line, reason
    ├── SecretFound    the text holds a secret: rule, line (never the value)
    ├── Conflict       the entry is another than the one the change was made for: key, diff
    └── LockTimeout    another process works in the directory: holder

What the system itself refuses (a full disk, a read-only folder, no permission) stays an OSError.
"""

from __future__ import annotations

from typing import Any

from keepthread.errors import KeepthreadError

_LONGEST_SHOWN = 120  # characters of a rejected key
_HEAD = 'A head is lines of "key: value" between two lines "---"; a text needs none.'


class MemoryProblem(KeepthreadError):  # noqa: N818
    """The base of all of these. Never raised itself."""

    _made_of: tuple[Any, ...]

    def __reduce__(self) -> Any:
        return (type(self), self._made_of)


# The names are those of the documented interface: they say what happened, as FileNotFound does.


def _shown(key: str) -> str:
    text = ascii(key) if not key.isprintable() else repr(key)
    return text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "..."


class PathRejected(MemoryProblem, ValueError):  # noqa: N818
    """A key that the grammar refuses.

    Args:
        key: as it was given.
        rule: the name of the first rule that it breaks, as "dot segment".
        repaired: an acceptable key close to it, "" when there is none. It is offered, never used by itself.
    """

    def __init__(self, key: str, rule: str, repaired: str = "") -> None:
        hint = f"This one would do: {repaired}" if repaired else "Choose another, such as notes.md"
        super().__init__(f"The key {_shown(key)} is refused: {rule}", hint)
        self.key = key
        self.rule = rule
        self.repaired = repaired
        self._made_of = (key, rule, repaired)


class Unsafe(MemoryProblem):
    """What stands at a key, or on the way to it, is not followed, read or replaced.

    Args:
        key: the key, or the name of the file in question.
        rule: why, as "a link" or "a hard link".
        hint: the remedy, when it is another than a plain file.
    """

    def __init__(
        self, key: str, rule: str, hint: str = "Put a plain file in its place, or remove it."
    ) -> None:
        super().__init__(f"{_shown(key)} is left alone: {rule}", hint)
        self.key = key
        self.rule = rule
        self._made_of = (key, rule, hint)


class NotFound(MemoryProblem, LookupError):  # noqa: N818
    """There is no entry of this key."""

    def __init__(self, key: str) -> None:
        super().__init__(f"There is no entry {_shown(key)}", "See: keepthread memory list")
        self.key = key
        self._made_of = (key,)


class BadEntry(MemoryProblem, ValueError):  # noqa: N818
    """A text that is no entry.

    Args:
        reason: what is wrong.
        line: where, counted from 1; 0 when it is no single line.
        key: the entry, "" when it has none yet.
        hint: the remedy; by default, for a line, what a head looks like.
    """

    def __init__(self, reason: str, line: int = 0, key: str = "", hint: str = "") -> None:
        place = f"{_shown(key)}: " if key else ""
        where = f" (line {line})" if line else ""
        super().__init__(f"{place}{reason}{where}", hint or (_HEAD if line else ""))
        self.reason = reason
        self.line = line
        self.key = key
        self._made_of = (reason, line, key, self.hint)


class SecretFound(MemoryProblem, ValueError):  # noqa: N818
    """A text that holds a secret is not stored.

    Args:
        rule: the rule that found it.
        line: where, counted from 1; 0 when it is in the key.
    """

    def __init__(self, rule: str, line: int) -> None:
        where = f"in line {line}" if line else "in the key"
        super().__init__(
            f"This is not stored: it holds a secret {where} (rule {rule})",
            "Write down where the secret is kept, not the secret.",
        )
        self.rule = rule
        self.line = line
        self._made_of = (rule, line)


class Conflict(MemoryProblem):
    """The entry is not the one that the change was made for; nothing is written.

    Args:
        key: the entry.
        diff: from what is stored to what was to be written, as a unified diff.
        message: the sentence for people; by default that it changed meanwhile.
        hint: the remedy.
    """

    def __init__(self, key: str, diff: str, message: str = "", hint: str = "") -> None:
        super().__init__(
            message or f"{_shown(key)} was changed by somebody else meanwhile; nothing is written",
            hint or "Show it again, and make the change on what is there now.",
        )
        self.key = key
        self.diff = diff
        self._made_of = (key, diff, self.message, self.hint)


class LockTimeout(MemoryProblem):
    """Another process kept the directory for longer than the wait.

    Args:
        holder: what it wrote about itself, "" when it wrote nothing.
        waited: for how long, in seconds.
    """

    def __init__(self, holder: str, waited: float = 0.0) -> None:
        who = holder or "another process"
        super().__init__(
            f"The memory is in use by {who}; waited {waited:g} s",
            "Try again; a process that hangs can be ended without harm.",
        )
        self.holder = holder
        self.waited = waited
        self._made_of = (holder, waited)
