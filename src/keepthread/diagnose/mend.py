"""What `doctor --fix` does: modes of our own files, and secrets in what is stored. Nothing else is changed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress

from keepthread import files, redact
from keepthread.diagnose import secrets
from keepthread.host.config import load as load_config
from keepthread.host.locations import config_dir, state_dir

_NOT_OURS = ("venv",)  # made by pip, with modes of its own
_PATIENCE = 3600.0  # seconds; who asks for it waits


def mend(env: Mapping[str, str]) -> list[str]:
    """Mend what can be mended without a question, and return one line for each thing done.

    Raises:
        KeepthreadError: there is no configuration folder.
    """
    state = state_dir(env)
    done = [f"made private: {path}" for path in _tightened(state)] if os.name != "nt" else []
    known = redact.environment_secrets({**env, **load_config(env, config_dir(env)).user})
    leaks = secrets.search(state, known, seconds=_PATIENCE).leaks
    failed = secrets.mend(leaks, known)
    for leak in leaks:
        what = "could not be redacted" if leak.path in failed else "redacted"
        done.append(f"{what}: {', '.join(leak.rules)} in {leak.path}")
    return done


def _tightened(state: str) -> Iterator[str]:
    """Yield each folder and file of the state that others could read, and take that away."""
    for folder, folders, names in os.walk(state):
        folders[:] = [name for name in folders if folder != state or name not in _NOT_OURS]
        for path in (folder, *(os.path.join(folder, name) for name in names)):
            if _tighten(path):
                yield path


def _tighten(path: str) -> bool:
    with suppress(OSError):  # gone, or another user's: the checks tell
        mode = os.lstat(path).st_mode
        private = files.PRIVATE_FOLDER if stat.S_ISDIR(mode) else files.PRIVATE_FILE
        if not stat.S_ISLNK(mode) and mode & 0o077:
            os.chmod(path, private)
            return True
    return False
