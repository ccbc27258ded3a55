"""What can stand in the directory's way, and what it does about it: nothing outside is read, written or removed."""

from __future__ import annotations

import os
import resource
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keepthread.memory.directory import Directory
from keepthread.memory.directory_by_name import open_beneath, open_root
from keepthread.memory.errors import NotFound, PathRejected, Unsafe

NO_KEYS = ("", ".", "/", "./", "a/..", "..", "a/.", "//", "../team")


def mode(path: Path) -> int:
    """Return a file's permission bits."""
    return stat.S_IMODE(path.stat().st_mode)


def test_what_was_written_is_read_back_and_is_private(team, place):
    """F1, and F37: whatever the umask says."""
    before = os.umask(0)
    try:
        team.write("a/b.md", b"text")
    finally:
        os.umask(before)

    assert team.read("a/b.md") == b"text"
    assert (mode(place.team / "a"), mode(place.team / "a" / "b.md")) == (0o700, 0o600)
    assert [one.key for one in team.listing().files] == ["a/b.md"]


@pytest.mark.parametrize("target", ["{out}/secret", "../out/secret", "t.md", "{out}/new", "l.md"])
def test_a_link_is_neither_read_nor_written_nor_removed_nor_renamed(team, place, target):
    """F2 to F6: also one that leads inside, nowhere, or to itself."""
    (place.team / "t.md").write_bytes(b"inside")
    link = place.team / "l.md"
    link.symlink_to(target.format(out=place.out))
    before = os.readlink(link)

    for use in (
        lambda: team.read("l.md"),
        lambda: team.write("l.md", b"x"),
        lambda: team.delete("l.md"),
        lambda: team.rename("l.md", "m.md"),
    ):
        with pytest.raises(Unsafe) as caught:
            use()
        assert caught.value.key == "l.md"
        assert "link" in caught.value.rule

    assert os.readlink(link) == before
    assert (place.team / "t.md").read_bytes() == b"inside"
    assert [one.path for one in team.listing().skipped] == ["l.md"]


@pytest.mark.parametrize(
    "target", ["{out}", "../out", "{evil}", "../team-evil", "/proc/self/root", "d"]
)
@pytest.mark.parametrize("depth", ["", "a/b/"])
def test_a_folder_that_is_a_link_is_never_entered(team, place, target, depth):
    """F7 to F13: to the outside, to a sibling whose name begins alike, to a magic link, to itself, at any depth."""
    folder = place.team / depth
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "d").symlink_to(target.format(out=place.out, evil=place.evil))
    (place.team / "t.md").write_bytes(b"t")

    for use in (
        lambda: team.read(f"{depth}d/secret"),
        lambda: team.read(f"{depth}d/x.md"),
        lambda: team.write(f"{depth}d/x.md", b"x"),
        lambda: team.write(f"{depth}d/new/x.md", b"x"),
        lambda: team.delete(f"{depth}d/secret"),
        lambda: team.rename("t.md", f"{depth}d/t.md"),
        lambda: team.rename(f"{depth}d/secret", "stolen.md"),
    ):
        with pytest.raises(Unsafe):
            use()

    assert [one.path for one in team.listing().skipped] == [f"{depth}d"]
    assert [key for key, _, _ in team.read_all()] == ["t.md"]


def test_a_chain_of_links_is_refused_at_the_first(team, place):
    """F12."""
    for number in range(45):
        (place.team / f"l{number}").symlink_to(f"l{number + 1}")
    (place.team / "l45").symlink_to(place.out / "secret")

    with pytest.raises(Unsafe):
        team.read("l0")


