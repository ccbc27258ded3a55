"""Foreign text made harmless before it stands in what the model reads as ours.

What a transcript holds was written by anyone: a web page may close our frame, pose as the host's own notes, or hide
words in characters nobody sees. `defuse` takes that power away and leaves the words readable. It is idempotent, and
ordinary prose and code pass through unchanged.
"""

from __future__ import annotations

import re
import unicodedata

from keepthread.redact import hidden

FRAME = "keepthread-handoff"
INDEX_FRAME = "keepthread-index"

# Every heading the injected texts use. A foreign line that equals one, or is of their level, gets a backslash first.
HEADINGS: dict[str, str] = {
    "ask": "## Pending ask and next step",
    "task": "## Task",
    "pins": "## Pins (kept at the user's request)",
    "rules": "## Rules (the user's own words)",
    "state": "## State",
    "files": "## Files touched",
    "ruled_out": "## Ruled out (not to be tried again)",
    "questions": "## Open questions",
    "todos": "## Todo list",
    "issues": "## Issues and workarounds",
    "completed": "## Completed (not to be redone)",
    "commands": "## Commands that ran",
    "answers": "## Decided by the user",
    "background": "## Still running in the background",
    "plan": "## Accepted plan (its beginning)",
    "git": "## Git",
    "names": "## Exact names, by the file they belong to",
    "messages": "## Earlier messages of the user, latest first",
    "instructions": "## Instruction files loaded below the root",
    "more": "## More",
}

_ANSI = re.compile(hidden.ANSI)
_LINE_ENDS = re.compile(hidden.LINE_ENDS)
_CONTROLS = re.compile(hidden.CONTROLS)
_SURROGATES = re.compile(r"[\ud800-\udfff]")
_INVISIBLE = re.compile(hidden.INVISIBLE)
_JOINERS = re.compile(hidden.JOINERS)
_SELECTORS = re.compile(hidden.SELECTORS)

