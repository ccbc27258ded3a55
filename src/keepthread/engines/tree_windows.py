"""Ends a whole process tree on Windows. Unverified: written from the documentation, not run on such a machine."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import TypedDict

MARK = "KEEPTHREAD_RUN"


class _Apart(TypedDict):
    creationflags: int


# CREATE_NEW_PROCESS_GROUP | CREATE_NO_WINDOW; subprocess names them on Windows only.
APART = _Apart(creationflags=0x00000200 | 0x08000000)
"""What makes `Popen` put a child into a group of its own, without a console window."""


def new_mark() -> str:
    """Return "": a child is known by its parents alone here."""
    return ""


def sweep() -> None:
    """Do nothing: whose child an orphan was cannot be told here."""


def end(child: subprocess.Popen[bytes], mark: str) -> None:  # noqa: ARG001  # same form as on POSIX
    """Kill the child and all its descendants; `mark` is not used, environments cannot be read here."""
    if child.poll() is not None:
        return
    taskkill = os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "taskkill.exe")
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            [taskkill, "/T", "/F", "/PID", str(child.pid)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=1,
            check=False,
        )
    child.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(timeout=0.5)
