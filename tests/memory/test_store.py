"""A memory: what is refused, what is kept, and what its index says."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

import keepthread.memory as api
from keepthread.memory import index, keys
from keepthread.memory.entries import Entry
from keepthread.memory.errors import (
    BadEntry,
    Conflict,
    LockTimeout,
    NotFound,
    PathRejected,
    SecretFound,
    Unsafe,
)
from keepthread.memory.lock import locked
from keepthread.memory.store import MAX_ENTRY, Change, Memory

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
NOW = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)


@pytest.fixture
def memory(team, place):
    """Open a memory in the root, with each implementation of the directory."""
    return Memory(team, cache=str(place.team.parent.parent / "cache.json"), now=lambda: NOW)


def entry(body="text\n", **fields):
    """Return an entry."""
    return Entry(body=body, **{"type": "project", **fields})


def test_an_entry_is_stored_with_its_times_and_shown(memory, place):
    """And its version is that of the file."""
    stored = memory.add("http/client.md", entry(name="client", author="Ada"))

    assert memory.show("http/client.md") == stored
    assert (place.team / "http" / "client.md").read_text() == stored.text
    assert (stored.entry.created, stored.entry.updated) == ("2026-06-01T12:00:00Z",) * 2


def test_a_key_that_is_taken_is_refused_with_the_difference(memory):
    """Nothing is overwritten by accident."""
    memory.add("a.md", entry("old\n"))

    with pytest.raises(Conflict) as caught:
        memory.add("a.md", entry("new\n"))

    assert "-old\n+new\n" in caught.value.diff
    assert memory.show("a.md").entry.body == "old\n"


def test_an_edit_made_for_an_older_version_is_refused_with_the_difference(memory):
    """Nothing is lost: neither what is stored nor what was to be written."""
    first = memory.add("a.md", entry("one\n", author="Ada"))
    second = memory.edit("a.md", entry("two\n"), first.version)

    with pytest.raises(Conflict) as caught:
        memory.edit("a.md", entry("three\n"), first.version)

    assert "-two\n+three\n" in caught.value.diff
    assert memory.show("a.md").text == second.text
    assert (second.entry.author, second.entry.created) == ("Ada", first.entry.created)
    with pytest.raises(Conflict):
        memory.rm("a.md", first.version)
    memory.rm("a.md", second.version)
    with pytest.raises(NotFound):
        memory.edit("a.md", entry("x"), second.version)


@pytest.mark.parametrize(
    ("key", "rule"),
    [
        ("MEMORY.md", "MEMORY.md is generated from the entries"),
        ("memory.md", "MEMORY.md is generated from the entries"),
        ("Memory.MD", "MEMORY.md is generated from the entries"),
        ("notes", "no .md file"),
        ("notes.MD", "no .md file"),
        ("CLAUDE.md", "the host takes files of this name for instructions"),
        ("a/claude.md", "the host takes files of this name for instructions"),
        ("Agents.md", "the host takes files of this name for instructions"),
        ("../x.md", "dot segment"),
        (".claude/x.md", "bad first char"),
    ],
)
def test_names_that_are_no_entries_are_refused_by_every_change(memory, key, rule):
    """CLAUDE.md in a folder of the project would be read as orders."""
    memory.add("a.md", entry())
    for use in (
        lambda: memory.add(key, entry()),
        lambda: memory.edit(key, entry(), ""),
        lambda: memory.mv("a.md", key),
    ):
        with pytest.raises(PathRejected) as caught:
            use()
        assert caught.value.rule == rule


@pytest.mark.parametrize(
    ("key", "offer"),
    [
        ("../x", "x.md"),
        ("a/CON", "a/CON_.md"),
        ("x" * 300, "x" * 197 + ".md"),
        ("x" * 300 + ".md", "x" * 197 + ".md"),
        ("../CLAUDE.md", ""),
        ("MEMORY.md/", ""),
    ],
)
def test_the_key_that_is_offered_would_be_taken(memory, key, offer):
    """Not refused in its turn, as no .md file or as the host's own."""
    with pytest.raises(PathRejected) as caught:
        memory.add(key, entry())

    assert caught.value.repaired == offer
    if offer:
        memory.add(offer, entry())


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: entry(f"first\nsecond {TOKEN}\n"), 7),
        (lambda: entry(description=f"use {TOKEN}"), 2),
        (lambda: entry("the word opensesame is ours\n"), 6),
        (lambda: entry(other=(f"token: {TOKEN}",)), 5),
    ],
)
def test_a_secret_is_refused_by_rule_and_line_and_never_shown(memory, make, line):
    """In the text, in the head, in a key that is not ours, and one of the environment."""
    memory.secrets = ("opensesame",)
    stored = memory.add("a.md", entry())
    for use in (
        lambda: memory.add("b.md", make()),
        lambda: memory.edit("a.md", make(), stored.version),
    ):
        with pytest.raises(SecretFound) as caught:
            use()
        assert caught.value.line == line
        assert TOKEN not in str(caught.value)
        assert caught.value.rule in caught.value.message

    assert [row.key for row in memory.rows().rows] == ["a.md"]


