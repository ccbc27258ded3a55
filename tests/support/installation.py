"""What the tests of install.sh and of the wheel share: a clean copy of this checkout, and a pip with an index."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fetch_client import real_home

ROOT = Path(__file__).parents[2]
_FOREIGN = ("CLAUDE", "KEEPTHREAD_", "ANTHROPIC_", "PYTEST_", "VIRTUAL_ENV", "PYTHONPATH")


def copy_checkout(target: Path) -> Path:
    """Copy the files of the working tree that git does not ignore."""
    git = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(git, check=True, capture_output=True).stdout.decode()
    for name in filter(None, listing.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name)
    return target


def environment(home: Path, **more: str) -> dict[str, str]:
    """Return the environment of a person who has nothing of keepthread, and this account's settings of pip."""
    env = {name: text for name, text in os.environ.items() if not name.startswith(_FOREIGN)}
    env |= {"HOME": str(home), "PIP_CACHE_DIR": str(real_home() / ".cache" / "pip")}
    own = real_home() / ".config" / "pip" / "pip.conf"
    if own.is_file():
        env.setdefault("PIP_CONFIG_FILE", str(own))
    return env | more


def need_index(folder: Path) -> None:
    """Skip the test when pip cannot fetch what builds the package; in CI that is a failure."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
    env = environment(folder)
    run = subprocess.run([*pip, "hatchling"], env=env, capture_output=True, text=True, timeout=120)
    if run.returncode == 0:
        return
    reason = f"pip cannot fetch hatchling: {run.stderr.strip()[-300:]}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)
