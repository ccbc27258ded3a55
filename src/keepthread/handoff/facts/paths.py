"""File names as people read them: relative to the project when inside it, as they were written when not."""

from __future__ import annotations

import ntpath
import posixpath
from collections.abc import Sequence

from keepthread.handoff.facts.text import lazy

_DRIVE = lazy(r"([A-Za-z]):[\\/]")
_MOUNTED = lazy(r"/(?:mnt/)?([A-Za-z])(/|$)")
_PRIVATE = lazy(r"/private(?=/(?:tmp|var)(?:/|$))")
_LONGEST = 1_000


def is_windows(path: str) -> bool:
    """Return whether the path begins with a drive letter or names a share."""
    return bool(_DRIVE.match(path)) or path.startswith("\\\\")


def is_absolute(path: str) -> bool:
    """Return whether the path stands on its own, on either family of systems."""
    return path.startswith(("/", "~")) or is_windows(path)


class Paths:
    """Shows the paths of one project. Nothing is looked up on disk: the transcript may come from another machine."""

    def __init__(self, project: str, cwd: str = "", aliases: Sequence[str] = ()) -> None:
        self.root = project or cwd
        self.cwd = cwd or project
        self._windows = is_windows(self.root)
        roots = [self._canonical(root).rstrip("/") for root in (self.root, *aliases)]
        self._prefixes = [root for root in roots if root]
        self._seen: dict[tuple[str, str], str] = {}

    def show(self, path: str, cwd: str = "") -> str:
        """Return the path for display, "" when it cannot be one. Relative paths stand in `cwd`."""
        key = (path, cwd)
        shown = self._seen.get(key)
        if shown is None:
            shown = self._seen[key] = self._show(path.strip(), cwd or self.cwd)
        return shown

    def inside(self, path: str) -> bool:
        """Return whether a shown path lies in the project."""
        return bool(path) and not is_absolute(path) and not path.startswith("..")

    def _show(self, path: str, cwd: str) -> str:
        if not path or len(path) > _LONGEST or "\n" in path:
            return ""
        whole = path if is_absolute(path) else self._join(cwd, path)
        canonical = self._canonical(whole)
        for prefix in self._prefixes:
            if self._starts_inside(canonical, prefix):
                return canonical[len(prefix) :].lstrip("/") or "."
        if is_windows(whole):
            return ntpath.normpath(whole)
        return posixpath.normpath(whole)

    def _starts_inside(self, canonical: str, prefix: str) -> bool:
        head = canonical[: len(prefix)]
        same = head.lower() == prefix.lower() if self._windows else head == prefix
        return same and canonical[len(prefix) :][:1] in ("", "/")

    @staticmethod
    def _join(cwd: str, path: str) -> str:
        if is_windows(cwd):
            return ntpath.join(cwd, path.replace("/", "\\"))
        return posixpath.join(cwd, path)

    def _canonical(self, path: str) -> str:
        """Return one spelling for the spellings of a place: separators, drive case, /mnt/c, /c, /private."""
        if is_windows(path):
            return self._drive(path)
        mounted = _MOUNTED.match(path) if self._windows else None
        if mounted:
            return self._drive(f"{mounted[1]}:/{path[mounted.end() :]}")
        return posixpath.normpath(_PRIVATE.sub("", path, count=1)) if path else ""

    @staticmethod
    def _drive(path: str) -> str:
        normal = ntpath.normpath(path).replace("\\", "/")
        return normal[:1].lower() + normal[1:]