def test_a_secret_in_a_key_is_refused(memory):
    """It would stand in every listing."""
    memory.add("a.md", entry())
    for use in (
        lambda: memory.add(f"{TOKEN}.md", entry()),
        lambda: memory.mv("a.md", f"{TOKEN}.md"),
    ):
        with pytest.raises(SecretFound) as caught:
            use()
        assert caught.value.line == 0


@pytest.mark.parametrize(
    "bad",
    [
        entry(""),
        entry(" \n"),
        entry("x" * MAX_ENTRY),
        entry("\ud800"),
        entry(type="rule"),
        entry(expires="soon"),
        entry(other=("type: user",)),
        entry(other=("metadata:", "  type: user"), type=""),
        entry(other=("---",)),
        entry(other=("x: y\n---\nz",)),
    ],
)
def test_what_is_no_entry_is_not_stored(memory, bad):
    """Empty, too long, malformed, or another one once it is read."""
    with pytest.raises(BadEntry):
        memory.add("a.md", bad)

    assert memory.rows().rows == []


def test_what_is_about_one_user_is_not_shared(memory):
    """A team's memory takes no entry of type user."""
    memory.scope = "team"

    with pytest.raises(BadEntry, match="private"):
        memory.add("a.md", entry(type="user"))
    assert memory.add("b.md", entry(scope="private")).entry.scope == "team"


def test_a_move_refuses_a_key_that_is_taken(memory):
    """With a sentence for people."""
    memory.add("a.md", entry("a\n"))
    memory.add("b.md", entry("b\n"))

    with pytest.raises(Conflict, match="already"):
        memory.mv("a.md", "b.md")
    memory.mv("a.md", "c/d.md")

    assert [row.key for row in memory.rows().rows] == ["b.md", "c/d.md"]


def test_the_index_lists_the_newest_and_counts_the_rest(memory, place):
    """150 of them at most, under 200 lines and 25 KB, valid ones before expired ones."""
    for number in range(200):
        text = "日本語" * 60 if number % 2 else f"about [{number}] <b>"
        body = f"---\ndescription: {text}\ntype: project\nupdated: 2026-05-01T00:{number % 60:02}:00Z\n---\nx\n"
        (place.team / f"e{number:03}.md").write_text(body)
    (place.team / "over.md").write_text("---\ntype: project\nexpires: 2026-05-31\n---\nx\n")
    memory.add("new (1).md", entry(description="newest\x1b[2J"))
    memory.add("tag#1.md", entry(name="<b>", description="tag"))
    text = (place.team / "MEMORY.md").read_text()
    lines = text.splitlines()

    assert lines[4] == "- [new (1)](new%20%281%29.md) (project): newest[2J"
    assert lines[5] == "- [&lt;b>](tag%231.md) (project): tag"
    assert len(lines) < 200
    assert len(text.encode()) <= 25_000
    shown = sum(line.startswith("- [") for line in lines)
    assert lines[-1].startswith(f"{203 - shown} more: ")
    assert "over" not in text
    assert "<b>" not in text


def test_the_index_follows_every_change(memory, place):
    """Add, edit, move, remove."""
    path = place.team / "MEMORY.md"
    stored = memory.add("a.md", entry(description="one"))
    assert "(a.md) (project): one" in path.read_text()
    memory.edit("a.md", entry(description="two"), stored.version)
    assert "(a.md) (project): two" in path.read_text()
    memory.mv("a.md", "b.md")
    assert "(b.md) (project): two" in path.read_text()
    memory.rm("b.md")

    assert "b.md" not in path.read_text()


def test_a_link_in_the_index_s_place_is_left_alone(memory, place):
    """The entry is stored all the same, and check tells."""
    (place.team / "MEMORY.md").symlink_to(place.out / "secret")

    memory.add("a.md", entry())

    assert memory.show("a.md")
    assert (place.team / "MEMORY.md").is_symlink()
    assert [one.path for one in memory.rows().skipped] == ["MEMORY.md"]


