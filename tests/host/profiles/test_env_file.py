"""The block in a file of the user's: every other byte stays, and taking it out gives back the file as it was."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest

from keepthread.errors import KeepthreadError
from keepthread.host import settings_file
from keepthread.host.profiles import env_file, reading

VALUES = {"CLAUDE_AUTOCOMPACT_PCT_OVERRIDE": "50", "CLAUDE_CODE_SUBAGENT_MODEL": "a model"}
FILES = [
    b"",
    b"export A=1\n",
    b"export A=1",
    b"# a comment\r\nA=1\r\nPASS='my$ecret#1 now'\r\n",
    b"A=1\r\nB=2",
    b"A=1\nA=2\nexport A=3\n\n\n",
    b"\xef\xbb\xbfA=1\n",
    b"\xff\xfe not utf-8 \x80\n",
    b"\n",
]


@pytest.mark.parametrize("before", FILES, ids=repr)
def test_put_twice_changed_and_taken_out_the_file_is_as_it_was(tmp_path, before):
    path = tmp_path / "rc"
    path.write_bytes(before)
    path.chmod(0o640)

    env_file.put(str(path), "tuned", VALUES)
    once = path.read_bytes()
    assert not env_file.put(str(path), "tuned", VALUES).changed
    assert path.read_bytes() == once
    assert before in once
    env_file.put(str(path), "aggressive", {"MCP_TIMEOUT": "9000"})
    assert b"# >>> keepthread profile aggressive " in path.read_bytes()
    assert b"SUBAGENT" not in path.read_bytes()
    env_file.put(str(path), "", {})

    assert path.read_bytes() == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_file_that_was_not_there_goes_again(tmp_path):
    path = tmp_path / ".env"

    env_file.put(str(path), "tuned", VALUES)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    env_file.put(str(path), "aggressive", VALUES)
    env_file.put(str(path), "", {})

    assert not path.exists()


def test_what_its_user_writes_around_the_block_stays(tmp_path):
    path = tmp_path / "rc"
    path.write_bytes(b"A=1")
    env_file.put(str(path), "tuned", VALUES)
    path.write_bytes(b"# first\n" + path.read_bytes() + b"B=2\n")

    env_file.put(str(path), "aggressive", VALUES)
    env_file.put(str(path), "", {})

    assert path.read_bytes() == b"# first\nA=1\nB=2\n"


@pytest.mark.parametrize("half", [env_file.BEGIN + b"tuned >>>\nA=1\n", env_file.END + b"\n"])
def test_half_a_block_is_refused_and_named(tmp_path, half):
    path = tmp_path / "rc"
    path.write_bytes(b"A=1\n" + half)

    with pytest.raises(KeepthreadError, match=r"rc:2: .*not whole"):
        env_file.put(str(path), "tuned", VALUES)
    assert path.read_bytes() == b"A=1\n" + half


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "rc"
    real.write_text("A=1\n")
    (tmp_path / "rc").symlink_to(real)

    env_file.put(str(tmp_path / "rc"), "tuned", VALUES)

    assert (tmp_path / "rc").is_symlink()
    assert "tuned" in real.read_text()


def test_a_folder_and_a_missing_one_are_refused(tmp_path):
    for path in (tmp_path, tmp_path / "none" / "rc"):
        with pytest.raises(KeepthreadError, match=r"cannot be|not a regular file"):
            env_file.put(str(path), "tuned", VALUES)


def test_a_dry_run_writes_nothing(tmp_path):
    change = env_file.put(str(tmp_path / "rc"), "tuned", VALUES, dry_run=True)

    assert change.changed
    assert not (tmp_path / "rc").exists()


def test_a_shell_and_a_dotenv_reader_find_the_same_values(tmp_path):
    path = tmp_path / "rc"
    env_file.put(str(path), "tuned", VALUES)
    script = f'. "{path}"; env'

    ran = subprocess.run(
        ["sh", "-c", script],
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )

    assert {line for line in ran.stdout.splitlines() if line.startswith("CLAUDE")} == {
        f"{name}={value}" for name, value in VALUES.items()
    }
    assert reading.read_file(str(path)) == VALUES


def test_fish_gets_its_own_words(tmp_path):
    path = Path(tmp_path / "config.fish")
    env_file.put(str(path), "tuned", VALUES)

    assert "set -gx CLAUDE_CODE_SUBAGENT_MODEL 'a model'\n" in path.read_text()


def test_a_value_that_shells_read_in_different_ways_is_refused(tmp_path):
    with pytest.raises(KeepthreadError, match="quote"):
        env_file.put(str(tmp_path / "rc"), "tuned", {"A": "it's"})
    assert not (tmp_path / "rc").exists()


def test_a_read_only_file_is_left_alone_though_its_folder_can_be_written(tmp_path):
    path = tmp_path / "rc"
    path.write_bytes(b"A=1\n")
    path.chmod(0o444)

    with pytest.raises(KeepthreadError, match="read-only"):
        env_file.put(str(path), "tuned", VALUES)

    assert path.read_bytes() == b"A=1\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs another's file")
def test_an_administrator_leaves_the_file_to_its_owner(tmp_path):
    path = tmp_path / "rc"
    path.write_bytes(b"A=1\n")
    os.chown(path, 12345, 12345)

    env_file.put(str(path), "tuned", VALUES)

    assert path.stat().st_uid == 12345


def test_what_another_program_writes_meanwhile_is_not_lost(tmp_path, monkeypatch):
    path = tmp_path / "rc"
    path.write_bytes(b"A=1\n")
    written = settings_file.write

    def late(snapshot, data, **rest):
        path.write_bytes(b"A=2\n")
        written(snapshot, data, **rest)

    monkeypatch.setattr(settings_file, "write", late)
    with pytest.raises(KeepthreadError, match="Another program"):
        env_file.put(str(path), "tuned", VALUES)

    assert path.read_bytes() == b"A=2\n"
    assert list(tmp_path.glob("*rc*")) == [path]


def test_no_copy_of_a_file_stays_beside_it(tmp_path):
    path = tmp_path / "rc"
    path.write_bytes(b"A=1\n")

    env_file.put(str(path), "tuned", VALUES)

    assert list(tmp_path.glob("*rc*")) == [path]
