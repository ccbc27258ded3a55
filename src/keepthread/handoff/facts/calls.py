"""What a tool call was about and how it ended."""

from __future__ import annotations

from keepthread.handoff.facts.text import as_dict, as_list, as_text, first_line, lazy, one_line
from keepthread.handoff.model import Outcome
from keepthread.transcript.model import Call

SHELLS = frozenset(("Bash", "PowerShell"))
EDITORS = frozenset(("Edit", "MultiEdit", "Write", "NotebookEdit"))
READERS = frozenset(("Read", "NotebookRead"))
AWAITERS = frozenset(("TaskOutput", "BashOutput", "AgentOutputTool"))
SEARCHERS = frozenset(("Grep", "Glob", "LS"))

_MCP_EDITOR = lazy(
    r"mcp__.+__(?:write|edit|create|replace|insert|append|patch|modify)_?\w*(?:file|text|content|symbol|lines?|body|regex)\w*"
)
_MCP_READER = lazy(r"mcp__.+__(?:read|get|open|view)_?\w*file\w*")
_PATH_KEYS = ("file_path", "notebook_path", "path", "relative_path", "filePath")
_ARGUMENT_KEYS = (
    *_PATH_KEYS, "command", "pattern", "url", "query", "description", "skill", "subject", "prompt", "task_id", "taskId",
)  # fmt: skip
_BACKGROUND = lazy(r"running in (?:the )?background with (?:ID|id)[: ]+([\w-]+)")
_INTERRUPTED = lazy(
    r"\[Request interrupted by user|^Command (?:was )?(?:aborted|interrupted)|<error>Command was aborted"
)


def is_edit(call: Call) -> bool:
    """Return whether the tool changes a file that its input names."""
    return call.name in EDITORS or (
        call.name.startswith("mcp__") and bool(_MCP_EDITOR.fullmatch(call.name))
    )


def is_read(call: Call) -> bool:
    """Return whether the tool reads a file that its input names."""
    return call.name in READERS or (
        call.name.startswith("mcp__") and bool(_MCP_READER.fullmatch(call.name))
    )


def path_of(call: Call) -> str:
    """Return the file a call names, "" when it names none."""
    return next((path for key in _PATH_KEYS if (path := as_text(call.input.get(key)))), "")


def command_of(call: Call) -> str:
    """Return the shell command of a call, "" when it runs none."""
    return as_text(call.input.get("command")) if call.name in SHELLS else ""


def argument_of(call: Call, limit: int = 160) -> str:
    """Return the one input that says what the call was about, on one line."""
    if call.name in SHELLS:
        return one_line(first_line(command_of(call)), limit)
    for key in _ARGUMENT_KEYS:
        text = as_text(call.input.get(key))
        if text:
            return one_line(text, limit)
    return ""


def named(call: Call, limit: int = 200) -> str:
    """Return the call in words: the command itself, else the tool and what it was about."""
    about = argument_of(call, limit)
    if call.name in SHELLS:
        return about or call.name
    return f"{call.name} {about}".strip()


def succeeded(call: Call) -> bool:
    """Return whether the call was carried out: answered, not an error, not refused."""
    result = call.result
    return result is not None and not result.is_error and not result.rejected


def refused(call: Call) -> bool:
    """Return whether the user refused the call."""
    return call.result is not None and call.result.rejected


def outcome(call: Call) -> Outcome:
    """Return how the call ended; a call without a result is "unknown", in the background "running"."""
    result = call.result
    if result is None:
        return "unknown"
    if result.rejected:
        return "rejected"
    if result.data.get("interrupted") is True or _INTERRUPTED.search(result.text[:300]):
        return "interrupted"
    if background_id(call):
        return "running"
    return "failed" if result.is_error else "ok"


def background_id(call: Call) -> str:
    """Return the id under which the call runs on in the background, "" when it does not."""
    if call.result is None or call.result.is_error or call.result.rejected:
        return ""
    data = call.result.data
    for key in ("backgroundTaskId", "shellId", "bashId"):
        if as_text(data.get(key)):
            return as_text(data[key])
    if data.get("status") == "async_launched" or data.get("isAsync") is True:
        return as_text(data.get("agentId")) or call.id
    match = _BACKGROUND.search(call.result.text[:400]) if call.name in SHELLS else None
    return match[1] if match else ""


def changes(call: Call) -> list[tuple[str, str]]:
    """Return (old, new) of each replacement an editing call asked for; `old` is "" for whole files."""
    edits = [as_dict(edit) for edit in as_list(call.input.get("edits"))] or [call.input]
    found = []
    for edit in edits:
        old = as_text(edit.get("old_string"))
        new = next(
            (
                as_text(edit.get(key))
                for key in ("new_string", "content", "new_source", "body", "text")
                if edit.get(key)
            ),
            "",
        )
        found.append((old, new))
    return found


def patch_text(call: Call) -> str:
    """Return the lines of the structured patch with their context, "" when the result carries none."""
    if call.result is None:
        return ""
    hunks = as_list(call.result.data.get("structuredPatch"))
    lines = [
        line
        for hunk in hunks[:40]
        for line in as_list(as_dict(hunk).get("lines"))[:400]
        if isinstance(line, str)
    ]
    return "\n".join(line[1:] for line in lines)
