"""Private files: the old bytes or the new ones, never a link followed, never a stray temporary file."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keepthread import files

POSIX_ONLY = pytest.mark.skipif(os.name == "nt", reason="needs POSIX modes, links or FIFOs")
NOT_ROOT = pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may do all")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


@POSIX_ONLY
def test_a_private_folder_and_its_missing_parents_are_closed_to_others(tmp_path, open_umask):
    files.make_private(str(tmp_path / "a" / "b" / "c"))

    assert [mode(tmp_path / part) for part in ("a", "a/b", "a/b/c")] == [0o700] * 3


@POSIX_ONLY
def test_a_looser_folder_is_tightened_and_its_parent_is_not(tmp_path, open_umask):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a").chmod(0o755)
    (tmp_path / "a" / "b").chmod(0o775)

    files.make_private(str(tmp_path / "a" / "b"))

    assert mode(tmp_path / "a") == 0o755
    assert mode(tmp_path / "a" / "b") == 0o700


def test_a_file_in_a_private_folders_place_is_an_error(tmp_path):
    (tmp_path / "a").write_text("")

    with pytest.raises(FileExistsError):
        files.make_private(str(tmp_path / "a"))
    with pytest.raises(OSError):
        files.make_private(str(tmp_path / "a" / "b"))


def test_a_linked_private_folder_works(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    files.make_private(str(tmp_path / "link"))
    files.make_private(str(tmp_path / "link" / "sub"))

    assert (tmp_path / "real" / "sub").is_dir()


@POSIX_ONLY
def test_what_is_written_is_read_and_private(tmp_path, open_umask):
    path = tmp_path / "f"
    path.write_text("old")
    path.chmod(0o644)

    files.write_private(str(path), b"a\r\nb\n\0")

    assert path.read_bytes() == b"a\r\nb\n\0"
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == sorted([tmp_path / "f", tmp_path / "home"])


def test_a_relative_path_is_fine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    files.write_private("f", b"x")

    assert (tmp_path / "f").read_bytes() == b"x"


@POSIX_ONLY
@pytest.mark.parametrize("target", ["precious", "missing"])
def test_a_link_is_replaced_and_not_followed(tmp_path, target):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / target)

    files.write_private(str(tmp_path / "link"), b"new")

    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "link").read_bytes() == b"new"
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "missing").exists()


def test_a_folder_in_a_files_place_is_an_error_and_leaves_no_temporary_file(tmp_path):
    (tmp_path / "sub" / "d").mkdir(parents=True)

    with pytest.raises(OSError):
        files.write_private(str(tmp_path / "sub" / "d"), b"x")

    assert [path.name for path in (tmp_path / "sub").iterdir()] == ["d"]


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        files.write_private(str(tmp_path / "no" / "f"), b"x")


@NOT_ROOT
def test_a_read_only_folder_is_an_error_and_the_old_file_stays(tmp_path):
    folder = tmp_path / "sub"
    folder.mkdir()
    (folder / "f").write_text("old")
    folder.chmod(0o500)
    try:
        with pytest.raises(PermissionError):
            files.write_private(str(folder / "f"), b"new")
    finally:
        folder.chmod(0o700)

    assert (folder / "f").read_text() == "old"


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_fault_leaves_the_old_file_and_no_temporary_one(tmp_path, monkeypatch, call, code):
    folder = tmp_path / "sub"
    folder.mkdir()
    (folder / "f").write_bytes(b"old")

    def failing(*arguments, **more):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, call, failing)
    with pytest.raises(OSError) as caught:
        files.write_private(str(folder / "f"), b"new")
    monkeypatch.undo()

    assert caught.value.errno == code
    assert call == "replace" or caught.value.filename == str(folder)
    assert (folder / "f").read_bytes() == b"old"
    assert [path.name for path in folder.iterdir()] == ["f"]


def test_an_interrupt_leaves_the_old_file_and_no_temporary_one(tmp_path, monkeypatch):
    folder = tmp_path / "sub"
    folder.mkdir()
    (folder / "f").write_bytes(b"old")

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        files.write_private(str(folder / "f"), b"new")

    assert [path.read_bytes() for path in folder.iterdir()] == [b"old"]


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOSYS, errno.ENOTSUP])
def test_a_file_system_without_fsync_is_no_fault(tmp_path, monkeypatch, code):
    def unknown(fd):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", unknown)
    files.write_private(str(tmp_path / "f"), b"new")

    assert (tmp_path / "f").read_bytes() == b"new"


def test_short_writes_are_gone_on_with(tmp_path, monkeypatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:3]))

    files.write_private(str(tmp_path / "f"), b"0123456789")

    assert (tmp_path / "f").read_bytes() == b"0123456789"


def test_a_write_that_takes_nothing_is_an_error_not_a_loop(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "write", lambda fd, data: 0)

    with pytest.raises(OSError):
        files.write_private(str(tmp_path / "f"), b"x")


@POSIX_ONLY
def test_a_process_killed_between_write_and_replace_leaves_the_old_file(tmp_path):
    folder = tmp_path / "sub"
    folder.mkdir()
    (folder / "f").write_bytes(b"old")
    code = (
        "import os, signal, sys; from keepthread import files\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "files.write_private(sys.argv[1], b'new')"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    run = subprocess.run([sys.executable, "-c", code, str(folder / "f")], env=environment)

    assert run.returncode == -signal.SIGKILL
    assert (folder / "f").read_bytes() == b"old"

    left = [path for path in folder.iterdir() if path.name != "f"]
    assert len(left) == 1
    files.remove_stale_temps(str(folder))
    assert left[0].exists()  # a minute old: its writer may still be at work
    hours_ago = time.time() - 7_200
    os.utime(left[0], (hours_ago, hours_ago))
    files.remove_stale_temps(str(folder))
    assert [path.name for path in folder.iterdir()] == ["f"]


def test_removing_stale_files_touches_no_other_file_and_minds_no_missing_folder(tmp_path):
    for name in ("f", ".lock", ".tmpfile"):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (1, 1))

    files.remove_stale_temps(str(tmp_path))
    files.remove_stale_temps(str(tmp_path / "missing"))

    assert {path.name for path in tmp_path.iterdir()} == {"f", ".lock", ".tmpfile", "home"}


def test_a_file_within_the_limit_is_read_and_a_longer_one_refused(tmp_path):
    (tmp_path / "f").write_bytes(b"12345")

    assert files.read_regular(str(tmp_path / "f"), 5) == b"12345"
    with pytest.raises(OSError) as caught:
        files.read_regular(str(tmp_path / "f"), 4)
    assert caught.value.errno == errno.EFBIG


@POSIX_ONLY
def test_a_file_that_grows_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "f"
    path.write_bytes(b"12345")
    real = os.read

    def read(fd, count):
        with path.open("ab") as more:
            more.write(b"x" * 10)
        return real(fd, count)

    monkeypatch.setattr(os, "read", read)
    with pytest.raises(OSError) as caught:
        files.read_regular(str(path), 8)
    assert caught.value.errno == errno.EFBIG


@POSIX_ONLY
def test_links_fifos_folders_and_missing_files_are_refused_without_a_hang(tmp_path):
    (tmp_path / "f").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "f")
    os.mkfifo(tmp_path / "fifo")

    for name in ("link", "fifo", "home", "missing"):
        with pytest.raises(OSError):
            files.read_regular(str(tmp_path / name), 100)


@POSIX_ONLY
def test_reading_tightens_a_file_only_when_asked(tmp_path):
    path = tmp_path / "f"
    path.write_text("x")
    path.chmod(0o644)

    files.read_regular(str(path), 10)
    assert mode(path) == 0o644

    files.read_regular(str(path), 10, tighten=True)
    assert mode(path) == 0o600


def test_without_the_systems_help_links_are_still_refused(tmp_path, monkeypatch):
    (tmp_path / "f").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "f")
    monkeypatch.setattr(files, "_NOFOLLOW", 0)

    with pytest.raises(OSError):
        files.read_regular(str(tmp_path / "link"), 10)
    assert files.read_regular(str(tmp_path / "f"), 10) == b"x"


@POSIX_ONLY
def test_lines_are_appended_and_the_file_is_private(tmp_path, open_umask):
    path = tmp_path / "log"

    for line in (b"one\n", b"two\n"):
        files.append_line(str(path), line, rotate_at=100)

    assert path.read_bytes() == b"one\ntwo\n"
    assert mode(path) == 0o600


def test_a_full_file_makes_room_and_the_older_one_goes(tmp_path):
    path = tmp_path / "log"
    for number in range(10):
        files.append_line(str(path), b"%d23456789\n" % number, rotate_at=25)

    assert path.read_bytes() == b"823456789\n923456789\n"
    assert Path(f"{path}.1").read_bytes() == b"623456789\n723456789\n"


def test_a_line_longer_than_the_limit_is_still_written(tmp_path):
    path = tmp_path / "log"

    files.append_line(str(path), b"x" * 50 + b"\n", rotate_at=10)

    assert path.stat().st_size == 51


@POSIX_ONLY
def test_appending_follows_no_link_and_hangs_at_no_fifo(tmp_path):
    (tmp_path / "f").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "f")
    os.mkfifo(tmp_path / "fifo")

    for name in ("link", "fifo", "home"):
        with pytest.raises(OSError):
            files.append_line(str(tmp_path / name), b"x\n", rotate_at=100)
    assert (tmp_path / "f").read_text() == "precious"


APPENDER = """
import sys
from keepthread import files
for number in range(300):
    files.append_line(sys.argv[1], f"{sys.argv[2]}-{number}-{'x' * 40}\\n".encode(), rotate_at=int(sys.argv[3]))
