"""The index file itself: whose it is, what is not in it, and what becomes of it when something goes wrong."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keepthread.diagnose import secrets as leaks
from keepthread.handoff.facts_index.opened import opened
from keepthread.handoff.facts_index.update import LOCK, update
from keepthread.handoff.lock import alone
from keepthread.handoff.retention import Limits, tidy
from keepthread.handoff.store import sessions
from tests.handoff.facts_index.talk import handoff, index_of, indexed, same_reading, steps
from tests.support.planted import AGENT, FOREIGN, FORMS, USER, password
from tests.support.session import SESSION, SessionFile

SCALE = float(os.environ.get("KEEPTHREAD_TEST_SCALE", "1"))


@pytest.fixture
def file(tmp_path: Path) -> SessionFile:
    return SessionFile(tmp_path / "proj" / f"{SESSION}.jsonl")


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def talk(file: SessionFile, number: int = 40, seed: int = 1) -> None:
    """Write a session without a compaction."""
    for _ in steps(file, seed, number, compactions=False):
        pass


def fits(file: SessionFile, state: Path) -> bool:
    """Return whether there is an index that fits."""
    return opened(str(state), SESSION, str(file.path)) is not None


def test_only_what_is_new_is_read_and_added(file: SessionFile, state: Path) -> None:
    talk(file)

    assert indexed(file, state) == "rebuilt"
    before = index_of(state).read_bytes()
    assert indexed(file, state) == "unchanged"
    file.user("And now the docs.")

    assert indexed(file, state) == "appended"
    assert index_of(state).read_bytes().startswith(before)
    assert len(index_of(state).read_bytes()) - len(before) < 1_000
    assert same_reading(file, state)


def test_the_index_is_private(file: SessionFile, state: Path) -> None:
    talk(file)
    indexed(file, state)

    assert stat.S_IMODE(index_of(state).stat().st_mode) == 0o600
    assert stat.S_IMODE(index_of(state).parent.stat().st_mode) == 0o700


def rewritten(file: SessionFile) -> None:
    content = file.path.read_bytes()
    file.path.write_bytes(content.replace(b"Never change", b"Always change") + content)


def truncated(file: SessionFile) -> None:
    file.path.write_bytes(b"".join(file.path.read_bytes().splitlines(keepends=True)[:-5]))


def replaced(file: SessionFile) -> None:
    file.path.unlink()
    other = SessionFile(file.path)
    talk(other, number=90, seed=2)


def changed_in_place(file: SessionFile) -> None:
    content = file.path.read_bytes()
    middle = content.index(b"Never change")
    file.path.write_bytes(content[:middle] + b"NEVER" + content[middle + 5 :])


@pytest.mark.parametrize("change", [rewritten, truncated, replaced, changed_in_place])
def test_the_index_of_another_file_is_not_used_and_is_made_anew(
    file: SessionFile, state: Path, tmp_path: Path, change
) -> None:
    talk(file)
    indexed(file, state)
    change(file)

    assert not fits(file, state)
    assert handoff(file, state) == handoff(file, tmp_path / "without")
    file.assistant("Done.")
    assert indexed(file, state) == "rebuilt"
    assert same_reading(file, state)


def test_an_older_part_that_differs_is_noticed_too(file: SessionFile, state: Path) -> None:
    talk(file, number=60)
    file.boundary("Earlier.")
    file.user("Go on.")
    indexed(file, state)
    content = file.path.read_bytes()
    file.path.write_bytes(b"".join(reversed(content.splitlines(keepends=True))))

    assert not fits(file, state)


def newer_version(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"version":1', b'"version":2'))


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def one_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def of_other_shape(path: Path) -> None:
    from keepthread.handoff.facts_index import storage

    head = path.read_bytes().split(b"\n")[0] + b"\n"
    told = '{"start":0,"stop":10,"spent":0,"names":[],"full":true,"live":true,"check":0}\t[[1],7]'
    path.write_bytes(head + storage._line(told) + storage._line("[1]"))


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def a_link(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    other = path.parent.parent / "elsewhere"
    other.write_bytes(content)
    path.symlink_to(other)


@pytest.mark.parametrize(
    "damage", [newer_version, cut_off, emptied, one_bit, of_other_shape, a_folder, a_pipe, a_link]
)
def test_a_damaged_index_harms_no_compaction(
    file: SessionFile, state: Path, tmp_path: Path, damage
) -> None:
    talk(file)
    indexed(file, state)
    damage(index_of(state))

    assert handoff(file, state) == handoff(file, tmp_path / "without")
    if damage != a_folder:
        file.user("Go on.")
        assert indexed(file, state) in ("rebuilt", "appended")
        assert same_reading(file, state)


def test_whatever_the_byte_at_which_the_index_ends_it_is_of_use_or_left_alone(
    file: SessionFile, state: Path
) -> None:
    for at in steps(file, 5, 30, compactions=True):
        if at % 5 == 0:
            indexed(file, state)
    content = index_of(state).read_bytes()
    for end in range(0, len(content), max(1, len(content) // 150)):
        index_of(state).write_bytes(content[:end])
        same_reading(file, state)


LOOP = """
import sys
from keepthread.handoff.facts_index.update import update
print("ready", flush=True)
while True:
    update(*sys.argv[1:4])