def test_only_what_changed_is_read_again(memory, place, monkeypatch):
    """The cache knows the rest; a cache of another's making is no use."""
    for number in range(5):
        memory.add(f"{number}.md", entry(description=f"d{number}"))
    (place.team / "3.md").write_text("changed\n")
    read = []
    real = index._read

    def noted(at, key, stat):
        read.append(key)
        return real(at, key, stat)

    monkeypatch.setattr(index, "_read", noted)

    assert [row.description for row in memory.rows().rows] == ["d0", "d1", "d2", "changed", "d4"]
    assert read == ["3.md"]
    cache = place.team.parent.parent / "cache.json"
    for text in (
        "",
        "[]",
        "{}",
        '{"shape":1,"rows":[["a.md"]]}',
        '{"shape":1,"rows":[[1,[1,1,1]]]}',
    ):
        cache.write_text(text)
        assert len(Memory(memory.directory, cache=str(cache)).rows().rows) == 5
    assert json.loads(cache.read_text())["shape"] == 1


def test_an_unreadable_entry_is_listed_with_what_is_wrong(memory, place):
    """And can be removed."""
    (place.team / "bad.md").write_text("---\ntype: rule\n---\nx")

    assert (
        memory.rows().rows[0].problem
        == "the type 'rule' is none of feedback, project, reference, user (line 2)"
    )
    with pytest.raises(BadEntry):
        memory.show("bad.md")
    assert memory.text("bad.md")[0].startswith("---")
    memory.rm("bad.md")
    assert memory.rows().rows == []


def test_search_ranks_the_head_before_the_body_and_shows_the_place(memory):
    """Entries with more of the words come first; the generated index is not searched."""
    memory.add("a.md", entry("nothing here\nuse the gateway for curl\nmore\n"))
    memory.add("gateway.md", entry("see\n", description="how to reach it"))
    memory.add("c.md", entry("gateway and STRASSE\n"))

    assert [hit.key for hit in memory.search("gateway curl")] == ["a.md", "gateway.md", "c.md"]
    assert memory.search("CURL")[0].snippet == "use the gateway for curl"
    assert [hit.key for hit in memory.search("straße")] == ["c.md"]
    assert memory.search("absent") == memory.search("") == []
    assert len(memory.search("gateway", limit=2)) == 2


def test_a_snippet_is_one_short_line_without_controls(memory):
    """It is printed, and shown to a model."""
    memory.add("a.md", entry("x" * 500 + " needle\x1b[2J\u202e " + "y" * 500 + "\n"))

    snippet = memory.search("needle")[0].snippet

    assert "needle[2J" in snippet
    assert len(snippet) <= 160


