"""Family F: time, processes, locks, and everything that can be broken. No hook blocks, hangs or loses a handoff."""

from __future__ import annotations

import fcntl
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.hook_runs import ANSWER, GOAL, NAMES, ROOT, RULE, World, kill, until
from tests.support.session import SESSION, SessionFile

OTHER = "22222222-2222-4222-8222-222222222222"
HOOKS = ("pre_compact", "session_start", "session_index")


def stored(world: World) -> SessionFile:
    """Return a session that has a handoff."""
    file = world.session()
    world.run("pre_compact")
    return file


def give(process: subprocess.Popen[bytes], data: bytes) -> None:
    """Write a hook's event and close its stdin."""
    assert process.stdin is not None
    process.stdin.write(data)
    process.stdin.close()


def feed(process: subprocess.Popen[bytes]) -> None:
    """Write a blank now and then until the hook has ended."""
    assert process.stdin is not None
    end = time.monotonic() + 60
    with suppress(BrokenPipeError):
        while process.poll() is None and time.monotonic() < end:
            process.stdin.write(b" ")
            process.stdin.flush()
            time.sleep(0.2)
    with suppress(BrokenPipeError):
        process.stdin.close()


def whole(world: World) -> dict[str, object]:
    """Return the handoff; every file of it is whole and says the same."""
    handoff = world.handoff()
    context = json.loads((world.folder_of() / "context.json").read_text())
    assert context["key"].startswith(f"{handoff['meta']['ordinal']}:")
    assert context["text"].count("\n## Task") == 1
    return handoff


def limited(world: World, most: dict[int, int]) -> subprocess.CompletedProcess[bytes]:
    """Run PreCompact where the system grants its process no more of these resources than that."""

    def limit() -> None:
        for kind, number in most.items():
            resource.setrlimit(kind, (number, number))

    return subprocess.run(
        world.command("pre_compact"),
        input=json.dumps(world.event("pre_compact")).encode(),
        capture_output=True,
        env=world.env(),
        cwd=world.cwd,
        timeout=120,
        preexec_fn=limit,
    )


