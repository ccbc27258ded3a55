"""Shell commands taken apart: simple commands, their words, and what they write to. Tolerant of anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from keepthread.handoff.facts.text import lazy

_LONGEST = 20_000
_HEREDOC = lazy(r"<<-?[ \t]*\\?(['\"]?)([A-Za-z_][\w.-]*)\1")
_SEPARATOR = lazy(r"[\\/]")
_BLANKS = lazy(r"[ \t]+")
_LEADING_CD = lazy(
    r"^\s*(?:cd|pushd|Set-Location)\s+(?:\"[^\"]*\"|'[^']*'|[^\s;&|]+)\s*(?:&&|;)\s*"
)
_TRAILING_CUT = lazy(r"\s*(?:2>&1\s*)?\|\s*(?:tail|head)\b[^|;&]*$|\s*2>(?:&1|/dev/null)\s*$")
_TOKEN = lazy(
    r"""
    (?P<space>[ \t\r]+|\\\r?\n|(?:(?<=\s)|^)\#[^\n]*)
  | (?P<end>\n|&&|\|\||;+|\|&?|&(?!>)|[(){}](?=\s|$|;))
  | (?P<redirect>(?:\d|&)?>>?[|&]?|<<?<?-?)
  | (?P<word>(?:"(?:\\.|[^"\\])*"?|'[^']*'?|\\.|[^\s"'\\;|&<>]+)+)
    """,
    re.VERBOSE | re.DOTALL,
)
# PowerShell escapes with a backtick and doubles quotes; a backslash is a path separator.
_TOKEN_POWERSHELL = lazy(
    r"""
    (?P<space>[ \t\r]+|`\r?\n|(?:(?<=\s)|^)\#[^\n]*)
  | (?P<end>\n|&&|\|\||;+|\||&|[(){}](?=\s|$|;))
  | (?P<redirect>[\d*]?>>?(?:&\d)?|<)
  | (?P<word>(?:"(?:`.|[^"`])*"?|'[^']*'?|`.|[^\s"'`;|&<>]+)+)
    """,
    re.VERBOSE | re.DOTALL,
)
_QUOTED = lazy(r"\"((?:\\.|[^\"\\])*)\"?|'([^']*)'?|\\(.)", re.DOTALL)
_QUOTED_POWERSHELL = lazy(r"\"((?:`.|[^\"`])*)\"?|'([^']*)'?", re.DOTALL)
_DOUBLE_ESCAPE = lazy(r"\\([\"\\$`])")
_ASSIGNMENT = lazy(r"[A-Za-z_]\w*\+?=")
_DRIVE = lazy(r"[A-Za-z]:\\")
_NOT_CONCRETE = lazy(r"[$`*?{}<>|\n]")
_SHELL_WORDS = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "{", "("))
_PREFIXES = frozenset(
    ("sudo", "env", "time", "nohup", "command", "exec", "nice", "builtin", "doas")
)


class Piece:
    """One simple command.

    Attributes:
        words: program and arguments, unquoted, without assignments and prefixes such as sudo.
        program: the program's base name, without .exe.
        writes: targets of `>`.
        appends: targets of `>>`.
    """

    __slots__ = ("appends", "program", "words", "writes")

    def __init__(self, words: Iterable[str] = ()) -> None:
        self.words: list[str] = list(words)
        self.writes: list[str] = []
        self.appends: list[str] = []
        self.program = ""

    @property
    def arguments(self) -> list[str]:
        """The words after the program that are no options."""
        return [word for word in self.words[1:] if not word.startswith("-")]


def without_heredocs(command: str) -> str:
    """Return the command without the bodies of its here-documents."""
    if "<<" not in command or "\n" not in command:
        return command
    kept: list[str] = []
    waiting: list[str] = []
    for line in command.split("\n"):
        if waiting:
            if line.strip() == waiting[0]:
                waiting.pop(0)
            continue
        kept.append(line)
        waiting = [match[2] for match in _HEREDOC.finditer(line)]
    return "\n".join(kept)


