"""What only one kind of system can show, and the ways to an entry that are no key; each is skipped elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from keepthread.memory.directory_by_name import open_root
from keepthread.memory.errors import NotFound, Unsafe
from keepthread.memory.store import Memory

on_windows = pytest.mark.skipif(os.name != "nt", reason="only Windows has it")
on_macos = pytest.mark.skipif(sys.platform != "darwin", reason="only macOS has it")


def ignores_case(folder: Path) -> bool:
    """Return whether a folder lies on a disk on which two spellings are one name."""
    (folder / "probe").mkdir(exist_ok=True)
    return (folder / "PROBE").exists()


@on_windows
def test_a_junction_is_neither_entered_nor_listed(place):
    """W3: it needs no privilege, other than a link."""
    subprocess.run(["cmd", "/c", "mklink", "/J", str(place.team / "d"), str(place.out)], check=True)
    with open_root(str(place.team)) as team:
        for use in (lambda: team.read("d/secret"), lambda: team.write("d/x.md", b"x")):
            with pytest.raises(Unsafe):
                use()
        assert [one.path for one in team.listing().skipped] == ["d"]


@on_windows
def test_a_file_that_another_program_holds_open_is_waited_for_and_then_told(place):
    """W9: for a bounded time; the old text stays."""
    with open_root(str(place.team)) as team:
        team.write("a.md", b"old")
        with (place.team / "a.md").open("rb"), pytest.raises(OSError):
            team.write("a.md", b"new")
        team.write("a.md", b"new")
        assert team.read("a.md") == b"new"


def test_the_root_may_be_spelt_otherwise_where_case_does_not_count(place, tmp_path):
    """W7: what is compared is where it lies, not how it is written."""
    if not ignores_case(tmp_path):
        pytest.skip("case counts on this disk")
    with open_root(str(place.team).upper()) as team:
        team.write("a.md", b"a")
        assert team.read("a.md") == b"a"


@on_macos
def test_a_decomposed_name_is_the_same_file_and_is_reached_by_the_composed_key(place):
    """M1: APFS keeps the spelling and compares without it."""
    (place.team / unicodedata.normalize("NFD", "café.md")).write_bytes(b"x")
    with open_root(str(place.team)) as team:
        try:
            assert team.read("café.md") == b"x"
        except NotFound:
            pytest.skip("this disk tells the two apart")


def test_the_root_may_lie_behind_a_link_of_the_system(place, tmp_path):
    """M2: as /tmp does on macOS."""
    link = tmp_path / "linked"
    link.symlink_to(place.team.parent)
    with open_root(str(link / "team")) as team:
        team.write("a.md", b"a")
        assert team.read("a.md") == b"a"


def test_lists_searches_and_checks_open_files_as_reads_do(place):
    """F49: nothing outside is shown by any of them."""
    (place.team / "l.md").symlink_to(place.out / "secret")
    (place.team / "d").symlink_to(place.out)
    os.link(place.out / "secret", place.team / "h.md")
    os.mkfifo(place.team / "p.md")
    (place.team / "a.md").write_text("---\ntype: project\n---\nmine\n")
    with Memory.open(str(place.team)) as memory:
        assert [row.key for row in memory.rows().rows] == ["a.md"]
        assert memory.search("outside") == []
        assert [hit.key for hit in memory.search("mine")] == ["a.md"]
        assert sorted(one.path for one in memory.rows().skipped) == ["d", "h.md", "l.md", "p.md"]


APPEND = """
import sys
from keepthread.memory import Conflict, Entry, Memory
me, root = sys.argv[1:]
with Memory.open(root) as memory:
    for number in range(100):
        while True:
            before = memory.show("log.md")
            body = before.entry.body + f"{me}{number}\\n"
            try:
                memory.edit("log.md", before.entry._replace(body=body), base=before.version)
                break
            except Conflict:
                continue
"""


def test_two_processes_that_append_to_one_entry_lose_nothing(place):
    """F42: each edit is based on what it saw, and is refused when that is no more."""
    from keepthread.memory.entries import Entry

    with Memory.open(str(place.team)) as memory:
        memory.add("log.md", Entry(body="log\n", type="project"))
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        both = [
            subprocess.Popen([sys.executable, "-c", APPEND, name, str(place.team)], env=env)
            for name in "ab"
        ]
        assert [process.wait(timeout=120) for process in both] == [0, 0]
        lines = memory.show("log.md").entry.body.split()

    assert sorted(lines) == sorted(["log", *(f"{name}{n}" for name in "ab" for n in range(100))])
