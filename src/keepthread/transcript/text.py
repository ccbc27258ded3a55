"""Texts made safe to carry: no control sequences, no lone surrogates, no base64, and never longer than asked."""

from __future__ import annotations

import re

HEAD = TAIL = 32 * 1024
IMAGE = "[image]"
BASE64 = "[base64]"

_DIRTY = re.compile("[\x00\x1b\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# CSI, OSC (its end required and near, or the rest of the text would go), any other escape.
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,1024}(?:\x07|\x1b\\)|[ -/]*[0-~])?"
)
_RUN = 1024
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{1024,}={0,2}")


def clean(text: str) -> str:
    """Return the text without NULs and ANSI sequences, each lone surrogate replaced by U+FFFD."""
    if not _DIRTY.search(text):
        return text
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return _SURROGATE.sub("\ufffd", text.replace("\x00", ""))


def without_base64(text: str) -> str:
    """Return the text with runs of 1,024 or more base64 characters replaced by `[base64]`."""
    # A long run covers at least one aligned block of half its length; looking for blanks in
    # those is several times cheaper than the pattern, which few texts ever need.
    half = _RUN // 2
    for start in range(0, len(text) - half + 1, half):
        block = text[start : start + half]
        if " " not in block and "\n" not in block:
            return _BASE64.sub(BASE64, text)
    return text


def bounded(text: str, head: int = HEAD, tail: int = TAIL) -> str:
    """Return the text, or its first `head` and last `tail` characters with the size of the gap between them."""
    gap = len(text) - head - tail
    if gap <= 0:
        return text
    end = text[-tail:] if tail else ""
    return f"{text[:head]}\n[... {gap} characters cut ...]\n{end}"


def carried(text: str, head: int = HEAD, tail: int = TAIL) -> str:
    """Return the text as it may be carried: bounded, free of base64, clean."""
    # Base64 goes first where it decides what the bound keeps, but not over tens of megabytes.
    if len(text) > head + tail:
        text = bounded(without_base64(text[: 4 << 20]) + text[4 << 20 :], head, tail)
    return clean(without_base64(text))
