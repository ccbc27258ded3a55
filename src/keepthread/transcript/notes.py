"""The host's own records: what they say of files, tasks, plans and titles."""

from __future__ import annotations

import re
from typing import Any

from keepthread.transcript.model import Message, Note
from keepthread.transcript.record import Record, blocks, mapping, string
from keepthread.transcript.text import carried, clean
from keepthread.transcript.tokens import estimate, weigh

_WORDS = 2_000
_CREATED = re.compile(r'"((?:[^"\\]|\\.)+)":\{"backupFileName":null')


def attachment(given: dict[str, Any], record: Record) -> None:
    """Add what an attachment says to its record."""
    kind = string(given.get("type"))
    reader = _ATTACHMENTS.get(kind)
    if reader:
        reader(given, record)


def system(raw: dict[str, Any], record: Record) -> None:
    """Add what a system record says to its record."""
    subtype = raw.get("subtype")
    if subtype == "compact_boundary":
        record.extra["compaction"] = mapping(raw.get("compactMetadata"))
    elif subtype == "away_summary":
        _add(record, "away_summary", text=_words(raw.get("content")))
    elif subtype == "api_error":
        _add(record, "api_error", text=_error_text(raw.get("error")))


def history(raw: dict[str, Any], record: Record) -> None:
    """Keep which files a snapshot lists, and whether each existed before the session touched it."""
    backups = mapping(mapping(raw.get("snapshot")).get("trackedFileBackups"))
    record.extra["history"] = {
        clean(path): mapping(backup).get("backupFileName") is not None
        for path, backup in backups.items()
    }


def created_files(line: bytes) -> dict[str, bool]:
    """Return the files that did not exist before, from a snapshot's unparsed line.

    Snapshots repeat one another: of all but the last one, only this is needed.
    """
    if b'"backupFileName":null' not in line:
        return {}
    found = _CREATED.findall(line.decode("utf-8", "replace"))
    return {clean(path.replace("\\\\", "\\")): False for path in found}


def file_history(records: list[Record]) -> Note | None:
    """Return the files of all snapshots as one note, at the last one's place."""
    snapshots = [record for record in records if "history" in record.extra]
    files: dict[str, bool] = {}
    for record in snapshots:
        for path, existed in record.extra["history"].items():
            files[path] = files.get(path, True) and existed
    if not files:
        return None
    last = snapshots[-1]
    return Note("file_history", {"files": files}, last.place, last.timestamp)


def title(raw: dict[str, Any], record: Record) -> None:
    """Keep a title; which one counts is decided when all are known."""
    for field in ("customTitle", "aiTitle", "summary"):
        if isinstance(raw.get(field), str):
            record.extra["title"] = (field, _words(raw[field]), string(raw.get("leafUuid")))


def last_title(records: list[Record], uuids: set[str]) -> Note | None:
    """Return the title: the user's, else the host's, each the last one; a summary only when its leaf is here."""
    best: dict[str, tuple[str, Record]] = {}
    for record in records:
        kind, text, leaf = record.extra.get("title", ("", "", ""))
        if text and (kind != "summary" or leaf in uuids):
            best[kind] = (text, record)
    for kind in ("customTitle", "aiTitle", "summary"):
        if kind in best:
            text, record = best[kind]
            return Note("title", {"text": text}, record.place, record.timestamp)
    return None


def pull_request(raw: dict[str, Any], record: Record) -> None:
    """Add a link to a pull request."""
    _add(record, "pr", number=raw.get("prNumber"), url=_words(raw.get("prUrl")))


def todos(given: Any, record: Record) -> None:
    """Add the task list that old user records repeat."""
    found = [
        {"content": _words(item.get("content")), "status": _words(item.get("status"))}
        for item in blocks(given)
    ]
    if found:
        _add(record, "todos", todos=found)


def _add(record: Record, kind: str, **data: Any) -> None:
    record.parts.append(Note(kind, data, record.place, record.timestamp))


def _words(value: Any) -> str:
    return carried(string(value), _WORDS, 0)


def _error_text(error: Any) -> str:
    details = mapping(error)
    for found in (details.get("formatted"), details.get("message"), details.get("status"), error):
        if isinstance(found, (str, int)) and found:
            return _words(str(found))
    return "API error"


def _tasks(given: dict[str, Any], record: Record) -> None:
    found = [
        {name: _words(str(item.get(name, ""))) for name in ("id", "subject", "status")}
        for item in blocks(given.get("content"))
        if "subject" in item
    ]
    if found:
        _add(record, "tasks", tasks=found)


def _named(kind: str, field: str) -> Any:
    def read(given: dict[str, Any], record: Record) -> None:
        path = _words(given.get(field))
        if path:
            _add(record, kind, path=path)

    return read


def _mention(given: dict[str, Any], record: Record) -> None:
    record.size += weigh(given.get("content"))
    _named("mentioned_file", "filename")(given, record)


def _edited(given: dict[str, Any], record: Record) -> None:
    record.size += estimate(string(given.get("snippet")))
    _named("edited_file", "filename")(given, record)


def _hook_context(given: dict[str, Any], record: Record) -> None:
    content = given.get("content")
    texts = content if isinstance(content, list) else [content]
    text = "\n".join(filter(None, map(string, texts)))
    record.size += estimate(text)
    record.parts.append(
        Message("host", "injected", _words(text), record.place, record.timestamp, record.cwd)
    )


_ATTACHMENTS: dict[str, Any] = {
    "task_reminder": _tasks,
    "edited_text_file": _edited,
    "nested_memory": _named("nested_memory", "path"),
    "plan_mode": _named("plan_file", "planFilePath"),
    "plan_mode_exit": _named("plan_file", "planFilePath"),
    "file": _mention,
    "directory": _mention,
    "compact_file_reference": _named("mentioned_file", "filename"),
    "hook_additional_context": _hook_context,
}
