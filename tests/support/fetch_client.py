"""Fetches the real client from the npm registry, by version, into a cache folder of the person who runs the tests."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from filelock import FileLock

PINNED = "2.1.332"


class NoClientError(Exception):
    """The real client cannot be had here; the text says why."""


def fetch_client(version: str = PINNED) -> Path:
    """Return the client's executable, installing it first when it is not in the cache.

    Raises:
        NoClientError: there is no build for this machine, no npm, or the registry did not give it.
    """
    package = f"claude-code-{_system()}-{_machine()}{_libc()}"
    folder = cache_folder() / f"client-{version}"
    program = "claude.exe" if _system() == "win32" else "claude"
    executable = folder / "node_modules" / "@anthropic-ai" / package / program
    if not executable.is_file():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{folder}.lock"):
            if not executable.is_file():
                _install(f"@anthropic-ai/{package}@{version}", folder)
    if not executable.is_file():
        raise NoClientError(f"{package} {version} holds no {program}")
    return executable


def fetch_script(version: str) -> Path:
    """Return the script that older versions of the client are, installing it first when it is not in the cache.

    Raises:
        NoClientError: there is no npm or no node, or the registry did not give it.
    """
    if shutil.which("node") is None:
        raise NoClientError("node is not installed")
    folder = cache_folder() / f"script-{version}"
    script = folder / "node_modules" / "@anthropic-ai" / "claude-code" / "cli.js"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not script.is_file():
            _install(f"@anthropic-ai/claude-code@{version}", folder)
    script.chmod(0o755)
    return script


def cache_folder() -> Path:
    """Return KEEPTHREAD_TEST_CACHE, else a folder in the real home: the tests' own HOME is another."""
    named = os.environ.get("KEEPTHREAD_TEST_CACHE")
    return Path(named) if named else real_home() / ".cache" / "keepthread-tests"


def real_home() -> Path:
    """Return the home folder of the account, whatever HOME says."""
    if os.name == "nt":
        return Path(os.environ.get("LOCALAPPDATA", tempfile.gettempdir()))
    import pwd

    return Path(pwd.getpwuid(os.getuid()).pw_dir)


def _install(package: str, folder: Path) -> None:
    """Install one package with npm; the folder appears only when that worked."""
    npm = shutil.which("npm")
    if npm is None:
        raise NoClientError("npm is not installed")
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        command = [npm, "install", "--prefix", scratch, "--ignore-scripts", "--no-audit"]
        environment = os.environ | {"HOME": str(real_home())}
        try:
            subprocess.run(
                [*command, "--no-fund", "--loglevel", "error", package],
                env=environment,
                check=True,
                capture_output=True,
                text=True,
                timeout=280,
            )
        except subprocess.CalledProcessError as error:
            lines = error.stderr.strip().splitlines()
            raise NoClientError(f"npm: {lines[0] if lines else error}") from error
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoClientError(f"npm: {error}") from error
        shutil.rmtree(folder, ignore_errors=True)
        os.rename(scratch, folder)
        os.mkdir(scratch)  # for the context manager to remove


def _system() -> str:
    return {"Linux": "linux", "Darwin": "darwin", "Windows": "win32"}.get(
        platform.system(), platform.system().lower()
    )


def _machine() -> str:
    machine = platform.machine().lower()
    return "arm64" if machine in ("arm64", "aarch64") else "x64"


def _libc() -> str:
    musl = _system() == "linux" and not platform.libc_ver()[0]
    return "-musl" if musl else ""
