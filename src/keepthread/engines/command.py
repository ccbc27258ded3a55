"""Any program of the user's as an engine: the prompt on its stdin, one JSON document on its stdout."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Mapping

from keepthread import platforms
from keepthread.engines import rejects
from keepthread.engines.answers import document_in, permanent
from keepthread.engines.claude_program import programs
from keepthread.engines.model import Answer, Deadline, EngineError, Readiness, Request, Setup
from keepthread.engines.process import Completed, run

NAME = "command"
VARIABLE = "KEEPTHREAD_COMMAND"


class CommandEngine:
    """Runs the program named in the user's own file; no shell is involved."""

    def __init__(self, setup: Setup) -> None:
        self._env = setup.env
        self._argv, self._fault = _read(setup)

    @property
    def name(self) -> str:
        """The name as in KEEPTHREAD_ENGINE."""
        return NAME

    @property
    def local(self) -> bool:
        """False: what a program does with its input cannot be known."""
        return False

    def readiness(self) -> Readiness:
        """Say whether the program is there. Starts nothing."""
        if self._fault:
            return Readiness(False, self._fault, f"Set {VARIABLE} in ~/.claude/.env.")
        return Readiness(True, self._argv[0])

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        """Answer before the deadline, give or take two seconds for the end of a hanging program.

        Raises:
            EngineError: there is no answer that meets the schema.
        """
        if self._fault:
            raise EngineError("no_login", self._fault, permanent=True)
        prompt = f"{request.system}\n\n{request.spelled_out}\n"
        with tempfile.TemporaryDirectory(
            prefix="keepthread-", ignore_cleanup_errors=True
        ) as folder:
            try:
                done = run(
                    self._argv,
                    stdin=prompt.encode("utf-8", "replace"),
                    env=_child_env(self._env),
                    cwd=folder,
                    deadline=deadline,
                )
            except OSError as error:
                detail = f"{self._argv[0]} cannot be started: {error.strerror}"
                raise EngineError("no_login", detail, permanent=True) from error
        return Answer(document_in(_stdout(done), request, None), NAME)


def _read(setup: Setup) -> tuple[list[str], str]:
    """Return the argument list and why it cannot be used, or ""."""
    written = setup.user.get(VARIABLE, "").strip()
    if not written:
        return [], f"{VARIABLE} is not set"
    try:
        # On Windows a backslash is part of a path.
        argv = shlex.split(written, posix=os.name != "nt")
    except ValueError as error:
        return [], f"{VARIABLE} cannot be split into words: {error}".rstrip(".")
    if not argv:
        return [], f"{VARIABLE} names no program"
    found = _program(argv[0], setup)
    return ([found, *argv[1:]], "") if found else (argv, f"{argv[0]} was not found")


def _program(name: str, setup: Setup) -> str:
    """Return the program's absolute path, or "".

    PATH can be set by a repository, so of it only absolute folders outside the one at work count.
    """
    home = platforms.home(setup.env)
    if name.startswith("~/") and home:
        name = home + name[1:]
    if os.path.isabs(name):
        return platforms.which(os.path.basename(name), [os.path.dirname(name)])
    if os.path.dirname(name):
        return ""  # relative to what? A program of some project's is never meant
    folders = setup.env.get("PATH", "").split(os.pathsep)
    return next(programs((name,), folders, setup.env, setup.project), "")


def _child_env(env: Mapping[str, str]) -> dict[str, str]:
    """Return the program's environment: ours without what the host or we put there, and our guard set."""
    kept = {name: value for name, value in env.items() if not name.startswith("KEEPTHREAD_")}
    for name in ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID"):
        kept.pop(name, None)
    # Every hook of ours returns at once when it sees this, should the program be a coding agent.
    return {**kept, "KEEPTHREAD_CHILD": "1"}


def _stdout(done: Completed) -> str:
    stdout = done.stdout.decode("utf-8", "replace")
    # A program that answered and then would not end has answered all the same.
    if done.timed_out and "{" not in stdout:
        raise EngineError("timeout", "the program did not answer in time")
    if done.timed_out or done.returncode == 0:
        return stdout
    stderr = done.stderr.decode("utf-8", "replace")
    failed = rejects.failure(stderr) or rejects.failure(stdout)
    reason, words = failed or ("bad_answer", "")
    detail = f"the program ended with exit code {done.returncode}"
    raise EngineError(
        reason,
        f"{detail}: {words}" if words else detail,
        permanent=permanent(reason, words),
        vendor_text=stderr[-4000:],
    )
