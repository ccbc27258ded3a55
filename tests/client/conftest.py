"""The real client for every test here: fetched once, each test with a home, a project and an API of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import FakeApi
from tests.support.client import Client
from tests.support.fetch_client import PINNED, NoClientError, fetch_client
from tests.support.recorder import Recorder

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def executable() -> Path:
    """Return the client. Where it cannot be had the tests are skipped, and fail in CI."""
    try:
        return fetch_client()
    except NoClientError as error:
        reason = f"the real client {PINNED} cannot be had: {error}"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def api() -> Iterator[FakeApi]:
    """Return a stand-in for the API."""
    with FakeApi() as api:
        yield api


@pytest.fixture
def client(executable: Path, home: Path, tmp_path: Path, api: FakeApi) -> Client:
    """Return a client with an empty home, in an empty repository."""
    project = (tmp_path / "proj").resolve()
    project.mkdir()
    subprocess.run(["git", "init", "-q", "-b", "main", str(project)], check=True)
    return Client(executable, home.resolve(), project, api)


@pytest.fixture
def recorder(tmp_path: Path) -> Recorder:
    """Return hooks that note what they are given."""
    return Recorder(tmp_path / "recorder")


@pytest.fixture
def hooks(client: Client) -> None:
    """Install keepthread into the client's home, from this checkout."""
    install(client, ROOT)


@pytest.fixture
def copied_hooks(client: Client, tmp_path: Path, hooks: None) -> Path:
    """Install keepthread from a copy of its own, which the test may destroy; return the copy."""
    copy = tmp_path / "copy"
    for name in ("src", "hooks", "commands", "templates"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    install(client, copy)
    settings = (client.config / "settings.json").read_text()
    assert f"{copy}/hooks/" in settings
    assert f"{ROOT}/hooks/" not in settings
    return copy


def install(client: Client, root: Path) -> None:
    """Run `keepthread install` of the source tree `root`."""
    subprocess.run(
        [sys.executable, "-m", "keepthread", "install"],
        env=client.environment() | {"PYTHONPATH": str(root / "src")},
        check=True,
        capture_output=True,
    )