# Tags of the host, of other hooks and of tool calls, in lower case, "_" as "-".
_HOST_TAGS = frozenset(
    f"{head}-{tail}"
    for head, tails in {
        "system": "reminder message prompt notification instruction instructions",
        "command": "name message args contents",
        "local-command": "stdout stderr caveat",
        "bash": "input stdout stderr",
        "task": "notification id status",
        "teammate": "message",
        "agent": "message",
        "channel": "message",
        "mcp": "instructions resource resource-update polling-update",
        "user": "memory-input prompt message query input instructions",
        "ide": "opened-file selection diagnostics",
        "new": "diagnostics",
        "tool": "use use-error result call response",
        "function": "call calls result results",
        "persisted": "output",
        "retrieval": "status",
        "extremely": "important",
        "ci-monitor": "event",
        "start-of": "turn image",
        "end-of": "turn image",
    }.items()
    for tail in tails.split()
)
# Those the host itself writes with "_"; others spelled so are types in code when they follow a word.
_UNDERSCORED = frozenset(
    (
        *("ide-opened-file", "ide-selection", "function-calls", "function-results"),
        *("tool-use-error", "start-of-turn", "end-of-turn"),
    )
)
_HOST_BEGINNINGS = ("claude-", "keepthread-", "anthropic-", "anthropic:", "antml:")
_HOST_ENDINGS = ("-hook", "-reminder", "-context", "-notification")
# One word is a tag of a conversation only when nothing code-like stands before it: `List<System>` is code.
_SPEAKERS = frozenset(("system", "SYSTEM", "human", "HUMAN", "assistant", "ASSISTANT"))
# Line ends count as spaces: whoever puts the text on one line later must not make a tag of it.
_TAG = re.compile(r"<\s{0,8}/?\s{0,8}([A-Za-z][\w:.-]{0,80})")
_TAG_CLOSES = re.compile(r"\s{0,8}>|\s(?:reminder|message|prompt|notification|instruction)")
# Where a turn begins and ends in the text a local model reads: <|im_start|>, and with wide bars.
_TURN = re.compile(r"<([|\uff5c][\w\u2581./-]{2,40}[|\uff5c])>")
_TAG_END = re.compile(r"[^<>]{0,200}>")
_SPEAKER = re.compile(
    r"^[ \t]*(?:\*\*|__)?(?:Human|HUMAN|Assistant|ASSISTANT|System|SYSTEM)(?:\*\*|__)?[ \t]*:",
    re.MULTILINE,
)
_CONTINUED = re.compile(r"This session is being continued(?!\])", re.IGNORECASE)
_HEADING = re.compile(r"^[ \t]*(#{1,6})(?!#)[ \t]*([^\n]*)", re.MULTILINE)
_TITLES = frozenset(heading.lstrip("# ").lower() for heading in HEADINGS.values())
_SUSPECT = re.compile(
    r"[^\x20-\x7e\t\n]|<|^[ \t]*(?:#|[*_]{0,2}(?:Human|Assistant|System)\b)|This session is being",
    re.MULTILINE | re.IGNORECASE,
)
_ALIKE: dict[int, str] = {
    **dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2212), "-"),
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u02bc\u02b9\u2032\u00b4`"), "'"),
    # Cyrillic and Greek letters that look like Latin ones.
    **{
        ord(other): latin
        for other, latin in zip(
            "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0455\u0456\u0458\u0501\u051b\u051d"
            "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0405\u0406"
            "\u03bf\u03b1\u03b9\u03c5\u0391\u0392\u0395\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4",
            "aeopcyxsijdqwABEKMHOPCTXSIoaiuABEHIKMNOPT",
            strict=True,
        )
    },
}


def defuse(text: str) -> str:
    """Return `text` without what could close our frame, pose as the host or as a heading of ours, or hide words.

    The brackets of such tags become ‹ ›, a speaker's name at the start of a line is quoted with "> ", invisible and
    control characters go. Everything else stands as it was.
    """
    if not _SUSPECT.search(text):
        return text
    text = _TURN.sub("‹\\1›", _visible(text))
    folded = _folded(text)
    if "<" in folded:
        text = _without_tags(text, folded)
    marks = [(match.start(), "> ") for match in _SPEAKER.finditer(folded)]
    marks += [
        (match.start(), "\\")
        for match in _HEADING.finditer(folded)
        if match[1] == "##" or match[2].rstrip(" \t:#").lower() in _TITLES
    ]
    for match in _CONTINUED.finditer(folded):
        marks += [(match.start(), "["), (match.end(), "]")]
    return _with(text, marks)


def one_line(text: str) -> str:
    """Return `text` defused and on one line, runs of white space as one space."""
    return defuse(" ".join(text.split()))


def _visible(text: str) -> str:
    text = _ANSI.sub("", text)
    text = _LINE_ENDS.sub("\n", text)
    text = _CONTROLS.sub("", text)
    if text.isascii():
        return text
    text = _SURROGATES.sub("\ufffd", text)
    text = _INVISIBLE.sub("", text)
    text = _JOINERS.sub(_joiner, text)
    return _SELECTORS.sub(_selector, text)


def _joiner(match: re.Match[str]) -> str:
    """Keep the one joiner that a script or an emoji needs; between Latin letters it only hides something."""
    text, start, end = match.string, match.start(), match.end()
    needed = end - start == 1 and start > 0 and end < len(text)
    if needed and _joins(text[start - 1]) and _joins(text[end]):
        return match.group()
    return ""


def _selector(match: re.Match[str]) -> str:
    """Keep the one selector that turns a sign into its emoji or a character into its variant."""
    before = match.string[match.start() - 1 : match.start()]
    return match.group()[0] if before and _selects(before) else ""


def _selects(character: str) -> bool:
    if character < "\u2000":
        return character in "0123456789#*\u00a9\u00ae"
    # Arrows and operators up to U+2BFF have emoji; mathematical signs beyond are look-alikes of brackets.
    symbol = "\u2190" <= character <= "\u2bff" or character in "\u203c\u2049"
    return symbol or unicodedata.category(character) in ("So", "Lo")


def _joins(character: str) -> bool:
    return character == "\ufe0f" or unicodedata.category(character) in (
        "Lo",
        "Mn",
        "Mc",
        "So",
        "Sk",
    )


def _folded(text: str) -> str:
    """Return `text`, look-alikes replaced one for one, so that places in it are places in `text`."""
    if text.isascii():
        return text
    table = dict(_ALIKE)
    for character in set(text):
        if character > "\x7f":
            plain = unicodedata.normalize("NFKC", character)
            if len(plain) == 1 and plain != character:
                table.setdefault(ord(character), plain)
    return text.translate(table)


def _without_tags(text: str, folded: str) -> str:
    """Bend the brackets of tags; places in `folded` are places in `text`."""
    characters: list[str] | None = None
    for match in _TAG.finditer(folded):
        if not _poses(match):
            continue
        characters = characters or list(text)
        characters[match.start()] = "‹"
        closing = _TAG_END.match(folded, match.end())
        if closing:
            characters[closing.end() - 1] = "›"
    return text if characters is None else "".join(characters)


def _poses(tag: re.Match[str]) -> bool:
    """Whether a tag looks like one of the host's, a hook's or ours, and not like a type in code."""
    name, start = tag[1].rstrip(".:"), tag.start()
    plain = name.lower().replace("_", "-")
    code_before = start > 0 and (tag.string[start - 1].isalnum() or tag.string[start - 1] == "_")
    if code_before and "-" not in name and plain not in _UNDERSCORED:
        return False
    if plain in _HOST_TAGS or plain in ("invoke", "claude", "keepthread", "thinking"):
        return True
    if plain.startswith(_HOST_BEGINNINGS) or plain.endswith(_HOST_ENDINGS):
        return True
    return name in _SPEAKERS and bool(_TAG_CLOSES.match(tag.string, tag.end()))


def _with(text: str, marks: list[tuple[int, str]]) -> str:
    for at, mark in sorted(marks, reverse=True):
        text = text[:at] + mark + text[at:]
    return text
