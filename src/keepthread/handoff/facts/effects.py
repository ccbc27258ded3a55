"""What shell commands do to files, as far as the words tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from keepthread.handoff.facts.paths import is_absolute
from keepthread.handoff.facts.shell import Piece, concrete, simple
from keepthread.handoff.facts.text import lazy

Kind = Literal["create", "modify", "delete", "rename", "read", "folder"]

_HAS_EXTENSION = lazy(r"[^/\\]\.[A-Za-z0-9]{1,10}$")
# Devices, other streams, and PowerShell's drives that hold no files.
_NO_FILE = lazy(r"/dev/|/proc/|&|-$|\$null$|NUL$|[A-Za-z]\w+:[\\/]?\w", re.IGNORECASE)
_LINE_RANGE = lazy(r"[\d,$p;]+")


class Effect(NamedTuple):
    """One change (or reading) of one file.

    Attributes:
        cwd: the folder a `cd` before it went to, "" when there was none.
    """

    kind: Kind
    path: str
    came_from: str = ""
    cwd: str = ""


def of(pieces: Sequence[Piece]) -> list[Effect]:
    """Return the effects of a command line's pieces, in order."""
    found: list[Effect] = []
    cwd = ""
    for piece in pieces:
        program = piece.program.lower()
        if program in ("cd", "pushd", "set-location") and len(piece.arguments) == 1:
            target = piece.arguments[0]
            if concrete(target):
                cwd = target if is_absolute(target) or not cwd else f"{cwd}/{target}"
            continue
        reader = _PROGRAMS.get(program)
        effects = list(reader(piece)) if reader else []
        effects += [Effect("create", target) for target in piece.writes]
        effects += [Effect("modify", target) for target in piece.appends]
        found += [_placed(effect, cwd) for effect in effects if _is_file(effect)]
    return found


def _placed(effect: Effect, cwd: str) -> Effect:
    return Effect(effect.kind, effect.path, effect.came_from, cwd) if cwd else effect


def _is_file(effect: Effect) -> bool:
    return (
        concrete(effect.path)
        and not _NO_FILE.match(effect.path)
        and effect.path not in (".", "..", "/")
    )


def _remove(piece: Piece) -> Iterator[Effect]:
    return (Effect("delete", path) for path in piece.arguments)


def _touch(piece: Piece) -> Iterator[Effect]:
    return (Effect("create", path) for path in piece.arguments)


def _make_folder(piece: Piece) -> Iterator[Effect]:
    return (Effect("folder", path) for path in piece.arguments)


def _tee(piece: Piece) -> Iterator[Effect]:
    return (Effect("create", path) for path in piece.arguments)


def _move(piece: Piece) -> Iterator[Effect]:
    for old, new in _pairs(piece.arguments):
        yield Effect("rename", new, came_from=old)


def _copy(piece: Piece) -> Iterator[Effect]:
    for _, new in _pairs(piece.arguments):
        yield Effect("create", new)


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (from, to) of a move or copy; a target that is a folder receives the source's name."""
    if len(words) < 2:
        return
    *sources, target = words
    for old in sources:
        if not concrete(old):
            continue
        base = re.split(r"[/\\]", old.rstrip("/\\"))[-1]
        folder = len(sources) > 1 or target.endswith(("/", "\\")) or target in (".", "..")
        folder = folder or bool(_HAS_EXTENSION.search(base) and not _HAS_EXTENSION.search(target))
        yield old, f"{target.rstrip('/')}/{base}" if folder else target


def _sed(piece: Piece) -> Iterator[Effect]:
    in_place = any(word.startswith(("-i", "--in-place")) for word in piece.words[1:])
    scripted = any(word in ("-e", "-f", "--expression") for word in piece.words[1:])
    names = piece.arguments if scripted else piece.arguments[1:]
    # BSD sed takes a suffix after -i, often '': an empty word is no file.
    for name in names:
        if _HAS_EXTENSION.search(name):
            yield Effect("modify" if in_place else "read", name)


def _perl(piece: Piece) -> Iterator[Effect]:
    if any(re.match(r"-\w*i", word) for word in piece.words[1:]):
        yield from (
            Effect("modify", name) for name in piece.arguments[1:] if _HAS_EXTENSION.search(name)
        )


