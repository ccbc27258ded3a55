"""Family F: the machine fails while a hook or a worker is at work. The earlier handoff is whole, or the newer."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import counts, faulty
from tests.support.fuzzed import SCALE
from tests.support.hook_runs import ANSWER, GOAL, JUDGED, NAMES, ROOT, RULE, World, check_output
from tests.support.session import SESSION, SessionFile

NEWS = "Now write the release notes"
ERRORS = {"EIO": errno.EIO, "ENOSPC": errno.ENOSPC, "EDQUOT": errno.EDQUOT, "EROFS": errno.EROFS,
          "ESTALE": errno.ESTALE}  # fmt: skip
# Every how-many-th step is tried in a short run; a scale of 8 and more tries each one.
STRIDE = max(1, round(16 / SCALE))


def broken(world: World, script: Path | str, fault: faulty.Fault, *more: str) -> list[str]:
    """Return the command that runs a script on a machine with this fault."""
    return [sys.executable, "-I", faulty.__file__, json.dumps(fault), str(script), *more]


def run(world: World, hook: str, fault: faulty.Fault, **env: str) -> str:
    """Run a hook on a machine with a fault, hold it to what every run is held to, and return what it printed."""
    done = subprocess.run(
        broken(world, world.hooks / f"{hook}.py", fault),
        input=json.dumps(world.event(hook)).encode(),
        capture_output=True,
        env=world.env(**env),
        cwd=world.cwd,
        timeout=120,
    )
    killed = "at" in fault and "errno" not in fault
    counts.count(counts.FAULTS)
    counts.count(counts.HOOK_RUNS)
    counts.count(counts.BLOCKED, done.returncode == 2)
    assert done.returncode in ((0, -signal.SIGKILL) if killed else (0,))
    assert done.stderr == b""
    check_output(hook, done.stdout.decode())
    return done.stdout.decode()


def steps_of(world: World, hook: str) -> int:
    """Return how many changes on the disk a good run makes."""
    path = world.folder / "steps"
    run(world, hook, {"steps": str(path)})
    return int(path.read_text())


def whole(world: World) -> dict[str, Any]:
    """Return the handoff; what is put back belongs to one taken at the same place or before."""
    handoff = world.handoff()
    context = json.loads((world.folder_of() / "context.json").read_text())
    assert context["text"].count("\n## Task") == 1
    assert RULE in context["text"]
    return handoff


class Template:
    """A state folder that is put back before every try."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.kept = world.folder / "kept"
        shutil.copytree(world.state, self.kept, symlinks=True)

    def restore(self) -> None:
        """Put the folder back as it was."""
        shutil.rmtree(self.world.state)
        shutil.copytree(self.kept, self.world.state, symlinks=True)


@pytest.fixture
def moved(world: World) -> World:
    """A session with a handoff that has gone on since."""
    file = world.session()
    world.run("pre_compact")
    file.user(NEWS)
    return world


def each(steps: int) -> Iterator[int]:
    """Yield the steps to be tried: the first, the last, and every how-many-th between."""
    assert steps > 5  # a store is no single step
    yield from sorted({1, *range(2, steps, STRIDE), steps})


@pytest.mark.parametrize("name", sorted(ERRORS))
@pytest.mark.parametrize("lasting", [False, True])
def test_f11_a_store_that_fails_at_any_step_keeps_a_whole_handoff(moved, name, lasting):
    """The disk fails once, or from there on; the next good run stores what there is."""
    template = Template(moved)
    steps = steps_of(moved, "pre_compact")
    for step in each(steps):
        template.restore()
        printed = run(moved, "pre_compact", {"at": step, "errno": ERRORS[name], "lasting": lasting})
        assert RULE in printed  # the host's own summary is steered all the same
        said = moved.log("pre_compact")[-1]
        if NEWS not in json.dumps(whole(moved)) and not lasting:
            assert said["outcome"] == "failed" and os.strerror(ERRORS[name]) in said["reason"]
        run(moved, "pre_compact", {})
        assert NEWS in json.dumps(whole(moved)), step
        assert NEWS in moved.run("session_start").context, step


