"""Which version of the client is installed."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence

_SECONDS = 15
_VERSION = re.compile(r"\d+\.\d+\.\d+")


def version_of(arguments: Sequence[str], env: Mapping[str, str]) -> str:
    """Return the version of the client that is started with these arguments, "" when it does not say.

    Args:
        arguments: how the program is started; none when there is no client.
        env: the process environment.
    """
    if not arguments:
        return ""
    named = re.search(r"[/\\]versions[/\\](\d+\.\d+\.\d+)$", os.path.realpath(arguments[-1]))
    if named:  # where its own installer puts it; nothing has to be started
        return named[1]
    try:
        ran = subprocess.run(
            [*arguments, "--version"],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(env),
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""  # no program, or one that waits for something
    found = _VERSION.match(ran.stdout.decode("utf-8", "replace").strip())
    return found[0] if found and ran.returncode == 0 else ""
