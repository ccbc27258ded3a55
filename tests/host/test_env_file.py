"""One variable is written into the user's own .env, and every other byte stays."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from keepthread.errors import KeepthreadError
from keepthread.host.config import load
from keepthread.host.env_file import set_variable

NAME = "KEEPTHREAD_SESSION_MEMORY"
WRITTEN = [
    ("", f"{NAME}=model\n"),
    ("A=1", f"A=1\n{NAME}=model\n"),
    ("# a note", f"# a note\n{NAME}=model\n"),
    ("A=1\r\n\r\nB=2\r\n", f"A=1\r\n\r\nB=2\r\n{NAME}=model\r\n"),
    (f"\ufeffA=1\n{NAME}=off", f"\ufeffA=1\n{NAME}=model"),
    (f"  export {NAME} = 'off'\n#{NAME}=off\n", f"  export {NAME}=model\n#{NAME}=off\n"),
    (
        f"{NAME}=off # mine\nPASS='my$ecret#1 now'\n",
        f"{NAME}=model # mine\nPASS='my$ecret#1 now'\n",
    ),
    (f"{NAME}=off\nB='x\n{NAME}=off\ny'\n", f"{NAME}=model\nB='x\n{NAME}=off\ny'\n"),
    (f"{NAME}=off\nbroken ' line\n{NAME}=facts\n", f"{NAME}=off\nbroken ' line\n{NAME}=model\n"),
]


@pytest.mark.parametrize(("before", "after"), WRITTEN)
def test_one_line_changes_and_no_other_byte(tmp_path: Path, before: str, after: str) -> None:
    """The line that is in force, the last of its name; the second time nothing changes."""
    path = tmp_path / ".env"
    path.write_bytes(before.encode())

    assert set_variable(str(path), NAME, "model")
    assert path.read_bytes() == after.encode()
    assert load({}, str(tmp_path)).session_memory == "model"
    assert not set_variable(str(path), NAME, "model")


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_the_mode_stays_and_a_new_file_is_private(tmp_path: Path, mode: int) -> None:
    """Others may be meant to read the file; a new one is nobody else's business."""
    path, new = tmp_path / ".env", tmp_path / "config" / ".env"
    path.write_text("A=1\n")
    path.chmod(mode)
    set_variable(str(path), NAME, "off")
    set_variable(str(new), NAME, "off")

    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert stat.S_IMODE(new.stat().st_mode) == 0o600


def test_a_link_is_followed(tmp_path: Path) -> None:
    """Dotfiles are often kept elsewhere; the file is read through its link, too."""
    real = tmp_path / "dotfiles" / "env"
    real.parent.mkdir()
    real.write_text("A=1\n")
    link = tmp_path / ".env"
    link.symlink_to(real)
    set_variable(str(link), NAME, "off")

    assert link.is_symlink()
    assert real.read_text() == f"A=1\n{NAME}=off\n"


@pytest.mark.parametrize("kind", ["latin", "folder", "pipe", "huge"])
def test_a_file_that_cannot_be_changed_safely_is_left_alone(tmp_path: Path, kind: str) -> None:
    """And its user is told what to do."""
    path = tmp_path / ".env"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.write_bytes(b"NAME=\xe9\n" if kind == "latin" else b"A=1\n" * 300_000)
    before = path.lstat()

    with pytest.raises(KeepthreadError) as raised:
        set_variable(str(path), NAME, "off")
    assert raised.value.hint
    assert path.lstat() == before
