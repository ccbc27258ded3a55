"""The real client on a terminal of its own: what only shows there can be seen. POSIX only."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from types import TracebackType

from tests.support.client import MODEL, Client

_SEQUENCE = re.compile(rb"\x1b(?:\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07]*\x07|[()][A-Z0-9])")
_ROWS = 40


class Terminal:
    """An interactive session; a context manager that ends the client with it."""

    def __init__(self, client: Client, *arguments: str, columns: int = 120) -> None:
        known = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        state = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "customApiKeyResponses": {"approved": ["fake-key"], "rejected": []},
            "projects": {str(client.project): known},
        }
        (client.home / ".claude.json").write_text(json.dumps(state), encoding="utf-8")
        self._output = b""
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.chdir(client.project)
            command = [str(client.executable), "--model", MODEL, *arguments]
            os.execve(command[0], command, client.environment())
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._fd)

    def type(self, text: str) -> None:
        """Type a line and send it."""
        os.write(self._fd, text.encode())
        self._read(1.0)  # what arrives together with the text would be part of it
        os.write(self._fd, b"\r")

    def wait(self, text: str, seconds: float = 180.0) -> str:
        """Return what was shown so far, blanks left out, as soon as `text` (blanks left out) is in it.

        Raises:
            TimeoutError: it is not after `seconds`.
        """
        end = time.monotonic() + seconds
        while text.replace(" ", "") not in self.shown:
            if time.monotonic() > end:
                raise TimeoutError(f"{text!r} is not in {self.shown[-2_000:]!r}")
            self._read(0.2)
        return self.shown

    @property
    def shown(self) -> str:
        """Everything that was drawn, without blanks: the client moves the cursor instead of writing them."""
        plain = _SEQUENCE.sub(b"", self._output).decode("utf-8", "replace")
        return re.sub(r"[\s\x00]+", "", plain)

    def _read(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([self._fd], [], [], left)[0]:
                try:
                    self._output += os.read(self._fd, 65_536)
                except OSError:
                    return  # the client has ended
