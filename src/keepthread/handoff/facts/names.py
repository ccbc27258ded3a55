"""Exact names found in text: which runs of characters are code names, paths, hashes, URLs, and which are plain words.

Every text is first split into candidate tokens; each different token is judged once and remembered, because sessions
repeat themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from keepthread.handoff.facts.text import lazy, word_set

Found = tuple[tuple[str, str], ...]

_TOKEN = lazy(r"[\w$@#~./\\:%+-]{3,}|#[1-9]\b")
_URL = lazy(
    r"\b(?:https?|wss?|ssh|git|postgres(?:ql)?|redis|mongodb|file)://[^\s\"'`<>\\|^{}，。）、]{3,300}"
)
_BACKTICKED = lazy(r"`([^`\n]{2,160})`")
_UUID = lazy(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HASH = lazy(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}")
_VERSION = lazy(r"v?\d{1,4}\.\d{1,4}(?:\.\d{1,5}){1,2}(?:[-+][\w.]{1,20})?|v\d{1,3}\.\d{1,4}")
_ISSUE = lazy(r"(?:[\w.-]{1,40}/[\w.-]{1,60})?#\d{1,7}|[A-Z][A-Z0-9]{1,9}-\d{1,6}")
_FLAG = lazy(r"--[a-z][\w-]{1,40}")
# A host without a dot has a port of four digits: `border-radius:50` names none.
_HOST_PORT = lazy(
    r"(?:localhost|\d{1,3}(?:\.\d{1,3}){3}|[a-z][\w-]*(?:\.[\w-]+)+):\d{2,5}|[a-z][\w-]*:\d{4,5}"
)
_ESCAPED = lazy(r"\\[nrt\"'].*", re.DOTALL)
_DRIVE = lazy(r"[A-Za-z]:\\")
_ARITY = lazy(r"([A-Za-z_][\w.]*[?!]?)/\d{1,2}")
_NO_PATH = lazy(r"^\d*s/|\\[.*+?()\[\]]")
# Ids of the host's own records, and what stands where a secret stood.
_NO_CODE = lazy(r"(?:[a-z]+_)?(?:toolu|msg|req)_\w{16,}|REDACTED\w*")
_LINE_SUFFIX = lazy(r"(?::\d+(?:[:-]\d+)?(?::[^/\\]*)?|#L\d+(?:-L?\d+)?)$")
_WORD = lazy(r"[A-Za-z_$][\w$]*")
_HUMP = lazy(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]{2}")
_ERROR_CODE = lazy(
    r"E(?:ACCES|NOENT|PERM|EXIST|ADDRINUSE|CONNREFUSED|CONNRESET|PIPE|BUSY|MFILE|NOSPC|TIMEDOUT|INVAL|ISDIR|NOTDIR|NOTEMPTY"
    r"|LOOP|RESOLVE|XDEV|NOMEM|AGAIN|INTR|ROFS)|[A-Z]{1,5}\d{3,5}"
)
_DOTFILE = lazy(
    r"\.(?:env|git|docker|eslint|prettier|npm|nvm|babel|editor|claude|vscode|idea|github|husky|pre-|rubocop|flake8|pylint|tool-|bash|zsh|ssh|aws|beads|cursor|gitlab|ci\b|config|venv)[\w.-]*"
)
_KEBAB = lazy(r"@?[a-z][a-z0-9]*(?:[-.:][a-z0-9]+)+")
_EXTENSION = lazy(r"\.([A-Za-z][A-Za-z0-9]{0,9})$")
_PLAIN_SEGMENTS = lazy(r"[A-Za-z]+(?:/[A-Za-z]+)+")
_NUMERIC_PATH = lazy(r"[\d./:-]+")
_IDEOGRAPHS = lazy(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]+")
_EDGE = ".,:;!?-+%/\\~@#"

FILE_EXTENSIONS = word_set(
    """
    py pyi pyx ipynb js jsx mjs cjs ts tsx mts cts vue svelte astro go rs rb php java kt kts scala groovy gradle swift
    m mm c h cc cpp cxx hpp hh cs fs vb lua pl pm r jl dart ex exs erl hs ml clj cljs elm zig nim sol sh bash zsh fish
    ps1 psm1 bat cmd sql graphql gql proto json jsonl json5 jsonc yaml yml toml ini cfg conf env lock xml html htm css
    scss sass less md mdx rst txt adoc tex csv tsv log svg png jpg jpeg gif webp ico pdf tf tfvars hcl nix bzl cmake mk
    dockerfile csproj sln props patch diff snap test spec pem key crt zip gz tar whl wasm map db sqlite omp plist"""
)
# Proper nouns and units that look like code names and are not.
_NOT_NAMES = word_set(
    """
    GitHub GitLab JavaScript TypeScript OpenAI ChatGPT DevOps macOS iOS iPhone PyPI npmjs YouTube LinkedIn VSCode
    StackOverflow WebSocket PostgreSQL MySQL MongoDB GraphQL NodeJS PowerShell WordPress utf-8 UTF-8 SHA-1 SHA-256
    ISO-8601 AES-256 RSA-2048 COVID-19 HTTP-2 GPT-4 GPT-5 e.g i.e etc. vs. Node.js Next.js Vue.js React.js
    rev-parse rev-list ls-files ls-tree merge-base show-ref symbolic-ref cat-file
    """
)
_PLAIN_QUOTED = word_set(
    """the and for not you are all any was has true false null none undefined this that self void int str string number
    bool boolean float list dict object array yes main master HEAD origin error value name type key data file path text
    test tests src foo bar baz"""
)


def tokens(text: str) -> Iterable[str]:
    """Return the different runs of characters in the text that could be names, in their order."""
    return dict.fromkeys(_TOKEN.findall(text))


def urls(text: str) -> list[str]:
    """Return the URLs in the text, without the punctuation of the sentence around them."""
    if "://" not in text:
        return []
    return [_trim_url(match) for match in _URL.findall(text)]


def backticked(text: str) -> list[str]:
    """Return what stands between single backticks."""
    return _BACKTICKED.findall(text) if "`" in text else []


class Judge:
    """Says what a token is, and remembers it."""

    def __init__(self) -> None:
        self._known: tuple[dict[str, Found], dict[str, Found]] = ({}, {})
        self._dull: tuple[set[str], set[str]] = (set(), set())  # the many tokens that name nothing

    def names(self, token: str, *, strong: bool) -> Found:
        """Return (text, kind) of the names in one token.

        `strong` says that the token stands where exact names stand (a tool's input, backticks): there hyphenated words
        and short paths count too.
        """
        return self.all((token,), strong=strong)

    def all(self, found: Iterable[str], *, strong: bool) -> Found:
        """Return (text, kind) of the names in several tokens, each once, in a fixed order."""
        known, dull = self._known[strong], self._dull[strong]
        pairs: dict[tuple[str, str], None] = {}
        for token in [token for token in found if token not in dull]:
            names = known.get(token)
            if names is None:
                names = _names(token, strong)
                if not names:
                    dull.add(token)
                    continue
                known[token] = names
            for pair in names:
                pairs[pair] = None
        return tuple(pairs)

    def quoted(self, text: str) -> Found:
        """Return the names in what somebody set between backticks; a single plain word counts there."""
        if " " not in text:
            word = text.strip("()[]{}<>,;:.!?\"'*")
            if _WORD.fullmatch(word) and 3 <= len(word) <= 60 and word.lower() not in _PLAIN_QUOTED:
                return ((word, "name"),)
        return tuple(
            dict.fromkeys(pair for token in tokens(text) for pair in self.names(token, strong=True))
        )


def _trim_url(url: str) -> str:
    url = url.rstrip(".,;:!?*_")
    while url.endswith((")", "]")) and url.count("(") + url.count("[") < url.count(")") + url.count(
        "]"
    ):
        url = url[:-1].rstrip(".,;:!?*_")
    return url


def _names(token: str, strong: bool) -> Found:
    if token.isalpha() and (token.islower() or token[1:].islower()):
        return ()
    if not token.isascii():
        return _foreign(token, strong)
    if token.startswith("--"):
        flag = _FLAG.match(token)
        return ((flag[0], "flag"),) if flag else ()
    if "://" in token or token.startswith(("//", "$", "..")) or "/$" in token:
        return ()
    if "\\" in token:
        token = _without_escapes(token)
    bare = token.rstrip(".,:;!?-+%/\\~@#$")
    bare = bare.lstrip(",:;!?%+-") if not bare.startswith("#") else bare
    if bare.isdigit() or (bare.isalpha() and (bare.islower() or bare[1:].islower())):
        return ()
    if len(bare) < 3 or len(bare) > 240 or bare in _NOT_NAMES:
        return ((bare, "issue"),) if len(bare) == 2 and bare[0] == "#" and bare[1].isdigit() else ()
    fixed = _fixed_form(bare)
    if fixed:
        return ((bare, fixed),)
    return _written_form(bare, strong)


def _without_escapes(token: str) -> str:
    """Return the token up to a line end as JSON writes it; in a Windows path the same signs begin a name."""
    at = _ESCAPED.search(token)
    if at is None or _DRIVE.match(token):
        return token
    head = token[: at.start()]
    return head if "/" in head or _has_file_extension(head) else token


def _foreign(token: str, strong: bool) -> Found:
    """Judge a token with letters beyond ASCII: a path may hold them, a name glued to ideographs is cut out."""
    bare = token.strip(_EDGE)
    if ("/" in bare or "\\" in bare) and _has_file_extension(bare):
        return ((_LINE_SUFFIX.sub("", bare), "path"),)
    if _IDEOGRAPHS.search(bare):
        parts = _IDEOGRAPHS.split(token)
        return tuple(pair for part in parts if len(part) > 2 for pair in _names(part, strong))
    if "_" in bare and _WORD.fullmatch(bare):
        return ((bare, "name"),)
    return ((bare, "path"),) if _has_file_extension(bare) else ()


def _fixed_form(bare: str) -> str:
    """Return the kind of a token that its form alone gives away, or ""."""
    # The cheap tests in front spare most tokens the patterns.
    if len(bare) == 36 and _UUID.fullmatch(bare):
        return "uuid"
    first = bare[0]
    if first in "0123456789abcdef" and _HASH.fullmatch(bare):
        return "hash"
    if (first.isdigit() or first == "v") and "." in bare and _VERSION.fullmatch(bare):
        return "number"
    if (
        ":" in bare
        and _HOST_PORT.fullmatch(bare)
        and not _has_file_extension(bare.partition(":")[0])
    ):
        return "number"
    return "issue" if ("#" in bare or "-" in bare) and _ISSUE.fullmatch(bare) else ""


def _written_form(bare: str, strong: bool) -> Found:
    if "/" in bare or "\\" in bare:
        return _path(bare, strong)
    bare = _LINE_SUFFIX.sub("", bare).lstrip("@#")
    if "::" in bare:
        return _qualified(bare, "::")
    if "." in bare:
        return _dotted(bare, strong)
    if _WORD.fullmatch(bare):
        return ((bare, "name"),) if _is_code_word(bare) else ()
    if strong and _KEBAB.fullmatch(bare) and len(bare) > 4:
        return ((bare, "name"),)
    if ":" in bare or "-" in bare:
        return _code_words(part for part in re.split(r"[:\-+%~@#]+", bare) if len(part) > 3)
    return ()


def _path(bare: str, strong: bool) -> Found:
    arity = _ARITY.fullmatch(bare)
    if arity:  # Erlang's way to name a function: render/1
        return _code_words(arity[1].split("."))
    path = _LINE_SUFFIX.sub("", bare)
    # A range of revisions, or words left out; an expression for sed, a pattern.
    if "..." in path or _NO_PATH.search(path):
        return ()
    if path.startswith("@") and path.count("/") == 1:
        return ((path, "name"),)
    path = path.lstrip("@")
    if path[:2] in ("a/", "b/") and path.count("/") > 1 and _has_file_extension(path):
        path = path[2:]
    if path.startswith(("/dev/", "/proc/", "\\")) or "$" in path:
        return ()
    if _NUMERIC_PATH.fullmatch(path) or "//" in path or len(path) < 4:
        return ()
    if (
        "\\" in path
        and "/" not in path
        and not re.match(r"[A-Za-z]:\\", path)
        and not _has_file_extension(path)
    ):
        return ()
    if _has_file_extension(path) or (strong and not path.startswith("/")):
        return ((path, "path"),)
    # Without an extension "read/write" and "and/or" look like folders.
    if path.count("/") >= 2 and (not _PLAIN_SEGMENTS.fullmatch(path) or path.count("/") > 2):
        return ((path, "path"),)
    return ()


def _qualified(bare: str, mark: str) -> Found:
    parts = [part for part in bare.split(mark) if part]
    if len(parts) < 2 or not all(_WORD.fullmatch(part) for part in parts):
        return _code_words(parts)
    last = parts[-1]
    whole = (bare.strip(":"), "name")
    return (whole, (last, "name")) if _is_code_word(last) else (whole,)


def _dotted(bare: str, strong: bool) -> Found:
    if bare.startswith("."):
        # ".go" is an extension, ".map" a plain word's method: what is known as a file counts, and code names.
        if strong and _DOTFILE.fullmatch(bare):
            return ((bare, "path"),)
        return _code_words(bare.split("."))
    if _has_file_extension(bare) and not bare.startswith("self."):
        return ((bare, "path"),)
    inner = bare.strip(".")
    for owner in ("self.", "this.", "cls."):
        inner = inner.removeprefix(owner)
    parts = inner.split(".")
    own = _code_words(parts)
    if not all(_WORD.fullmatch(part) for part in parts) or len(parts) == 1:
        return own
    plain = all(part[:1].isupper() and part[1:].islower() for part in parts)
    if len(parts) > 4 or len(inner) < 5 or plain or min(map(len, parts)) < 2:
        return own
    return ((inner, "name"), *own) if strong or own or inner.islower() else own


def _code_words(parts: Iterable[str]) -> Found:
    return tuple((part, "name") for part in parts if _WORD.fullmatch(part) and _is_code_word(part))


def _is_code_word(word: str) -> bool:
    """Return whether a single word can only be a code name: snake_case, camelCase, a constant, an error code."""
    if word in _NOT_NAMES or len(word) < 3 or _NO_CODE.fullmatch(word):
        return False
    if "_" in word.strip("_") or word.startswith("__"):
        return not word.strip("_").replace("_", "").isdigit()
    return bool(_HUMP.search(word)) or (word.isupper() and bool(_ERROR_CODE.fullmatch(word)))


def _has_file_extension(path: str) -> bool:
    match = _EXTENSION.search(path)
    return bool(match) and match[1].lower() in FILE_EXTENSIONS  # type: ignore[index]
