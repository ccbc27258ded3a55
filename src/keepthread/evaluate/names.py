"""The exact things a text names: paths, code names, identifiers, URLs. Nothing here is shared with the facts.

A ruler must not be cut from the cloth it measures, so these definitions are the evaluation's own:

path        a file name with a known extension, with or without folders; an absolute path of three parts or more
name        snake_case, camelCase, PascalCase of two humps or more, CONSTANT_CASE, --flag
identifier  a UUID; 7 to 64 hexadecimal digits with a letter and a digit; #123; ABC-123
url         from its scheme to the next blank, quote or bracket, less the punctuation of the sentence

Of a dotted name those parts count that are such names: `dto.isNewUser` names `isNewUser`, `Map.get` names nothing.
Plain dictionary words never count, whatever they name.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal["path", "name", "identifier", "url", "command"]


class Unit(NamedTuple):
    """One exact thing that a text can hold. Paths are relative to the project where they lie in it, with slashes."""

    kind: Kind
    text: str


# The longer ones first: a pattern takes the first that fits.
_EXTENSION = (
    "graphql|csproj|gradle|sqlite|svelte|tfvars|astro|ipynb|jsonl|patch|plist|proto|"
    "scala|swift|bash|conf|dart|diff|fish|heex|html|java|jpeg|json|less|lock|sass|scss|"
    "toml|wasm|webp|yaml|bat|cfg|cjs|clj|cmd|cpp|css|csv|cts|env|erl|exs|gif|hpp|htm|ini|"
    "jpg|jsx|key|kts|log|lua|mdx|mjs|mts|nix|omp|pdf|pem|php|png|ps1|pyi|rst|sln|sol|sql|"
    "svg|tsv|tsx|txt|vue|whl|xml|yml|zig|zip|zsh|cc|cs|db|ex|fs|go|gz|hs|js|kt|md|ml|pl|"
    "py|rb|rs|sh|tf|ts|c|h"
)
# Without a folder these are as often a member of something: console.log, session.key.
_MEMBERS = frozenset({"log", "key", "env", "lock", "db", "c", "h", "cs", "fs", "ml"})
_PROPER = re.compile(
    "GitHub|GitLab|BitBucket|JavaScript|TypeScript|CoffeeScript|OpenAI|ChatGPT|DevOps|"
    "macOS|PyPI|YouTube|LinkedIn|StackOverflow|PostgreSQL|MySQL|SQLite|MongoDB|GraphQL|"
    "NodeJS|PowerShell|WordPress|WebSocket|LaTeX|JetBrains"
)
_STANDARD = re.compile(
    "UTF|SHA|AES|RSA|MD|ISO|RFC|GPT|HTTP|TLS|CVE|BASE|PEP|ES|EC|UCS|COVID|PR|IPV"
)

_URL = re.compile(r"\b(?:https?|wss?|ssh|git)://[^\s\"'`<>\\|^{}()\[\]，。）、]{3,400}")
_UUID = re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b")
_HASH = re.compile(r"(?<![\w#-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}(?![\w-])")
_NUMBER = re.compile(r"(?<![\w&#])#\d{1,7}\b|(?<![\w-])[A-Z][A-Z0-9]{1,9}-\d{1,6}(?![\w-])")
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9]{2,30}(?:-[a-z0-9]{1,30}){0,5}(?![\w-])")
_FOLDERED = (
    r"(?<![\w/.\\@~:-])(?:~[/\\]|\.{1,2}[/\\]|[A-Za-z]:[/\\]|[/\\])?"
    r"(?:[\w.@+-]{1,100}[/\\]){1,30}[\w.@+-]{0,200}\w"
)
_BARE = rf"(?<![\w/.\\-])[\w-][\w.-]{{0,100}}\.(?:{_EXTENSION})(?![\w/-]|\.\w)"
_PATH = re.compile(f"{_FOLDERED}|{_BARE}")
_FILE = re.compile(rf"\.({_EXTENSION})$", re.IGNORECASE)
_WORD = re.compile(r"(?<![\w$])[A-Za-z_$][\w$]{3,120}(?![\w$])")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]{2}")


def named(text: str, root: str) -> set[Unit]:
    """Return what the text names. `root` is the project's folder, "" when it is not known."""
    found: set[Unit] = set()
    if "://" in text:
        found |= {Unit("url", url.rstrip(".,;:!?*_")) for url in _URL.findall(text)}
        text = _URL.sub(" ", text)
    found |= {Unit("identifier", each.lower()) for each in _UUID.findall(text)}
    text = _UUID.sub(" ", text)
    found |= {Unit("identifier", each) for each in _HASH.findall(text)}
    found |= {Unit("identifier", each) for each in _NUMBER.findall(text) if _is_number(each)}
    found |= {Unit("name", flag) for flag in _FLAG.findall(text)}

    def path(match: re.Match[str]) -> str:
        written = match[0].replace("\\", "/")
        if not _is_path(written):
            return match[0]
        found.add(Unit("path", relative(written, root)))
        return " "

    words = set(_WORD.findall(_PATH.sub(path, text)))
    found |= {Unit("name", word) for word in words if _is_code(word)}
    return found


def relative(path: str, root: str) -> str:
    """Return a path with slashes, relative to the project when it lies in it."""
    path, root = path.replace("\\", "/"), root.replace("\\", "/").rstrip("/")
    if root and path[: len(root) + 1].lower() == f"{root}/".lower():
        path = path[len(root) + 1 :]
    while path.startswith("./"):
        path = path[2:]
    return path.rstrip("/")


def _is_path(written: str) -> bool:
    name = written.rsplit("/", 1)[-1]
    extension = _FILE.search(name)
    if "/" not in written:
        return bool(extension) and extension[1].lower() not in _MEMBERS  # type: ignore[index]
    absolute = written.startswith(("/", "~")) or written[1:2] == ":"
    return bool(extension) or (absolute and written.count("/") >= 3)


def _is_number(text: str) -> bool:
    if text.startswith("#"):
        return True
    return not _STANDARD.fullmatch(text.partition("-")[0].rstrip("0123456789"))


def _is_code(word: str) -> bool:
    core = word.strip("_$")
    if len(core) < 4 or _PROPER.fullmatch(core):
        return False
    if "_" in core:
        return any(letter.isalpha() for letter in core)
    return bool(_HUMP.search(word))