@lru_cache(maxsize=4096)
def pieces(command: str, *, powershell: bool = False) -> tuple[Piece, ...]:
    """Split a command line into its simple commands; here-document bodies are left out.

    The answer is shared between callers and must not be changed.
    """
    text = without_heredocs(command)[:_LONGEST]
    found: list[Piece] = [Piece()]
    redirect = ""
    for kind, token in _tokens(text, powershell):
        if kind == "end":
            found.append(Piece())
            redirect = ""
        elif kind == "redirect":
            redirect = token
        elif redirect:
            _redirected(found[-1], redirect, _unquote(token, powershell))
            redirect = ""
        else:
            found[-1].words.append(_unquote(token, powershell))
    return tuple(_named(piece) for piece in found if piece.words or piece.writes or piece.appends)


def simple(words: Sequence[str]) -> Piece:
    """Return one simple command from its words."""
    return _named(Piece(words))


def _named(piece: Piece) -> Piece:
    piece.words = _bare(piece.words)
    name = _SEPARATOR.split(piece.words[0])[-1] if piece.words else ""
    piece.program = name[:-4] if name.lower().endswith(".exe") else name
    return piece


def concrete(word: str) -> bool:
    """Return whether a word names one file as it stands: no variable, no substitution, no pattern."""
    return bool(word) and not _NOT_CONCRETE.search(word)


def comparable(command: str) -> str:
    """Return the form under which two runs count as the same command."""
    text = " ".join(without_heredocs(command)[:_LONGEST].split())
    previous = None
    while previous != text:
        previous = text
        text = _TRAILING_CUT.sub("", _LEADING_CD.sub("", text, count=1), count=1)
    return text.strip()


def shown(command: str, limit: int = 300) -> str:
    """Return a command for display: its first line, bounded; what is cut is marked."""
    lines = [line for line in command.strip().splitlines() if line.strip()]
    if not lines:
        return ""
    head = _BLANKS.sub(" ", lines[0].strip())
    if len(head) > limit:
        return head[:limit].rstrip() + " …"
    return head if len(lines) == 1 else f"{head} …"


def _tokens(text: str, powershell: bool) -> Iterator[tuple[str, str]]:
    pattern = _TOKEN_POWERSHELL if powershell else _TOKEN
    for match in pattern.finditer(text):
        kind = match.lastgroup or ""
        if kind != "space":
            yield kind, match[0]


def _redirected(piece: Piece, operator: str, target: str) -> None:
    # 2>, 2>&1 and here-documents write no file worth naming; &> and 1> do.
    if ">" in operator and not operator.startswith("2") and not target.startswith("&"):
        (piece.appends if ">>" in operator else piece.writes).append(target)


def _unquote(word: str, powershell: bool) -> str:
    if powershell:
        return _QUOTED_POWERSHELL.sub(lambda match: match[1] or match[2] or "", word)
    if '"' not in word and "'" not in word and (_DRIVE.match(word) or "\\" not in word):
        return word
    return _QUOTED.sub(_plain, word)


def _plain(match: re.Match[str]) -> str:
    if match[1] is not None:
        return _DOUBLE_ESCAPE.sub(r"\1", match[1])
    return match[2] if match[2] is not None else match[3]


def _bare(words: list[str]) -> list[str]:
    """Return the words from the program on."""
    if words and words[-1].endswith(")") and "(" not in words[-1]:
        words = [*words[:-1], words[-1].rstrip(")")]
    index = 0
    while index < len(words):
        word = words[index]
        if index == 0 and word.startswith("(") and len(word) > 1:
            words = [word.lstrip("("), *words[1:]]
        elif word in _SHELL_WORDS or word in _PREFIXES or _ASSIGNMENT.match(word):
            index += 1
        elif word == "timeout" and index + 2 < len(words):
            index += 2
        else:
            break
    return words[index:]
