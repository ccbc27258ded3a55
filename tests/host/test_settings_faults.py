"""Faults in every call of an edit, and others who write at the same time."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from keepthread.errors import KeepthreadError
from keepthread.host import manifest, settings_file

from .conftest import ONCE, Host

ROOT = Path(__file__).resolve().parents[2]


CALLS = [
    "write",
    "fsync",
    "replace",
    "open",
    "close",
    "unlink",
    "fchmod",
    "mkdir",
    "lseek",
    "ftruncate",
    "rename",
    "rmdir",
]
KILLED = 9


def fail_at(
    number: int, problem: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> Iterator[int]:
    """Let `problem` happen in the call with this number; return the count, whose next value is the calls made."""
    count = iter(range(1_000_000))

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **more: Any) -> Any:
            if next(count) == number:
                problem()
            return real(*args, **more)

        return call

    for name in CALLS:
        monkeypatch.setattr(os, name, counted(getattr(os, name)))
    return count


def after_each_fault(
    host: Host, monkeypatch: pytest.MonkeyPatch, fault: str, action: Callable[[], object]
) -> Iterator[bytes]:
    """Do it again and again, one call later failing each time; yield the settings after each."""

    def problem() -> None:
        raise OSError(getattr(errno, fault), "no")

    for number in range(400):
        with monkeypatch.context() as patched:
            count = fail_at(number, problem, patched)
            with suppress(KeepthreadError):
                action()
        yield host.settings.read_bytes()
        if next(count) <= number:
            return
    raise AssertionError("it makes more calls than were tried")


def after_each_kill(
    host: Host, monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]
) -> Iterator[bytes]:
    """The same in a process that ends within the call, without any cleaning up."""
    leave = os._exit
    for number in range(400):
        child = os.fork()
        if child == 0:
            fail_at(number, lambda: leave(KILLED), monkeypatch)
            action()
            leave(0)
        status = os.waitpid(child, 0)[1]
        yield host.settings.read_bytes()
        if os.waitstatus_to_exitcode(status) != KILLED:
            return
    raise AssertionError("it makes more calls than were tried")


@pytest.mark.parametrize("fault", ["killed", "ENOSPC", "EDQUOT"])
def test_a_fault_in_any_call_leaves_the_old_bytes_or_the_new(
    host: Host, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """S44: never a mixture, never an empty file; and the next install completes it."""
    before = host.write('{\n  "a": 1\n}\n')
    host.install()
    after = host.settings.read_bytes()
    host.uninstall()
    killed = fault == "killed"
    states = (
        after_each_kill(host, monkeypatch, host.install)
        if killed
        else after_each_fault(host, monkeypatch, fault, host.install)
    )

    seen = []
    for content in states:
        seen.append(content)
        assert content in (before, after)
        assert killed or content == after or manifest.load(str(host.state)) is None
        host.install()
        assert host.settings.read_bytes() == after
        assert host.litter() == []
        host.uninstall()
        assert host.settings.read_bytes() == before
    assert set(seen) == {before, after}
    assert len(seen) > 20


@pytest.mark.parametrize("before", ['{"env": { }}'])
def test_an_uninstall_killed_in_any_call_is_completed_by_the_next(
    host: Host, monkeypatch: pytest.MonkeyPatch, before: str
) -> None:
    """S44 the other way: what was recorded is not forgotten before the settings are as they were."""

    def prepare() -> bytes:
        host.install()
        host.put_values(A="2", B="3")
        return host.settings.read_bytes()

    host.write(before)
    after = prepare()
    seen = set()
    for content in after_each_kill(host, monkeypatch, host.uninstall):
        seen.add(content)
        assert content in (before.encode(), after)
        host.uninstall()
        assert host.settings.read_text() == before
        assert prepare() == after
    assert seen == {before.encode(), after}


def test_values_written_by_a_killed_run_are_known_and_taken_back(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From one profile to the next; a value of the user's is put aside in the first and comes back in the end."""
    before = '{"env": {"A": "\\u0031"}}'
    host.write(before)
    host.put_values(A="2", B="3")
    old = host.settings.read_bytes()
    host.put_values(A="4", C="5")
    new = host.settings.read_bytes()
    host.put_values(A="2", B="3")

    def change() -> None:
        host.put_values(A="4", C="5")

    seen = set()
    for number, content in enumerate(after_each_kill(host, monkeypatch, change)):
        seen.add(content)
        assert content in (old, new)
        if number % 2:
            change()
            assert host.settings.read_bytes() == new
        host.uninstall()
        assert host.settings.read_text() == before
        host.put_values(A="2", B="3")
        assert host.settings.read_bytes() == old
    assert seen == {old, new}


