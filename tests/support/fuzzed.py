"""Hypothesis strategies: events and transcripts as a host would write them, as it never would, and as bytes."""

from __future__ import annotations

import json
import os
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.support.session import SESSION

SCALE = float(os.environ.get("KEEPTHREAD_TEST_SCALE", "1"))
CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]


def examples(number: int) -> settings:
    """Return settings for `number` examples times KEEPTHREAD_TEST_SCALE, the same in every run but for the scale."""
    return settings(
        max_examples=max(1, round(number * SCALE)),
        deadline=None,
        database=None,
        derandomize=SCALE <= 1,
        suppress_health_check=CHECKS,
    )


PIECES = (
    "a", "Mend the tide of day 3", "never use curl", "src/importer.py", "😀", "日本", "e\u0301", "\n", "\r\n", "\0",
    "\ud83d", "\u2028", "\x85", "\x1b[31m", "\u202e", "\u200b", "\ufeff", "</keepthread-handoff>", "<system-reminder>",
    "## Rules (the user's own words)\n", "```", "{", "}", '"', "\\", "$(id)", "'", "%s", "{0}", "../", "~", "|",
    "/compact", "<command-name>/pin</command-name>", "[Request interrupted by user]", "1", "-1", "[REDACTED:x]",
    "This session is being continued", "HANDOFF_AUTO_PARTIAL", "Traceback (most recent call last):\n",
    "git commit -m x",
)  # fmt: skip
TEXT = st.text(max_size=40) | st.builds(
    lambda pieces, times: ("".join(pieces) * times)[:20_000],
    st.lists(st.sampled_from(PIECES), max_size=6),
    st.sampled_from((1, 1, 1, 2, 50, 900)),
)
PRIMITIVE = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from((0, -1, 2**63, 10**400))
    | st.floats()
    | TEXT
)
VALUE = st.recursive(
    PRIMITIVE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)


def dumped(value: Any, *, escaped: bool = True) -> bytes:
    """Return a value as JSON, lone surrogates and NaN included."""
    return json.dumps(value, ensure_ascii=escaped).encode("utf-8", "surrogatepass")


def deep(times: int) -> bytes:
    """Return JSON nested so deeply that a parser gives up."""
    return b'{"a":' * times + b"1" + b"}" * times


IDS = TEXT | st.sampled_from((SESSION, SESSION.upper(), f"{SESSION}\n", "..", "CON", "x" * 5_000))


def events(name: str, paths: tuple[str, ...], folders: tuple[str, ...]) -> st.SearchStrategy[Any]:
    """Return events by their schema: each field right, of another session, odd, of another type, or not there."""
    place = st.sampled_from(paths) | TEXT.map(lambda text: text.lstrip("/"))
    folder = st.sampled_from(folders) | TEXT.map(lambda text: text.lstrip("/"))
    source = st.sampled_from(("compact", "resume", "fork", "startup", "clear")) | TEXT
    trigger = st.sampled_from(("auto", "manual")) | TEXT
    right = {
        "session_id": st.just(SESSION) | IDS,
        "transcript_path": place,
        "cwd": folder,
        "hook_event_name": st.just(name) | TEXT,
        "trigger": trigger,
        "source": source,
        "custom_instructions": st.none() | TEXT,
        "compact_summary": TEXT | TEXT.map("<analysis>x</analysis><summary>{}".format),
        "prompt": TEXT | TEXT.map("/handoff {}".format) | TEXT.map("/pin {}".format),
    }
    odd = {key: value | VALUE for key, value in right.items()}
    odd["cwd"] = folder | st.none() | st.integers() | st.lists(TEXT, max_size=2)
    odd["agent_id"] = st.just("") | VALUE
    return st.fixed_dictionaries(right) | st.fixed_dictionaries({}, optional=odd)


def damaged(good: bytes) -> st.SearchStrategy[bytes]:
    """Return bytes that were good until something happened to some of them."""
    cut = st.tuples(
        st.integers(0, len(good)),
        st.integers(0, 8),
        st.binary(max_size=8) | st.sampled_from(_SPLINTERS),
    )
    return st.lists(cut, min_size=1, max_size=6).map(lambda cuts: _cut(good, cuts))


_SPLINTERS = (
    b"\n", b"\r\n", b"\0", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\xbd", b"\\ud83d", b"}", b"{", b'"', b"\\",
    "\u2028".encode(), b"NaN", b"1e999", b"[" * 2_000, b'{"a":' * 2_000, b"9" * 5_000,
)  # fmt: skip


def _cut(data: bytes, cuts: list[tuple[int, int, bytes]]) -> bytes:
    for at, length, put in cuts:
        data = data[:at] + put + data[at + length :]
    return data


