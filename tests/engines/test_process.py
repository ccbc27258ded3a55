"""One child, one deadline, nothing left behind (tests/cases: E5 and F3)."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from keepthread.engines import tree
from keepthread.engines.model import Deadline
from keepthread.engines.process import Completed, run
from tests.support.fake_claude import FakeClaude

# Ten times what is promised (the deadline and 2 s): only a hang is longer.
GUARD = 25.0


def python(
    code: str, stdin: bytes = b"", *, seconds: float = 60, limit: int = 1 << 23
) -> Completed:
    return run(
        [sys.executable, "-I", "-c", code],
        stdin=stdin,
        env={"PATH": os.defpath},
        cwd="/",
        deadline=Deadline.after(seconds),
        limit=limit,
    )


def fake(claude: FakeClaude, tmp_path: Path, seconds: float) -> Completed:
    return run(
        [str(claude.program)],
        stdin=b"",
        env=claude.env(tmp_path),
        cwd=str(tmp_path),
        deadline=Deadline.after(seconds),
    )


def test_output_errors_and_exit_code_come_back():
    done = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert done == Completed(3, b"out\n", b"err\n", timed_out=False)


def test_a_signal_is_a_negative_exit_code():
    assert python("import os; os.kill(os.getpid(), 9)").returncode == -9


def test_large_input_and_large_output_do_not_block_each_other():
    data = os.urandom(1 << 16) * 40
    done = python("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())", data)
    assert done.stdout == data
    interleaved = "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)"
    assert python(interleaved, data).stdout == data


def test_output_beyond_the_limit_is_read_and_dropped():
    done = python("import sys; sys.stdout.write('x' * 1_000_000); sys.exit(5)", limit=1000)
    assert (done.returncode, done.stdout) == (5, b"x" * 1000)


def test_a_child_that_never_reads_its_input_still_answers():
    assert python("print('done')", b"x" * 1_000_000).stdout == b"done\n"


def test_a_child_that_reads_to_the_end_gets_an_end():
    assert python("import sys; print(len(sys.stdin.read()))").stdout == b"0\n"


def test_our_own_standard_input_is_not_inherited(tmp_path):
    script = (
        "from keepthread.engines.process import run\n"
        "from keepthread.engines.model import Deadline\n"
        "import sys\n"
        "code = 'import sys; print(repr(sys.stdin.read()))'\n"
        "done = run([sys.executable, '-c', code], stdin=b'ours', env={}, cwd='/', deadline=Deadline.after(60))\n"
        "sys.stdout.buffer.write(done.stdout)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], input=b"the event", capture_output=True, check=True
    )
    assert done.stdout == b"'ours'\n"


def test_a_missing_program_is_an_oserror():
    with pytest.raises(FileNotFoundError):
        run(["/no/such/program"], stdin=b"", env={}, cwd="/", deadline=Deadline.after(5))


@pytest.mark.parametrize("deaf", [False, True])
def test_at_the_deadline_the_whole_tree_is_killed(tmp_path, deaf):
    claude = FakeClaude(
        tmp_path / "bin", deaf=deaf, children=["child", "session", "daemon"], sleep=300
    )
    start = time.monotonic()
    done = fake(claude, tmp_path, seconds=2.0)
    assert time.monotonic() - start < GUARD
    assert done.timed_out
    assert len(claude.pids) == 4
    assert claude.alive() == []


def test_children_left_behind_by_a_finished_program_are_killed_and_its_output_kept(tmp_path):
    claude = FakeClaude(
        tmp_path / "bin", children=["child", "session", "daemon"], stdout="answer", exit=4
    )
    start = time.monotonic()
    done = fake(claude, tmp_path, seconds=120)
    assert time.monotonic() - start < GUARD
    assert (done.returncode, done.stdout, done.timed_out) == (4, b"answer", False)
    assert len(claude.pids) == 4
    assert claude.alive() == []


def test_without_proc_the_tree_is_found_through_ps(tmp_path, monkeypatch):
    if not os.path.exists("/bin/ps"):
        pytest.skip("no ps")
    monkeypatch.setattr(tree, "_linux", lambda mark: tree._ps())
    claude = FakeClaude(tmp_path / "bin", children=["child", "session"], sleep=300)
    assert fake(claude, tmp_path, seconds=2.0).timed_out
    assert len(claude.pids) == 3
    assert claude.alive() == []


def test_a_stranger_is_never_touched(tmp_path):
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    try:
        claude = FakeClaude(tmp_path / "bin", children=["child"], sleep=300)
        fake(claude, tmp_path, seconds=1.0)
        assert claude.alive() == []
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_an_interruption_kills_the_tree_too(tmp_path):
    claude = FakeClaude(tmp_path / "bin", deaf=True, children=["child", "daemon"], sleep=300)
    script = (
        "import signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from keepthread.engines.process import run\n"
        "from keepthread.engines.model import Deadline\n"
        "run([sys.argv[1]], stdin=b'', env={}, cwd='/', deadline=Deadline.after(300))\n"
    )
    ours = subprocess.Popen(
        [sys.executable, "-c", script, str(claude.program)], stderr=subprocess.DEVNULL
    )
    until = time.monotonic() + 10 * GUARD
    while not claude.calls and time.monotonic() < until:
        time.sleep(0.02)
    ours.send_signal(signal.SIGINT)
    assert ours.wait(timeout=GUARD) != 0
    assert len(claude.pids) == 3
    assert claude.alive() == []


def starter(tmp_path: Path, number: int) -> subprocess.Popen[bytes]:
    """Start a process that waits for a hanging child, which writes its number into a file."""
    child = (
        f"import os, time; open({str(tmp_path / f'pid{number}')!r}, 'w').write(str(os.getpid()));"
        " time.sleep(300)"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(Path(tree.__file__).parents[2])!r})\n"
        "from keepthread.engines.model import Deadline\n"
        "from keepthread.engines.process import run\n"
        f"run([sys.executable, '-I', '-c', {child!r}], stdin=b'', env={{}}, cwd='/',"
        " deadline=Deadline.after(200))\n"
    )
    return subprocess.Popen([sys.executable, "-I", "-c", code])


def number_in(path: Path) -> int:
    """Wait for the number of a process and return it."""
    until = time.monotonic() + GUARD
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < until
        time.sleep(0.02)
    return int(path.read_text())


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="needs /proc")
def test_what_a_killed_process_left_is_killed_by_the_next_one_and_that_of_a_live_one_is_not(
    tmp_path,
):
    killed, alive = starter(tmp_path, 1), starter(tmp_path, 2)
    try:
        orphan, other = number_in(tmp_path / "pid1"), number_in(tmp_path / "pid2")
        killed.kill()
        killed.wait(GUARD)
        os.kill(orphan, 0)
        python("pass")
        until = time.monotonic() + GUARD
        while os.path.exists(f"/proc/{orphan}") and tree._began(orphan) != f"{orphan}-0":
            if Path(f"/proc/{orphan}/stat").read_bytes().rpartition(b")")[2].split()[0] == b"Z":
                break  # dead; whoever inherited it has not taken note
            assert time.monotonic() < until, "the orphan lives"
            time.sleep(0.02)
        os.kill(other, 0)
    finally:
        alive.terminate()
        alive.wait(GUARD)
        for path in tmp_path.glob("pid*"):
            with contextlib.suppress(ProcessLookupError):  # dead, as it should be
                os.kill(number_in(path), signal.SIGKILL)
