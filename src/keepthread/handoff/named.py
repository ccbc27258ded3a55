"""Finding what a sentence names exactly: paths, commands, identifiers, hashes, issue numbers, URLs."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal["path", "url", "code", "name"]


class Named(NamedTuple):
    """A thing named in a sentence, and where in the sentence it begins. `code` stood in backquotes."""

    kind: Kind
    text: str
    at: int


_BACKQUOTED = re.compile(r"`([^`\n]{1,300})`")
_URL = re.compile(r"https?://[^\s`'\"<>()\[\]]{3,}")
_SLASHED = re.compile(
    r"(?<![\w/.~\\-])(?:[A-Za-z]:[\\/]|~/|\.{0,2}/)?(?:[\w.@+-]+[\\/])*[\w.@+-]*\w/?"
)
_EXTENSIONS = (
    "bat|c|cc|cfg|clj|cmake|conf|cpp|cs|css|csv|dart|ex|exs|erl|go|gradle|graphql|h|hpp|hs|html|ini|ipynb|java|js"
    "|json|jsonl|jsx|kt|less|lock|lua|md|mdx|mjs|cjs|ml|nix|php|pl|properties|proto|ps1|psm1|py|pyi|r|rb|rs|rst|sass"
    "|scala|scss|sh|sql|svelte|svg|swift|tf|toml|ts|tsx|txt|vue|xml|yaml|yml|zig|env|log|sqlite|db|csproj|sln"
)
_FILE = re.compile(rf"[\w@+-][\w.@+-]*\.(?:{_EXTENSIONS})", re.IGNORECASE)
_LIBRARY = re.compile(r"(?:[A-Z]\w*|d3)\.js", re.ASCII)  # Node.js, Next.js: a product, not a file
_NUMBERS = re.compile(r"[\d./:x-]+")
_NAMES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
        r"\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}\b",
        r"(?<![\w&#])#\d{2,7}\b",  # one digit is mostly a count: "bug #1"
        r"(?<![\w-])--[a-z][a-z0-9-]+",
        r"\b[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b",
        r"\b[a-z]{2,}(?:[A-Z][a-z0-9]+)+\b",
        r"\b(?:[A-Z][a-z0-9]+){3,}\b",
    )
)
_PLACE = re.compile(r"(?::\d+(?:[:-]\d+)?|#L\d+(?:-L?\d+)?)$")


def named(text: str, folders: frozenset[str] = frozenset()) -> list[Named]:
    """Return what the text names, in order.

    Args:
        text: a sentence.
        folders: top folders of the project; a slashed word without an ending counts as a path only below one of them.
    """
    found: list[Named] = []
    rest = _taken(_BACKQUOTED, text, "code", found)
    rest = _taken(_URL, rest, "url", found)
    for match in _SLASHED.finditer(rest):
        path = match[0].rstrip(".")
        if _is_path(path, folders):
            found.append(Named("path", path, match.start()))
            rest = _blanked(rest, match)
    for pattern in _NAMES:
        rest = _taken(pattern, rest, "name", found)
    return sorted(found, key=lambda entry: entry.at)


def without_place(path: str) -> str:
    """Return the path without a line number at its end."""
    return _PLACE.sub("", path)


def _taken(pattern: re.Pattern[str], text: str, kind: Kind, found: list[Named]) -> str:
    """Collect the matches and return the text with blanks in their stead, so that nothing is found twice."""
    for match in pattern.finditer(text):
        content = match[1] if pattern.groups else match[0]
        found.append(Named(kind, content.strip().rstrip(".,;:!?"), match.start()))
        text = _blanked(text, match)
    return text


def _blanked(text: str, match: re.Match[str]) -> str:
    return text[: match.start()] + " " * len(match[0]) + text[match.end() :]


def _is_path(word: str, folders: frozenset[str]) -> bool:
    plain = word.replace("\\", "/")
    parts = [part for part in plain.split("/") if part not in ("", ".", "..", "~")]
    if not parts or _NUMBERS.fullmatch(plain) or _LIBRARY.fullmatch(parts[-1]):
        return False
    if _FILE.fullmatch(parts[-1]):
        return True
    if plain.startswith(("/", "./", "../", "~/")) or re.match(r"[A-Za-z]:/", plain):
        return len(parts) > 1
    return len(parts) > 2 and parts[0] in folders