def test_a_short_write_is_carried_on(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system may take a part of the bytes."""
    host.write("{}")
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:7]))
    host.install()

    assert host.ours() == ONCE


def test_a_file_mounted_on_its_own_is_written_in_place(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S41: rename gives EBUSY there; the inode stays, a backup exists, and no temporary file is left."""
    before = host.write('{\n  "a": 1\n}\n')
    inode = host.settings.stat().st_ino
    real = os.replace

    def replace(source: str, target: str, **more: Any) -> None:
        if target == str(host.settings):
            raise OSError(errno.EBUSY, "Device or resource busy")
        real(source, target, **more)

    monkeypatch.setattr(os, "replace", replace)
    host.install()

    assert host.ours() == ONCE
    assert host.settings.stat().st_ino == inode
    assert host.litter() == []
    assert [backup.read_bytes() for backup in host.backups()] == [before]
    host.uninstall()
    assert host.settings.read_bytes() == before


@pytest.mark.parametrize("fault", ["write", "ftruncate"])
def test_a_write_in_place_that_fails_is_taken_back(
    host: Host, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """A full disk in the middle: the old bytes return, all of them and no more."""
    before = host.write('{\n  "a": 1\n}\n')
    inode = host.settings.stat().st_ino
    real = getattr(os, fault)
    failed: list[str] = []

    def busy(source: str, target: str, **more: Any) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    def call(fd: int, *args: Any) -> Any:
        if os.fstat(fd).st_ino == inode and not failed:
            failed.append(fault)
            if fault == "write":
                real(fd, bytes(args[0])[:40])
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, *args)

    host.install(dry_run=True)
    snapshot = settings_file.read(str(host.settings))
    monkeypatch.setattr(os, "replace", busy)
    monkeypatch.setattr(os, fault, call)

    with pytest.raises(KeepthreadError, match="No space left"):
        settings_file.write(snapshot, b'{"a": 1, "' + b"x" * 500 + b'": 2}')

    assert host.settings.read_bytes() == before


def test_a_mounted_file_for_real(host: Host) -> None:
    """S41 with a real bind mount, where the machine allows one."""
    before = host.write('{\n  "a": 1\n}\n')
    probe = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"mount --bind '{host.settings}' '{host.settings}'"],
        capture_output=True,
    )
    if probe.returncode:
        pytest.skip("no bind mounts here")
    code = (
        "import sys; from keepthread.host.install import install;"
        f"install(config_dir={str(host.folder)!r}, state={str(host.state)!r}, python='/v/bin/python',"
        f" package_hooks='/p/keepthread/hooks', command_folder={str(host.texts)!r})"
    )
    inside = (
        f"mount --bind '{host.settings}' '{host.settings}' && exec '{sys.executable}' -c \"$CODE\""
    )
    subprocess.run(
        ["unshare", "-m", "sh", "-c", inside],
        check=True,
        env={**os.environ, "CODE": code, "PYTHONPATH": str(ROOT / "src")},
    )

    assert host.ours() == ONCE
    host.uninstall()
    assert host.settings.read_bytes() == before


