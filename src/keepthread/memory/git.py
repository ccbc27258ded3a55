"""Runs git for a repository that is not trusted: nothing which that repository configures is run or followed.

Objects and the remote are reached from a `Bench`: a git folder of our own for the length of one command, whose
configuration is ours and whose object store is the repository's. The repository's own configuration is in force only
where references and the index are read and written, with its hooks and filters off and every protocol shut; there git
starts no other program. Hosts, credentials and programs of the user's global configuration count as always.

The process environment may not steer git either: another's project can set the variables of whatever the host starts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from typing import IO, NamedTuple

from keepthread import platforms, redact
from keepthread.errors import KeepthreadError
from keepthread.memory.words import one_line

LOCAL_SECONDS = 60.0
NETWORK_SECONDS = 180.0
MOST_OUTPUT = 64 << 20  # bytes
# The protocols of a remote; "ext" and other helpers run what a URL says.
PROTOCOLS = "file:git:http:https:ssh"
_SAFE = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.attributesFile=/dev/null"),
    *("core.pager=cat", "core.quotePath=false", "core.alternateRefsCommand=:"),
    *("core.untrackedCache=false", "core.precomposeUnicode=false", "safe.bareRepository=explicit"),
    *("commit.gpgSign=false", "push.gpgSign=false", "log.showSignature=false"),
    *("i18n.commitEncoding=utf-8", "protocol.ext.allow=never", "submodule.recurse=false"),
    *("fetch.recurseSubmodules=false", "push.recurseSubmodules=no", "push.followTags=false"),
    *("fetch.writeCommitGraph=false", "push.default=nothing", "gc.auto=0"),
    *("maintenance.auto=false", "advice.detachedHead=false"),
)
_SETTINGS = tuple(part for setting in _SAFE for part in ("-c", setting))
_DROPPED = ("SSH_ASKPASS", "EDITOR", "VISUAL", "PAGER")
_LONGEST_MESSAGE = 300  # characters
_ADVICE = ("hint:", "Please make sure you have", "and the repository exists")
_NO_REASON = "fatal: Could not read from remote repository."  # ssh gave it in a line of its own


class GitFailed(KeepthreadError):  # noqa: N818
    """A git process failed, or did not end in time.

    Args:
        message: for people.
        hint: the remedy.
        out: what it had written to its standard output.
    """

    def __init__(self, message: str, hint: str = "", out: bytes = b"") -> None:
        super().__init__(message, hint)
        self.out = out


class Ran(NamedTuple):
    """What a git process came to: exit code, standard output, the last lines of its standard error."""

    code: int
    out: bytes
    told: str


class Git:
    """Runs git in a folder.

    Args:
        folder: the working folder.
        project: the folder of the project; programs in it are not found.
        more: variables added to the environment.
        settings: further settings, as "name=value".
    """

    def __init__(
        self,
        folder: str,
        project: str = "",
        more: Mapping[str, str] | None = None,
        settings: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.project = project or folder
        self._env = {**environment(os.environ, self.project), **(more or {})}
        self._settings = [part for setting in settings for part in ("-c", setting)]

    def run(
        self,
        *arguments: str,
        given: bytes = b"",
        seconds: float = LOCAL_SECONDS,
        limit: int = MOST_OUTPUT,
        more: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run git, and return what it came to whatever its exit code.

        Args:
            arguments: of git, a plain list; no shell is involved.
            given: its standard input.
            seconds: after which it is killed with what it started.
            limit: bytes of output after which it is killed.
            more: variables added to its environment.

        Raises:
            GitFailed: there is no git, it took too long, or it wrote too much.
        """
        command = ["git", *_SETTINGS, *self._settings, *arguments]
        with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
            stdin.write(given)
            stdin.seek(0)
            process = _started(command, self.folder, {**self._env, **(more or {})}, stdin, stderr)
            out, late = _read(process, seconds, limit)
            told = _last_lines(stderr)
        if late or len(out) > limit:
            why = f"took longer than {seconds:g} s" if late else f"wrote more than {limit} bytes"
            raise GitFailed(f"git {arguments[0]} {why}", "", out[:limit])
        return Ran(process.returncode, out, told)

    def output(
        self,
        *arguments: str,
        given: bytes = b"",
        seconds: float = LOCAL_SECONDS,
        limit: int = MOST_OUTPUT,
        more: Mapping[str, str] | None = None,
    ) -> bytes:
        """Return what git writes.

        Raises:
            GitFailed: also for an exit code that is not 0.
        """
        ran = self.run(*arguments, given=given, seconds=seconds, limit=limit, more=more)
        if ran.code:
            raise GitFailed(f"git {arguments[0]} failed: {ran.told or ran.code}", "", ran.out)
        return ran.out

    def line(self, *arguments: str) -> str:
        """Return what git writes as a text without the line end, "" when its exit code is not 0."""
        ran = self.run(*arguments)
        return "" if ran.code else os.fsdecode(ran.out).rstrip("\r\n")


def environment(env: Mapping[str, str], project: str) -> dict[str, str]:
    """Return the environment for git: nothing in it that steers git, and no program of the project's folder."""
    kept = {
        name: value
        for name, value in env.items()
        if not name.startswith("GIT_") and name not in _DROPPED
    }
    if _inside(kept.get("XDG_CONFIG_HOME", ""), project):
        del kept["XDG_CONFIG_HOME"]
    places = kept.get("PATH", os.defpath).split(os.pathsep)
    path = [place for place in places if os.path.isabs(place) and not _inside(place, project)]
    return {
        **kept,
        "PATH": os.pathsep.join(path) or os.defpath,
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_EDITOR": ":",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }


def _inside(path: str, folder: str) -> bool:
    if not path or not folder:
        return False
    real, root = os.path.realpath(path), os.path.realpath(folder)
    return real != root and real.startswith(root.rstrip(os.sep) + os.sep)


def _started(
    command: list[str], folder: str, env: Mapping[str, str], stdin: IO[bytes], stderr: IO[bytes]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [platforms.started_as(command[0], env), *command[1:]],
            cwd=folder,
            env=env,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,  # no terminal to ask on, and one group to kill
        )
    except FileNotFoundError:
        if not os.path.isdir(folder):
            raise
        raise GitFailed(
            "There is no program named git", "Install git, or put it on PATH."
        ) from None


def _read(process: subprocess.Popen[bytes], seconds: float, limit: int) -> tuple[bytes, bool]:
    """Return the output, one byte more than the limit at most, and whether the time ran out."""
    late = threading.Event()

    def end() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        assert process.stdout is not None  # noqa: S101  # it was asked for
        with process.stdout:
            out = process.stdout.read(limit + 1)
        if len(out) > limit:
            _kill(process)
        process.wait()
    except BaseException:  # an interrupt: nothing of ours goes on in the background
        _kill(process)
        process.wait()
        raise
    finally:
        timer.cancel()
    return out, late.is_set()


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is not None:
        return
    if sys.platform == "win32":
        process.kill()
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it ended this instant


def _last_lines(stderr: IO[bytes]) -> str:
    """Return what a process complained about in one line. A remote may have written it."""
    size = stderr.seek(0, os.SEEK_END)
    stderr.seek(max(0, size - 4096))
    text = redact.text(stderr.read().decode("utf-8", "replace"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith(_ADVICE)]
    said = [line for line in lines if line.startswith(("fatal:", "error:"))]
    if said in ([], [_NO_REASON]):
        said = lines
    return one_line(" / ".join(said[-3:]), _LONGEST_MESSAGE)