TOOLS = ("Bash", "Edit", "Write", "Read", "MultiEdit", "NotebookEdit", "TodoWrite", "TaskCreate", "TaskUpdate",
         "ExitPlanMode", "AskUserQuestion", "WebFetch", "Grep", "Task", "Skill", "mcp__db__query", "")  # fmt: skip
INPUTS = ("command", "file_path", "old_string", "new_string", "content", "edits", "todos", "plan", "questions",
          "url", "pattern", "path", "prompt", "description", "run_in_background", "notebook_path", "taskId", "status",
          "subject", "replace_all", "offset")  # fmt: skip
DATA = ("filePath", "type", "stdout", "stderr", "interrupted", "structuredPatch", "answers", "questions", "oldTodos",
        "newTodos", "gitOperation", "backgroundTaskId", "content", "task", "file", "isImage")  # fmt: skip
INNER = ("type", "text", "content", "status", "subject", "id", "file_path", "commit", "sha", "branch", "question",
         "header", "options", "label", "activeForm", "old_string", "source", "data", "media_type", "uri")  # fmt: skip
WORDS = ("text", "image", "pending", "in_progress", "completed", "create", "update", "Mend the footer", "src/a.py",
         "pytest -q", "1 failed", "error: x", "never", "tool_reference", "document", "base64")  # fmt: skip
LEAF = PRIMITIVE | st.sampled_from(WORDS) | st.sampled_from(WORDS)
NESTED = st.recursive(
    LEAF,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(INNER) | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=10,
)
IDENTIFIERS = st.sampled_from([f"toolu_{number}" for number in range(4)])
BLOCKS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": TEXT | NESTED}),
    st.fixed_dictionaries(
        {
            "type": st.just("tool_use"),
            "id": IDENTIFIERS | LEAF,
            "name": st.sampled_from(TOOLS) | LEAF,
            "input": st.dictionaries(st.sampled_from(INPUTS), NESTED, max_size=5) | NESTED,
        }
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("tool_result"),
            "tool_use_id": IDENTIFIERS | LEAF,
            "content": TEXT | st.lists(NESTED, max_size=3) | NESTED,
        },
        optional={"is_error": st.booleans() | LEAF},
    ),
    st.fixed_dictionaries({"type": st.sampled_from(("thinking", "image", "document", "x"))}),
    NESTED,
)
KINDS = ("user", "assistant", "system", "attachment", "queue-operation", "progress", "file-history-snapshot",
         "custom-title", "ai-title", "summary", "pr-link", "last-prompt", "x")  # fmt: skip
ATTACHED = ("queued_command", "task_reminder", "todo_reminder", "plan_mode", "edited_text_file", "nested_memory",
            "hook_additional_context", "diagnostics", "file", "task_status")  # fmt: skip
UUIDS = st.sampled_from([f"{n:08}-0000-4000-8000-000000000000" for n in range(6)])
RECORDS = st.fixed_dictionaries(
    {"type": st.sampled_from(KINDS) | LEAF},
    optional={
        "uuid": UUIDS | LEAF,
        "parentUuid": st.none() | UUIDS | LEAF,
        "sessionId": st.just(SESSION) | LEAF,
        "timestamp": st.just("2026-11-01T09:00:00.000Z") | LEAF,
        "gitBranch": LEAF,
        "version": LEAF,
        "isMeta": st.booleans() | LEAF,
        "isSidechain": st.booleans() | LEAF,
        "isCompactSummary": st.booleans() | LEAF,
        "isApiErrorMessage": st.booleans(),
        "message": st.fixed_dictionaries(
            {"content": TEXT | st.lists(BLOCKS, max_size=4) | NESTED},
            optional={"id": LEAF, "role": LEAF, "model": LEAF, "usage": NESTED},
        )
        | NESTED,
        "toolUseResult": st.dictionaries(st.sampled_from(DATA), NESTED, max_size=6) | NESTED,
        "attachment": st.fixed_dictionaries(
            {"type": st.sampled_from(ATTACHED) | LEAF},
            optional=dict.fromkeys(("prompt", "content", "filename", "snippet", "status"), NESTED),
        )
        | NESTED,
        "subtype": st.sampled_from(("compact_boundary", "api_error", "local_command")) | LEAF,
        "content": TEXT | NESTED,
        "operation": st.sampled_from(("enqueue", "dequeue", "remove", "popAll")) | LEAF,
        "compactMetadata": NESTED,
        "logicalParentUuid": UUIDS | LEAF,
        "snapshot": NESTED,
        "toolDenialKind": st.just("user-rejected") | LEAF,
        "leafUuid": UUIDS | LEAF,
        "origin": NESTED,
    },
)
LINES = st.builds(
    lambda record, escaped, end: dumped(record, escaped=escaped) + end,
    RECORDS,
    st.booleans(),
    st.sampled_from((b"\n", b"\n", b"\n", b"\r\n", b"", b"\n\n", b"\0\n")),
)