def test_a_sharing_violation_is_waited_out(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows: an editor has the file open for a moment. Any other refusal is final."""
    host.write("{}")
    real = os.replace
    refusals = [32, 5, 33]

    def replace(source: str, target: str, **more: Any) -> None:
        if target == str(host.settings) and refusals:
            error = PermissionError(errno.EACCES, "in use")
            error.winerror = refusals.pop()  # type: ignore[attr-defined]
            raise error
        real(source, target, **more)

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    host.install()

    assert refusals == []
    assert host.ours() == ONCE


def test_what_another_program_writes_meanwhile_is_kept(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S42: the edit is made again on the new content, and no backup of a write that never was remains."""
    host.write('{"a": 1}')
    real = settings_file._unchanged
    others = iter(['{"a": 1, "b": 2}', '{"a": 1, "b": 2, "c": 3}'])

    def unchanged(snapshot: settings_file.Snapshot) -> bool:
        text = next(others, "")
        if text:
            host.write(text)
        return real(snapshot)

    monkeypatch.setattr(settings_file, "_unchanged", unchanged)
    host.install()

    assert host.ours() == ONCE
    assert {key: host.read()[key] for key in "abc"} == {"a": 1, "b": 2, "c": 3}
    assert len(host.backups()) == 1
    assert host.litter() == []


def test_a_program_that_writes_all_the_time_wins(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three tries, then the user is told; its last content stands."""
    host.write('{"a": 1}')
    monkeypatch.setattr(settings_file, "_unchanged", lambda snapshot: False)

    with pytest.raises(KeepthreadError, match="keeps writing"):
        host.install()

    assert host.settings.read_text() == '{"a": 1}'
    assert host.backups() == []
    assert host.litter() == []


def test_a_file_that_appears_meanwhile_is_not_overwritten(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was absent when we looked."""
    real = settings_file._prepare

    def prepare(snapshot: settings_file.Snapshot) -> None:
        real(snapshot)
        if not host.settings.exists():
            host.write('{"a": 1}')

    monkeypatch.setattr(settings_file, "_prepare", prepare)
    host.install()

    assert host.read()["a"] == 1
    assert host.ours() == ONCE


def test_leftovers_of_a_killed_run_go_with_the_next_one(host: Host) -> None:
    """And only those: the name has to be ours to the last digit."""
    host.write("{}")
    stale = host.folder / f".settings.json.keepthread-{'0' * 16}.tmp"
    foreign = host.folder / ".settings.json.keepthread-0.tmp"
    stale.write_text("x")
    foreign.write_text("x")
    host.install()

    assert host.litter() == [foreign.name]


def test_a_held_lock_is_waited_for_and_then_named(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounded: the message says which file."""
    host.write("{}")
    monkeypatch.setattr(settings_file, "LOCK_WAIT", 0.1)

    with (
        settings_file.locked(str(host.state)),
        pytest.raises(KeepthreadError, match=r"install\.lock is locked"),
    ):
        host.install()

    assert host.settings.read_text() == "{}"


def test_a_lock_that_is_an_empty_folder_is_no_lock(host: Host) -> None:
    """As other programs make them, and a backup brings them back."""
    lock = host.state / "install.lock"
    lock.mkdir(parents=True)
    host.install()
    assert host.ours() == ONCE
    host.uninstall()
    (lock / "mine").mkdir(parents=True)
    with pytest.raises(KeepthreadError, match="cannot be locked"):
        host.install()


def test_parallel_installs_leave_one_entry_and_no_reader_sees_half_a_file(host: Host) -> None:
    """S43: twenty processes at once, while a reader polls."""
    host.write('{\n  "a": 1\n}\n')
    code = (
        "import sys; from keepthread.host.install import install;"
        f"install(config_dir={str(host.folder)!r}, state={str(host.state)!r}, python=sys.argv[1],"
        f" package_hooks={host.hooks!r}, command_folder={str(host.texts)!r}, windows=False)"
    )
    broken: list[str] = []
    done = threading.Event()

    def poll() -> None:
        while not done.is_set():
            text = host.settings.read_text()
            with suppress(ValueError):
                json.loads(text)
                continue
            broken.append(text)

    reader = threading.Thread(target=poll)
    reader.start()
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    children = [
        subprocess.Popen([sys.executable, "-c", code, f"/v{n}/bin/python"], env=env)
        for n in range(20)
    ]
    codes = [child.wait(timeout=120) for child in children]
    done.set()
    reader.join()

    assert codes == [0] * 20
    assert broken == []
    assert host.ours() == ONCE
    host.uninstall()
    assert host.settings.read_text() == '{\n  "a": 1\n}\n'
