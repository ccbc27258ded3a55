"""Attacks on a memory by other processes: a folder that is swapped for a link, and writers that are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from keepthread.memory import entries, index
from keepthread.memory.directory import Directory
from keepthread.memory.entries import Entry
from keepthread.memory.errors import BadEntry, MemoryProblem
from keepthread.memory.store import Memory, utc_now

ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
SECRET = b"outside"

SWAPPER = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
one, other = (ctypes.c_char_p(name.encode()) for name in sys.argv[1:3])
call = libc.renameat2
AT_FDCWD, EXCHANGE = -100, 2
assert call(AT_FDCWD, one, AT_FDCWD, other, EXCHANGE) == 0
print("swapping", flush=True)
while True:
    call(AT_FDCWD, one, AT_FDCWD, other, EXCHANGE)
"""


class Swaps(NamedTuple):
    """What tries against a folder that is being swapped led to: done inside, refused, or escaped."""

    inside: int
    refused: int
    escaped: int


class Arena:
    """A root whose folder `sub` another process swaps for a link to the outside, as fast as it can."""

    def __init__(self, base: Path) -> None:
        self.team, self.out = base / "team", base / "out"
        self.team.mkdir()
        self.out.mkdir()
        self._base = base
        (self.team / "sub").mkdir()
        (self.team / "sub" / "x.md").write_bytes(b"inside")
        (self.out / "x.md").write_bytes(SECRET)
        (base / "link").symlink_to(self.out)

    def untouched(self) -> bool:
        """Return whether the outside is as it was."""
        return os.listdir(self.out) == ["x.md"] and (self.out / "x.md").read_bytes() == SECRET

    @contextmanager
    def swapping(self) -> Iterator[None]:
        """Swap while the block runs."""
        swapper = subprocess.Popen(
            [sys.executable, "-c", SWAPPER, str(self.team / "sub"), str(self._base / "link")],
            stdout=subprocess.PIPE,
        )
        assert swapper.stdout is not None
        try:
            assert swapper.stdout.readline() == b"swapping\n"
            yield
        finally:
            swapper.kill()
            swapper.wait()
            swapper.stdout.close()

    def reads(self, tries: int) -> Swaps:
        """Read in the folder, the safe way."""
        with Directory.open(str(self.team)) as team:
            return _counted(tries, lambda _: team.read("sub/x.md") == SECRET)

    def writes(self, tries: int) -> Swaps:
        """Write, move and delete in the folder, the safe way."""
        with Directory.open(str(self.team)) as team:

            def change(number: int) -> bool:
                kind = number % 4
                if kind == 2:
                    team.rename("sub/x.md", "sub/y.md")
                elif kind == 3:
                    team.delete("sub/y.md")
                else:
                    team.write("sub/x.md", b"inside", durable=False)
                return not self.untouched()

            return _counted(tries, change)

    def naive_reads(self, tries: int) -> Swaps:
        """Read as is often done: resolve, compare, open by name. It shows that the attack works."""
        root, path = os.path.realpath(self.team), str(self.team / "sub" / "x.md")

        def read(_: int) -> bool:
            real = os.path.realpath(path)
            if os.path.commonpath([root, real]) != root:
                raise PermissionError(path)
            with open(path, "rb") as file:
                return file.read() == SECRET

        return _counted(tries, read)


def _counted(tries: int, use: Callable[[int], bool]) -> Swaps:
    found = [_one(use, number) for number in range(tries)]
    return Swaps(found.count("inside"), found.count("refused"), found.count("escaped"))


def _one(use: Callable[[int], bool], number: int) -> str:
    try:
        return "escaped" if use(number) else "inside"
    except (MemoryProblem, OSError):
        return "refused"


SHARED = [f"shared/s{number}.md" for number in range(8)]

WRITER = """
import json, os, random, sys, time
from keepthread.memory import Conflict, Entry, LockTimeout, Memory, NotFound
root, cache, log, name, seconds = sys.argv[1:6]
out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
def note(*what): os.write(out, (json.dumps(what) + "\\n").encode())
rng, own, until = random.Random(name), [], time.monotonic() + float(seconds)
memory = Memory.open(root, cache=cache)
number = 0
while time.monotonic() < until:
    number += 1
    kind = rng.choice(("add", "add", "edit", "share", "share", "rm", "mv"))
    key = f"{name}/e{number}.md" if kind == "add" or not own else rng.choice(own)
    try:
        if kind == "share":
            key, line = rng.choice(json.loads(sys.argv[6])), f"{name}-{number}"
            for _ in range(200):
                now = memory.show(key)
                try:
                    memory.edit(key, Entry(body=now.entry.body + line + "\\n", type="project"), now.version)
                except Conflict:
                    continue
                note("shared", key, line)
                break
        elif kind == "add" or not own:
            body = f"{name} {number} " + "x" * rng.randrange(4000) + "\\nend\\n"
            note("begin", key)
            memory.add(key, Entry(body=body, type="project"))
            note("is", key, body)
            own.append(key)
        elif kind == "edit":
            body = f"{name} edited {number} " + "y" * rng.randrange(4000) + "\\nend\\n"
            note("begin", key)
            memory.edit(key, Entry(body=body, type="project"), memory.show(key).version)
            note("is", key, body)
        elif kind == "mv":
            new = f"{name}/m{number}.md"
            body = memory.show(key).entry.body
            note("begin", key); note("begin", new)
            memory.mv(key, new)
            note("gone", key); note("is", new, body)
            own.remove(key); own.append(new)
        else:
            note("begin", key)
            memory.rm(key)
            note("gone", key)
            own.remove(key)
    except LockTimeout:
        note("timeout", key)
"""


