"""The two caps, across processes; what cannot be counted does not stop a call (tests/cases: L1, F5)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keepthread.engines.caps import Caps, spending
from keepthread.engines.model import EngineError


def caps(folder: Path, calls: int = 20, usd: float = 5.0) -> Caps:
    return Caps(str(folder / "state"), calls, usd)


def refused(caps: Caps, **more: float) -> str:
    with pytest.raises(EngineError) as caught:
        caps.enter("claude", free=False, **more)
    assert caught.value.reason == "cap"
    return caught.value.detail


def test_the_cap_of_calls_holds_and_names_its_variable(tmp_path: Path) -> None:
    """Free calls count too: a loop is a loop."""
    one = caps(tmp_path, calls=2)
    one.enter("claude", free=False)
    one.enter("ollama", free=True)
    assert refused(one) == "2 calls in the last hour (KEEPTHREAD_MAX_CALLS_PER_HOUR)"
    assert spending(one.state).calls_last_hour == 2


def test_an_hour_later_calls_are_free_again(tmp_path: Path) -> None:
    """The hour slides."""
    one, now = caps(tmp_path, calls=2), time.time()
    one.enter("claude", free=False, now=now - 3_601)
    one.enter("claude", free=False, now=now - 1_800)
    one.enter("claude", free=False, now=now)
    refused(one, now=now)
    one.enter("claude", free=False, now=now + 1_801)


def test_the_cap_of_dollars_counts_failed_calls_too(tmp_path: Path) -> None:
    """And lets through what costs nothing."""
    one = caps(tmp_path, usd=1.0)
    one.leave(one.enter("claude", free=False), 0.75)
    one.leave(one.enter("openai", free=False), 0.5)
    one.leave(one.enter("openai", free=True), None)
    assert refused(one) == "1.25 USD spent today (KEEPTHREAD_MAX_USD_PER_DAY)"
    one.enter("ollama", free=True)
    assert spending(one.state).spent_today_usd == 1.25


def test_a_new_day_begins_with_nothing_spent(tmp_path: Path) -> None:
    """At midnight, local time."""
    one = caps(tmp_path, usd=1.0)
    one.leave(one.enter("claude", free=False), 2.0)
    refused(one)
    one.enter("claude", free=False, now=time.time() + 86_400)


@pytest.mark.parametrize(("calls", "usd"), [(0, 5.0), (20, 0.0)])
def test_zero_is_an_off_switch(tmp_path: Path, calls: int, usd: float) -> None:
    """For every engine that costs something."""
    refused(caps(tmp_path, calls, usd))


PROCESS = """
import sys
from keepthread.engines.caps import Caps
from keepthread.engines.model import EngineError
caps, made = Caps(sys.argv[1], 10, 5.0), 0
for _ in range(8):
    try:
        caps.leave(caps.enter("claude", free=False), 0.01)
        made += 1
    except EngineError:
        pass
print(made)
"""


def test_processes_share_the_caps(tmp_path: Path) -> None:
    """Four at once, eight tries each, ten calls allowed: exactly ten are made."""
    argv = [sys.executable, "-c", PROCESS, str(tmp_path / "state")]
    running = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    made = [int(process.communicate(timeout=120)[0]) for process in running]

    assert sum(made) == 10
    spent = spending(str(tmp_path / "state"))
    assert (spent.calls_last_hour, round(spent.spent_today_usd, 2)) == (10, 0.1)


def test_the_files_are_private(tmp_path: Path) -> None:
    """They tell when their user worked."""
    one = caps(tmp_path)
    one.enter("claude", free=False)
    for name in os.listdir(one.state):
        assert os.stat(os.path.join(one.state, name)).st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "content", [b"", b"[", b"{}", b'"x"', b"[1, {}, null]", b"\xff", b"[" * 100_000]
)
def test_a_damaged_file_is_begun_anew(tmp_path: Path, content: bytes) -> None:
    """It must not stop every call from then on."""
    one = caps(tmp_path)
    one.enter("claude", free=False)
    (tmp_path / "state" / "spend.json").write_bytes(content)
    one.enter("claude", free=False)
    assert spending(one.state).calls_last_hour == 1


def test_a_lock_that_cannot_be_had_stops_no_call(tmp_path: Path) -> None:
    """A folder restored from a backup in its place: what can be counted is counted."""
    one = caps(tmp_path, calls=2)
    (tmp_path / "state" / "spend.lock").mkdir(parents=True)
    one.enter("claude", free=False)
    one.enter("claude", free=False)
    refused(one)


@pytest.mark.parametrize("content", ["", "999999", "1"])
def test_a_lock_file_that_was_left_behind_locks_nobody_out(tmp_path: Path, content: str) -> None:
    """What is locked is the open file, not its name, so a dead owner holds nothing."""
    one = caps(tmp_path)
    lock = tmp_path / "state" / "spend.lock"
    lock.parent.mkdir()
    lock.write_text(content)
    os.utime(lock, (0, 0))
    one.enter("claude", free=False)
    assert spending(one.state).calls_last_hour == 1


def test_a_state_folder_that_cannot_be_made_stops_no_call(tmp_path: Path) -> None:
    """A handoff is worth more than its line in the account."""
    (tmp_path / "state").write_text("a file")
    one = caps(tmp_path)
    one.leave(one.enter("claude", free=False), 0.5)
    assert spending(one.state) == (0, 0.0)
    assert Caps("", 1, 1.0).enter("claude", free=False)


def test_what_is_older_than_two_days_or_far_ahead_is_dropped(tmp_path: Path) -> None:
    """The file does not grow, and a clock that was wrong does not lock its user out."""
    one, now = caps(tmp_path), time.time()
    one.enter("claude", free=False)
    ages = (now - 3 * 86_400, now + 3 * 86_400, now)
    calls = [{"id": "x", "at": at, "engine": "claude", "usd": 1.0} for at in ages]
    (tmp_path / "state" / "spend.json").write_text(json.dumps(calls))
    one.enter("claude", free=False)
    assert len(json.loads((tmp_path / "state" / "spend.json").read_text())) == 2