def test_a_hard_link_to_the_outside_is_not_read_and_a_write_breaks_it(team, place):
    """F14: only the number of its names tells."""
    os.link(place.out / "secret", place.team / "h.md")

    with pytest.raises(Unsafe, match="hard link"):
        team.read("h.md")
    assert [one.path for one in team.listing().skipped] == ["h.md"]
    assert list(team.read_all()) == []

    team.write("h.md", b"mine")

    assert team.read("h.md") == b"mine"


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "device"])
def test_what_is_no_regular_file_is_refused_at_once(team, place, kind, monkeypatch):
    """F15 to F21: a named pipe would block for ever."""
    path = place.team / "x.md"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        monkeypatch.chdir(place.team)
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind("x.md")
    elif kind == "folder":
        path.mkdir()
    elif os.geteuid() == 0:
        os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    else:
        pytest.skip("only its administrator makes devices")
    (place.team / "t.md").write_bytes(b"t")

    for use in (
        lambda: team.read("x.md"),
        lambda: team.write("x.md", b"x"),
        lambda: team.delete("x.md"),
        lambda: team.rename("x.md", "y.md"),
    ):
        with pytest.raises(Unsafe):
            use()
    with pytest.raises(FileExistsError):
        team.rename("t.md", "x.md")

    assert [key for key, _, _ in team.read_all()] == ["t.md"]


def test_a_file_is_no_folder(team):
    """F22."""
    team.write("x.md", b"x")

    for use in (lambda: team.read("x.md/y.md"), lambda: team.write("x.md/y.md", b"y")):
        with pytest.raises(Unsafe):
            use()


def test_another_file_system_is_not_entered(place):
    """F24: the memory file system of the system stands for a mount."""
    if not os.access("/dev/shm", os.W_OK) or os.stat("/dev/shm").st_dev == place.team.stat().st_dev:
        pytest.skip("no second file system here")
    with Directory.open("/dev") as devices, pytest.raises(Unsafe, match="file system"):
        devices.read("shm/x.md")


@pytest.mark.parametrize(
    ("there", "other"),
    [("Notes.md", "notes.md"), ("STRASSE.md", "straße.md"), ("Σ.md", "ς.md"), ("İ.md", "i̇.md")],
)
def test_two_names_that_some_system_takes_for_one_are_refused(team, place, there, other):
    """F26 to F28: both are named."""
    (place.team / there).write_bytes(b"first")

    with pytest.raises(Unsafe) as caught:
        team.write(other, b"second")
    assert there in caught.value.message
    assert caught.value.key == other

    assert os.listdir(place.team) == [there]


def test_a_folder_s_name_collides_too(team, place):
    """Otherwise two members' files would mix on the third one's disk."""
    team.write("Arch/a.md", b"a")

    with pytest.raises(Unsafe):
        team.write("arch/b.md", b"b")


def test_a_decomposed_name_on_the_disk_is_reported_and_collides(team, place):
    """M1: left there by an older macOS."""
    (place.team / "cafe\u0301.md").write_bytes(b"x")

    with pytest.raises(Unsafe):
        team.write("caf\u00e9.md", b"y")
    assert [one.reason for one in team.listing().skipped] == ["not NFC"]


def test_a_name_of_arbitrary_bytes_disturbs_nobody(team, place):
    """F29: it is reported as skipped."""
    with open(os.fsencode(place.team) + b"/\xff.md", "wb"):
        pass
    team.write("a.md", b"a")

    listing = team.listing()

    assert [one.key for one in listing.files] == ["a.md"]
    assert [one.reason for one in listing.skipped] == ["surrogate"]


def test_the_root_may_be_a_link_of_its_user(place, tmp_path):
    """F30: as dotfiles often are."""
    link = tmp_path / "link"
    link.symlink_to(place.team)
    with open_root(str(link)) as team:
        team.write("a.md", b"a")

    assert (place.team / "a.md").read_bytes() == b"a"


@pytest.mark.parametrize("at", [".claude", ".claude/team-memory"])
def test_a_root_in_a_project_is_reached_through_no_link(place, tmp_path, at):
    """What a repository brings along is not its user's choice."""
    project = tmp_path / "project"
    (project / at).parent.mkdir(parents=True)
    (project / at).symlink_to(place.out)

    for create in (False, True):
        with pytest.raises(Unsafe):
            open_beneath(str(project), ".claude/team-memory", create=create)


def test_a_root_that_was_moved_away_is_still_the_one_that_was_opened(place):
    """F32: a link in its old place gets nothing."""
    with Directory.open(str(place.team)) as team:
        moved = place.team.with_name("team-moved")
        place.team.rename(moved)
        place.team.symlink_to(place.out)
        team.write("a.md", b"a")

    assert (moved / "a.md").read_bytes() == b"a"
    place.team.unlink()
    moved.rename(place.team)


