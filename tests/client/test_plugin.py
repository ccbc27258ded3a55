"""keepthread as a plugin of the real client: checked, installed from a marketplace of this checkout, and at work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.client.story import (
    DOCUMENT,
    RULE,
    answer_child,
    asked,
    assert_holds_the_thread,
    begin,
    compacted,
    injected,
    log,
    settled,
    summarise_slowly,
    variables,
)
from tests.support.api import Answer, FakeApi, texts
from tests.support.client import Client
from tests.support.installation import copy_checkout

pytestmark = pytest.mark.client


@pytest.fixture
def plugin(client: Client, tmp_path: Path) -> Path:
    """Install the plugin from a marketplace that is a copy of this checkout; return where the client keeps it."""
    market = copy_checkout(tmp_path / "market place")
    assert client.run("plugin", "marketplace", "add", str(market)).code == 0
    run = client.run("plugin", "install", "keepthread@keepthread")
    assert run.code == 0, run
    return next((client.config / "plugins" / "cache").glob("keepthread/keepthread/*"))


def prepare(folder: Path) -> None:
    """Make an environment as install.sh makes one, from the interpreter that runs the tests."""
    programs = folder / "venv" / "bin"
    programs.mkdir(parents=True)
    for name, more in (("python", ""), ("keepthread", " -m keepthread")):
        (programs / name).write_text(f"#!/bin/sh\nexec '{sys.executable}'{more} \"$@\"\n")
        (programs / name).chmod(0o755)


def data(client: Client) -> Path:
    return client.config / "plugins" / "data" / "keepthread-keepthread"


def test_the_client_finds_no_fault_in_it(client: Client, tmp_path: Path) -> None:
    run = client.run("plugin", "validate", "--strict", str(copy_checkout(tmp_path / "copy")))

    assert run.code == 0, run
    assert "keepthread:handoff" in run.stdout


def test_after_a_compaction_the_next_request_holds_the_thread(
    client: Client, api: FakeApi, plugin: Path
) -> None:
    """The environment lies in the plugin's data folder, the state in the configuration folder."""
    prepare(data(client))
    variables(client, ENGINE="facts")
    session, request = compacted(client, api)

    assert_holds_the_thread(request)
    assert settled(client, session)["meta"]["engine"] == "facts"
    assert "keepthread/hooks" not in (client.config / "settings.json").read_text()
    assert [path.name for path in data(client).iterdir()] == ["venv"]


def test_its_commands_run_its_program(client: Client, api: FakeApi, plugin: Path) -> None:
    prepare(data(client))
    answer_child(api, Answer(document=DOCUMENT))
    session = begin(client, api, full=False)
    run = client.prompt("/keepthread:handoff mind the trailing comma", session)

    assert run.code == 0, run
    stored = settled(client, session)
    assert (stored["meta"]["trigger"], stored["meta"]["status"]) == ("command", "complete")
    assert RULE in texts(api.talks[-1].body)
    assert "mind the trailing comma" in texts(api.children[0].body)


def test_installed_twice_everything_is_told_once(
    client: Client, api: FakeApi, hooks: None, plugin: Path
) -> None:
    """Both run at each event; the second finds the work done, and one model call is made."""
    prepare(client.config / "keepthread")
    summarise_slowly(client, api)
    answer_child(api, Answer(document=DOCUMENT))
    _, request = compacted(client, api)

    assert_holds_the_thread(request)
    assert texts(request).count("<keepthread-handoff>") == 1
    assert asked(api) == 1
    started = [line for line in log(client) if line["event"] == "pre_compact"]
    assert len(started) == 2
    assert not [line for line in log(client) if line["outcome"] == "failed"]


def test_without_an_environment_the_session_goes_its_way(
    client: Client, api: FakeApi, plugin: Path
) -> None:
    """No interpreter has what is needed: nothing is blocked, and its user has been told what to run."""
    programs = client.home / "bin"
    programs.mkdir()
    for name in ("python3", "python"):
        (programs / name).write_text("#!/bin/sh\nexit 2\n")
        (programs / name).chmod(0o755)
    client.env["PATH"] = f"{programs}:/usr/bin:/bin"
    _, request = compacted(client, api)

    assert injected(request) == ""
    assert [path.name for path in (client.config / "keepthread").iterdir()] == ["plugin-told"]


def test_removed_it_leaves_the_session_as_it_would_be(
    client: Client, api: FakeApi, plugin: Path
) -> None:
    prepare(client.config / "keepthread")
    assert client.run("plugin", "uninstall", "keepthread@keepthread").code == 0
    compacted(client, api)

    assert log(client) == []
