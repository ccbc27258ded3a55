"""The request to the model: facts, what an earlier handoff said, and the conversation, each fenced as data.

The fences bear a boundary nobody can guess, and everything inside has lost the power to look like one. What is asked
for stands before the material and again after it, because local servers cut the front of a long prompt without a word.
"""

from __future__ import annotations

import re
import secrets as randomness
from collections.abc import Callable, Mapping, Sequence
from functools import partial as bind
from typing import NamedTuple

from keepthread import redact, resources
from keepthread.handoff.briefing import earlier, facts, noted, write
from keepthread.handoff.digest import BYTES_PER_TOKEN, digest
from keepthread.handoff.model import Handoff, ModelAnswer
from keepthread.handoff.spoken import bounded
from keepthread.handoff.stages import RECENT_LEAST
from keepthread.transcript.model import Transcript

RETRY_ROOM = 500  # tokens kept free for the note of a corrective retry
FOCUS_MOST = 2_000  # characters of what the user asked the compaction to attend to, and of a note
FACTS_MOST = 8_000  # tokens
EARLIER_MOST = 3_000  # tokens

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


class Long(NamedTuple):
    """What is said of a session that does not fit into one request.

    Attributes:
        part: the number of this part and how many there are; (0, 0) when this is no part.
        notes: what a model wrote down of the older parts, oldest first; None for a part that it failed at, which is
            then still in the transcript.
        left_out: what was left out so that the request fits, in words; "" for nothing.
    """

    part: tuple[int, int] = (0, 0)
    notes: Sequence[ModelAnswer | None] = ()
    left_out: str = ""


class Prompt(NamedTuple):
    """A request: the system prompt, which never changes, and the material with what is asked for."""

    system: str
    user: str


def build_prompt(
    handoff: Handoff,
    transcript: Transcript,
    *,
    budget: int,
    focus: str = "",
    note: str = "",
    memory: str = "",
    template: str = "prompt",
    secrets: Sequence[str] = (),
    long: Long | None = None,
) -> Prompt:
    """Return the prompt for a complete handoff, within `budget` tokens with room left for a corrective note.

    Below about 4,000 tokens the instructions alone fill the budget; then the conversation gets what little is left.

    Args:
        handoff: the partial, with what it carries of an earlier handoff.
        transcript: the conversation the partial was computed from.
        budget: tokens for system and user prompt together, estimated at three bytes each.
        focus: what the person who asked for the compaction wants attended to; never a task or a rule.
        note: what the user says beside it (`keepthread handoff --note`).
        memory: what the session's memory holds beyond a handoff.
        template: the beginning of the names of the two templates, "-system.md" and "-user.md" left out.
        secrets: values that must not leave the machine, beyond what patterns find.
        long: what else there is to say when the session does not fit into one request.
    """
    system = resources.read("templates", f"{template}-system.md").strip()
    frame = _Frame(_boundary(), bind(_redacted, values=tuple(secrets)))
    asked = bind(_asked, template=resources.read("templates", f"{template}-user.md").strip())
    room = (
        (budget - RETRY_ROOM) * BYTES_PER_TOKEN - _size(system) - _size(asked("", frame.boundary))
    )
    said = {"focus": focus, "note": note, "memory": memory}
    material = _material(frame, handoff, transcript, max(room, 0), said, long or Long())
    return Prompt(system, asked(material, frame.boundary))


class _Frame:
    """Fences foreign text with a boundary that it cannot know, cleaned before."""

    def __init__(self, boundary: str, clean: Callable[[str], str]) -> None:
        self.boundary = boundary
        self.clean = clean

    def put(self, name: str, text: str) -> str:
        """Return the text between tags, after a line that says what it is; "" when there is no text."""
        if not text:
            return ""
        tag = f"keepthread-{name}-{self.boundary}"
        return f"{_INTROS[name]}\n<{tag}>\n{text}\n</{tag}>"


_INTROS = {
    "facts": "Facts, computed from the conversation by a program:",
    "earlier": "What an earlier handoff of this session said, with its age. It may be out of date; the conversation "
    "wins. What still holds belongs into the new one:",
    "memory": "The session's memory, as it was written last. What still holds belongs into the new one:",
    "focus": "What the person who asked for the compaction wants attended to. Give it more room; it is no task, no "
    "rule and no next step:",
    "note": "A note of the user for this handoff:",
    "notes": "What a model wrote down of the earlier parts of this conversation, oldest first. A later part wins over "
    "an earlier one, the conversation over both. What still holds belongs into the handoff:",
    "conversation": "The conversation, oldest first:",
}
_PART = (
    "This is part {} of {} of a long conversation. Your answer will be joined with those on the other parts, so write "
    "down what this part says, and as next_steps what it leaves open at its end."
)
_UNREADABLE = "(It could not be read; the facts are all there is.)"


def _material(
    frame: _Frame,
    handoff: Handoff,
    transcript: Transcript,
    room: int,
    said: Mapping[str, str],
    long: Long,
) -> str:
    """Return all parts within `room` bytes; the conversation gets what the others leave, at least half."""
    share = _share(room)
    known = min(share, FACTS_MOST * BYTES_PER_TOKEN)
    before = min(share // 2, EARLIER_MOST * BYTES_PER_TOKEN)
    texts = {
        "facts": write(facts(handoff), room=known, redact=frame.clean),
        "earlier": write(earlier(handoff), room=before, redact=frame.clean),
        "memory": bounded(said["memory"], share, frame.clean),
        "notes": _noted(long.notes, share, frame.clean),
        "focus": bounded(said["focus"], min(FOCUS_MOST, share // 8), frame.clean),
        "note": bounded(said["note"], min(FOCUS_MOST, share // 8), frame.clean),
    }
    parts = [frame.put(name, text) for name, text in texts.items()]
    parts.append(_PART.format(*long.part) if long.part[1] else "")
    front = f"[{long.left_out}]\n" if long.left_out else ""
    left = (
        room
        - sum(_size(part) + 2 for part in parts if part)
        - _size(frame.put("conversation", f"{front}x"))
    )
    told = digest(transcript, budget=max(left, 0) // BYTES_PER_TOKEN, redact=frame.clean)
    parts.append(frame.put("conversation", front + (told or _UNREADABLE)))
    return "\n\n".join(part for part in parts if part)


def _share(room: int) -> int:
    """Return what each kind of material may take: a quarter, less where the latest part would not fit beside it."""
    recent = RECENT_LEAST * 9 // 8
    return max(min(room // 4, (room - recent) // 2), room // 16)


def _noted(notes: Sequence[ModelAnswer | None], room: int, clean: Callable[[str], str]) -> str:
    told = [(number, answer) for number, answer in enumerate(notes, 1) if answer is not None]
    parts = []
    for number, answer in told:
        text = write(noted(answer), room=room // len(told) - 40, redact=clean)
        parts.append(f"Part {number} of {len(notes) + 1}:\n{text}" if text else "")
    return "\n".join(part for part in parts if part)


def _asked(material: str, boundary: str, template: str) -> str:
    """Fill the template in one pass: what the material holds is never taken for a placeholder."""
    values = {"material": material, "boundary": boundary}
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def _boundary() -> str:
    return randomness.token_hex(8)


def _redacted(text: str, values: Sequence[str]) -> str:
    return redact.text(text, values)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
