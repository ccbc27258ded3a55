"""Where the results lie: bounded in number, age and size, and gone with their session."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keepthread.economy import spill_store
from keepthread.handoff.retention import Limits, tidy
from tests.support.session import SESSION

DAY = 86_400


def keep(state: Path, number: int, text: str = "text", days: float = 0) -> Path:
    """Put a result aside that is so many days old."""
    path = Path(spill_store.keep(str(state), SESSION, f"toolu_{number:04}", text))
    then = time.time() - days * DAY - 10_000 + number
    os.utime(path, (then, then))
    return path


def test_beyond_so_many_results_the_oldest_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never the one just written."""
    monkeypatch.setattr(spill_store, "MOST_FILES", 5)
    paths = [keep(tmp_path, number) for number in range(9)]

    assert [path.exists() for path in paths] == [False] * 4 + [True] * 5


def test_beyond_so_many_bytes_the_oldest_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A single one that is larger stays as long as it is the newest."""
    monkeypatch.setattr(spill_store, "MOST_BYTES", 1_000)
    paths = [keep(tmp_path, number, "x" * 400) for number in range(4)]
    kept = [path.exists() for path in paths]
    large = keep(tmp_path, 5, "x" * 5_000)

    assert kept == [False, True, True, True]  # those beside the newest hold 800
    assert large.exists()


def test_what_is_too_old_goes(tmp_path: Path) -> None:
    """With the next result."""
    old, young = keep(tmp_path, 1, days=31), keep(tmp_path, 2, days=29)
    keep(tmp_path, 3)

    assert (old.exists(), young.exists()) == (False, True)


def test_a_link_in_the_place_of_a_result_is_not_followed(tmp_path: Path) -> None:
    """Nothing is written through it."""
    target = tmp_path / "target"
    target.write_text("mine")
    first = keep(tmp_path, 1)
    first.unlink()
    first.symlink_to(target)
    path = keep(tmp_path, 1)

    assert target.read_text() == "mine"
    assert path.read_text() == "text"
    assert not path.is_symlink()


def test_the_results_go_with_their_session(tmp_path: Path) -> None:
    """When nobody has touched it for so long."""
    path = keep(tmp_path, 1)
    then = time.time() - 91 * DAY
    os.utime(path.parent.parent, (then, then))

    assert tidy(str(tmp_path), Limits(5, 90)) == 1
    assert not path.parent.parent.exists()


def test_a_session_beyond_the_newest_loses_its_results_and_keeps_its_handoff(
    tmp_path: Path,
) -> None:
    """As it loses what else can be done without."""
    path = keep(tmp_path, 1)
    (path.parent.parent / "handoff.json").write_text("{}")
    os.utime(path.parent.parent, (1e9, time.time() - DAY))
    for number in range(2):
        (tmp_path / "sessions" / f"{number:08d}-2222-4222-8222-222222222222").mkdir()
    tidy(str(tmp_path), Limits(2, 90))

    assert [entry.name for entry in path.parent.parent.iterdir()] == ["handoff.json"]


def test_a_new_result_makes_its_session_young(tmp_path: Path) -> None:
    """A session that only prints is in use as well."""
    folder = keep(tmp_path, 1).parent.parent
    os.utime(folder, (1e9, 1e9))
    keep(tmp_path, 2)

    assert time.time() - folder.stat().st_mtime < DAY


def test_a_turn_with_endless_results_is_over_any_total(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its count is bounded too."""
    monkeypatch.setattr(spill_store, "_TURN_LIMIT", 100)
    totals = [spill_store.taken_in(str(tmp_path), SESSION, "t", f"c{n}", 10) for n in range(30)]

    assert totals[:3] == [10, 20, 30]
    assert totals[-1] > 1e9


def test_results_that_come_under_one_id_at_the_same_moment_are_all_kept(tmp_path: Path) -> None:
    """Each process is told the path at which its own result lies."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from keepthread.economy.spill_store import keep\n"
        "sys.stdin.read(1)\n"
        "print(keep(sys.argv[2], sys.argv[3], 'toolu_1', sys.argv[4]))\n"
    )
    source = str(Path(spill_store.__file__).parents[2])
    running = [
        subprocess.Popen(
            [sys.executable, "-I", "-c", code, source, str(tmp_path), SESSION, f"result {number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(12)
    ]
    for process in running:  # all of them have loaded what they need
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    paths = [Path(process.communicate(timeout=120)[0].strip()) for process in running]

    assert [path.read_text() for path in paths] == [f"result {n}" for n in range(12)]


def test_where_links_are_not_possible_each_text_has_a_path_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the same text has the same path again."""

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    paths = [keep(tmp_path, 1, text) for text in ("one", "two", "one")]

    assert [path.read_text() for path in paths] == ["one", "two", "one"]
    assert paths[0] == paths[2]