def _show(piece: Piece) -> Iterator[Effect]:
    for name in piece.arguments:
        if _HAS_EXTENSION.search(name) and not _LINE_RANGE.fullmatch(name):
            yield Effect("read", name)


def _download(piece: Piece) -> Iterator[Effect]:
    for option, value in zip(piece.words, piece.words[1:], strict=False):
        if option in ("-o", "--output", "-O", "--output-document"):
            yield Effect("create", value)


def _git(piece: Piece) -> Iterator[Effect]:
    words = piece.words[1:]
    while words and words[0].startswith("-"):
        words = words[2:] if words[0] in ("-C", "-c") else words[1:]
    rest = simple(words)
    name = words[0] if words else ""
    if name == "mv":
        yield from _move(rest)
    elif name == "rm" and "--cached" not in words:
        yield from _remove(rest)
    elif name == "restore" and "--staged" not in words:
        yield from (
            Effect("modify", path) for path in rest.arguments if _HAS_EXTENSION.search(path)
        )
    elif name == "checkout" and "--" in words:
        yield from (Effect("modify", path) for path in words[words.index("--") + 1 :])


def _named(piece: Piece, *names: str) -> str:
    """Return the value of a PowerShell parameter, "" when it is not given."""
    for option, value in zip(piece.words, piece.words[1:], strict=False):
        if option.lower() in names:
            return value
    return ""


def _positional(piece: Piece) -> list[str]:
    """Return the words that belong to no PowerShell parameter; switches such as -Force take no value."""
    found: list[str] = []
    skip = False
    for word in piece.words[1:]:
        if word.startswith("-"):
            skip = word.lower() not in (
                "-force",
                "-recurse",
                "-verbose",
                "-confirm:$false",
                "-append",
                "-nonewline",
                "-raw",
            )
        elif skip:
            skip = False
        else:
            found.append(word)
    return found


def _target(piece: Piece) -> str:
    given = _named(piece, "-path", "-literalpath", "-filepath")
    return given or next(iter(_positional(piece)), "")


def _remove_item(piece: Piece) -> Iterator[Effect]:
    return (Effect("delete", path.strip()) for path in _target(piece).split(","))


def _new_item(piece: Piece) -> Iterator[Effect]:
    if _named(piece, "-itemtype", "-type").lower() not in ("directory", "symboliclink", "junction"):
        yield Effect("create", _target(piece))


def _write_item(piece: Piece) -> Iterator[Effect]:
    yield Effect("create", _target(piece))


def _move_item(piece: Piece) -> Iterator[Effect]:
    old = _target(piece)
    positional = [word for word in _positional(piece) if word != old]
    new = _named(piece, "-destination", "-newname") or next(iter(positional), "")
    if _named(piece, "-newname") or piece.program.lower() in ("rename-item", "rni", "ren"):
        folder = re.match(r".*[/\\]", old)
        new = (folder[0] if folder else "") + new
    for pair in _pairs([old, new]) if new else ():
        yield Effect("rename", pair[1], came_from=pair[0])


def _copy_item(piece: Piece) -> Iterator[Effect]:
    old = _target(piece)
    new = _named(piece, "-destination") or next(
        (word for word in _positional(piece) if word != old), ""
    )
    for pair in _pairs([old, new]) if new else ():
        yield Effect("create", pair[1])


def _get_content(piece: Piece) -> Iterator[Effect]:
    yield Effect("read", _target(piece))


_PROGRAMS: dict[str, Callable[[Piece], Iterator[Effect]]] = {
    "rm": _remove, "unlink": _remove, "trash": _remove, "del": _remove,
    "mv": _move, "cp": _copy, "touch": _touch, "mkdir": _make_folder, "tee": _tee,
    "sed": _sed, "gsed": _sed, "perl": _perl,
    "cat": _show, "head": _show, "tail": _show, "nl": _show, "bat": _show, "less": _show,
    "curl": _download, "wget": _download, "git": _git,
    "remove-item": _remove_item, "ri": _remove_item, "new-item": _new_item, "ni": _new_item,
    "set-content": _write_item, "add-content": _write_item, "out-file": _write_item, "tee-object": _write_item,
    "move-item": _move_item, "rename-item": _move_item, "ren": _move_item, "copy-item": _copy_item,
    "get-content": _get_content, "gc": _get_content,
}  # fmt: skip
