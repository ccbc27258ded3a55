"""One item of a conversation as text for a model: who speaks, what was called and how it went, in a chosen detail.

A speaker's name stands at the start of a line, everything said is indented behind it. So no text, wherever it comes
from, can pose as another speaker.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from keepthread import redact
from keepthread.handoff.frame import FRAME, INDEX_FRAME, defuse
from keepthread.handoff.units import cut, cut_start
from keepthread.transcript.model import Call, Item, Message, Note

Clean = Callable[[str], str]


class Detail(NamedTuple):
    """How much is shown, in characters: of what the user typed, of prose, of a tool's input, of its result.

    0 leaves the part out. Inputs and results below 1,000 characters are shown on one line.
    """

    typed: int
    said: int
    input: int
    result: int


WHOLE = Detail(typed=24_000, said=12_000, input=2_500, result=2_500)
NEAR = Detail(typed=2_000, said=600, input=160, result=160)
FAR = Detail(typed=600, said=200, input=120, result=60)
FAINT = Detail(typed=240, said=90, input=100, result=0)

# A secret that a cut would part must still be seen whole by whoever redacts: so much more is cleaned than is shown.
_MARGIN = 4_000
_LINE_MARGIN = 300

_USER = {
    "prompt": "USER",
    "queued": "USER (while the agent worked)",
    "command": "USER (slash command)",
    "rejection": "USER (refusing a tool call)",
    "approval": "USER (allowing a tool call)",
    "answer": "USER (answering a question)",
    "bash": "USER (ran in the shell)",
    "memory": "USER (noted for the future)",
    "plan": "PLAN THE USER ACCEPTED",
}
# Label, and the part of the room for prose that such words get.
_OTHERS = {
    "reply": ("AGENT", 1),
    "summary": ("EARLIER SUMMARY (by a model)", 3),
    "notification": ("REPORT (background work)", 4),
    "injected": ("INSERTED BY A PROGRAM", 40),
    "error": ("ERROR OF THE API", 20),
}
_TOLD_NOTES = frozenset(("edited_file", "pr", "away_summary"))
_TARGETS = (
    "file_path",
    "notebook_path",
    "path",
    "command",
    "pattern",
    "query",
    "url",
    "skill",
    "subject",
    "description",
    "prompt",
    "plan",
)
_LOOKING = frozenset(
    ("Read", "Grep", "Glob", "LS", "ToolSearch", "TodoRead", "BashOutput", "TaskOutput")
)
_DATA = re.compile(r"(?:data:[\w/+.-]{1,80};base64,)?[A-Za-z0-9+/]{400,}={0,2}")
_ENCODED_LINE = re.compile(r"[A-Za-z0-9+/=_-]{40,}")
_EXIT = re.compile(r"Exit code \d+")


def speak(item: Item, detail: Detail, clean: Clean) -> str:
    """Return the item as text, "" when it says nothing at this detail.

    Args:
        item: what was said, called or noted.
        detail: how much of it to show.
        clean: takes secrets out of a text; it always sees more than is shown.
    """
    if isinstance(item, Message):
        return _message(item, detail, clean)
    if isinstance(item, Call):
        return _call(item, detail, clean)
    return _note(item, detail, clean)


def bounded(text: str, limit: int, clean: Clean) -> str:
    """Return the text made harmless and clean, within about `limit` characters: whole, or its head and its tail."""
    text = text.strip()
    if len(text) <= limit + 2 * _MARGIN:
        text = _harmless(text, clean)
        if len(text) <= limit:
            return text
        head, tail = text, text
    else:
        head = _harmless(text[: limit + _MARGIN], clean)
        tail = _harmless(text[-(limit + _MARGIN) :], clean)
    note = f"\n[… about {max(len(text) - limit, 1)} characters left out …]\n"
    return cut(head, limit * 2 // 3).rstrip() + note + cut_start(tail, limit // 3).lstrip()


def line(text: str, limit: int, clean: Clean) -> str:
    """Return the beginning of the text on one line, harmless and clean, within `limit` characters."""
    flat = " ".join(_harmless(text[: limit + _LINE_MARGIN], clean).split())
    return flat if len(flat) <= limit else cut(flat, limit - 1).rstrip() + "…"


def _harmless(text: str, clean: Clean) -> str:
    # Defused first: a zero-width character inside a token would hide it from redaction.
    return clean(_DATA.sub("[data left out]", defuse(text)))


def _said(label: str, text: str) -> str:
    body = text.replace("\n", "\n  ")
    return f"\n{label}: {body}"


def _message(message: Message, detail: Detail, clean: Clean) -> str:
    if message.via == "interruption":
        return "\nUSER interrupted the agent."
    label = _USER.get(message.via)
    if label:
        images = f" [{message.images} image(s)]" if message.images else ""
        text = bounded(message.text, detail.typed, clean)
        return _said(label, f"{text}{images}".strip()) if text or images else ""
    label, part = _OTHERS.get(message.via, _OTHERS["injected"])
    limit = detail.said // part
    if limit < 20:
        return ""
    shown = bounded if limit > 1_000 else line
    return _said(label, shown(message.text, limit, clean))


def mute(item: Item) -> bool:
    """Return whether the item says nothing in any detail; leaving it out is no omission."""
    if isinstance(item, Note):
        return item.kind not in _TOLD_NOTES
    if isinstance(item, Message) and item.via != "interruption":
        if item.via == "command" and item.text.lstrip().startswith("/compact"):
            return True  # its words were for the summary of then, and are no task
        return not (item.text.strip() or item.images) or (not item.typed and _ours(item.text))
    return False


def minor(item: Item) -> bool:
    """Return whether leaving the item out needs no mark: a look at something, or what a program put in."""
    if isinstance(item, Call):
        return item.name in _LOOKING and not _failed(item)
    return isinstance(item, Note) or item.via == "injected"


def _ours(text: str) -> bool:
    """Whether this is a handoff of ours that was injected: its facts are at hand, and copies must not nest."""
    return f"<{FRAME}" in text or f"<{INDEX_FRAME}" in text


def _call(call: Call, detail: Detail, clean: Clean) -> str:
    if detail.result == 0 and call.name in _LOOKING and not _failed(call):
        return ""
    given = redact.withheld(call.input)  # by its name; what a text says is found when it is cleaned
    key = next((name for name in _TARGETS if given.get(name)), "")
    target = line(_plain(given[key]), min(detail.input, 400), clean) if key else ""
    name = line(call.name, 60, clean)
    if detail.input < 1_000:
        tail = _outcome(call, detail.result, clean)
        return f"\n{name} {target}".rstrip() + f" → {tail}"
    rest = [
        _input(name, value, detail.input, clean) for name, value in given.items() if name != key
    ]
    whole = (
        _input(key, given[key], detail.input, clean)
        if key and len(_plain(given[key])) > 400
        else ""
    )
    lines = [f"\nCALL {name} {target}".rstrip(), whole, *rest, _result(call, detail.result, clean)]
    return "\n".join(part for part in lines if part)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _input(name: str, value: Any, limit: int, clean: Clean) -> str:
    text = bounded(_plain(value), limit // 2, clean)
    return f"  {line(name, 60, clean)} = " + text.replace("\n", "\n    ") if text else ""


def _failed(call: Call) -> bool:
    return call.result is not None and (call.result.is_error or call.result.rejected)


def _state(call: Call) -> str:
    if call.result is None:
        return "no result"
    if call.result.rejected:
        return "refused by the user, not done"
    return "failed" if call.result.is_error else "ok"


def _result(call: Call, limit: int, clean: Clean) -> str:
    text = bounded(call.result.text, limit, clean) if call.result else ""
    shown = text.replace("\n", "\n    ")
    return f"  RESULT {_state(call)}: {shown}" if shown else f"  RESULT {_state(call)}"


def _outcome(call: Call, limit: int, clean: Clean) -> str:
    telling = _telling_line(call) if limit and call.name not in _LOOKING else ""
    shown = line(telling, limit, clean) if telling else ""
    return f"{_state(call)}: {shown}" if shown else _state(call)


def _telling_line(call: Call) -> str:
    """Return the line that says how it went: of an error the first, of an output the last."""
    if call.result is None or call.result.rejected:
        return ""
    if not call.result.is_error and call.name not in ("Bash", "PowerShell"):
        return ""
    lines = [text.strip() for text in call.result.text.splitlines()]
    lines = [
        text
        for text in lines
        if text and not _EXIT.fullmatch(text) and not _ENCODED_LINE.fullmatch(text)
    ]
    if not lines:
        return ""
    return lines[0] if call.result.is_error else lines[-1]


def _note(note: Note, detail: Detail, clean: Clean) -> str:
    if detail.said == 0:
        return ""
    if note.kind == "edited_file":
        return "\nCHANGED BY THE USER OR A FORMATTER: " + line(
            _plain(note.data.get("path", "")), 300, clean
        )
    if note.kind == "pr":
        return "\nPULL REQUEST " + line(
            f"#{note.data.get('number')} {note.data.get('url', '')}", 300, clean
        )
    if note.kind == "away_summary":
        return "\nRECAP (by a model): " + line(_plain(note.data.get("text", "")), 400, clean)
    return ""
