"""The real client for every test here: fetched once, each test with a home, a project and an API of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.api import FakeApi
from tests.support.client import Client
from tests.support.fetch_client import PINNED, NoClientError, fetch_client
from tests.support.recorder import Recorder


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
