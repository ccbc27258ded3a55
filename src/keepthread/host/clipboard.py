"""The clipboard of the desktop: text goes to the first program of this system that takes it on stdin.

macOS and Windows are written to the documentation of their programs and unverified.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

from keepthread import platforms
from keepthread.errors import KeepthreadError

_SECONDS = 10.0
# PowerShell reads stdin in the console's code page unless told otherwise; clip.exe takes UTF-16.
_POWERSHELL = "[Console]::InputEncoding = [Text.Encoding]::UTF8; Set-Clipboard -Value ([Console]::In.ReadToEnd())"


def programs(system: str, env: Mapping[str, str]) -> list[Sequence[str]]:
    """Return the programs that may take text on this system (a value of sys.platform), the best one first."""
    if system == "darwin":
        return [("pbcopy",)]
    powershell = ("powershell.exe", "-NoProfile", "-NonInteractive", "-Command", _POWERSHELL)
    if system == "win32":
        return [powershell]
    found: list[Sequence[str]] = []
    if env.get("WAYLAND_DISPLAY"):
        found.append(("wl-copy",))
    if env.get("DISPLAY"):
        found += [("xclip", "-selection", "clipboard"), ("xsel", "--clipboard", "--input")]
    if env.get("WSL_DISTRO_NAME"):
        found.append(powershell)
    return found


def copy(text: str, env: Mapping[str, str], system: str = sys.platform) -> str:
    """Put text into the clipboard and return the name of the program that took it.

    Raises:
        KeepthreadError: there is no such program here, or it failed.
    """
    folders = env.get("PATH", "").split(os.pathsep)
    known = programs(system, env)
    for command in known:
        program = platforms.which(command[0], folders, system)
        if program:
            _give(text, [program, *command[1:]], env)
            return command[0]
    names = ", ".join(dict.fromkeys(command[0] for command in known))
    needed = f"Install one of: {names}" if known else "There is no desktop here"
    raise KeepthreadError(
        "No program takes text for the clipboard", f"{needed}; or name a file: --to FILE"
    )


def _give(text: str, command: Sequence[str], env: Mapping[str, str]) -> None:
    # Their output is not taken: xclip stays in the background and would hold a pipe open.
    try:
        done = subprocess.run(
            command,
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise KeepthreadError(
            f"{command[0]} does not take the text: {type(problem).__name__}", "Use --to FILE."
        ) from problem
    if done.returncode:
        raise KeepthreadError(f"{command[0]} failed with {done.returncode}", "Use --to FILE.")
