"""The file is read from its end, by \\n bytes alone, and long lines cost no memory."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from keepthread.transcript import lines as room
from keepthread.transcript.lines import chunks, lines, open_regular, size_of


def backwards(path: Path, end: int | None = None, floor: int = 0) -> list[tuple[int, int, bytes]]:
    with open_regular(str(path)) as file:
        return list(lines(file, size_of(file) if end is None else end, floor))


@pytest.mark.parametrize("block", [1, 2, 3, 5, 7, 64])
@pytest.mark.parametrize("ending", [b"", b"\n"])
def test_lines_come_last_first_with_their_offsets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, ending: bytes
) -> None:
    """Whatever the size of the blocks, each line is whole and stands where it says."""
    content = b"one\n\nthree is longer\nfour" + ending
    path = tmp_path / "f"
    path.write_bytes(content)
    with open_regular(str(path)) as file:
        found = [
            (offset, stop, data) for offset, stop, data in chunks(file, len(content), 0, block)
        ]

    assert b"".join(data for _, _, data in reversed(found)) == content
    assert all(content[offset:stop] == data for offset, stop, data in found)


def test_offsets_and_ends_of_lines(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"one\n\nthree\nfour")

    assert backwards(path) == [
        (11, 15, b"four"),
        (5, 11, b"three"),
        (4, 5, b""),
        (0, 4, b"one"),
    ]


def test_a_line_that_begins_before_the_floor_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"one\ntwo\nthree\n")

    assert [line for _, _, line in backwards(path, floor=2)] == [b"three", b"two"]
    assert [line for _, _, line in backwards(path, floor=4)] == [b"three", b"two"]


def test_only_newline_bytes_end_a_line(tmp_path: Path) -> None:
    """Line separators, next-line, form feeds and carriage returns are content."""
    path = tmp_path / "f"
    path.write_bytes("a\u2028b\u2029c\x85d\x0be\x0cf\rg\n".encode())

    assert len(backwards(path)) == 1


def test_base64_of_a_long_line_is_squeezed_and_the_rest_kept(tmp_path: Path) -> None:
    path = tmp_path / "f"
    line = b'{"before":"text one","data":"' + b"QUJD" * 1_000_000 + b'","after":"text two"}'
    path.write_bytes(b"first\n" + line + b"\nlast\n")

    last, long, first = backwards(path)

    assert (last[2], first[2]) == (b"last", b"first")
    assert long[:2] == (6, 6 + len(line) + 1)
    assert long[2].startswith(b'{"before":"text one"')
    assert long[2].endswith(b'"after":"text two"}')
    assert len(long[2]) < 2 * room.BLOCK + 10_000


def test_squeezing_leaves_escapes_whole(tmp_path: Path) -> None:
    """A run that begins inside an escape sequence keeps its first characters."""
    path = tmp_path / "f"
    line = b'"' + b"\\n" + b"A" * 3_000_000 + b"\\u0041" + b"B" * 3_000_000 + b'"'
    path.write_bytes(line)

    import json

    assert set(json.loads(backwards(path)[0][2])) == {"\n", "A", "B"}


def test_memory_stays_bounded_on_a_line_without_base64(tmp_path: Path) -> None:
    """A line of 60 MB is not carried: its middle is dropped."""
    path = tmp_path / "f"
    with path.open("wb") as file:
        file.write(b'{"type":"user","x":"')
        for _ in range(60):
            file.write(b"words and words " * 65_536)
        file.write(b'"}\n')
    tracemalloc.start()

    found = backwards(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert found[0][:2] == (0, path.stat().st_size)
    assert peak < 40 << 20


@pytest.mark.parametrize("make", ["missing", "folder", "fifo", "device", "nul"])
def test_only_a_regular_file_is_opened(tmp_path: Path, make: str) -> None:
    """A pipe without a writer must not hang the hook."""
    path = tmp_path / "f"
    if make == "folder":
        path.mkdir()
    elif make == "fifo":
        os.mkfifo(path)
    name = {"device": "/dev/zero", "nul": "a\0b"}.get(make, str(path))

    with pytest.raises(OSError):
        open_regular(name)


def test_a_refused_file_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(5):
        with pytest.raises(OSError):
            open_regular(str(tmp_path))
    after = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    assert after == before


def test_a_file_that_shrinks_while_read_ends_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"one\ntwo\n")

    assert backwards(path, end=100) == []
