"""Searching a large memory: what is found is what is there, whatever the file of texts says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from keepthread.memory import texts
from keepthread.memory.directory import Directory
from keepthread.memory.store import Memory
from keepthread.memory.texts import LEAST, candidates

HEAD = "---\ntype: project\n---\n"


@pytest.fixture
def large(place, tmp_path: Path) -> Memory:
    """Return a memory large enough, with its cache, searched once."""
    for number in range(LEAST + 10):
        folder = place.team / f"f{number % 9}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}.md").write_text(f"{HEAD}Entry {number} on the GAUGE{number:04}.\n")
    memory = Memory(Directory.open(str(place.team)), cache=str(tmp_path / "m.team.json"))
    assert keys(memory, "gauge0007") == ["f7/7.md"]
    assert (tmp_path / "m.team.texts").exists()
    return memory


def keys(memory: Memory, words: str) -> list[str]:
    """Return what a search finds."""
    return sorted(hit.key for hit in memory.search(words))


def test_only_what_holds_a_word_is_read(large, place, monkeypatch):
    """The rest is told by its state."""
    read: list[str] = []
    original = Directory.read

    def noted(self: Directory, key: str) -> bytes:
        read.append(key)
        return original(self, key)

    monkeypatch.setattr(Directory, "read", noted)
    found = keys(large, "gauge0007 f8/17.md")

    assert found == ["f7/7.md", "f8/17.md"]
    assert sorted(read) == ["f7/7.md", "f8/17.md"]
    large.close()


def test_what_changed_since_is_found_as_it_is_now(large, place):
    """In place, replaced, added, removed, and a link in its stead."""
    with (place.team / "f1" / "1.md").open("a") as file:
        file.write("tide\n")
    (place.team / "f2" / "2.md").write_text(f"{HEAD}tide\n")
    (place.team / "new.md").write_text(f"{HEAD}TIDE\n")
    (place.team / "f3" / "3.md").unlink()
    (place.team / "f4" / "4.md").unlink()
    (place.team / "f4" / "4.md").symlink_to(place.out / "secret")
    os.link(place.team / "f5" / "5.md", place.team / "f5" / "hard.md")

    assert keys(large, "tide") == ["f1/1.md", "f2/2.md", "new.md"]
    for gone in ("gauge0002", "gauge0003", "gauge0004", "gauge0005", "outside"):
        assert keys(large, gone) == []
    large.close()


def test_words_beyond_ascii_are_found_wherever_they_stand(large, place):
    """Case folding makes ASCII of a few other letters."""
    (place.team / "a.md").write_text(f"{HEAD}Die Straße, 日本語, 300 \u212a\n")
    for number in range(40):  # so many that the file of texts is made anew
        (place.team / f"b{number}.md").write_text(f"{HEAD}x\n")
    for _ in range(2):
        assert keys(large, "strasse") == ["a.md"]
        assert keys(large, "日本") == ["a.md"]
        assert "a.md" in keys(large, "300 k")
    large.close()


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"x" * 200, b"keepthread-texts-1 9 1 0\n", b"keepthread-texts-0 0 0 0\n"]
)
def test_a_damaged_file_of_texts_is_made_anew(large, place, tmp_path, data):
    """Also one that was cut."""
    path = tmp_path / "m.team.texts"
    whole = path.read_bytes()
    for bad in (data, whole[:-1], whole[: len(whole) // 2], whole[:60]):
        path.unlink()
        path.write_bytes(bad)
        assert keys(large, "gauge0007") == ["f7/7.md"]
        assert path.read_bytes() == whole
    path.unlink()
    path.symlink_to(place.team / "f1" / "1.md")
    assert keys(large, "gauge0007") == ["f7/7.md"]
    assert not path.is_symlink()
    large.close()


def test_a_small_memory_has_none(team, place, tmp_path):
    """Reading it takes no longer; one that became small loses it."""
    (place.team / "a.md").write_text(f"{HEAD}tide\n")
    path = tmp_path / "texts"
    path.write_bytes(b"old")

    assert [key for key, _ in candidates(team, str(path), ["tide"])] == ["a.md"]
    assert team.fd < 0 or not path.exists()


def test_one_too_large_for_it_has_none(large, tmp_path, monkeypatch):
    """It is searched all the same."""
    (tmp_path / "m.team.texts").unlink()
    monkeypatch.setattr(texts, "MOST_BYTES", 1_000)

    assert keys(large, "gauge0007") == ["f7/7.md"]
    assert not (tmp_path / "m.team.texts").exists()
    large.close()
