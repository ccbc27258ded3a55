"""The report as a file of its user's own."""

from __future__ import annotations

import os
from collections.abc import Mapping

from keepthread import files
from keepthread.errors import KeepthreadError
from keepthread.evaluate.page import words
from keepthread.evaluate.page.collect import collect
from keepthread.evaluate.page.render import MARKER, page
from keepthread.evaluate.run import Progress

NAME = "keepthread-report.html"


def write_report(
    env: Mapping[str, str], cwd: str, out: str = "", *, progress: Progress | None = None
) -> str:
    """Write the report of the project at `cwd`, readable for its user alone; return what there is to say of it.

    Args:
        env: the process environment.
        cwd: the current folder.
        out: the file; NAME in `cwd` when "". A file of another's making is replaced only when it is named.
        progress: told how many transcripts of how many are measured.

    Raises:
        KeepthreadError: the project has no session, or the file cannot or must not be written.
    """
    target = os.path.join(cwd, out or NAME)
    _check(target, named=bool(out))
    report = collect(env, cwd, progress=progress)
    data = page(report).encode("utf-8", "replace")
    try:
        files.write_private(target, data)
    except (OSError, ValueError) as problem:  # ValueError: a path that no system can hold
        raise _refused(target, getattr(problem, "strerror", "") or str(problem)) from problem
    shown = len(report["sessions"])
    return (
        f"Written to {target} ({words.counted(shown, 'session')}, {words.size(len(data))})\n"
        "It names sessions, files and rules: keep it out of git."
    )


def _check(target: str, *, named: bool) -> None:
    """Refuse before the work what could only fail after it, and what would take something from somebody."""
    if not os.path.isdir(os.path.dirname(target)):
        raise _refused(target, "the folder does not exist")
    if not os.path.lexists(target):
        return
    if not os.path.isfile(target):
        raise _refused(target, "something that is no file stands there")
    if not named and not _is_ours(target):
        raise _refused(target, "a file of another's making stands there")


def _is_ours(target: str) -> bool:
    try:
        with open(target, "rb") as file:
            return MARKER.encode() in file.read(1_000)
    except OSError:
        return False


def _refused(target: str, reason: str) -> KeepthreadError:
    return KeepthreadError(
        f"{target!r} cannot be written: {reason}", "Name another file with --out."
    )
