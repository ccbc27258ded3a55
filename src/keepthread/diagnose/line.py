"""The status line on a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from keepthread.diagnose.status import session_here
from keepthread.economy.forecast import model_here
from keepthread.economy.line import status_line
from keepthread.economy.pace import pace
from keepthread.host.in_force import settings_env
from keepthread.host.locations import config_dir, project_root


def line_here(env: Mapping[str, str], cwd: str) -> str:
    """Return the line for the session at hand; without the host's own numbers its transcript's are taken.

    Raises:
        KeepthreadError: there is no configuration folder.
    """
    folder, project = config_dir(env), project_root(env, cwd)
    session, path = session_here(env, folder, cwd)
    seen = {name: one.value for name, one in settings_env(env, folder, project).items()}
    model = model_here(env, folder, project, pace(path)) if path else ""
    return status_line({"transcript_path": path, "cwd": cwd, "model": {"id": model}}, session, seen)
