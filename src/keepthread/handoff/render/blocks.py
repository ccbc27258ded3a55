"""Markdown that keeps its shape whatever stands in it: code spans, fences, table cells, quoted messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from keepthread.handoff.frame import defuse, one_line
from keepthread.handoff.model import Sourced

_BACKQUOTES = re.compile(r"`+")
_BLOCK = re.compile(r"^([ \t]*)(#{1,6}(?=\s|$)|```|~~~|<!--|={3,}\s*$|-{3,}\s*$)", re.MULTILINE)


def inline(text: str) -> str:
    """Return text on one line that begins no block of its own."""
    return _BLOCK.sub(r"\1\\\2", one_line(text))


def prose(text: str) -> str:
    """Return text whose lines cannot pose as headings, fences or comments of the document."""
    return _BLOCK.sub(r"\1\\\2", defuse(text).strip())


def span(text: str) -> str:
    """Return text as a code span on one line; its fence is longer than any run of backquotes inside."""
    line = one_line(text)
    if not line:
        return ""
    fence = "`" * (_longest_run(line) + 1)
    space = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{space}{line}{space}{fence}"


def fenced(text: str) -> str:
    """Return text as a code block; its fence is longer than any run of backquotes inside."""
    body = defuse(text).strip("\n")
    fence = "`" * max(3, _longest_run(body) + 1)
    return f"{fence}text\n{body}\n{fence}"


def quotes(messages: Iterable[Sourced]) -> str:
    """Return messages word for word: one line as a list item, several as a code block, each with its record."""
    return "\n".join(_quote(each) for each in messages).strip()


def _quote(said: Sourced) -> str:
    text = said["text"].strip()
    place = f"({inline(said['source'])})" if said["source"] else ""
    if "\n" not in text:
        return f"- {inline(text)} {place}".rstrip()
    return f"- {place or 'several lines'}:\n\n{fenced(text)}\n"


def bullets(items: Iterable[str]) -> str:
    """Return a list; an item of several lines stands indented below its bullet."""
    return "\n".join(f"- {_indented(item)}" for item in items if item.strip())


def numbered(items: Iterable[str]) -> str:
    """Return a numbered list."""
    return "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table, "" without rows; cells are on one line, pipes in them escaped."""
    if not rows:
        return ""
    lines = [_row(head), _row(["---"] * len(head)), *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells) + " |"


def _indented(item: str) -> str:
    return "\n".join(
        f"  {line}" if line and number else line for number, line in enumerate(item.split("\n"))
    )


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKQUOTES.findall(text)), default=0)