class TestF1:
    """Whatever is broken, the exit is 0 and nothing is blocked."""

    def test_the_configuration_is_a_file(self, world):
        world.config.write_text("a file where a folder would be")
        for hook in NAMES:
            assert "additionalContext" not in world.run(hook).stdout

    def test_the_state_folder_is_a_file(self, world):
        world.session()
        world.state.write_text("a file where a folder would be")
        assert RULE in world.run("pre_compact").stdout
        assert world.run("session_start").context == ""

    @pytest.mark.parametrize("what", ["folder", "fifo", "link"])
    def test_something_else_stands_where_a_file_would_be(self, world, what):
        file = stored(world)
        elsewhere = world.folder / "precious"
        elsewhere.write_text("{}")
        for name in ("context.json", "index.json", "handoff.json", "worker.json", ".lock"):
            path = world.folder_of() / name
            kept = path.read_bytes() if path.exists() else b""
            path.unlink(missing_ok=True)
            make = {"folder": path.mkdir, "fifo": lambda path=path: os.mkfifo(path)}
            make.get(what, lambda path=path: path.symlink_to(elsewhere))()
            file.user(f"Now write the release notes without {name}")
            for hook in ("pre_compact", "session_start"):
                world.run(hook)
            assert elsewhere.read_text() == "{}"
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink()
            path.write_bytes(kept)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
    def test_nothing_can_be_written(self, world):
        stored(world)
        world.state.chmod(0o500)
        try:
            for hook in HOOKS:
                world.run(hook)
        finally:
            world.state.chmod(0o700)

    @pytest.mark.parametrize("limit", [0, 100, 1_500])
    def test_the_disk_is_full(self, world, limit):
        file = stored(world)
        before = whole(world)
        file.user("Now write the release notes")
        done = limited(world, {resource.RLIMIT_FSIZE: limit})
        assert (done.returncode, done.stderr) == (0, b"")
        assert RULE in done.stdout.decode()
        assert whole(world) == before
        assert [name for name in os.listdir(world.folder_of()) if name.startswith(".tmp")] == []
        world.run("pre_compact")
        assert whole(world) != before

    def test_what_the_machine_refuses_is_not_called_a_bug(self, world):
        world.session()
        world.state.mkdir()
        (world.state / "sessions").write_text("a file")
        for hook in (*HOOKS, "post_compact", "user_prompt_submit"):
            event = world.event(hook, compact_summary="what was done", prompt="/pin mind it")
            world.run(hook, event)
        failed = {line["event"]: line["reason"] for line in world.log()}
        assert {"pre_compact", "post_compact", "user_prompt_submit"} <= failed.keys()
        assert [reason for reason in failed.values() if reason.startswith("bug")] == []

    def test_few_files_may_be_open_and_little_memory_is_left(self, world):
        world.session()

        done = limited(world, {resource.RLIMIT_NOFILE: 16, resource.RLIMIT_AS: 200 << 20})
        assert (done.returncode, done.stderr) == (0, b"")
        assert whole(world)["task"] == GOAL

    def test_memory_that_does_not_hold_a_dense_transcript_holds_its_end(self, world):
        file = world.session()
        for number in range(100):
            file.bash(f"echo {number} > src/n{number}.txt", "written " * 5)
        job = file.path.read_bytes()
        with file.path.open("ab") as stream:
            for _ in range(400):
                stream.write(job)
        file.user("Now write the release notes")
        done = limited(world, {resource.RLIMIT_AS: 110 << 20})
        # Python itself may tell on stderr of a generator that found no memory to end; the host does not look there.
        assert done.returncode == 0
        whole(world)
        assert "Now write the release notes" in world.handoff()["facts"]["pending_ask"]["text"]

    def test_the_folder_it_runs_in_and_tmpdir_are_gone(self, world):
        world.session()
        gone = world.folder / "gone"
        gone.mkdir()
        command = world.command("pre_compact")
        command[2] = f"cd '{gone}' && rmdir '{gone}' && {command[2]}"
        done = subprocess.run(
            command,
            input=json.dumps(world.event("pre_compact", cwd=str(gone))).encode(),
            capture_output=True,
            env=world.env(TMPDIR="/nonexistent"),
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert whole(world)["task"] == GOAL

    @pytest.mark.parametrize(
        "content", ["KEEPTHREAD_TIMEOUT=abc\nKEEPTHREAD_JOIN=-1\n", "\0\xff", "=\n'"]
    )
    def test_the_users_variables_are_nonsense(self, world, content):
        world.session()
        (world.config / ".env").write_bytes(content.encode("latin-1"))
        assert RULE in world.run("pre_compact").stdout
        assert RULE in world.run("session_start").context

    @pytest.mark.parametrize(
        "content", ["", "[]", '{"join": "x", "budget": -1, "sources": 5, "off_projects": {}}']
    )
    def test_the_resolved_settings_are_nonsense(self, world, content):
        stored(world)
        (world.state / "settings.json").write_text(content)
        assert RULE in world.run("session_start").context


def damaged(world: World, damage: str) -> None:
    """Copy the checkout's runnable part and take something away."""
    copy = world.folder / "copy of it"
    if not copy.exists():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src", copy / "src", ignore=ignored)
        shutil.copytree(ROOT / "hooks", copy / "hooks", ignore=ignored)
        shutil.copytree(ROOT / "templates", copy / "templates", ignore=ignored)
    world.hooks = copy / "hooks"
    target = copy / damage.removesuffix(" cut")
    if damage.endswith(" cut"):
        target.write_bytes(target.read_bytes()[: target.stat().st_size // 2] + b"(")
    else:
        # At one stroke: what a hook has left running may still write its byte code there.
        target.resolve().rename(Path(tempfile.mkdtemp(dir=world.folder)) / "gone")


class TestF1HalfAnInstallation:
    """A package that is half deleted, or that an update is just replacing."""

    @pytest.mark.parametrize(
        "damage",
        [
            ".",
            "src",
            "hooks",
            "templates",
            "src/keepthread/__init__.py cut",
            "src/keepthread/handlers.py",
            "src/keepthread/handlers.py cut",
            "src/keepthread/errors.py",
            "src/keepthread/files.py cut",
            "src/keepthread/log.py",
            "src/keepthread/host/events.py cut",
            "src/keepthread/handoff",
            "src/keepthread/handoff/inject.py cut",
            "src/keepthread/redact",
            "src/keepthread/transcript",
            "src/keepthread/transcript/tail.py cut",
            "hooks/pre_compact.py cut",
            "hooks/session_start.py cut",
        ],
    )
    def test_every_hook_ends_with_0_and_prints_nothing_but_what_is_right(self, world, damage):
        stored(world)
        before = whole(world)
        damaged(world, damage)
        for hook in HOOKS:
            process = world.start(hook)
            out, _ = process.communicate(timeout=60)
            assert process.returncode == 0
            world.check_output(hook, out.decode())
        assert whole(world)["task"] == before["task"]

    def test_a_worker_whose_package_is_gone_leaves_the_partial(self, world, claude):
        claude.answer(ANSWER)
        world.session()
        damaged(world, "src/keepthread/engines")
        world.run("pre_compact", **claude.env(world.home, KEEPTHREAD_ENGINE=""))
        assert RULE in world.run("session_start").context
        assert claude.calls == []


class TestF2:
    """Nothing waits without an end."""

    def test_a_model_that_never_answers_holds_nobody_up(self, world, claude):
        claude.behave(sleep=60)
        world.session()
        world.run("pre_compact", **claude.env(world.home, KEEPTHREAD_ENGINE=""))
        assert RULE in world.run("session_start", KEEPTHREAD_JOIN="0.2").context
        until(lambda: bool(claude.calls))
        for pid in [world.worker()["pid"], *claude.alive()]:
            os.kill(pid, signal.SIGKILL)

    @pytest.mark.parametrize("hook", HOOKS)
    def test_a_stdout_that_is_closed_harms_nobody_and_the_text_is_given_next_time(
        self, world, hook
    ):
        stored(world)
        command = world.command(hook)
        command[2] = command[2].replace(".py'", ".py' >&-")
        data = json.dumps(world.event(hook)).encode()
        done = subprocess.run(
            command, input=data, env=world.env(), cwd=world.cwd, capture_output=True, timeout=60
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert world.run(hook).stdout

    def test_no_hook_waits_for_ever_for_its_input_its_host_or_a_lock(self, world):
        file = stored(world)
        other = world.session(OTHER, slug="t")
        world.run("pre_compact", world.event("pre_compact", OTHER, transcript_path=str(other.path)))
        trickle = self.hook(world, "session_index")
        reader, writer = os.pipe()
        fcntl.fcntl(writer, 1031, 4_096)  # F_SETPIPE_SZ
        os.write(writer, b"x" * 4_096)
        start = world.event("session_start", OTHER)
        unread = self.hook(world, "session_start", stdout=writer)
        give(unread, json.dumps(start).encode())
        with (world.folder_of() / ".lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            file.user("Now write the release notes")
            locked = self.hook(world, "pre_compact")
            give(locked, json.dumps(world.event("pre_compact")).encode())
            feed(trickle)
            assert [each.wait(60) for each in (trickle, unread, locked)] == [0, 0, 0]
        os.close(reader)
        os.close(writer)
        assert "Now write the release notes" in world.run("session_start").context
        assert RULE in world.run("session_start", start).context

    @staticmethod
    def hook(world: World, name: str, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            world.command(name),
            stdin=subprocess.PIPE,
            stdout=stdout,
            env=world.env(),
            cwd=world.cwd,
        )

    def test_a_pipe_that_does_not_block_gets_the_whole_text(self, world):
        file = stored(world)
        for number in range(60):
            file.user(
                f"Request {number}: never call the {number} service from handler {number}. " * 8
            )
        world.run("pre_compact")
        reader, writer = os.pipe()
        fcntl.fcntl(writer, 1031, 4_096)
        os.set_blocking(writer, False)
        process = subprocess.Popen(
            world.command("session_start"),
            stdin=subprocess.PIPE,
            stdout=writer,
            env=world.env(),
            cwd=world.cwd,
        )
        os.close(writer)
        assert process.stdin is not None
        process.stdin.write(json.dumps(world.event("session_start")).encode())
        process.stdin.close()
        out = b""
        while chunk := os.read(reader, 2_048):
            out += chunk
            time.sleep(0.01)
        os.close(reader)
        assert process.wait(60) == 0
        assert json.loads(out)["hookSpecificOutput"]


class TestF3:
    """No process of ours outlives its deadline."""

    def test_a_hanging_models_children_are_gone_after_the_deadline(self, world, claude):
        claude.behave(deaf=True, children=["child", "session", "daemon"], sleep=300)
        world.session()
        env = claude.env(world.home, KEEPTHREAD_ENGINE="", KEEPTHREAD_TIMEOUT="1.5")
        world.run("pre_compact", **env)
        world.settled()
        assert len(claude.pids) == 4
        assert claude.alive() == []
        assert world.handoff()["meta"]["reason"] == "timeout"

    def test_a_worker_told_to_end_takes_the_models_process_along(self, world, claude):
        claude.behave(sleep=300)
        world.session()
        world.run("pre_compact", **claude.env(world.home, KEEPTHREAD_ENGINE=""))
        until(lambda: bool(claude.calls))
        os.kill(world.worker()["pid"], signal.SIGTERM)
        world.settled()
        until(lambda: claude.alive() == [])


class TestF4:
    """A hook or worker that is killed leaves the handoff before it, or its own, whole."""

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
    def test_killed_at_any_moment_and_the_next_run_works(self, world, number):
        file = stored(world)
        moments = random.Random(7)
        for count in range(8):
            file.user(f"Request {count}: mend the tide of day {count}")
            process = world.start("pre_compact")
            time.sleep(moments.uniform(0.05, 0.45))
            kill(process, number)
            whole(world)
        file.user("At last, write the release notes")
        world.run("pre_compact")
        assert "At last, write the release notes" in json.dumps(whole(world))
        assert "At last, write the release notes" in world.run("session_start").context

    def test_killed_while_it_stores_and_the_next_run_for_the_same_position_finishes_it(self, world):
        file = stored(world)
        old = (world.folder_of() / "context.json").read_bytes()
        file.user("Now write the release notes")
        world.run("pre_compact")
        (world.folder_of() / "context.json").write_bytes(old)  # the last step of a store
        world.run("pre_compact")
        assert "Now write the release notes" in world.run("session_start").context

    def test_sigterm_leaves_no_temporary_file(self, world):
        world.session()
        for delay in (0.1, 0.2, 0.3):
            process = world.start("pre_compact")
            time.sleep(delay)
            kill(process, signal.SIGTERM)
        assert list(world.state.rglob(".tmp*")) == []


class TestF5:
    """A lock outlives nobody who held it."""

    @pytest.mark.parametrize("content", ["", "999999", "1", "no number"])
    def test_a_lock_left_behind_holds_nobody_up(self, world, content):
        file = stored(world)
        lock = world.folder_of() / ".lock"
        lock.write_text(content)
        os.utime(lock, (0, 0))
        file.user("Now write the release notes")
        world.run("pre_compact")
        assert "Now write the release notes" in world.run("session_start").context

    def test_a_worker_that_only_seems_to_run_is_not_waited_for(self, world):
        stored(world)
        gone = subprocess.Popen(["true"])
        gone.wait(60)
        jobs = [
            {"state": "running", "pid": gone.pid, "started": time.time()},
            {"state": "running", "pid": 1, "started": time.time() - 86_400},
            {"state": "running", "pid": 1, "started": time.time() + 86_400},
            {"state": "running", "pid": -1},
            {"state": "running", "pid": 10**30},
            {"state": "running", "pid": "x"},
            {"state": ["running"]},
        ]
        for number, job in enumerate(jobs):
            (world.folder_of() / "worker.json").write_text(json.dumps(job))
            for marker in world.folder_of().glob("shown-*"):
                marker.unlink()
            run = world.run("session_start")
            assert RULE in run.context, number
            assert world.log()[-1]["seconds"] < 2.5, number


def test_f6_a_thousand_sessions_in_the_state_folder_are_no_burden(world):
    file = stored(world)
    source = world.folder_of()
    for number in range(1_000):
        folder = world.state / "sessions" / f"{number:08}-1111-4111-8111-111111111111"
        folder.mkdir()
        os.link(source / "context.json", folder / "context.json")
        (world.state / "positions" / f"{number:08}-2222-4222-8222-222222222222").write_text(SESSION)
    assert RULE in world.run("session_start").context
    file.user("Now write the release notes")
    world.run("pre_compact")
    assert len(os.listdir(world.state / "positions")) <= 500
    assert Path(source / "context.json").exists()
