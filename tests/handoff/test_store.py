"""The store: what is on disk is whole, private, and never worse than what was there before."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from keepthread.handoff import lock, store
from keepthread.handoff.model import Handoff
from keepthread.host.locations import session_dir, session_key
from tests.support.handoffs import POSITION, SESSION, make_handoff, make_partial

LATER = "7f8d6c1e-2f0b-5d62-9d0c-6f1f6f7a9b99"


def save(state: Path, handoff: Handoff, **changes: Any) -> bool:
    given: dict[str, Any] = {
        "context_text": "context",
        "cuts": [7],
        "closing": "end",
        "index_text": "index",
        "markdown": "# Handoff\n",
        "notice": "restored",
    }
    return store.save(str(state), handoff, **{**given, **changes})


def folder_of(state: Path, session: str = SESSION) -> Path:
    return Path(session_dir(str(state), session))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != ".lock"}


def moved(handoff: Handoff, *, size: int, uuid: str = LATER) -> Handoff:
    handoff["meta"]["transcript"]["size"] = size
    handoff["meta"]["transcript"]["last_uuid"] = uuid
    return handoff


def test_what_is_saved_is_loaded_again(tmp_path):
    handoff = make_handoff()

    assert save(tmp_path, handoff)
    assert store.load(str(tmp_path), SESSION) == handoff


def test_all_files_are_private_whatever_the_umask(tmp_path):
    state = tmp_path / "state"
    before = os.umask(0)
    try:
        save(state, make_handoff())
        store.write_worker(str(state), SESSION, {"pid": 1})
        store.write_host_summary(str(state), SESSION, "text")
    finally:
        os.umask(before)

    for path in [state, *state.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_a_world_readable_handoff_is_tightened_when_it_is_loaded(tmp_path):
    save(tmp_path, make_handoff())
    path = folder_of(tmp_path) / "handoff.json"
    path.chmod(0o644)
    folder_of(tmp_path).chmod(0o755)

    assert store.load(str(tmp_path), SESSION) is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    save(tmp_path, make_handoff())
    assert stat.S_IMODE(folder_of(tmp_path).stat().st_mode) == 0o700


def test_the_context_says_what_session_start_needs(tmp_path):
    save(tmp_path, make_handoff(), context_text="one\ntwo", cuts=(3, 7), document="docs/h.md")
    context = json.loads((folder_of(tmp_path) / "context.json").read_bytes())
    handoff = make_handoff()

    assert context == {
        "version": 1,
        "session_id": SESSION,
        "project": "/home/dev/proj",
        "status": "complete",
        "reason": None,
        "ordinal": 2,
        "generated_at": "2026-11-01T10:12:45Z",
        "generated_epoch": 1793527965.0,
        "transcript": {
            "path": handoff["meta"]["transcript"]["path"],
            "size": 1_482_113,
            "last_uuid": POSITION,
        },
        "key": f"2:{POSITION}:complete",
        "text": "one\ntwo",
        "cuts": [3, 7],
        "closing": "end",
        "notice": "restored",
        "document": "docs/h.md",
        "files": len(handoff["files_touched"]),
        "rules": len(handoff["constraints"]["rules"]),
    }
    index = json.loads((folder_of(tmp_path) / "index.json").read_bytes())
    assert index == {
        "version": 1,
        "session_id": SESSION,
        "transcript": context["transcript"],
        "key": f"2:{POSITION}:complete",
        "text": "index",
    }


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"meta": 1}',
        b'{"meta": {"schema_version": 99}}',
        b'{"meta": {"schema_version": 1}}',
        b"\xff\xfe",
        b"[" * 100_000,
    ],
)
def test_a_damaged_handoff_counts_as_none_and_is_replaced(tmp_path, damaged):
    save(tmp_path, make_handoff())
    (folder_of(tmp_path) / "handoff.json").write_bytes(damaged)

    assert store.load(str(tmp_path), SESSION) is None
    assert save(tmp_path, make_partial())
    assert store.load(str(tmp_path), SESSION) == make_partial()


def test_nothing_stored_is_none(tmp_path):
    assert store.load(str(tmp_path / "nowhere"), SESSION) is None
    assert store.read_worker(str(tmp_path), SESSION) is None
    assert store.sessions(str(tmp_path)) == []


def test_a_partial_never_replaces_a_complete_handoff_of_the_same_position(tmp_path):
    save(tmp_path, make_handoff())
    before = contents(folder_of(tmp_path))

    assert not save(tmp_path, make_partial(), context_text="lesser")
    assert contents(folder_of(tmp_path)) == before


def test_a_complete_handoff_upgrades_a_partial_of_the_same_position(tmp_path):
    save(tmp_path, make_partial())

    assert save(tmp_path, make_handoff())
    loaded = store.load(str(tmp_path), SESSION)
    assert loaded is not None
    assert loaded["meta"]["status"] == "complete"


def test_a_partial_of_a_newer_position_replaces_a_complete_handoff(tmp_path):
    save(tmp_path, make_handoff())

    assert save(tmp_path, moved(make_partial(), size=2_000_000))


@pytest.mark.parametrize("ordinal, size", [(2, 100), (1, 9_000_000)])
def test_an_older_handoff_never_replaces_a_newer_one(tmp_path, ordinal, size):
    save(tmp_path, make_partial())
    before = contents(folder_of(tmp_path))
    older = moved(make_handoff(meta={"ordinal": ordinal}), size=size)

    assert not save(tmp_path, older)
    assert contents(folder_of(tmp_path)) == before


def test_a_later_compaction_replaces_even_when_the_file_shrank(tmp_path):
    save(tmp_path, make_handoff())

    assert save(tmp_path, moved(make_partial(meta={"ordinal": 3}), size=10))


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
@pytest.mark.parametrize("number", range(1, 9))
def test_a_full_disk_at_any_moment_leaves_every_file_old_or_new(
    tmp_path, monkeypatch, call, number
):
    save(tmp_path, make_partial())
    old = contents(folder_of(tmp_path))
    real, calls = getattr(os, call), []

    def full(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) == number:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments)

    monkeypatch.setattr(os, call, full)
    try:
        save(tmp_path, make_handoff(), context_text="new", markdown="new", index_text="new")
    except OSError as error:
        assert error.errno == errno.ENOSPC
    monkeypatch.undo()

    torn = contents(folder_of(tmp_path))
    assert save(tmp_path, make_handoff(), context_text="new", markdown="new", index_text="new")
    new = contents(folder_of(tmp_path))
    assert set(torn) == set(old)
    assert all(torn[name] in (old[name], new[name]) for name in torn)


def test_a_save_that_stopped_before_the_context_may_be_made_again(tmp_path, monkeypatch):
    real = os.replace

    def fails_for_the_context(source: str, target: str) -> None:
        if target.endswith("context.json"):
            raise OSError(errno.EIO, "Input/output error")
        real(source, target)

    monkeypatch.setattr(os, "replace", fails_for_the_context)
    with pytest.raises(OSError, match="Input/output"):
        save(tmp_path, make_handoff())
    monkeypatch.undo()

    assert save(tmp_path, make_partial())
    context = json.loads((folder_of(tmp_path) / "context.json").read_bytes())
    assert context["status"] == "partial"


@pytest.mark.parametrize(
    "session",
    ["../../../evil", "/abs", "a/b", "..", "", "x" * 5_000, "a\0b", "a\nb", "CON", "é\ud83d"],
)
def test_a_hostile_session_id_stays_inside_the_state_folder(tmp_path, session):
    state = tmp_path / "state"
    handoff = make_handoff(meta={"session_id": session})

    assert save(state, handoff)
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["state"]
    assert [path.name for path in (state / "sessions").iterdir()] == [session_key(session)]
    if "\ud83d" not in session:
        assert store.load(str(state), session) == handoff
        assert store.sessions(str(state)) == [session]


def test_lone_surrogates_never_stop_a_save(tmp_path):
    assert save(tmp_path, make_handoff(task="ok \ud83d"), context_text="\udc00", markdown="\ud83d")
    loaded = store.load(str(tmp_path), SESSION)
    assert loaded is not None
    assert loaded["task"] == "ok \ufffd"


def test_a_fork_finds_the_session_it_continues(tmp_path):
    save(tmp_path, make_handoff())

    assert store.session_at(str(tmp_path), POSITION) == SESSION
    assert store.session_at(str(tmp_path), LATER) == ""


@pytest.mark.parametrize("uuid", ["../../evil", "", "A" * 36, "0" * 35, "0" * 36 + "\n", "/" * 36])
def test_a_position_that_is_no_uuid_names_no_file(tmp_path, uuid):
    assert save(tmp_path, moved(make_handoff(), size=1, uuid=uuid))
    assert not (tmp_path / "positions").exists()
    assert store.session_at(str(tmp_path), uuid) == ""


def test_positions_do_not_pile_up_for_ever(tmp_path):
    positions = tmp_path / "positions"
    positions.mkdir()
    for number in range(600):
        path = positions / f"{number:036x}"
        path.write_text("old")
        os.utime(path, (number, number))

    save(tmp_path, make_handoff())

    names = {path.name for path in positions.iterdir()}
    assert len(names) < 500
    assert POSITION in names
    assert f"{599:036x}" in names


def test_a_position_that_cannot_be_written_costs_no_handoff(tmp_path):
    (tmp_path / "positions").write_text("a file in its place")

    assert save(tmp_path, make_handoff())
    assert store.load(str(tmp_path), SESSION) is not None


def test_sessions_are_listed_the_last_stored_first(tmp_path):
    names = [f"{number}1111111-1111-4111-8111-111111111111" for number in range(3)] + ["odd/id"]
    for age, name in enumerate(names):
        save(tmp_path, make_handoff(meta={"session_id": name}))
        os.utime(folder_of(tmp_path, name) / "context.json", (1_000 - age, 1_000 - age))
    store.write_worker(str(tmp_path), "91111111-1111-4111-8111-111111111111", {})

    assert store.sessions(str(tmp_path)) == names


def test_the_worker_and_the_host_summary_come_back(tmp_path):
    store.write_worker(str(tmp_path), SESSION, {"state": "running", "pid": 7})
    store.write_host_summary(str(tmp_path), SESSION, "1. Primary Request\r\n")

    assert store.read_worker(str(tmp_path), SESSION) == {"state": "running", "pid": 7}
    assert (folder_of(tmp_path) / "host-summary.md").read_bytes() == b"1. Primary Request\r\n"


@pytest.mark.parametrize("state_of_lock", ["folder", "link", "empty", "dead pid"])
def test_whatever_stands_where_the_lock_should_be_the_handoff_is_saved(tmp_path, state_of_lock):
    folder = folder_of(tmp_path)
    folder.mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.write_text("precious")
    lock = folder / ".lock"
    if state_of_lock == "folder":
        lock.mkdir()
    elif state_of_lock == "link":
        lock.symlink_to(outside)
    else:
        lock.write_text("" if state_of_lock == "empty" else "999999999")

    assert save(tmp_path, make_handoff())
    assert outside.read_text() == "precious"


def test_a_lock_held_by_a_hung_process_delays_a_save_but_does_not_lose_it(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(lock, "WAIT", 0.1)
    folder_of(tmp_path).mkdir(parents=True)
    with (folder_of(tmp_path) / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        assert save(tmp_path, make_handoff())


def test_a_save_waits_for_the_save_before_it(tmp_path):
    fcntl = pytest.importorskip("fcntl")
    folder_of(tmp_path).mkdir(parents=True)
    with (folder_of(tmp_path) / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        thread = threading.Thread(target=save, args=(tmp_path, make_handoff()))
        thread.start()
        time.sleep(0.2)
        assert not (folder_of(tmp_path) / "handoff.json").exists()
    thread.join(timeout=30)

    assert (folder_of(tmp_path) / "handoff.json").exists()


def test_without_flock_the_portable_lock_is_taken(tmp_path, monkeypatch):
    pytest.importorskip("filelock")  # imported while fcntl is still there
    monkeypatch.setitem(sys.modules, "fcntl", None)

    assert save(tmp_path, make_handoff())
    assert store.load(str(tmp_path), SESSION) is not None


_SAVER = """
import sys
from keepthread.handoff import store
from tests.support.handoffs import make_handoff, make_partial
state, number = sys.argv[1], int(sys.argv[2])
for size in range(number, 60, 2):
    made = (make_handoff if size % 3 else make_partial)(
        meta={"transcript": {"path": "x" * 50_000, "size": size}}
    )
    store.save(state, made, context_text=str(size) * 9_000, cuts=[], closing="", index_text="",
               markdown="", notice="")
"""


def test_two_processes_saving_at_once_leave_the_newest_whole(tmp_path):
    state = tmp_path / "state"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    running = [
        subprocess.Popen([sys.executable, "-c", _SAVER, str(state), str(n)], env=environment)
        for n in (0, 1)
    ]
    while any(process.poll() is None for process in running):
        if (folder_of(state) / "context.json").exists():
            context = json.loads((folder_of(state) / "context.json").read_bytes())
            assert context["text"] == str(context["transcript"]["size"]) * 9_000
        time.sleep(0.01)

    assert [process.returncode for process in running] == [0, 0]
    loaded = store.load(str(state), SESSION)
    assert loaded is not None
    assert loaded["meta"]["transcript"]["size"] == 59


def test_the_store_is_light_to_import():
    code = "import sys; import keepthread.handoff.store; print(*sorted(sys.modules))"
    path = os.pathsep.join(p for p in sys.path if p)
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )

    heavy = {"filelock", "httpx", "jsonschema", "click", "logging", "tempfile", "subprocess"}
    assert heavy.isdisjoint(run.stdout.split())
