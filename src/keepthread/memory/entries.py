"""One entry: Markdown with a head of flat keys between two lines of "---".

    ---
    name: use-httpie
    description: "Call the API with httpie, never with curl"
    type: feedback
    scope: team
    author: Ada
    created: 2026-05-01T10:00:00Z
    updated: 2026-05-02T09:30:00Z
    expires: 2027-01-01
    ---
    The gateway drops curl's default headers.

The head looks like YAML and is not: values are single texts, quoted or not. Keys that are not ours are kept as they
stand. `type` counts under `metadata` too, where the host writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import NamedTuple

from keepthread.memory.errors import BadEntry

TYPES = ("feedback", "project", "reference", "user")
PRIVATE_TYPES = frozenset(("user", "feedback"))  # by default in the user's own folder
ALWAYS_PRIVATE = frozenset(("user",))
SCOPES = ("team", "private")
FIELDS = ("name", "description", "type", "scope", "author", "created", "updated", "expires")
LONGEST_FIELD = 500  # characters

_FENCE = re.compile(r"---[ \t]*")
_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)[ \t]*:(?:[ \t]+(.*))?")
_PLAIN = re.compile(r"[A-Za-z0-9_(][^\x00-\x1f\x7f-\x9f:#\"'\\]*")  # needs no quotes in YAML either
_LOOKS_TYPED = re.compile(r"(?i:true|false|yes|no|on|off|null|none|[0-9_.]+)")
_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
)


class Entry(NamedTuple):
    """What an entry says. Times are ISO 8601 in UTC, "" when not known; `other` holds lines of foreign keys."""

    body: str = ""
    name: str = ""
    description: str = ""
    type: str = ""
    scope: str = ""
    author: str = ""
    created: str = ""
    updated: str = ""
    expires: str = ""
    other: tuple[str, ...] = ()


class _Block(NamedTuple):
    key: str
    value: str
    line: int  # its number in the text
    lines: list[str]  # all of it, as it stands


def parse(text: str) -> Entry:
    """Return the entry of a text; one without a head is all body.

    Raises:
        BadEntry: the head is not closed, a line of it is no "key: value", or a value of ours is malformed.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text.split("\n")
    if not _FENCE.fullmatch(lines[0]):
        return Entry(body=text)
    end = next((n for n, line in enumerate(lines[1:], 1) if _FENCE.fullmatch(line)), 0)
    if not end:
        raise BadEntry('the head is not closed by a line "---"', 1)
    values: dict[str, str] = {}
    other: list[str] = []
    for block in _blocks(lines[1:end]):
        if block.key in FIELDS:
            if block.key in values:
                raise BadEntry(f"{block.key!r} stands there twice", block.line)
            values[block.key] = _checked(block.key, _scalar(block), block.line)
        elif block.key == "metadata":
            other += _metadata(block, values)
        else:
            other += block.lines
    return Entry(body="\n".join(lines[end + 1 :]), other=tuple(other), **values)


def _blocks(lines: list[str]) -> Iterator[_Block]:
    """Yield each top-level key with the indented, listed and empty lines that follow it."""
    block: _Block | None = None
    for number, line in enumerate(lines, 2):
        if block is not None and (not line.strip() or line[0] in " \t-#"):
            block.lines.append(line)
            continue
        if not line.strip() or line.startswith("#"):
            continue
        found = _KEY.fullmatch(line.rstrip())
        if not found:
            raise BadEntry('no "key: value"', number)
        if block is not None:
            yield block
        block = _Block(found[1], (found[2] or "").strip(), number, [line])
    if block is not None:
        yield block


def _metadata(block: _Block, values: dict[str, str]) -> list[str]:
    """Take the type out of a metadata block; return the lines that stay."""
    rest = [block.lines[0]]
    for number, line in enumerate(block.lines[1:], block.line + 1):
        found = _KEY.fullmatch(line.strip())
        if found and found[1] == "type" and line[0] in " \t":
            inner = _Block("type", (found[2] or "").strip(), number, [line])
            values.setdefault("type", _checked("type", _scalar(inner), number))
        else:
            rest.append(line)
    return rest if len(rest) > 1 or block.value else []


