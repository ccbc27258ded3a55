"""A process of our own that outlives the hook and the host which started it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

_CODE = "import sys; sys.path.insert(0, sys.argv[1]); from keepthread.{} import main; main(*sys.argv[2:])"
_YIELDS = "import os; getattr(os, 'nice', int)(10); "  # Windows has no such number
# Of CreateProcess; subprocess names them on Windows only.
_NO_WINDOW, _NEW_GROUP, _BREAKAWAY = 0x08000000, 0x00000200, 0x01000000


def start(
    module: str,
    arguments: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str,
    yields: bool = False,
) -> int:
    """Run `main(*arguments)` of a module of this package in a process session of its own; return its process id.

    Measured on the client: what a hook leaves behind in the host's own process group is killed when the host exits.

    Args:
        module: its name below `keepthread`, with dots.
        arguments: texts without a NUL or a lone surrogate, which no command line can hold.
        env: the environment of the process.
        cwd: its folder.
        yields: nobody waits for it, so it takes what the processors have left: the host may be at work by then.

    Raises:
        OSError: the system starts no process, or the folder is gone.
    """
    parent = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = (_YIELDS if yields else "") + _CODE.format(module)
    command = [sys.executable, "-I", "-X", "utf8", "-c", code, parent, *arguments]
    *attempts, last = apart()
    for attempt in attempts:
        with suppress(PermissionError):  # the job that the host is in lets nobody out
            return _started(command, env, cwd, attempt)
    return _started(command, env, cwd, last)


def apart(system: str = sys.platform) -> list[dict[str, Any]]:
    """Return what makes `Popen` start a process apart from this one: what is best first, what always works last.

    On Windows that is a console of its own that is not shown: a process without one (DETACHED_PROCESS) gets a window as
    soon as it starts another, and the python.exe of a virtual environment does so at once. Unverified there.
    """
    if system != "win32":
        return [{"start_new_session": True}]
    flags = _NO_WINDOW | _NEW_GROUP
    return [{"creationflags": flags | _BREAKAWAY}, {"creationflags": flags}]


def _started(
    command: Sequence[str], env: Mapping[str, str], cwd: str, apart: Mapping[str, Any]
) -> int:
    process = subprocess.Popen(
        command,
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


def watchdog(seconds: float) -> None:
    """End this process after so many seconds, whatever hangs in it."""
    import threading

    timer = threading.Timer(seconds, os._exit, args=(1,))
    timer.daemon = True
    timer.start()
