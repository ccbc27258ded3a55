"""A profile put in force in the real client: compaction begins where it says, and again where it did afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from keepthread.host.profiles import names, reading
from keepthread.host.profiles.catalogue import CATALOGUE, RETIRED
from keepthread.host.profiles.client import version_of
from keepthread.host.profiles.table import compaction_points
from tests.support.api import Answer, FakeApi
from tests.support.client import MODEL, Client
from tests.support.fetch_client import PINNED
from tests.support.profiles import names_in
from tests.support.recorder import Recorder

pytestmark = pytest.mark.client

ROOT = Path(__file__).resolve().parents[2]
MARGIN = 1_000  # tokens


def keepthread(client: Client, *arguments: str) -> str:
    """Run keepthread of this checkout as the client's user, and return what it printed."""
    ran = subprocess.run(
        [sys.executable, "-m", "keepthread", *arguments],
        cwd=client.project,
        env=client.environment() | {"PYTHONPATH": str(ROOT / "src")},
        check=True,
        capture_output=True,
        text=True,
    )
    return ran.stdout


def compacts(client: Client, api: FakeApi, recorder: Recorder, tokens: int) -> bool:
    """Hold two turns that leave a context of this size, say one thing more, and return whether PreCompact came."""
    api.rule(f"fill to {tokens}", Answer(input_tokens=tokens))
    before = recorder.labels.count("PreCompact(auto)")
    session = client.converse("first words", f"fill to {tokens}").session
    assert client.prompt("third words", session).code == 0
    return recorder.labels.count("PreCompact(auto)") > before


def test_an_applied_profile_lowers_the_point_and_clear_puts_it_back(
    client: Client, api: FakeApi, recorder: Recorder
) -> None:
    """Through the settings' env block, just below and just above the point that `profile show` names."""
    recorder.add("PreCompact")
    recorder.install(client)
    settings = client.config / "settings.json"
    before = settings.read_bytes()
    point = compaction_points(reading.load("aggressive", "").values)[MODEL]
    assert point is not None

    keepthread(client, "profile", "apply", "aggressive")
    assert not compacts(client, api, recorder, point - MARGIN)
    assert compacts(client, api, recorder, point + MARGIN)
    keepthread(client, "profile", "clear")

    assert settings.read_bytes() == before
    assert not compacts(client, api, recorder, point + 2 * MARGIN)


def test_the_client_s_own_folder_env_file_is_not_read(
    client: Client, api: FakeApi, recorder: Recorder
) -> None:
    """Which is what `--env-file` warns of."""
    recorder.add("PreCompact")
    recorder.install(client)
    said = keepthread(
        client, "profile", "apply", "aggressive", "--env-file", str(client.config / ".env")
    )

    assert "does not read" in said
    assert not compacts(client, api, recorder, 120_000)


def test_every_name_of_the_list_and_the_catalogue_stands_in_the_client_s_program(
    executable: Path,
) -> None:
    """And no retired one; the list is what python -m tests.support.profiles names writes."""
    found = names_in(executable)

    assert found == names.listed()
    assert set(CATALOGUE) <= found
    assert not set(RETIRED) & found


def test_its_version_is_found(client: Client) -> None:
    """By asking the program."""
    assert version_of([str(client.executable)], client.environment()) == PINNED