def test_a_path_too_long_to_resolve_is_no_way_out(team, place):
    """F33: folders of 247 bytes behind short links overflow what the system resolves."""
    long = "d" * 247
    links = "abcdefghijklmnop"
    current = place.team
    for letter in links:
        (current / letter).symlink_to(long)
        os.mkdir(current / long)
        current = current / letter
    top = place.team / ("l" * 200)
    top.symlink_to("/".join(links) + "/" + "../" * len(links) + "../out")

    for use in (
        lambda: team.write(f"{'l' * 200}/new.md", b"x"),
        lambda: team.write("a/b/new.md", b"x"),
        lambda: team.read(f"{'l' * 200}/secret"),
    ):
        with pytest.raises(Unsafe):
            use()


def test_a_full_disk_leaves_the_old_file_and_no_other(place):
    """F38."""
    with Directory.open(str(place.team)) as team:
        team.write("a.md", b"old")
        code = (
            "import resource, signal, sys; from keepthread.memory.directory import Directory\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
            "team = Directory.open(sys.argv[1])\n"
            "try: team.write('a.md', b'x' * 5000)\n"
            "except OSError as problem: print(problem.filename, problem.strerror)\n"
        )
        assert resource.RLIMIT_FSIZE is not None
        run = python(code, str(place.team))

        assert run.stdout == "a.md File too large\n"
        assert team.read("a.md") == b"old"
        assert os.listdir(place.team) == ["a.md"]


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a piece of Python with this package."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
    )


KILLED = """
import os, signal, sys
from keepthread.memory import directory
directory.os.replace = lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL)
directory.Directory.open(sys.argv[1]).write("a.md", b"new")
"""


def test_a_process_killed_before_the_replace_leaves_the_old_file(place):
    """F39: its leftover goes with the first write an hour later."""
    with Directory.open(str(place.team)) as team:
        team.write("a.md", b"old")
        assert python(KILLED, str(place.team)).returncode == -9
        leftover = next(place.team.glob(".tmp-*"))

        assert team.read("a.md") == b"old"
        assert [one.key for one in team.listing().files] == ["a.md"]
        team.write("b.md", b"b")
        assert leftover.exists()
        os.utime(leftover, (time.time() - 3700,) * 2)
        team.write("b.md", b"b")

        assert not leftover.exists()


AS_NOBODY = """
import os, sys
from keepthread.memory.directory import Directory
import keepthread.memory.noreplace  # as nobody it may not be readable
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
team = Directory.open(sys.argv[1])
for use in (lambda: team.read("shut/a.md"), lambda: team.write("shut/b.md", b"x"), lambda: team.write("b.md", b"x"),
            lambda: team.delete("a.md"), lambda: team.rename("a.md", "c.md")):
    try: use()
    except OSError as problem: print(type(problem).__name__, problem.filename)
    else: print("done")
"""


def test_what_the_system_forbids_is_a_clean_error(place, tmp_path):
    """F40 and F41: a folder without permission, and a root that is read-only."""
    (place.team / "a.md").write_bytes(b"a")
    (place.team / "shut").mkdir()
    (place.team / "shut" / "a.md").write_bytes(b"a")
    (place.team / "shut").chmod(0)
    place.team.chmod(0o555)
    for above in [*place.team.parents][:-2]:
        if os.geteuid() == 0:
            above.chmod(above.stat().st_mode | 0o055)
    run = python(AS_NOBODY, str(place.team))
    place.team.chmod(0o700)
    (place.team / "shut").chmod(0o700)

    denied = ["shut/a.md", "shut/b.md", "b.md", "a.md", "c.md"]
    assert run.stdout.splitlines() == [f"PermissionError {key}" for key in denied]


@pytest.mark.parametrize("key", NO_KEYS)
def test_the_root_itself_is_never_the_target(team, place, key):
    """F46: no spelling of it is a key."""
    team.write("a.md", b"a")

    for use in (
        lambda: team.delete(key),
        lambda: team.rename(key, "b.md"),
        lambda: team.rename("a.md", key),
        lambda: team.write(key, b"x"),
        lambda: team.read(key),
    ):
        with pytest.raises(PathRejected):
            use()

    assert os.listdir(place.team) == ["a.md"]