def test_f11_killed_at_any_step_of_a_store(moved):
    """No cleanup runs; what the killed run left does not stop the next one."""
    template = Template(moved)
    for step in each(steps_of(moved, "pre_compact")):
        template.restore()
        run(moved, "pre_compact", {"at": step})
        whole(moved)
        run(moved, "pre_compact", {})
        assert NEWS in json.dumps(whole(moved)), step
        assert NEWS in moved.run("session_start").context, step


@pytest.mark.parametrize("hook", ["session_start", "session_index", "post_compact"])
def test_f11_a_hook_that_cannot_write_still_does_what_it_can(moved, hook):
    """Putting back needs no disk but for the mark that it was done."""
    template = Template(moved)
    for number in ERRORS.values():
        template.restore()
        before = (moved.folder_of() / "context.json").read_bytes()
        run(moved, hook, {"at": 1, "errno": number, "lasting": True})
        assert (moved.folder_of() / "context.json").read_bytes() == before
        assert RULE in moved.run("session_start").context  # nothing was counted as shown


class TestWorker:
    """The detached upgrade, run here by hand so that its process can be broken."""

    @pytest.fixture
    def waiting(self, world, claude):
        """A partial handoff whose worker was killed before it did anything."""
        claude.behave(sleep=60)
        world.session()
        world.run("pre_compact", **claude.env(world.home, KEEPTHREAD_ENGINE=""))
        os.kill(world.worker()["pid"], signal.SIGKILL)
        claude.answer(ANSWER)
        script = world.folder / "worker.py"
        script.write_text(
            "import os, sys\n"
            f"sys.path.insert(0, {str(ROOT / 'src')!r})\n"
            "from keepthread.worker import main\n"
            "main(*sys.argv[1:])\n"
            "os._exit(0)\n"
        )
        return world, claude, script

    def work(self, waiting: Any, fault: faulty.Fault) -> None:
        world, claude, script = waiting
        counts.count(counts.FAULTS)
        subprocess.run(
            broken(world, script, fault, json.dumps(SESSION), world.worker()["run"]),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env={**world.env(KEEPTHREAD_ENGINE=""), **claude.env(world.home)},
            cwd=world.folder,
            timeout=120,
        )

    def test_f11_killed_at_any_step_of_its_store(self, waiting):
        world = waiting[0]
        template, path = Template(world), world.folder / "steps"
        self.work(waiting, {"steps": str(path)})
        assert whole(world)["task"] == JUDGED
        for step in each(int(path.read_text())):
            template.restore()
            self.work(waiting, {"at": step})
            assert whole(world)["meta"]["status"] in ("partial", "complete"), step
            assert RULE in world.run("session_start").context, step

    @pytest.mark.parametrize("name", ["EIO", "EDQUOT"])
    def test_f11_its_disk_fails_from_any_step_on(self, waiting, name):
        world = waiting[0]
        template, path = Template(world), world.folder / "steps"
        self.work(waiting, {"steps": str(path)})
        for step in each(int(path.read_text())):
            template.restore()
            self.work(waiting, {"at": step, "errno": ERRORS[name], "lasting": True})
            assert whole(world)["meta"]["status"] in ("partial", "complete"), step
            assert RULE in world.run("session_start").context, step


@pytest.mark.parametrize("clock", [0.0, 1.0, 4e9, "jumps"])
def test_f12_the_clock_stands_in_1970_or_jumps(world, clock):
    """The time of day decides nothing that matters: what is stored is put back, also when it seems older or newer."""
    file = world.session()
    fault: faulty.Fault = {"clock": clock}
    for number in range(3):
        file.user(f"{NEWS} of day {number}")
        run(world, "pre_compact", fault)
        assert f"of day {number}" in run(world, "session_start", fault)
    file.user("At last, write it in the right time")
    world.run("pre_compact")
    assert "At last, write it in the right time" in world.run("session_start").context
    for name in NAMES:
        run(world, name, fault)


