"""The executables in hooks/: all of one shape, and whatever is thrown at them, they end with 0."""

from __future__ import annotations

import json
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

HOOKS = sorted((Path(__file__).resolve().parent.parent / "hooks").glob("*.py"))
EVENTS: dict[str, bytes] = {
    "nothing": b"",
    "an empty object": b"{}",
    "an array": b"[]",
    "half an object": b'{"session_id": "11111111-1111-4111-8111-111111111111", "cwd": ',
    "binary": bytes(range(256)) * 40,
    "depth": b"[" * 200_000,
    "numbers": b'{"session_id": 1, "transcript_path": 2, "cwd": 3, "source": 4, "prompt": 5, "reason": 6}',
    "unknown": json.dumps(
        {
            "session_id": "11111111-1111-4111-8111-111111111111",
            "transcript_path": "/nonexistent.jsonl",
            "cwd": "/nonexistent",
            "hook_event_name": "SomethingNew",
            "source": "something new",
            "trigger": "something new",
            "prompt": "x",
            "reason": "something new",
        }
    ).encode(),
}


def shape(path: Path) -> str:
    """Return a hook's text with its own name left out."""
    return path.read_text(encoding="utf-8").replace(path.stem, "NAME")


@pytest.mark.parametrize("path", HOOKS, ids=lambda path: path.stem)
def test_every_hook_is_executable_small_and_of_the_one_shape(path):
    assert path.stat().st_mode & stat.S_IXUSR
    assert b"\r" not in path.read_bytes()
    assert shape(path) == shape(HOOKS[0])
    assert len(path.read_text().splitlines()) <= 20


@pytest.mark.parametrize("path", HOOKS, ids=lambda path: path.stem)
def test_whatever_comes_the_end_is_0_and_the_output_right(path, home):
    for name, data in EVENTS.items():
        done = subprocess.run(
            [sys.executable, "-I", str(path)],
            input=data,
            capture_output=True,
            env={"HOME": str(home), "PATH": "/usr/bin:/bin", "KEEPTHREAD_ENGINE": "facts"},
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, b""), name
        assert (
            done.stdout == b"" or path.stem != "pre_compact" or done.stdout[:1] not in (b"{", b"[")
        ), name
        if done.stdout and path.stem.startswith("session"):
            assert json.loads(done.stdout), name
    assert not list(home.rglob(".tmp-*"))


@pytest.mark.parametrize("path", HOOKS, ids=lambda path: path.stem)
def test_an_interrupt_or_an_exit_while_it_loads_is_the_end_and_nothing_else(path, tmp_path, home):
    """The package is replaced by one that raises what no `except Exception` takes, or has no `main`."""
    copy = tmp_path / "copy"
    (copy / "hooks").mkdir(parents=True)
    (copy / "hooks" / path.name).write_bytes(path.read_bytes())
    package = copy / "src" / "keepthread"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    for end in (
        "raise KeyboardInterrupt",
        "raise SystemExit(2)",
        "raise MemoryError",
        "main = None",
    ):
        (package / "handlers.py").write_text(f"{end}\n")
        done = subprocess.run(
            [sys.executable, "-I", str(copy / "hooks" / path.name)],
            input=b"{}",
            capture_output=True,
            env={"HOME": str(home)},
            timeout=120,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), end


@pytest.mark.parametrize("path", HOOKS, ids=lambda path: path.stem)
def test_each_hook_names_a_handler_that_there_is(path):
    from keepthread.handlers import HANDLERS

    [name] = re.findall(r'main\("(\w+)"\)', path.read_text())
    assert name == path.stem
    assert name in HANDLERS
