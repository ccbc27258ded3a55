"""A line of the file -> slim records. What no one needs is known by its first bytes and never parsed."""

from __future__ import annotations

import re
from typing import Any

from keepthread.transcript import notes, speech
from keepthread.transcript.parse import parse
from keepthread.transcript.record import Budget, Record, mapping, string
from keepthread.transcript.text import carried, clean

_HEAD = 1_200
_PARENT = re.compile(
    rb'\{"parentUuid":(?:null|"([^"\\]{1,100})"),(?:"logicalParentUuid":[^,]*,)?"isSidechain":(true|false),'
)
# The end of a record whose envelope closes it, either order.
_TAIL = re.compile(
    rb'"(?:uuid":"([^"\\]{1,100})","timestamp":"[^"\\]*"|timestamp":"[^"\\]*","uuid":"([^"\\]{1,100})")\}\s*\Z'
)
_ATTACHMENT_TAIL = re.compile(rb'\},"type":"attachment","uuid":"([^"\\]{1,100})","timestamp":"')
_NOISE = re.compile(
    rb'"attachment":\{"type":"(?:hook_success|hook_system_message|hook_cancelled|hook_non_blocking_error'
    rb"|skill_listing|prompt_snapshot|api-request-shape|deferred_tools_delta|agent_listing_delta"
    rb'|mcp_instructions_delta|command_permissions|auto_mode|date_change|todo_reminder)"'
)
_SNAPSHOT = b'{"type":"file-history-snapshot"'
_USELESS = (b'{"type":"last-prompt"', b'{"type":"mode"', b'{"type":"permission-mode"')
_GLUED = b'{"parentUuid":'
# Fields of this length are no identifiers.
_IDENTIFIER = 200


class Slimmer:
    """Turns lines into records, last line first.

    Attributes:
        skipped: records that could not be read so far.
    """

    def __init__(self) -> None:
        self.skipped = 0
        self._budget = Budget()
        self._snapshot_seen = False

    @property
    def room(self) -> int:
        """How many characters may still be carried at full length."""
        return self._budget.left

    def spend(self, characters: int) -> None:
        """Count what has been carried elsewhere."""
        self._budget.spend(characters)

    def records(self, line: bytes, offset: int, end: int) -> list[Record]:
        """Return the records of one line, in the order they stand on it."""
        if line.startswith(_USELESS) and line.rstrip().count(b"}") == 1:
            return []
        stub = self._snapshot(line, offset, end) or _stub(line, offset, end)
        if stub:
            return [stub]
        found, skipped = parse(line)
        self.skipped += skipped
        if len(found) == 1 and found[0][0] == 0:
            return [self._record(found[0][1], offset, end)]
        return [self._record(raw, offset + _bytes_before(line, index), end) for index, raw in found]

    def _snapshot(self, line: bytes, offset: int, end: int) -> Record | None:
        """Return what one of the earlier file-history snapshots adds, without parsing it."""
        if not line.startswith(_SNAPSHOT) or _GLUED in line or line.count(b'{"type":') > 1:
            return None
        if not self._snapshot_seen:
            return None
        record = Record(offset, end, "file-history-snapshot")
        record.extra["history"] = notes.created_files(line)
        return record

    def _record(self, raw: dict[str, Any], offset: int, end: int) -> Record:
        record = _envelope(raw, offset, end)
        if record.side:
            return record
        kind = raw.get("type")
        self._snapshot_seen |= kind == "file-history-snapshot"
        if kind == "user":
            speech.user(raw, record, self._budget)
        elif kind == "assistant":
            speech.assistant(raw, record, self._budget)
        elif kind == "attachment":
            given = mapping(raw.get("attachment"))
            if given.get("type") == "queued_command":
                speech.queued_command(given, record)
            else:
                notes.attachment(given, record)
        else:
            _host_record(kind, raw, record)
        return record


def _envelope(raw: dict[str, Any], offset: int, end: int) -> Record:
    kind, subtype = string(raw.get("type")), string(raw.get("subtype"))
    return Record(
        offset,
        end,
        f"{kind}:{subtype}" if subtype else kind,
        uuid=_identifier(raw.get("uuid")),
        parent=_identifier(raw.get("parentUuid")) or _identifier(raw.get("logicalParentUuid")),
        side=raw.get("isSidechain") is True,
        timestamp=_identifier(raw.get("timestamp")),
        cwd=carried(string(raw.get("cwd")), 4096, 0),
        branch=_identifier(raw.get("gitBranch")),
        version=_identifier(raw.get("version")),
        session=_identifier(raw.get("sessionId")),
    )


def _host_record(kind: Any, raw: dict[str, Any], record: Record) -> None:
    if kind == "system":
        notes.system(raw, record)
    elif kind == "file-history-snapshot":
        notes.history(raw, record)
    elif kind == "queue-operation":
        text = carried(speech.text_of(raw.get("content")))
        record.extra["queue"] = (string(raw.get("operation")), text)
    elif kind in ("custom-title", "ai-title", "summary"):
        notes.title(raw, record)
    elif kind == "pr-link":
        notes.pull_request(raw, record)


def _identifier(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    plain = len(value) <= _IDENTIFIER and value.isascii() and value.isprintable()
    return value if plain else clean(value[:_IDENTIFIER])


def _stub(line: bytes, offset: int, end: int) -> Record | None:
    """Return the bare link of a progress or noise record, None when the line may be anything else."""
    head = _PARENT.match(line)
    if not head or line.find(_GLUED, 1) >= 0:
        return None
    uuid = _progress_uuid(line) or _noise_uuid(line, head.end())
    if not uuid:
        return None
    side = head.group(2) == b"true"
    parent = (head.group(1) or b"").decode("utf-8", "replace")
    return Record(offset, end, "stub", uuid.decode("utf-8", "replace"), parent, side)


def _progress_uuid(line: bytes) -> bytes | None:
    start = line.find(b'"type":"progress","data":{', 0, _HEAD)
    # Before its `type` a progress record has nothing but flat fields.
    if start < 0 or line.find(b"{", 1, start) >= 0:
        return None
    tail = _TAIL.search(line, max(0, len(line) - 400))
    return (tail.group(1) or tail.group(2)) if tail else None


def _noise_uuid(line: bytes, start: int) -> bytes | None:
    if not _NOISE.match(line, start):
        return None
    found = line.rfind(b'},"type":"attachment","uuid":"')
    tail = _ATTACHMENT_TAIL.match(line, found) if found >= 0 else None
    return tail.group(1) if tail else None


def _bytes_before(line: bytes, index: int) -> int:
    """Return the byte offset of a character of the line's text."""
    return len(line.decode("utf-8", "replace")[:index].encode("utf-8", "replace"))
