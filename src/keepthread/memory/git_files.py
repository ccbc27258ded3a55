"""What the files of a repository say about it, read without starting git: a session start has no time for a process.

All of it is data: nothing is followed but git's own pointer from a worktree to its repository. Files that a
configuration includes are not read, nor is the user's own configuration.
"""

from __future__ import annotations

import os
import re

from keepthread.files import read_regular
from keepthread.host.locations import git_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_LIMIT = 1 << 20  # bytes of a configuration
_POINTER = 4096  # bytes of a file that holds one path or name
_MOST = 50  # remotes
_LONGEST = 500  # characters of a URL
_SECTION = re.compile(r'\[[ \t]*([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?[ \t]*\]')
_KEY = re.compile(r"[ \t]*([A-Za-z][A-Za-z0-9-]*)[ \t]*=[ \t]*(.*)", re.DOTALL)
_LOGIN = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*://)[^/@\s]*@")


def remotes_around(folder: str) -> list[str] | None:
    """Return the URLs of all remotes of the repository that a folder lies in, in order; None outside of one.

    What a URL holds of a login is left out.

    Raises:
        OSError: its configuration cannot be read.
    """
    top = git_root(folder)
    if not top:
        return None
    data = read_regular(os.path.realpath(os.path.join(_common(top), "config")), _LIMIT)
    return sorted({*_urls(data.decode("utf-8", "replace"))})[:_MOST]


def branch_of(project: str) -> str:
    """Return the name of the branch that is checked out in a project, "" when none is or it cannot be told."""
    top = git_root(project)
    try:
        said = _said(os.path.join(_own(top), "HEAD")) if top else ""
    except OSError:
        return ""
    name = said.partition("ref: refs/heads/")[2] if said.startswith("ref: ") else ""
    return "" if name.startswith(".") else name


def _own(top: str) -> str:
    """Return the git folder of a work tree, which in a linked one is not the repository's."""
    git = os.path.join(top, ".git")
    if os.path.isdir(git):
        return git
    named = _said(git).partition("gitdir:")[2].strip()
    return os.path.normpath(os.path.join(top, named)) if named else git


def _common(top: str) -> str:
    own = _own(top)
    try:
        shared = _said(os.path.join(own, "commondir"))
    except OSError:
        return own  # no linked work tree
    return os.path.normpath(os.path.join(own, shared)) if shared else own


def _said(path: str) -> str:
    # No path holds a NUL, and opening one is no OSError.
    return os.fsdecode(read_regular(path, _POINTER).replace(b"\0", b"")).strip()


def _urls(text: str) -> Iterator[str]:
    remote = False
    for line in re.sub(r"\\\r?\n", "", text).split("\n"):
        said = line.strip()
        if head := _SECTION.match(said):
            name = head[1].lower()
            remote = name == "remote" or name.startswith("remote.")
            said = said[head.end() :]
        found = _KEY.fullmatch(said)
        if remote and found and found[1].lower() in ("url", "pushurl"):
            url = _LOGIN.sub(r"\1", _value(found[2]))[:_LONGEST]
            if url:
                yield url


def _value(text: str) -> str:
    """Return a value without quotes, escapes and the comment behind it."""
    value, quoted, at = "", False, 0
    while at < len(text):
        char = text[at]
        if char == "\\" and at + 1 < len(text):
            at += 1
            value += text[at]
        elif char == '"':
            quoted = not quoted
        elif char in "#;" and not quoted:
            break
        else:
            value += char
        at += 1
    return "".join(c for c in value if c.isprintable()).strip()