class Crowd(NamedTuple):
    """What a crowd of writers left: changes acknowledged, and everything that would be wrong."""

    acknowledged: int
    killed: int
    lost: int
    undeleted: int
    torn: int
    crashed: int
    stale_lock: int
    inconsistent: int
    timeouts: int

    def faults(self) -> int:
        """Return the sum of what may not happen. A timeout is an answer, not a fault."""
        return sum(self[2:8])


def crowd(base: Path, processes: int, seconds: float) -> Crowd:
    """Let processes add, edit, move and delete for a while, and kill a tenth of them at random moments."""
    root, logs = base / "team", base / "logs"
    logs.mkdir(parents=True)
    cache = str(base / "cache.json")
    with Memory.open(str(root), create=True, cache=cache) as memory:
        for key in SHARED:
            memory.add(key, Entry(body="start\n", type="project"))
    running = [
        subprocess.Popen(
            [
                *(sys.executable, "-c", WRITER, str(root), cache, str(logs / f"p{number}")),
                *(f"p{number}", str(seconds), json.dumps(SHARED)),
            ],
            env=ENV,
            stderr=subprocess.DEVNULL,
        )
        for number in range(processes)
    ]
    doomed = random.Random(processes).sample(running, max(1, processes // 10))
    for process in doomed:
        _wait_for_some(logs, 2 * processes)
        time.sleep(random.Random(process.pid).uniform(0, seconds / len(doomed)))
        process.send_signal(signal.SIGKILL)
    codes = [process.wait() for process in running]
    return _outcome(base, logs, codes)


def _wait_for_some(logs: Path, lines: int) -> None:
    """Wait until the writers are at work, on however slow a machine."""
    for _ in range(600):
        if sum(path.read_bytes().count(b"\n") for path in logs.iterdir()) >= lines:
            return
        time.sleep(0.05)


def _outcome(base: Path, logs: Path, codes: list[int]) -> Crowd:
    is_now, gone, pending, shared, timeouts, done = {}, set(), set(), [], 0, 0
    for path in logs.iterdir():
        for line in path.read_text().splitlines():
            kind, key, *more = json.loads(line)
            done += kind in ("is", "gone", "shared")
            timeouts += kind == "timeout"
            if kind == "begin":
                pending.add(key)
            elif kind == "shared":
                shared.append((key, more[0]))
            elif kind in ("is", "gone", "timeout"):
                pending.discard(key)
                if kind == "is":
                    is_now[key] = more[0]
                    gone.discard(key)
                elif kind == "gone":
                    is_now.pop(key, None)
                    gone.add(key)
    with Memory.open(str(base / "team"), cache=str(base / "cache.json")) as memory:
        memory._wait = 1.0
        try:
            memory.add("last.md", Entry(body="last\n", type="project"))
            stale = 0
        except MemoryProblem:
            stale = 1
        texts, torn = {}, 0
        for key, data, _ in memory.directory.read_all():
            if key == "MEMORY.md":
                continue
            try:
                texts[key] = entries.decoded(data).body
            except BadEntry:
                torn += 1
        torn += sum(
            not text.endswith("end\n") for key, text in texts.items() if key.startswith("p")
        )
        fresh = Memory(memory.directory).rows().rows
        listed = memory.directory.read("MEMORY.md").decode()
        wrong = (memory.rows().rows != fresh) + (listed != index.markdown(fresh, utc_now()))
    lost = sum(texts.get(key) != body for key, body in is_now.items() if key not in pending)
    lost += sum(line not in texts[key].splitlines() for key, line in shared)
    crashed = sum(code not in (0, -signal.SIGKILL) for code in codes)
    killed = sum(code == -signal.SIGKILL for code in codes)
    undeleted = len((gone - pending) & set(texts))
    return Crowd(done, killed, lost, undeleted, torn, crashed, stale, wrong, timeouts)