def test_a_rename_refuses_a_key_that_is_taken(team, place):
    """F47: also its own."""
    team.write("a.md", b"a")
    team.write("b/b.md", b"b")

    for new in ("b/b.md", "a.md"):
        with pytest.raises(FileExistsError):
            team.rename("a.md", new)
    with pytest.raises(Unsafe):
        team.rename("b/b.md", "A.md")

    assert (team.read("a.md"), team.read("b/b.md")) == (b"a", b"b")
    assert sorted(os.listdir(place.team)) == ["a.md", "b"]


def test_a_rename_moves_between_folders_and_removes_what_it_left_empty(team, place):
    """And may change the case of a name."""
    team.write("a/b/c.md", b"c")

    team.rename("a/b/c.md", "d/C.md")
    team.rename("d/C.md", "d/c.md")

    assert team.read("d/c.md") == b"c"
    assert os.listdir(place.team) == ["d"]


def test_a_delete_removes_the_file_and_the_folders_it_left_empty(team, place):
    """Never the root."""
    team.write("a/b/c.md", b"c")
    team.write("a/d.md", b"d")

    team.delete("a/b/c.md")

    assert os.listdir(place.team / "a") == ["d.md"]
    team.delete("a/d.md")
    assert os.listdir(place.team) == []


@pytest.mark.parametrize("key", ["a.md", "b/c.md"])
def test_what_is_not_there_is_told_apart(team, key):
    """By its own error."""
    for use in (lambda: team.read(key), lambda: team.delete(key), lambda: team.rename(key, "d.md")):
        with pytest.raises(NotFound) as caught:
            use()
        assert caught.value.key == key


def test_a_file_over_the_limit_is_refused(team, place):
    """By its size, before it is read."""
    with open(place.team / "big.md", "wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(Unsafe, match="longer than"):
        team.read("big.md")
    assert team.read_all() is not None
    assert list(team.read_all()) == []


def test_a_listing_is_capped(team):
    """F48: and says so."""
    for number in range(30):
        team.write(f"{number % 3}/{number:02}.md", b"x", durable=False)

    assert len(team.listing(20).files) == 20
    assert team.listing(20).cut
    assert not team.listing(30).cut
    assert len(list(team.read_all(10))) == 10


def test_folders_nested_too_deep_are_reported_and_not_entered(team, place):
    """A listing cannot be made to go down for ever."""
    deep = place.team / "/".join("d" * 40)
    deep.mkdir(parents=True)
    (deep / "x.md").write_bytes(b"x")

    listing = team.listing()

    assert listing.files == []
    assert [one.reason for one in listing.skipped] == ["too deep"]


def test_what_every_directory_holds_beside_its_entries_is_not_reported(team, place):
    """M3: the lock, temporary files, git's own and .DS_Store."""
    for name in (".lock", ".gitignore", ".DS_Store", ".tmp-abc"):
        (place.team / name).write_bytes(b"x")
    (place.team / ".git" / "hooks").mkdir(parents=True)
    (place.team / ".other").write_bytes(b"x")

    assert [one.path for one in team.listing().skipped] == [".other"]
    assert team.listing().files == []


def test_a_child_inherits_no_descriptor(place):
    """F50."""
    with Directory.open(str(place.team)) as team, team.folder(["a"], "a", create=True) as folder:
        assert not os.get_inheritable(team.fd)
        assert not os.get_inheritable(folder)


def test_nothing_is_left_open(team, place):
    """Also after refusals."""
    (place.team / "d").symlink_to(place.out)
    os.link(place.out / "secret", place.team / "h.md")
    before = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    for key in ("d/x.md", "h.md", "no.md", "a/b/c/no.md"):
        for use in (lambda k=key: team.read(k), lambda k=key: team.delete(f"{k}x")):
            with pytest.raises((Unsafe, NotFound)):
                use()
    team.write("a/b/c.md", b"x")
    next(iter(team.read_all()))

    after = os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else []
    assert len(after) <= len(before)
