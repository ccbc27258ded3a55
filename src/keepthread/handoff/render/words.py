"""Small turns of phrase the rendered texts share, each within a limit of UTF-16 units."""

from __future__ import annotations

import re
from collections.abc import Iterable

from keepthread.handoff.frame import defuse, one_line
from keepthread.handoff.kept_words import UPDATE
from keepthread.handoff.model import Command, Handoff, Sourced
from keepthread.handoff.units import cut, head_tail, units

MESSAGE = 600  # units; a longer message appears as head and tail
_WORD = re.compile(r"\w+")
_WORD_LENGTH = 60  # characters
_HUGE = 4  # times a limit: beyond that, text is cut before it is looked at closely

REASONS: dict[str, str] = {
    "engine_facts": "as chosen in the settings",
    "timeout": "the model did not answer in time",
    "no_login": "no login for the model was found",
    "rate_limit": "the model's rate limit was reached",
    "overload": "the model was overloaded",
    "overflow": "the request was too long for the model",
    "bad_answer": "the model's answer was no handoff",
    "circuit_open": "the model failed several times in a row",
    "cap": "the limit on model calls was reached",
    "no_transcript": "the transcript could not be read",
}


def why_partial(handoff: Handoff) -> str:
    """Return why a handoff is partial, as a clause; "" when its reason says nothing yet."""
    meta, facts = handoff["meta"], handoff["facts"]
    if meta["reason"] != "engine_facts":
        return REASONS.get(str(meta["reason"]), "")
    if meta["engine"] == UPDATE:
        return "too little was new since the last complete handoff for another model call"
    if not (facts["user_messages"] or facts["commands"] or handoff["files_touched"]):
        return "nothing was said yet that a model could judge"
    return REASONS["engine_facts"]


def short(text: str, limit: int) -> str:
    """Return `text` on one line, harmless, its end cut to an ellipsis when it is over `limit` units."""
    line = one_line(text[: limit * _HUGE]) if len(text) > limit * _HUGE else one_line(text)
    if units(line) <= limit and len(text) <= limit * _HUGE:
        return line
    return _at_a_word(cut(line, limit - 1)) + "…" if limit > 0 else ""


def _at_a_word(line: str) -> str:
    """Return a cut line up to its last whole word, unless that is far back: half a name is a wrong name."""
    if not line or not (line[-1].isalnum() or line[-1] == "_"):
        return line.rstrip()
    at = max(line.rfind(" "), line.rfind(","))
    return line[:at].rstrip(" ,") if at > len(line) - _WORD_LENGTH and at > 0 else line


def message(said: Sourced, limit: int) -> str:
    """Return a message word for word, or its head and tail with its record's place between when it is over `limit`."""
    text = said["text"].strip()
    if len(text) > limit * 2 * _HUGE:
        # The middle is left out anyway: only what may be shown has to be made harmless.
        text = text[: limit * _HUGE] + "\n" + text[-limit * _HUGE :]
    text = defuse(text).strip()
    place = short(said["source"], 40)
    note = (
        f" [… {len(said['text']):,} characters in all; whole in record {place} …] "
        if place
        else " […] "
    )
    return head_tail(text, limit, note)


def command_line(command: str, limit: int) -> str:
    """Return a shell command as one line in backquotes; the line breaks of a longer script show as ⏎."""
    joined = command.strip()[: limit * _HUGE].replace("\\\n", " ")
    lines = [line.strip() for line in joined.splitlines()]
    return f"`{short(' ⏎ '.join(line for line in lines if line), limit - 2)}`"


def outcome(command: Command) -> str:
    """Return how a command went: its last outcome, and how often it ran."""
    times = f", {command['count']} times" if command["count"] > 1 else ""
    return f"{command['outcome']}{times}"


def listed(lines: Iterable[str], limit: int, total: int, rest: str = "") -> str:
    """Return as many of the lines as fit into `limit` units, then how many more of `total` there are."""
    taken: list[str] = []
    sizes: list[int] = []
    used = -1  # the first line has no line end before it
    for line in lines:
        size = units(line) + 1
        if used + size > limit:
            break
        taken.append(line)
        sizes.append(size)
        used += size
    while len(taken) < total:
        ending = f"… {total - len(taken):,} more{rest}"
        if used + units(ending) + 1 <= limit:
            return "\n".join([*taken, ending])
        if not taken:
            return ""
        taken.pop()
        used -= sizes.pop()
    return "\n".join(taken)


def plural(number: int, noun: str) -> str:
    """Return e.g. "1 file" or "8 files"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


class Shown:
    """A text, asked which names it holds already as words of their own."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._words = frozenset(_WORD.findall(text))

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        if _WORD.fullmatch(name):
            return name in self._words
        at = self.text.find(name)
        while at >= 0:
            if not self._inside(at) and not self._inside(at + len(name)):
                return True
            at = self.text.find(name, at + 1)
        return False

    def _inside(self, at: int) -> bool:
        """Whether a word goes on over the place `at`."""
        return 0 < at < len(self.text) and bool(_WORD.fullmatch(self.text[at - 1 : at + 1]))