def _scalar(block: _Block) -> str:
    folded = [line.strip() for line in block.lines[1:]]
    first = "" if re.fullmatch(r"[|>][+-]?[1-9]?", block.value) else block.value
    text = " ".join(part for part in (first, *folded) if part and not part.startswith("#"))
    if any(part.startswith("- ") for part in folded) or text[:1] in ("[", "{", "&", "*", "!"):
        raise BadEntry(f"{block.key!r} has to be a single text", block.line)
    if text[:1] == '"':
        return _quoted(text, block)
    if text[:1] == "'":
        if not re.fullmatch(r"'(?:[^']|'')*'", text):
            raise BadEntry(f"the quotes of {block.key!r} are not closed", block.line)
        return text[1:-1].replace("''", "'")
    return re.sub(r"(?<![ \t])[ \t]+#.*", "", text)


def _quoted(text: str, block: _Block) -> str:
    try:
        value = json.loads(re.sub(r"\\(x)([0-9A-Fa-f]{2})", r"\\u00\2", text))
    except ValueError:
        raise BadEntry(f"the quotes of {block.key!r} are not closed", block.line) from None
    if not isinstance(value, str) or any("\ud800" <= char <= "\udfff" for char in value):
        raise BadEntry(f"{block.key!r} has to be a text", block.line)
    return value


def _checked(key: str, value: str, line: int = 0) -> str:
    if len(value) > LONGEST_FIELD:
        raise BadEntry(f"{key!r} is longer than {LONGEST_FIELD} characters", line)
    if key == "type" and value not in ("", *TYPES):
        raise BadEntry(f"the type {value[:40]!r} is none of {', '.join(TYPES)}", line)
    if key == "scope" and value not in ("", *SCOPES):
        raise BadEntry(f"the scope {value[:40]!r} is neither of {' and '.join(SCOPES)}", line)
    if key in ("created", "updated", "expires") and value:
        when(value, line)
    return value


def when(value: str, line: int = 0) -> datetime:
    """Return the moment that an ISO 8601 date or time names, in UTC when it says nothing else.

    Raises:
        BadEntry: it names none.
    """
    if _TIME.fullmatch(value):
        try:
            # Python 3.10 knows neither "Z" nor "+0200".
            text = re.sub(r"([+-]\d{2})(\d{2})$", r"\1:\2", value.replace("Z", "+00:00"))
            found = datetime.fromisoformat(re.sub(r"\.\d+", "", text))
            return found if found.tzinfo else found.replace(tzinfo=timezone.utc)
        except ValueError:
            pass  # as the 31st of February
    raise BadEntry(f"{value[:40]!r} is no date such as 2027-01-31", line)


def is_expired(entry: Entry, now: datetime) -> bool:
    """Return whether the entry's time is over; a date lasts until its end."""
    if not entry.expires:
        return False
    end = when(entry.expires)
    return now.date() > end.date() if len(entry.expires) == 10 else now > end


def says_nothing(entry: Entry) -> bool:
    """Return whether an entry has neither a text nor a description."""
    return not (entry.body.strip() or entry.description.strip())


def render(entry: Entry) -> str:
    """Return the text of an entry; `parse` returns the entry again.

    Raises:
        BadEntry: a field of it is malformed, or `other` holds what is no foreign key.
    """
    head = []
    for key in FIELDS:
        value = _checked(key, getattr(entry, key))
        if value:
            head.append(f"{key}: {_written(value)}")
    if not head and not entry.other and not _FENCE.fullmatch(entry.body.split("\n", 1)[0]):
        return entry.body
    text = "\n".join(["---", *head, *entry.other, "---", entry.body])
    if entry.other and parse(text)[1:] != entry[1:]:  # all but the body
        raise BadEntry("'other' holds lines that are no foreign keys")
    return text


def _written(value: str) -> str:
    plain = _PLAIN.fullmatch(value) and value == value.strip() and not _LOOKS_TYPED.fullmatch(value)
    if plain or _TIME.fullmatch(value):
        return value
    return json.dumps(value, ensure_ascii=not value.isprintable())


def decoded(data: bytes, key: str = "") -> Entry:
    """Return the entry of a file's bytes.

    Raises:
        BadEntry: they are no UTF-8, or no entry.
    """
    try:
        return parse(data.decode())
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise BadEntry("it is no UTF-8 text", line, key, "Save it as UTF-8.") from None
    except BadEntry as problem:
        raise BadEntry(problem.reason, problem.line, key, problem.hint) from None