"""


@pytest.mark.parametrize("rotate_at", [10_000_000, 20_000])
def test_two_processes_appending_at_once_tear_no_line(tmp_path, rotate_at):
    path = tmp_path / "log"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", APPENDER, str(path), name, str(rotate_at)], env=environment
        )
        for name in "ab"
    ]
    assert [process.wait(timeout=120) for process in running] == [0, 0]

    older = Path(f"{path}.1")
    lines = (older.read_text() if older.exists() else "").splitlines()
    lines += path.read_text().splitlines()
    assert all(line.endswith("-" + "x" * 40) and line[0] in "ab" for line in lines)
    if rotate_at > 1_000_000:
        assert len(lines) == 600
    assert all(line.count("x") == 40 for line in lines)


def test_the_module_needs_nothing_but_os_and_errno():
    code = "import sys; before = set(sys.modules); import keepthread.files; print(*set(sys.modules) - before)"
    path = os.pathsep.join(part for part in sys.path if part)
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )

    assert set(run.stdout.split()) <= {"keepthread", "keepthread.files", "errno", "__future__"}


def test_a_folder_that_its_parent_does_not_take_is_an_error_of_the_system(tmp_path, monkeypatch):
    """/proc answers "no such file" for whatever is made in it."""
    real = os.mkdir

    def refuse(path, *rest):
        if path.endswith("x"):
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        real(path, *rest)

    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(FileNotFoundError):
        files.make_private(str(tmp_path / "a" / "x"))
