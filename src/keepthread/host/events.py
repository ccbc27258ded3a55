"""The event that the host sends on standard input. Standard library only: SessionStart imports this module.

Field names and which of them may be missing: the host's hook contract (`session_id`, `transcript_path`, `cwd` and
`hook_event_name` always; `agent_id` only inside a subagent; `custom_instructions` a text, "" or null).
"""

from __future__ import annotations

import json
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from collections.abc import Callable

LIMIT = 64 * 1024 * 1024
_PATIENCE = 5.0  # seconds for the whole of stdin; the shortest registered time limit is 10
_LONGEST_ID = 8_192  # characters; a handoff holds no longer one
_QUIET = 0.25  # seconds without another byte after which a whole document counts as all there is


class Event:
    """One event. Every field is a str, "" when missing or of another type; `raw` is the whole object."""

    __slots__ = (
        "agent_id",
        "compact_summary",
        "custom_instructions",
        "cwd",
        "name",
        "prompt",
        "raw",
        "reason",
        "session_id",
        "source",
        "transcript_path",
        "trigger",
    )

    def __init__(self, raw: dict[str, object]) -> None:
        def text(key: str) -> str:
            value = raw.get(key)
            # A lone surrogate could be neither hashed nor written as UTF-8 later on.
            return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""

        self.raw = raw
        self.name = text("hook_event_name")
        self.transcript_path = text("transcript_path")
        # A transcript bears its session's id. Without either, nobody can tell whose event this is.
        names = (text("session_id"), _stem(self.transcript_path))
        self.session_id = next((name for name in names if 0 < len(name) <= _LONGEST_ID), "")
        self.cwd = text("cwd")
        self.source = text("source")
        self.trigger = text("trigger")
        self.reason = text("reason")
        self.custom_instructions = text("custom_instructions")
        self.agent_id = text("agent_id")
        self.compact_summary = text("compact_summary")
        self.prompt = text("prompt")


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".jsonl")


def parse(data: bytes) -> Event | None:
    """Return the event, or None when the bytes are no JSON object."""
    try:
        raw = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None
    return Event(raw) if isinstance(raw, dict) else None


def read_stdin(descriptor: int = 0, system: str = sys.platform) -> bytes:
    """Return what the host wrote, at most LIMIT bytes, within a bounded time.

    Reads to the end as the host expects; a writer that never closes its end is waited for only until a whole
    document has arrived and a moment has passed. A closed stdin is an empty one.
    """
    following = _by_thread(descriptor) if system == "win32" else _by_select(descriptor)
    deadline = time.monotonic() + _PATIENCE
    data = bytearray()
    while len(data) < LIMIT:
        left = max(0.0, deadline - time.monotonic())
        patience = min(left, _QUIET) if data else left
        chunk = following(patience)
        if chunk is not None:
            data += chunk
        if chunk == b"" or (chunk is None and (patience == left or _is_whole(data))):
            break
    return bytes(data)


def _by_select(descriptor: int) -> Callable[[float], bytes | None]:
    """Return what gives the bytes that arrived, b"" at the end, None when nothing came within so many seconds."""

    def following(patience: float) -> bytes | None:
        try:
            ready, _, _ = select.select([descriptor], [], [], patience)
            return os.read(descriptor, 1 << 20) if ready else None
        except BlockingIOError:
            return None  # somebody else took it
        except OSError:
            return b""  # closed

    return following


def _by_thread(descriptor: int) -> Callable[[float], bytes | None]:
    """Return the same for Windows, where select takes sockets only: a thread reads, and is left behind if need be."""
    import queue
    import threading

    arrived: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        chunk = b"-"
        while chunk:
            try:
                chunk = os.read(descriptor, 1 << 20)
            except OSError:
                chunk = b""  # closed
            arrived.put(chunk)

    def following(patience: float) -> bytes | None:
        try:
            return arrived.get(timeout=patience)
        except queue.Empty:
            return None

    threading.Thread(target=read, daemon=True).start()
    return following


def _is_whole(data: bytearray) -> bool:
    return data.rstrip()[-1:] == b"}" and parse(bytes(data)) is not None