HOLD = """
import sys, time
from keepthread.memory import Memory, locked
with Memory.open(sys.argv[1]) as memory, locked(memory.directory):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(place):
    """Return a process that holds the lock."""
    held = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(place.team)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert held.stdout is not None
    assert held.stdout.readline() == "held\n"
    yield held
    held.kill()
    held.wait()
    held.stdout.close()


def test_a_wait_is_bounded_and_names_the_holder(place, holder):
    """Before it begins, and when it is over."""
    told: list[str] = []
    with Memory.open(str(place.team)) as memory:
        memory._wait, memory._waiting = 0.2, told.append
        with pytest.raises(LockTimeout) as caught:
            memory.add("a.md", entry())

    assert f"process {holder.pid} on" in caught.value.holder
    assert told == [caught.value.holder]
    assert str(holder.pid) in pickle.loads(pickle.dumps(caught.value)).message
    assert not (place.team / "a.md").exists()


def test_a_killed_holder_leaves_no_lock(place, holder):
    """F45: the system lets go of it."""
    holder.kill()
    holder.wait()
    with Memory.open(str(place.team)) as memory:
        memory._wait = 0
        memory.add("a.md", entry())

    assert (place.team / ".lock").read_bytes() == b""


@pytest.mark.parametrize("kind", ["link", "dangling", "hard link", "pipe", "folder"])
def test_a_lock_that_is_no_plain_file_is_refused_and_its_target_untouched(place, kind):
    """F43: neither emptied nor written."""
    lock = place.team / ".lock"
    if kind == "link":
        lock.symlink_to(place.out / "secret")
    elif kind == "dangling":
        lock.symlink_to(place.out / "new")
    elif kind == "hard link":
        os.link(place.out / "secret", lock)
    elif kind == "pipe":
        os.mkfifo(lock)
    else:
        lock.mkdir()

    with Memory.open(str(place.team)) as memory, pytest.raises(Unsafe):
        memory.add("a.md", entry())


def test_a_lock_file_that_was_replaced_while_waiting_is_not_trusted(place, holder):
    """F44: whoever comes later locks the new one, so that is the one to hold."""
    (place.team / ".lock").unlink()
    with Memory.open(str(place.team)) as memory:
        with locked(memory.directory, 0):
            inode = os.stat(place.team / ".lock").st_ino
            with Memory.open(str(place.team)) as other, pytest.raises(LockTimeout):
                other._wait = 0.05
                other.add("b.md", entry())
        assert os.stat(place.team / ".lock").st_ino == inode


def test_what_a_holder_wrote_is_not_believed_to_be_printable(place):
    """Anybody may write into the file."""
    (place.team / ".lock").write_bytes(b"\x1b[2J\xff" + b"x" * 5000)
    with Memory.open(str(place.team)) as memory:
        fd = os.open(".lock", os.O_RDONLY, dir_fd=memory.directory.fd)
        import fcntl

        fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            with pytest.raises(LockTimeout) as caught:
                memory._wait = 0
                memory.add("a.md", entry())
        finally:
            os.close(fd)

    assert "\x1b" not in caught.value.message
    assert len(caught.value.holder) <= 160


def test_the_documented_interface_is_complete_and_documented():
    """Every name in __all__ is there, is loaded on demand, and says what it means."""
    assert sorted(api.__all__) == list(api.__all__)
    assert set(api.__all__) == {name for names in api._HOMES.values() for name in names.split()}
    for name in api.__all__:
        assert (getattr(api, name).__doc__ or "").strip(), name
    with pytest.raises(AttributeError):
        api.nothing  # noqa: B018
    errors = {
        name
        for name in api.__all__
        if isinstance(getattr(api, name), type) and issubclass(getattr(api, name), Exception)
    }
    assert errors == {
        *(
            "BadEntry",
            "Conflict",
            "LockTimeout",
            "MemoryProblem",
            "NotFound",
            "PathRejected",
            "SecretFound",
            "Unsafe",
        ),
    }
    assert api.check_key is keys.check


def test_the_example_of_the_documentation_runs(tmp_path, monkeypatch):
    """As it stands in the package and in docs/memory.md."""
    monkeypatch.chdir(tmp_path)
    example = (api.__doc__ or "").partition("\n\n")[2].partition("\nEvery error")[0]
    space: dict[str, Any] = {}
    exec("\n".join(line[4:] for line in example.splitlines()), space)

    assert [hit.key for hit in space["hits"]] == ["http/client.md"]
    assert space["hits"][0].snippet == "Use httpie 3."
    written = (Path(__file__).parents[2] / "docs" / "memory.md").read_text(encoding="utf-8")
    assert example in written
    for problem in api.MemoryProblem.__subclasses__():
        assert f"| `{problem.__name__}` |" in written


def test_importing_a_part_imports_no_other(tmp_path):
    """A hook that needs the index must not pay for the rest."""
    code = "import sys, keepthread.memory.keys; print(*sorted(m for m in sys.modules if 'keepthread' in m))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )

    assert run.stdout.split() == [
        "keepthread",
        *(
            "keepthread.errors",
            "keepthread.memory",
            "keepthread.memory.errors",
            "keepthread.memory.keys",
        ),
    ]


def test_relevance_is_validity_then_month_then_kind():
    """A correction of this month comes before a reference of today."""
    from keepthread.memory.listing import Stat

    def row(key, days, **fields):
        updated = (NOW - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
        return index.Row(key, Stat(0, 0, 0), updated=updated, **fields)

    rows = [
        row("expired", 0, type="feedback", expires="2026-01-01"),
        row("tomorrow", -9_000, type="reference"),
        row("reference", 0, type="reference"),
        row("old", 40, type="feedback"),
        row("correction", 20, type="feedback"),
        row("broken", 0, problem="x"),
    ]

    assert [one.key for one in index.by_relevance(rows, NOW)] == [
        *("correction", "reference", "tomorrow", "old", "expired", "broken"),
    ]


def test_many_files_are_written_with_one_listing_of_each_folder(memory, monkeypatch):
    """A remote that sends a hundred thousand entries costs their number, not its square. Twins are refused as ever."""
    memory.add("Old.md", entry())
    listed: list[object] = []
    real = os.listdir

    def counted(folder: int) -> list[str]:
        listed.append(folder)
        return real(folder)

    monkeypatch.setattr(os, "listdir", counted)
    sent = [Change(f"{place}e{n}.md", b"x", "") for n in range(50) for place in ("", "s/")]
    refused = memory.replace_all([*sent, Change("old.md", b"x", ""), Change("S/a.md", b"x", "")])

    assert sorted(refused) == ["S/a.md", "old.md"]
    assert len(listed) < 10
    assert {*refused.values()} == {
        f"{name!r} is there already, and some systems take both names for one"
        for name in ("Old.md", "s")
    }
    with pytest.raises(Unsafe):
        memory.add("E1.md", entry())