def test_f13_without_proc_nothing_is_missing(moved):
    """Another system, or a container that does not mount it."""
    run(moved, "pre_compact", {"proc": False})
    assert NEWS in json.dumps(whole(moved))
    assert RULE in run(moved, "session_start", {"proc": False})


@pytest.mark.parametrize("locks", ["lie", "refuse"])
def test_f14_locks_of_a_network_file_system_that_lie(moved, locks):
    """Two machines believe that they hold the lock: every file is whole, and one of the newest handoffs stands."""
    for number in range(3):
        file = SessionFile(moved.transcripts[0], session=SESSION, cwd=str(moved.project))
        file.user(f"Part {number}: {NEWS}")
        running = [
            subprocess.Popen(
                broken(moved, moved.hooks / "pre_compact.py", {"locks": locks}),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=moved.env(),
                cwd=moved.cwd,
            )
            for _ in range(4)
        ]
        event = json.dumps(moved.event("pre_compact")).encode()
        for process in running:
            process.communicate(event, timeout=120)
            counts.count(counts.FAULTS)
            assert process.returncode == 0
        whole(moved)
    moved.run("pre_compact")
    assert f"Part 2: {NEWS}" in moved.run("session_start").context


# What even root may not do without its capabilities; for anybody else the command alone is enough.
POWERLESS = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
needs_setpriv = pytest.mark.skipif(
    bool(POWERLESS) and shutil.which("setpriv") is None, reason="root needs setpriv to be refused"
)


def powerless(world: World, hook: str) -> str:
    """Run a hook as somebody whom file modes hold back."""
    done = subprocess.run(
        [*POWERLESS, *world.command(hook)],
        input=json.dumps(world.event(hook)).encode(),
        capture_output=True,
        env=world.env(),
        cwd=world.cwd,
        timeout=120,
    )
    counts.count(counts.FAULTS)
    assert (done.returncode, done.stderr) == (0, b"")
    check_output(hook, done.stdout.decode())
    return done.stdout.decode()


@needs_setpriv
@pytest.mark.parametrize("what", ["sessions", "session", "state", "config"])
def test_f15_a_folder_that_cannot_be_written(moved, what):
    """The hint for the summariser and what is stored are still given."""
    folder = {"sessions": moved.state / "sessions", "session": moved.folder_of(),
              "state": moved.state, "config": moved.config}[what]  # fmt: skip
    before = (moved.folder_of() / "handoff.json").read_bytes()
    folder.chmod(0o500)
    try:
        assert RULE in powerless(moved, "pre_compact")
        powerless(moved, "session_start")
        if what == "session":
            assert (moved.folder_of() / "handoff.json").read_bytes() == before
    finally:
        folder.chmod(0o700)
    whole(moved)


@needs_setpriv
@pytest.mark.parametrize(
    "name", ["handoff.json", "context.json", "worker.json", ".lock", "../../log.jsonl"]
)
def test_f15_a_file_that_belongs_to_somebody_else(moved, name):
    """As after a run under sudo: it can be neither read nor written, only replaced."""
    path = moved.folder_of() / name
    if not path.exists():
        path.write_text("{}")
    path.chmod(0)
    try:
        assert RULE in powerless(moved, "pre_compact")
        powerless(moved, "session_start")
    finally:
        if path.exists():
            path.chmod(0o600)
    moved.run("pre_compact")
    assert NEWS in json.dumps(whole(moved))


def test_f16_a_thousand_open_files_are_inherited(moved):
    """A host that leaks descriptors to its hooks."""
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(900)]
    try:
        process = subprocess.run(
            moved.command("pre_compact"),
            input=json.dumps(moved.event("pre_compact")).encode(),
            capture_output=True,
            env=moved.env(),
            cwd=moved.cwd,
            pass_fds=opened,
            timeout=120,
        )
    finally:
        for descriptor in opened:
            os.close(descriptor)
    assert (process.returncode, process.stderr) == (0, b"")
    assert NEWS in json.dumps(whole(moved))
    assert whole(moved)["task"] == GOAL