"""


def test_an_update_that_is_killed_leaves_the_old_index_or_the_new(
    file: SessionFile, state: Path, tmp_path: Path
) -> None:
    used = 0
    for seed in range(max(6, int(12 * SCALE))):
        command = [sys.executable, "-c", LOOP, str(file.path), SESSION, str(state)]
        talk(file, 20, seed)
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        process.stdout.readline()
        until = time.monotonic() + 0.1 + seed * 0.013
        while time.monotonic() < until:
            file.edit("/home/dev/proj/src/a.py")
            if seed % 3 == 0:
                file.boundary("Earlier.")
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        used += same_reading(file, state)
    indexed(file, state)

    assert used > 0
    assert same_reading(file, state)


def test_a_second_update_does_not_wait_and_a_compaction_neither(
    file: SessionFile, state: Path, tmp_path: Path
) -> None:
    talk(file)
    indexed(file, state)
    file.user("And now the docs.")
    with alone(str(index_of(state).parent), LOCK) as held:
        assert held
        assert indexed(file, state) == "busy"
        assert handoff(file, state) == handoff(file, tmp_path / "without")
    assert indexed(file, state) == "appended"


def test_no_transcript_is_no_fault(state: Path, tmp_path: Path) -> None:
    for path in ("", str(tmp_path), str(tmp_path / "gone.jsonl"), "a\0b"):
        assert update(path, SESSION, str(state)) == "unreadable"
        assert opened(str(state), SESSION, path) is None


# "TOKEN=value.py" is the name of a file for redaction, in a handoff as well.
PLACES = {**FOREIGN, **AGENT, **USER}
UNTOLD = {("variable", "file name"), ("variable", "name of a file read")}


@pytest.mark.parametrize("form", FORMS)
def test_no_secret_is_in_the_index(
    file: SessionFile, state: Path, tmp_path: Path, form: str
) -> None:
    """And the handoff is the same: what holds one is read from the transcript again."""
    hidden = []
    places = [place for place in PLACES if (form, place) not in UNTOLD]
    for number, plant in enumerate(map(PLACES.__getitem__, places)):
        text, secret = FORMS[form](f"{form}{number}")
        hidden.append(secret)
        plant(file, text)
        file.assistant("I go on.")
        indexed(file, state)
        content = index_of(state).read_text()
        assert [each for each in hidden if each in content] == []
    assert same_reading(file, state)
    assert handoff(file, state) == handoff(file, tmp_path / "without")
    assert leaks.search(str(state), (), seconds=60).leaks == []


def test_a_secret_that_is_told_later_goes_from_the_index(file: SessionFile, state: Path) -> None:
    secret = password("later")
    file.user(f"Take {secret} for it.")
    file.assistant("Taken.")
    indexed(file, state)
    assert secret in index_of(state).read_text()  # nothing tells of it yet
    file.bash(f"export API_TOKEN={secret}", "")
    file.bash("echo", f"it is {secret}")

    assert indexed(file, state) == "rebuilt"
    assert secret not in index_of(state).read_text()
    file.bash("cat a", f"once more {secret}")
    indexed(file, state)
    assert secret not in index_of(state).read_text()
    assert same_reading(file, state)
    assert secret not in json.dumps(handoff(file, state))


def test_a_secret_of_the_environment_is_not_in_the_index(file: SessionFile, state: Path) -> None:
    file.user("The word is fishermans-friend-9.")
    file.boundary("Earlier.")
    file.user("Again: fishermans-friend-9, please.")
    indexed(file, state, "fishermans-friend-9")

    assert "fishermans" not in index_of(state).read_text()
    assert "fishermans" not in json.dumps(handoff(file, state, "fishermans-friend-9"))


def test_a_secret_from_before_the_compaction_is_known_behind_it(
    file: SessionFile, state: Path
) -> None:
    secret = password("before")
    file.user(f"Set API_TOKEN={secret} and deploy.")
    file.boundary("Earlier.")
    file.user(f"Now take {secret} for the other one too.")
    indexed(file, state)

    assert secret not in index_of(state).read_text()
    assert secret not in json.dumps(handoff(file, state))


def test_the_index_goes_with_its_session_and_before_it(file: SessionFile, state: Path) -> None:
    talk(file)
    indexed(file, state)
    handoff(file, state)
    folder = index_of(state).parent
    then = time.time() - 86_400 * 3
    os.utime(folder, (then, then))
    newer = state / "sessions" / "22222222-2222-4222-8222-222222222222"
    newer.mkdir()

    tidy(str(state), Limits(sessions=1, days=90))
    assert not index_of(state).exists()
    assert (folder / "handoff.json").exists()
    (state / "tidied").unlink()
    indexed(file, state)
    os.utime(folder, (then, then))
    tidy(str(state), Limits(sessions=0, days=2))
    assert not folder.exists()


def test_a_session_with_nothing_but_an_index_has_no_handoff(file: SessionFile, state: Path) -> None:
    talk(file)
    indexed(file, state)

    assert sessions(str(state)) == []
    handoff(file, state)
    assert sessions(str(state)) == [SESSION]


def test_only_the_newest_sessions_keep_an_index(file: SessionFile, state: Path) -> None:
    talk(file, number=3)
    for number in range(25):
        name = f"{number:08d}-1111-4111-8111-111111111111"
        update(str(file.path), name, str(state))
        os.utime(index_of(state, name), (number, number))
    kept = {path.parent.name[:8] for path in state.glob("sessions/*/facts-index")}

    assert len(kept) == 20
    assert "00000024" in kept
    assert "00000000" not in kept
