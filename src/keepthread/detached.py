"""A process of our own that outlives the hook and the host which started it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from keepthread.{} import main; main(*sys.argv[2:])"


def start(module: str, arguments: Sequence[str], *, env: Mapping[str, str], cwd: str) -> int:
    """Run `main(*arguments)` of a module of this package in a process session of its own; return its process id.

    Measured on the client: what a hook leaves behind in the host's own process group is killed when the host exits.

    Args:
        module: its name below `keepthread`, with dots.
        arguments: texts without a NUL or a lone surrogate, which no command line can hold.
        env: the environment of the process.
        cwd: its folder.

    Raises:
        OSError: the system starts no process, or the folder is gone.
    """
    parent = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    apart: dict[str, Any] = {"start_new_session": True}
    if sys.platform == "win32":
        flags = subprocess.DETACHED_PROCESS | subprocess.CREATE_NEW_PROCESS_GROUP
        apart = {"creationflags": flags | subprocess.CREATE_BREAKAWAY_FROM_JOB}
    process = subprocess.Popen(
        [sys.executable, "-I", "-c", _CODE.format(module), parent, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=cwd,
        env=dict(env),
        close_fds=True,
        **apart,
    )
    process.returncode = 0  # it is nobody's child from here on: no warning when this object goes
    return process.pid
