"""The settings file on disk: links, modes, backups."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keepthread.errors import KeepthreadError

from .conftest import ONCE, Host

ROOT = Path(__file__).resolve().parents[2]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_missing_file_is_created_private(host: Host) -> None:
    """S1: mode 0600, valid, ends with a newline; uninstall removes it, for nothing else is in it."""
    host.install()

    assert mode(host.settings) == 0o600
    assert host.settings.read_bytes().endswith(b"}\n")
    assert host.ours() == ONCE
    host.uninstall()
    assert list(host.folder.iterdir()) == []


def test_a_missing_folder_is_created_private(host: Host) -> None:
    """A host that has never run."""
    host.folder.rmdir()
    host.install()

    assert mode(host.folder) == 0o700


def test_a_file_that_we_created_stays_when_something_else_is_in_it(host: Host) -> None:
    """The host wrote a setting meanwhile."""
    host.install()
    settings = host.read()
    host.write(json.dumps({"model": "opus", **settings}))
    host.uninstall()

    assert host.settings.read_text() == '{"model": "opus"}'


def test_a_file_that_we_did_not_create_is_never_removed(host: Host) -> None:
    """Not even when it is the empty object."""
    host.write("{}")
    host.install()
    host.uninstall()

    assert host.settings.read_text() == "{}"


def test_a_file_made_by_its_user_after_ours_was_deleted_is_not_ours(host: Host) -> None:
    """What the manifest remembers of a file that is gone does not count for the next one."""
    host.install()
    host.settings.unlink()
    host.write("{}")
    host.install()
    host.uninstall()

    assert host.settings.read_text() == "{}"


@pytest.mark.parametrize("bits", [0o600, 0o644, 0o640, 0o664])
def test_mode_and_owner_stay(host: Host, bits: int) -> None:
    """S40: also on the backup, which holds the same keys."""
    host.write("{}")
    host.settings.chmod(bits)
    owner = host.settings.stat().st_uid
    host.install()

    assert (mode(host.settings), host.settings.stat().st_uid) == (bits, owner)
    assert [mode(backup) for backup in host.backups()] == [bits]


def test_the_mode_is_right_before_the_first_byte(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is no moment at which others could read the keys in it."""
    host.write('{"env": {"KEY": "secret"}}')
    host.settings.chmod(0o600)
    seen = []
    real = os.write

    def write(fd: int, data: Any) -> int:
        seen.append(stat.S_IMODE(os.fstat(fd).st_mode))
        return real(fd, data)

    monkeypatch.setattr(os, "write", write)
    host.install()

    assert set(seen) == {0o600}


def test_a_read_only_file_is_refused(host: Host) -> None:
    """S40: a writable folder does not make it ours to replace."""
    before = host.write("{}")
    host.settings.chmod(0o444)

    with pytest.raises(KeepthreadError, match="read-only"):
        host.install()

    assert host.settings.read_bytes() == before
    assert host.backups() == []


def test_a_read_only_file_that_holds_ours_already_is_fine(host: Host) -> None:
    """Another program manages it and has put our hooks in: there is nothing to write."""
    host.install()
    host.settings.chmod(0o444)

    assert not host.install().changed


def links(host: Host) -> Iterator[tuple[str, Callable[[Path], None]]]:
    target = host.root / "dotfiles" / "claude.json"
    yield "relative", lambda link: link.symlink_to("../dotfiles/claude.json")
    yield "absolute", lambda link: link.symlink_to(target)

    def chain(link: Path) -> None:
        (host.root / "middle").symlink_to(target)
        link.symlink_to("../middle")

    yield "chain", chain


@pytest.mark.parametrize("kind", ["relative", "absolute", "chain"])
def test_a_link_stays_a_link_and_its_target_is_edited(host: Host, kind: str) -> None:
    """S38, G3: a dotfiles folder keeps its file, with its mode, and gets no litter and no backup with keys."""
    target = host.root / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_text('{\n  "a": 1\n}\n')
    target.chmod(0o644)
    dict(links(host))[kind](host.settings)
    text = os.readlink(host.settings)
    host.install()

    assert os.readlink(host.settings) == text
    assert "PreCompact" in target.read_text()
    assert mode(target) == 0o644
    assert [path.name for path in target.parent.iterdir()] == ["claude.json"]
    assert len(host.backups()) == 1
    host.uninstall()
    assert target.read_text() == '{\n  "a": 1\n}\n'
    assert host.settings.is_symlink()


def test_a_configuration_folder_that_is_a_link_is_followed(host: Host) -> None:
    """G3: the whole folder lives among the dotfiles."""
    host.folder.rmdir()
    (host.root / "dot").mkdir()
    host.folder.symlink_to("dot")
    host.write("{}")
    host.install()

    assert host.folder.is_symlink()
    assert host.ours() == ONCE


@pytest.mark.parametrize(
    "target", ["../gone/claude.json", "settings.json"], ids=["dangling", "loop"]
)
def test_a_link_that_leads_nowhere_is_refused(host: Host, target: str) -> None:
    """The folder it leads to may only not be mounted now."""
    host.settings.symlink_to(target)

    with pytest.raises(KeepthreadError, match="leads nowhere"):
        host.install()

    assert os.readlink(host.settings) == target
    assert not (host.root / "gone").exists()


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "FIFO"])
def test_what_is_no_regular_file_is_refused(host: Host, make: Callable[[Path], None]) -> None:
    """And nothing waits for a writer of the FIFO."""
    make(host.settings)

    with pytest.raises(KeepthreadError, match="not a regular file"):
        host.install()


def test_five_backups_are_kept_and_each_is_of_before(host: Host) -> None:
    """Only a change makes one; foreign files of a similar name are left alone."""
    host.write('{"a": 1}')
    mine = host.folder / "settings.json.keepthread-mine.bak"
    mine.write_text("x")
    for number in range(4):
        host.install()
        host.install()
        host.uninstall()
        assert len(host.backups()) - 1 == min(5, 2 * (number + 1))

    assert mine.read_text() == "x"
    assert sum(backup.read_text() == '{"a": 1}' for backup in host.backups()) in (2, 3)


def test_a_backup_is_there_before_the_first_changed_byte(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G1: were the replacement to go wrong, the old content would be at hand."""
    before = host.write('{"a": 1}')
    real = os.replace
    seen = []

    def replace(source: str, target: str, **more: Any) -> None:
        if target == str(host.settings):
            seen.append([backup.read_bytes() for backup in host.backups()])
        real(source, target, **more)

    monkeypatch.setattr(os, "replace", replace)
    host.install()

    assert seen == [[before]]
