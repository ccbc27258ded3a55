"""Builds transcripts the way the host writes them, one record per line."""

from __future__ import annotations

import json
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

SESSION = "11111111-1111-4111-8111-111111111111"


class SessionFile:
    """A transcript under construction; every method appends to the file at once and returns the record's uuid."""

    def __init__(self, path: Path, *, session: str = SESSION, cwd: str = "/home/dev/proj") -> None:
        self.path = path
        self.session = session
        self.cwd = cwd
        self.branch = "main"
        self.version = "2.1.332"
        self.model = "claude-sonnet-4-6"
        self.last: str | None = None
        self.clock = datetime(2026, 11, 1, 9, 0, tzinfo=timezone.utc)
        self._numbers = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def raw(self, data: bytes | str) -> None:
        """Append bytes as they are."""
        with self.path.open("ab") as file:
            file.write(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data)

    def record(self, record: dict[str, Any]) -> None:
        """Append one record as one line."""
        self.raw(json.dumps(record, separators=(",", ":")) + "\n")

    def envelope(self, **more: Any) -> dict[str, Any]:
        """Return the fields that conversational records share, chained to the record before."""
        self._numbers += 1
        self.clock += timedelta(seconds=5)
        record = {
            "parentUuid": self.last,
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": self.version,
            "gitBranch": self.branch,
            "uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{self.session}/{self._numbers}")),
            "timestamp": self.clock.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        record.update(more)
        return record

    def add(self, **fields: Any) -> str:
        """Append a record with an envelope; it becomes the parent of the next one."""
        record = self.envelope(**fields)
        self.record(record)
        self.last = str(record["uuid"])
        return self.last

    def user(self, content: str | list[dict[str, Any]], **more: Any) -> str:
        """Append what the user typed (or any other user line, with `isMeta=True` and the like)."""
        return self.add(type="user", message={"role": "user", "content": content}, **more)

    def assistant(
        self,
        *blocks: str | dict[str, Any],
        tokens: int = 1000,
        message_id: str = "",
        **more: Any,
    ) -> str:
        """Append an assistant message, one line per block as the host does; strings become text blocks."""
        self._numbers += 1
        identifier = message_id or f"msg_{self._numbers:08d}"
        for block in blocks:
            message = {
                "id": identifier,
                "type": "message",
                "role": "assistant",
                "model": self.model,
                "content": [{"type": "text", "text": block} if isinstance(block, str) else block],
                "stop_reason": None,
                "stop_sequence": None,
                "usage": {
                    "input_tokens": 3,
                    "cache_creation_input_tokens": 0,
                    "cache_read_input_tokens": tokens,
                    "output_tokens": 20,
                },
            }
            self.add(type="assistant", message=message, requestId=f"req_{self._numbers}", **more)
        return str(self.last)

    def tool(
        self,
        name: str,
        arguments: dict[str, Any],
        result: str | list[dict[str, Any]] | None = "ok",
        *,
        is_error: bool = False,
        data: Any = None,
        tokens: int = 1000,
        **more: Any,
    ) -> str:
        """Append a tool call and, unless `result` is None, its result; return the call's id."""
        self._numbers += 1
        call = f"toolu_{self._numbers:08d}"
        self.assistant(
            {"type": "tool_use", "id": call, "name": name, "input": arguments},
            tokens=tokens,
            **more,
        )
        if result is not None:
            self.result(call, result, is_error=is_error, data=data, **more)
        return call

    def result(
        self,
        call: str,
        result: str | list[dict[str, Any]],
        *,
        is_error: bool = False,
        data: Any = None,
        **more: Any,
    ) -> str:
        """Append the result of a tool call."""
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call, "content": result}
        if is_error:
            block["is_error"] = True
        extra = {} if data is None else {"toolUseResult": data}
        return self.add(type="user", message={"role": "user", "content": [block]}, **extra, **more)

    def bash(self, command: str, output: str = "", **more: Any) -> str:
        """Append a shell command with its output."""
        return self.tool("Bash", {"command": command, "description": "run"}, output, **more)

    def edit(self, path: str, old: str = "a", new: str = "b", **more: Any) -> str:
        """Append an edit of a file."""
        arguments = {"file_path": path, "old_string": old, "new_string": new}
        data = {"filePath": path, "oldString": old, "newString": new, "structuredPatch": []}
        return self.tool("Edit", arguments, f"The file {path} has been updated.", data=data, **more)

    def write(self, path: str, content: str = "x = 1\n", **more: Any) -> str:
        """Append the creation of a file."""
        data = {"type": "create", "filePath": path, "content": content, "structuredPatch": []}
        arguments = {"file_path": path, "content": content}
        return self.tool(
            "Write", arguments, f"File created successfully at: {path}", data=data, **more
        )

    def read(self, path: str, content: str = "1\tx = 1", **more: Any) -> str:
        """Append the reading of a file."""
        return self.tool("Read", {"file_path": path}, content, **more)

    def boundary(self, summary: str = "", *, trigger: str = "auto", tokens: int = 170_000) -> str:
        """Append a compaction: the boundary and the host's summary."""
        before = self.last
        self.last = None
        self.add(
            type="system",
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=before,
            compactMetadata={"trigger": trigger, "preTokens": tokens},
        )
        return self.user(
            "This session is being continued from a previous conversation that ran out of context. "
            "The summary below covers the earlier portion of the conversation.\n\n"
            f"Summary:\n{summary or '1. Primary Request and Intent: go on.'}",
            isCompactSummary=True,
            isVisibleInTranscriptOnly=True,
        )

    def rewind(self, uuid: str | None) -> None:
        """Let the next record follow `uuid` instead of the last one."""
        self.last = uuid

    def system(self, subtype: str, **fields: Any) -> str:
        """Append a record of the host's own."""
        return self.add(type="system", subtype=subtype, **fields)

    def progress(self, kind: str = "hook_progress", **data: Any) -> str:
        """Append a progress record, its envelope closed by uuid and timestamp as the host writes it."""
        record = self.envelope()
        closing = {name: record.pop(name) for name in ("uuid", "timestamp")}
        record.update({"type": "progress", "data": {"type": kind, **data}, "toolUseID": "t1"})
        self.record(record | closing)
        self.last = str(closing["uuid"])
        return self.last

    def attachment(self, kind: str, **fields: Any) -> str:
        """Append an attachment, in the host's order of fields."""
        record = self.envelope()
        head = {name: record.pop(name) for name in ("parentUuid", "isSidechain")}
        middle = {"attachment": {"type": kind, **fields}, "type": "attachment"}
        middle |= {name: record.pop(name) for name in ("uuid", "timestamp")}
        self.record(head | middle | record)
        self.last = str(middle["uuid"])
        return self.last

    def queue(self, operation: str, content: Any = None) -> None:
        """Append a queue operation; it has no uuid."""
        record = {"type": "queue-operation", "operation": operation, "sessionId": self.session}
        self.record(record if content is None else record | {"content": content})

    def command(self, name: str, arguments: str = "", **more: Any) -> str:
        """Append a slash command."""
        text = (
            f"<command-name>{name}</command-name>\n            <command-message>{name.lstrip('/')}"
            f"</command-message>\n            <command-args>{arguments}</command-args>"
        )
        return self.user(text, **more)

    def reject(self, name: str, arguments: dict[str, Any], words: str = "") -> str:
        """Append a tool call that the user rejected, with the words said or without; return the call's id."""
        told = "STOP what you are doing and wait for the user to tell you how to proceed."
        text = (
            "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file "
            "edit, the new_string was NOT written to the file). "
        )
        text += f"To tell you how to proceed, the user said:\n{words}" if words else told
        call = self.tool(name, arguments, None)
        self.result(
            call,
            text,
            is_error=True,
            data="User rejected tool use",
            toolDenialKind="user-rejected",
        )
        return call

    def sidechain(self, prompt: str, reply: str = "done") -> None:
        """Append a subagent's lines inline, a chain of their own."""
        main = self.last
        self.last = None
        self.user(prompt, isSidechain=True)
        self.assistant(reply, isSidechain=True)
        self.last = main

    def snapshot(self, files: dict[str, bool], *, update: bool = False) -> None:
        """Append a file-history snapshot: path -> whether the file existed before."""
        backups = {
            path: {"backupFileName": "0f@v1" if existed else None, "version": 1}
            for path, existed in files.items()
        }
        snapshot = {"messageId": "m", "trackedFileBackups": backups}
        record = {"type": "file-history-snapshot", "messageId": "m", "snapshot": snapshot}
        self.record(record | {"isSnapshotUpdate": update})
