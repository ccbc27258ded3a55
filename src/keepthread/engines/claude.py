"""The host's own program as an engine: one `claude -p` with its user's login and without any of its user's set-up."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping

from keepthread.engines import login as logins
from keepthread.engines.claude_flags import Flags, listed, unknown_flag
from keepthread.engines.claude_program import launched, program
from keepthread.engines.claude_reply import read
from keepthread.engines.model import Answer, Deadline, EngineError, Readiness, Request
from keepthread.engines.process import Completed, run

__all__ = ["NAME", "ClaudeEngine", "child_env", "launched", "program"]

NAME = "claude"

# Variables that the parent's host set for its own children, or that would change how the child works.
_HOST = ("CLAUDE", "KEEPTHREAD_")
# What a child needs to reach the API in the same way as its parent.
_KEPT = frozenset(
    (
        "CLAUDE_CONFIG_DIR",
        "CLAUDE_SECURESTORAGE_CONFIG_DIR",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
        "CLAUDE_CODE_CERT_STORE",
        "CLAUDE_CODE_CLIENT_CERT",
        "CLAUDE_CODE_CLIENT_KEY",
        "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
        "CLAUDE_CODE_GIT_BASH_PATH",
        "CLAUDE_CODE_PROXY_RESOLVES_HOSTS",
        "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
        "CLAUDE_CODE_SKIP_VERTEX_AUTH",
        "CLAUDE_CODE_SKIP_FOUNDRY_AUTH",
        *logins.CLOUDS,
    )
)
_SET = {
    # Every hook of ours returns at once when it sees this: a child must not summarise itself.
    "KEEPTHREAD_CHILD": "1",
    # Its ten retries would turn an overload into a timeout, and five tries at the schema cost five answers.
    "CLAUDE_CODE_MAX_RETRIES": "3",
    "MAX_STRUCTURED_OUTPUT_RETRIES": "2",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
}
# More than this on stdin the program refuses (10 MB, measured by its vendor in bytes).
_STDIN = 10_000_000


class ClaudeEngine:
    """Asks the host's own program, found on PATH, under the login its user has."""

    def __init__(
        self,
        env: Mapping[str, str],
        *,
        config_dir: str,
        project: str = "",
        platform: str = sys.platform,
    ) -> None:
        self._env = env
        self._config_dir = config_dir
        self._project = project
        self._platform = platform
        self._flags = Flags()  # learned from the program when it turns out to be an older one

    @property
    def name(self) -> str:
        """The name as in KEEPTHREAD_ENGINE."""
        return NAME

    def readiness(self) -> Readiness:
        """Say whether the program is there and how it would log in. Starts nothing, calls nothing."""
        found = program(self._env, self._project, self._platform)
        if not found:
            return Readiness(
                False,
                "claude was not found on PATH",
                "Install Claude Code, or add its folder to PATH (an absolute one, outside the project).",
            )
        login = logins.find(self._env, self._config_dir, self._platform)
        if login is None:
            return Readiness(
                False,
                f"{found} has no login",
                "Run `claude` and log in with /login, or set ANTHROPIC_API_KEY.",
            )
        return Readiness(True, f"{found}, {login.flags[0]}: {login.why}")

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        """Answer before the deadline, give or take two seconds for the end of a hanging child.

        Raises:
            EngineError: there is no answer that meets the schema.
        """
        found = program(self._env, self._project, self._platform)
        login = logins.find(self._env, self._config_dir, self._platform)
        if not found or login is None:
            raise EngineError("no_login", self.readiness().why, permanent=True)
        done = self._run(found, login, request, deadline)
        if self._flags.known is None and unknown_flag(done):
            self._flags = self._of_version(found, login, deadline)
            done = self._run(found, login, request, deadline)
        return read(done, request, NAME)

    def _run(
        self, found: str, login: logins.Login, request: Request, deadline: Deadline
    ) -> Completed:
        prompt = self._flags.prompt(request).encode("utf-8", "replace")
        if len(prompt) > _STDIN:
            detail = f"the prompt has {len(prompt)} bytes, claude takes {_STDIN}"
            raise EngineError("overflow", detail)
        arguments = self._flags.arguments(login, request)
        return self._start(found, login, arguments, prompt, deadline)

    def _of_version(self, found: str, login: logins.Login, deadline: Deadline) -> Flags:
        """Ask an older program for what it knows."""
        done = self._start(found, login, ["--help"], b"", deadline)
        return Flags(listed(done.stdout.decode("utf-8", "replace")))

    def _start(
        self,
        found: str,
        login: logins.Login,
        arguments: list[str],
        stdin: bytes,
        deadline: Deadline,
    ) -> Completed:
        # An empty folder of its own: no project's files, settings or session list come into play.
        with tempfile.TemporaryDirectory(
            prefix="keepthread-", ignore_cleanup_errors=True
        ) as folder:
            try:
                return run(
                    [*launched(found, self._env, self._project), *arguments],
                    stdin=stdin,
                    env=child_env(self._env, login),
                    cwd=folder,
                    deadline=deadline,
                )
            except OSError as error:
                raise EngineError(
                    "no_login", f"{found} cannot be started: {error.strerror}", permanent=True
                ) from error
            finally:
                if not self._flags.takes("--no-session-persistence"):
                    _forget_session(self._config_dir, folder)


def child_env(env: Mapping[str, str], login: logins.Login) -> dict[str, str]:
    """Return the child's environment: its parent's without what the host or we put there, and our guard set."""
    kept = {
        name: value
        for name, value in env.items()
        if name not in login.drop and (name in _KEPT or not name.upper().startswith(_HOST))
    }
    return {**kept, **_SET}


def _forget_session(config_dir: str, folder: str) -> None:
    """Remove the session an older program has stored for our folder, which no other session can have."""
    slug = re.sub(r"[^a-zA-Z0-9]", "-", os.path.realpath(folder))
    shutil.rmtree(os.path.join(config_dir, "projects", slug), ignore_errors=True)
