"""What `check` finds, one kind at a time."""

from __future__ import annotations

import os
from datetime import datetime, timezone

import pytest

from keepthread.memory.checks import check
from keepthread.memory.store import MAX_ENTRY, Memory

NOW = datetime(2026, 6, 1, tzinfo=timezone.utc)
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def team_memory(place):
    """Open the root as a team's memory."""
    with Memory.open(str(place.team), scope="team") as memory:
        memory.now = lambda: NOW
        yield memory


def write(place, key, body="text\n", head="type: project"):
    """Write a file past the memory, as a clone or an editor does."""
    path = place.team / key
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{head}\n---\n{body}", encoding="utf-8")


def kinds(memory, *more):
    """Return key and kind of all that is found."""
    return [(one.key, one.kind) for one in check([memory, *more])]


def test_a_sound_memory_has_nothing_to_complain_about(team_memory, place):
    """Whatever else the folder holds of ours and git's."""
    write(place, "a.md", "Use httpie.\n")
    write(place, "b.md", "See [[a]] and [more](a.md).\n", "name: b\ntype: reference")
    team_memory.reindex()
    (place.team / ".gitignore").write_text("x")

    assert kinds(team_memory) == []


def test_each_fault_of_one_entry_is_told(team_memory, place):
    """By its kind."""
    write(place, "bad.md", head="type: rule")
    write(place, "claude.md")
    write(place, "empty.md", "\n", "type: project\nname: empty")
    write(place, "expired.md", "a1\n", "type: project\nexpires: 2026-05-30")
    write(place, "huge.md", "x" * 300_000)
    write(place, "link.md", "a2 [[nowhere]]\n")
    write(place, "long.md", "words " * 2000)
    write(place, "mine.md", "a3\n", "type: user")
    write(place, "private.md", "a4\n", "type: project\nscope: private")
    write(place, "secret.md", f"a5\n{TOKEN}\n")
    (place.team / "note.txt").write_text("x")
    (place.team / "out.md").symlink_to(place.out / "secret")

    assert kinds(team_memory) == [
        ("bad.md", "malformed"),
        ("claude.md", "key"),
        ("empty.md", "malformed"),
        ("expired.md", "expired"),
        ("huge.md", "oversized"),
        ("link.md", "broken link"),
        ("long.md", "long"),
        ("mine.md", "misplaced"),
        ("note.txt", "skipped"),
        ("out.md", "skipped"),
        ("private.md", "misplaced"),
        ("secret.md", "secret"),
    ]
    secret = next(one for one in check([team_memory]) if one.kind == "secret")
    assert (secret.detail, secret.is_error) == ("in line 5 (rule github-token)", True)


def test_entries_of_one_text_or_one_name_are_duplicates(team_memory, place, tmp_path):
    """Case and marks do not count; the user's own memory counts too."""
    write(place, "a.md", "Use httpie, never curl!\n", "name: one\ntype: project")
    write(place, "b.md", "* use HTTPIE never curl\n", "name: two\ntype: project")
    write(place, "c.md", "other\n", "name: Two\ntype: project")
    with Memory.open(str(tmp_path / "own"), create=True, scope="private") as own:
        (tmp_path / "own" / "z.md").write_text("use httpie; never curl\n")

        found = [(one.key, one.scope, one.detail) for one in check([team_memory, own])]

    assert found == [
        ("b.md", "team", "the same text as a.md (team)"),
        ("c.md", "team", "the same name as b.md (team)"),
        ("z.md", "private", "the same text as a.md (team)"),
    ]


@pytest.mark.parametrize(
    ("one", "other", "contrary"),
    [
        ("Always use curl for the gateway.", "Never use curl for the gateway.", True),
        ("Squash commits before merging.", "Fine. Don’t squash commits before merging!", True),
        ("Use tabs in Go files.", "Use spaces in Go files.", False),
        ("Never use curl for the gateway.", "Avoid curl for the gateway", False),
        ("Yes.", "No.", False),
    ],
)
def test_an_entry_that_forbids_what_another_asks_for_contradicts_it(
    team_memory, place, one, other, contrary
):
    """In the same words but for the negation."""
    write(place, "a.md", f"Intro.\n{one}\n")
    write(place, "b.md", f"{other} And more about it.\n")

    assert (("b.md", "contradiction") in kinds(team_memory)) is contrary


def test_an_entry_beyond_the_index_that_no_other_links_to_is_unreachable(team_memory, place):
    """One that is linked to by its name or key is not."""
    for number in range(160):
        day = f"2026-05-{30 - number % 28:02}T00:00:00Z" if number < 150 else "2025-01-01T00:00:00Z"
        write(place, f"e{number:03}.md", f"text {number}\n", f"type: project\nupdated: {day}")
    write(place, "e000.md", "see [[e155]] and [x](e156.md)\n", "type: project\nupdated: 2026-05-30")

    found = [key for key, kind in kinds(team_memory) if kind == "unreachable"]

    assert found == [f"e{number}.md" for number in range(150, 160) if number not in (155, 156)]


def test_a_file_just_over_what_is_written_is_still_told(team_memory, place):
    """Another program's file may be longer than ours, up to what is read."""
    write(place, "a.md", "word " * (MAX_ENTRY // 5 + 10))

    assert kinds(team_memory) == [("a.md", "long")]


def test_a_folder_that_others_may_write_in_is_told(team_memory, place):
    """Its mode is its user's affair, so it is not changed."""
    place.team.chmod(0o775)
    with Memory.open(str(place.team), create=True):
        pass

    assert kinds(team_memory) == [("", "permissions")]
    assert place.team.stat().st_mode & 0o777 == 0o775


def test_what_can_be_read_no_more_is_told_though_it_is_known(team_memory, place):
    """A listing goes on to show it, from what was read before."""
    for key in ("a.md", "shut/b.md"):
        write(place, key)
    team_memory.rows()
    me = os.geteuid()
    place.team.chmod(0o755)
    (place.team / "a.md").chmod(0)
    (place.team / "shut").chmod(0)
    try:
        os.seteuid(me or 65534)  # nobody, as root may read everything
        found = {(one.key, one.kind, one.detail) for one in check([team_memory])}
    finally:
        os.seteuid(me)
        (place.team / "shut").chmod(0o700)

    assert {
        ("a.md", "skipped", "Permission denied"),
        ("shut", "skipped", "Permission denied"),
    } <= found
