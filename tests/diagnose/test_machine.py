"""What no test can plant for real: a full disk, a read-only or network file system, an old clock, an administrator."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from keepthread.diagnose import checks_runs, checks_settings, checks_state
from keepthread.diagnose.check import Check
from keepthread.diagnose.doctor import place_here
from tests.support.cli import Person

Look = Callable[[], dict[str, Check]]


@pytest.fixture
def look(home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Look:
    """Return a function that looks at the state folder and returns what is found, by name."""
    person = Person(home, capsys, monkeypatch)
    person.ok("install")

    def looked() -> dict[str, Check]:
        place = place_here(dict(os.environ), str(person.project))
        return {found["name"]: found for found in checks_state.check(place, [])}

    return looked


def test_a_disk_without_room_is_a_fault(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handoff that cannot be written is lost."""
    assert look()["disk"]["ok"]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    found = look()["disk"]

    assert not found["ok"]
    assert found["detail"].startswith("1.0 MB are free where ")


@pytest.mark.skipif(not hasattr(os, "statvfs"), reason="the system has no such call")
def test_a_read_only_file_system_is_a_fault(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is mounted so after an error of the disk."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10**12))
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    found = look()["disk"]

    assert not found["ok"]
    assert "is read-only" in found["detail"]


def test_a_network_file_system_is_a_note(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks there are not relied on."""
    monkeypatch.setattr(checks_state, "_file_system", lambda _: "nfs4")
    found = look()["disk"]

    assert found["ok"]
    assert found["fix"]
    assert "(nfs4)" in found["detail"]


@pytest.mark.skipif(not os.path.exists("/proc/self/mounts"), reason="a table of Linux")
def test_the_innermost_mount_decides_on_the_file_system(tmp_path: Path) -> None:
    """Spaces stand there as \\040."""
    table = tmp_path / "mounts"
    table.write_text(
        "/dev/a / ext4 rw 0 0\nserver:/h /home nfs4 rw 0 0\n//s/x /home/my\\040disk cifs rw 0 0\nbroken\n"
    )

    kinds = {
        path: checks_state._file_system(path, str(table))
        for path in ("/home/u", "/homestead", "/home/my disk/x", "/home")
    }
    assert kinds == {
        "/home/u": "nfs4", "/homestead": "ext4", "/home/my disk/x": "cifs", "/home": "nfs4",
    }  # fmt: skip


def test_a_clock_of_long_ago_is_a_fault(look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty battery: it is 1970."""
    monkeypatch.setattr(time, "time", lambda: 86_400.0)
    found = look()["clock"]

    assert not found["ok"]
    assert found["detail"].startswith("it is 1970-01-02")


def test_an_administrator_s_rule_is_told(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With allowManagedHooksOnly the host runs no hook of its user's."""
    managed = home / "managed-settings.json"
    managed.write_text(json.dumps({"allowManagedHooksOnly": True}))
    monkeypatch.setattr(checks_settings, "managed_settings", lambda _: str(managed))
    person = Person(home, capsys, monkeypatch)
    place = place_here(dict(os.environ), str(person.project))
    found = checks_settings._enabled(place)

    assert not found["ok"]
    assert str(managed) in found["detail"]
    assert "administrator" in found["fix"]


Line = dict[str, Any]


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ([], None),
        ([{"event": "stop", "outcome": "started"}], None),
        ([{"event": "stop", "outcome": "failed"}], ("stop", False)),
        ([{"event": "stop", "outcome": "failed"}, {"event": "pre_compact"}], ("stop", False)),
        ([{"event": "stop", "outcome": "failed"}, {"event": "stop"}], ("stop", True)),
        ([{"event": "worker", "reason": "timeout"}], ("worker", False)),
        ([{"event": "worker", "reason": "timeout"}, {"event": "handoff"}], ("worker", True)),
        (
            [{"event": "worker", "reason": "timeout"}, {"event": "handoff", "reason": "timeout"}],
            ("worker", False),
        ),
        ([{"event": "handoff", "reason": "timeout"}], None),
        ([{"event": "worker", "reason": "engine_facts"}], None),
    ],
)
def test_which_line_of_the_log_is_the_last_failure(
    lines: list[Line], told: tuple[str, bool] | None
) -> None:
    """A worker's reasons count; that the same went well since, too."""
    found = checks_runs.last_failure(lines)

    assert (found and (found[0]["event"], found[1])) == told
