"""Names that a piece of source declares: functions, classes, tests, headings, keys. Any language, line by line."""

from __future__ import annotations

import re

from keepthread.handoff.facts.text import lazy

_LONGEST = 30_000
_LONGEST_READ = 12_000
_NUMBER = lazy(r"^ *\d+[\t→]", re.MULTILINE)
_MOST = 60
_MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|pub(?:\([a-z]+\))?|inline|"
    r"override|virtual|sealed|partial|unsafe|extern|declare|open|suspend|data|readonly|const(?=\s+fn\b))\s+)*"
)
_HEADING = lazy(
    r"^[ \t]*"
    + _MODIFIERS
    + r"(?:def|class|function\*?|fn|func|fun|type|interface|trait|struct|enum|impl|module|mod|namespace|object|record|"
    r"protocol|extension|macro_rules!|sub|proc|defmodule|defp?|defn|CREATE TABLE(?: IF NOT EXISTS)?)\s+"
    r"(?:\([^)\n]{0,80}\)\s*)?([A-Za-z_$][\w$.]*[?!]?)",
    re.MULTILINE,
)
_TOP_LEVEL = lazy(
    r"^(?:export\s+)?(?:(?:const|let|var|static|val)\s+(?:mut\s+)?)?([A-Za-z_$][\w$]{2,})\s*(?::[^=\n]{1,60})?=(?![=>])",
    re.MULTILINE,
)
_METHOD = lazy(
    r"^[ \t]+"
    + _MODIFIERS
    + r"(?:[\w<>\[\],.?]+[ \t]+)?([A-Za-z_$]\w{2,})[ \t]*\([^;{}\n]{0,200}\)[^;{}=\n]{0,80}\{[ \t]*$",
    re.MULTILINE,
)
_SHELL_FUNCTION = lazy(r"^([A-Za-z_][\w-]*)[ \t]*\(\)[ \t]*\{", re.MULTILINE)
_TEST = lazy(
    r"^[ \t]*(?:it|test|describe|context|scenario)(?:\.\w+)?\(\s*['\"`]([^'\"`\n]{3,80})['\"`]",
    re.MULTILINE,
)
_MARKDOWN = lazy(r"^#{1,4}[ \t]+(\S[^\n]{1,80})$", re.MULTILINE)
_JSON_KEY = lazy(r"^[ \t]*\"([\w.@/$-]{2,60})\"[ \t]*:", re.MULTILINE)
_YAML_KEY = lazy(r"^[ \t]*(?:- )?([A-Za-z_][\w.-]{1,60}):(?:[ \t]|$)", re.MULTILINE)
_TOML_KEY = lazy(r"^(?:\[+([\w.\"-]{2,60})\]+|([A-Za-z_][\w.-]{1,60})[ \t]*=)", re.MULTILINE)
_CONTROL = frozenset(
    ("if", "for", "while", "switch", "catch", "return", "function", "else", "match", "with", "elif")
)


def declared(text: str, path: str) -> list[str]:
    """Return the names that `text` declares, in order, at most 60; `path` tells the kind of file."""
    text = text[:_LONGEST]
    extension = path.rsplit(".", 1)[-1].lower() if "." in path else ""
    if extension in ("md", "mdx", "rst", "markdown", "txt"):
        found = _MARKDOWN.findall(text)
    elif extension in ("json", "jsonc", "json5"):
        found = _JSON_KEY.findall(text)
    elif extension in ("yml", "yaml"):
        found = _YAML_KEY.findall(text)
    elif extension in ("toml", "ini", "cfg", "env", "conf", "properties"):
        found = [one or other for one, other in _TOML_KEY.findall(text)]
    else:
        found = _code(text)
    return list(dict.fromkeys(name.strip() for name in found))[:_MOST]


def declared_in_reading(text: str, path: str) -> list[str]:
    """Return the same for what a reading tool printed, each line behind its number."""
    return declared(_NUMBER.sub("", text[:_LONGEST_READ]), path)


def _code(text: str) -> list[str]:
    places: list[tuple[int, str]] = []
    for pattern in (_HEADING, _TOP_LEVEL, _TEST):
        places += [(match.start(), match[1]) for match in pattern.finditer(text)]
    if "{" in text:
        for pattern in (_METHOD, _SHELL_FUNCTION):
            places += [(match.start(), match[1]) for match in pattern.finditer(text)]
    return [name for _, name in sorted(places) if name not in _CONTROL]
