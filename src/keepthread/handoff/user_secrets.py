"""What counts as a secret wherever it stands: values of the process environment and of the user's own file."""

from __future__ import annotations

import os
from collections.abc import Mapping

from keepthread import redact
from keepthread.host.locations import config_dir


def user_secrets(env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the texts to be replaced, as `redact.environment_secrets`, for the user whose environment this is.

    Raises:
        KeepthreadError: there is no configuration folder.
    """
    folder = config_dir(env)
    if not os.path.exists(os.path.join(folder, ".env")):
        return redact.environment_secrets(env)  # what reads the file takes a hook 10 ms to load
    from keepthread.host.config import load

    return redact.environment_secrets({**env, **load(env, folder).user})
