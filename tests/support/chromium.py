"""A headless Chromium that opens a page: its DOM, its console, what it asked the network for, and its looks."""

from __future__ import annotations

import os
import re
import shutil
import socketserver
import struct
import subprocess
import threading
import zlib
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import NamedTuple

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
# Looked for at once: tests change PATH.
_PROGRAM = next(filter(None, map(shutil.which, _NAMES)), None)
_CI = Path(__file__).parents[2] / ".ci" / "run"
_SWITCHES = (
    "--headless",
    "--no-sandbox",  # its own sandbox refuses to run as root, as containers do
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
    "--enable-logging=stderr",
    "--proxy-bypass-list=<-loopback>",  # what goes to this machine passes the proxy too
)


class Opened(NamedTuple):
    """A page as it was opened: its DOM, messages of its console, and the addresses it asked for."""

    dom: str
    console: list[str]
    requests: list[str]


class Picture(NamedTuple):
    """A screenshot: its width and height, its first pixel as (red, green, blue), and how far it is from one colour.

    `busy` is the share of its bytes that are not as those beside them.
    """

    width: int
    height: int
    corner: tuple[int, int, int]
    busy: float


def find() -> str:
    """Return the program; without one the test is skipped, or fails where CI says it installs one."""
    if _PROGRAM is None:
        told = f"no Chromium on PATH ({', '.join(_NAMES)}): the report page was not opened"
        if os.environ.get("CI") and "chromium" in _CI.read_text(encoding="utf-8"):
            pytest.fail(told)
        pytest.skip(told)
    return _PROGRAM


def open_page(page: Path, work: Path) -> Opened:
    """Open a file with a proxy that notes every request and answers none."""
    with _Proxy() as proxy:
        ran = _run(work, page, "--dump-dom", f"--proxy-server=127.0.0.1:{proxy.server_address[1]}")
    console = re.findall(r"CONSOLE[^\]]*\] *(.*)", ran.stderr)
    return Opened(ran.stdout, console, [line for line in proxy.asked if _is_of_a_page(line)])


def shoot(page: Path, work: Path, *, width: int, height: int, dark: bool) -> Picture:
    """Take a picture of the top of a page."""
    file = work / f"{width}-{'dark' if dark else 'light'}.png"
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    _run(work, page, f"--window-size={width},{height}", scheme, f"--screenshot={file}")
    return _read(file.read_bytes())


def _run(work: Path, page: Path, *switches: str) -> subprocess.CompletedProcess[str]:
    profile = work / f"profile-{len(list(work.iterdir()))}"
    profile.mkdir()
    return subprocess.run(
        [find(), *_SWITCHES, f"--user-data-dir={profile}", *switches, page.as_uri()],
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=True,
        timeout=120,
    )


def _is_of_a_page(line: str) -> bool:
    # Chromium asks its maker a few things by itself, whatever it is told.
    return not re.search(r"\.(?:google|googleapis|gvt1|gstatic)\.com[:/ ]", line)


class _Proxy(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def __init__(self) -> None:
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), _Refuse)

    def __enter__(self) -> _Proxy:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Refuse(BaseHTTPRequestHandler):
    server: _Proxy

    def handle_one_request(self) -> None:
        """Note the request's first line, whatever its method, and refuse it."""
        line = self.rfile.readline(4_000).decode("latin-1").strip()
        if line:
            self.server.asked.append(line)
            self.wfile.write(b"HTTP/1.1 403 no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        self.close_connection = True


def _read(png: bytes) -> Picture:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height, _, colours = struct.unpack(">IIBB", png[16:26])
    data, at = b"", 8
    while at < len(png):
        (size,) = struct.unpack(">I", png[at : at + 4])
        data += png[at + 8 : at + 8 + size] if png[at + 4 : at + 8] == b"IDAT" else b""
        at += size + 12
    rows = zlib.decompress(data)
    assert colours in (2, 6)
    # Every filter leaves the first pixel of the first row as it is, and makes zeros of one that is like its neighbours.
    return Picture(width, height, (rows[1], rows[2], rows[3]), 1 - rows.count(0) / len(rows))
