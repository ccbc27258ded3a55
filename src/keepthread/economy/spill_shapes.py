"""The text inside a tool's result, and the same result around another text. Standard library only: a hot hook.

The host takes a changed result only in the tool's own shape. Measured on client 2.1.332 (tests/client/test_spill.py):
`updatedToolOutput` must be the whole object of a built-in tool (for Bash a string, or an object without `stderr`, is
refused and the original used); for an MCP tool it may be anything, a string and a list of blocks stand as they are.
`updatedMCPToolOutput` works for MCP tools only, so it is not needed. The transcript records the changed result, in the
message as well as in `toolUseResult`: what is left out is nowhere but in our file.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from collections.abc import Callable, Mapping
    from typing import Any

    Found = tuple[str, Callable[[str], object]]

# Marks of a result that the host has shortened, moved or not finished itself, or that is no text.
_NOT_OURS = ("persistedOutputPath", "backgroundTaskId", "isImage", "interrupted", "timedOutAfterMs")
_BLOCK = frozenset(("type", "text", "annotations", "_meta"))
# Tools of servers that hand out what the next edit needs whole.
_READS = re.compile(
    r"(?:read|view|open|cat|get|fetch|show|find|edit|write|replace|create|insert)\w*?"
    r"(?:file|notebook|resource|symbol|cell|buffer|snippet|source|code|document|contents?)|^read|_read(?:_|$)",
    re.IGNORECASE,
)
# Commands that print files: what one of them shows may be edited next.
_SHOWS = re.compile(
    r"(?:/\S*/)?(?:(?:cat|bat|batcat|head|tail|tac|nl|less|more|sed|gc|Get-Content)\s+[^=\s]"
    r"|type\s+\S+\.\w|awk\b.*(?:\bF?NR\b|/\s*,\s*/)|git\s+(?:-C\s+\S+\s+)?(?:show\s+[\w./~^@{}-]*:|cat-file\s)"
    r"|(?:find|fd)\b.*\s-(?:exec|x)\s+(?:cat|head|tail|sed)\b|(?:\S*grep|rg)\b.*\s-[nh]*[ABC]\s?\d{2,}"
    r"|(?:\S*grep|rg)\s+(?:-\S+\s+)*(?:''|\"\"|(['\"]?)[.^$]\1)\s|jq\s+(?:-\S+\s+)*(['\"]?)\.\2\s+\S"
    r"|python[\d.]*\s+-c\b.*\bprint\(\s*open\()",
    re.DOTALL,
)
# What may stand before the command: of a loop, a group, another program that only starts it.
_BEFORE = re.compile(
    r"(?:[({!]\s*|(?:do|then|else|time|command|nice|sudo|env|timeout\s+\S+)\s+(?:-\S+\s+)*|[A-Za-z_]\w*=\S*\s+)+"
)
_EACH = re.compile(r"xargs\b.*\b(?:cat|head|tail|sed)\b", re.DOTALL)
# What passes lines on, so that behind a pipe the file is still shown.
_PASSES = re.compile(
    r"(?:cat|bat|head|tail|tac|nl|less|more|sed|awk|cut|expand|fold|column|tr|Select-Object)\b"
)
_TO_FILE = re.compile(r"(?<![0-9&<])>{1,2}\s*(?![&>]|/dev/)\S")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1(.*?)\n(?s:.*?)^\s*\2\s*$", re.MULTILINE)
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_SIGNS = re.compile(r"[&|;<>\n]")
_COMMAND = 8_000  # characters of a command that are looked at
_SEPARATORS = re.compile(r"&&|\|\||;|\n")
_OF_PROGRAMS = re.compile(
    r"\.(?:log|out|err|jsonl|ndjson|csv|tsv|lock)\b|/tmp/|/var/log/|-lock\.", re.IGNORECASE
)


def readable(tool: object, given: object, response: object) -> Found | None:
    """Return the text of a result and what puts another text in its place, None for a result that stays as it is.

    Args:
        tool: the tool's name.
        given: its input.
        response: the event's `tool_response`.
    """
    if not isinstance(tool, str):
        return None
    if tool.startswith("mcp__"):
        name = tool.rpartition("__")[2]
        return None if _READS.search(name) else _of_server(response)
    if not isinstance(response, dict):
        return None
    arguments = given if isinstance(given, dict) else {}
    if tool in ("Bash", "PowerShell"):
        return None if shows_a_file(arguments.get("command")) else _of_shell(response)
    if tool in ("Grep", "Glob"):
        return _of_search(response)
    if tool == "WebFetch":
        return _member(response, "result")
    if tool == "WebSearch":
        return _of_web_search(response)
    return None


def shows_a_file(command: object) -> bool:
    """Return whether a command prints files that may be edited next, also among others; logs and tables are none."""
    if not isinstance(command, str):
        return False
    plain = _HEREDOC.sub(r"\3", command[:_COMMAND])
    plain = _QUOTED.sub(lambda text: _SIGNS.sub(" ", text[0]), plain)
    return any(map(_step_shows, _SEPARATORS.split(plain)))


def _step_shows(step: str) -> bool:
    if _TO_FILE.search(step) or _OF_PROGRAMS.search(step):
        return False
    first, *others = (_bare(part) for part in step.split("|"))
    if others and _EACH.match(others[-1]):
        return True
    return bool(_SHOWS.match(first)) and all(map(_PASSES.match, others))


def _bare(part: str) -> str:
    text = part.strip()
    before = _BEFORE.match(text)
    return text[before.end() :] if before else text


def _of_shell(response: Mapping[str, Any]) -> Found | None:
    printed, errors = response.get("stdout"), response.get("stderr")
    if not isinstance(printed, str) or not isinstance(errors, str):
        return None
    if any(response.get(mark) for mark in _NOT_OURS):
        return None
    whole = f"{printed}\n{errors}" if printed and errors else printed or errors
    return whole, lambda short: {**response, "stdout": short, "stderr": ""}


def _of_search(response: Mapping[str, Any]) -> Found | None:
    if response.get("content"):
        return _member(response, "content")
    names = response.get("filenames")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    return "\n".join(names), lambda short: {**response, "filenames": short.split("\n")}


def _of_web_search(response: Mapping[str, Any]) -> Found | None:
    """The links stay: the model is asked to name them."""
    results = response.get("results")
    if not isinstance(results, list):
        return None
    said = [part for part in results if isinstance(part, str)]
    links = [part for part in results if not isinstance(part, str)]
    return "\n".join(said), lambda short: {**response, "results": [*links, short]}


def _of_server(response: object) -> Found | None:
    if isinstance(response, str):
        return response, lambda short: short
    if not isinstance(response, list) or not all(map(_is_text, response)):
        return None  # an image, a resource, or something of tomorrow
    whole = "\n".join(block["text"] for block in response)
    return whole, lambda short: [{"type": "text", "text": short}]


def _is_text(block: object) -> bool:
    return (
        isinstance(block, dict)
        and block.get("type") == "text"
        and isinstance(block.get("text"), str)
        and _BLOCK.issuperset(block)
    )


def _member(response: Mapping[str, Any], key: str) -> Found | None:
    text = response.get(key)
    return (text, lambda short: {**response, key: short}) if isinstance(text, str) else None
