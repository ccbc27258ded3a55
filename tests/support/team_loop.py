"""A team that works against itself: three members change the same entries, sync, are cut off and are killed."""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from pathlib import Path
from typing import NamedTuple

from keepthread.errors import KeepthreadError
from keepthread.memory.entries import Entry
from keepthread.memory.errors import NotFound
from tests.support.team_clones import Clone, bare, git, texts

KEYS = [f"{folder}e{number}.md" for folder in ("", "http/", "http/deep/") for number in range(3)]
SETTLED = 6  # rounds after which everybody has to have everything


class Loop(NamedTuple):
    """What a loop came to: the work done, and what may not be."""

    changes: int
    syncs: int
    at_once: int
    killed: int
    offline: int
    raced: int
    kept_versions: int
    seconds_of_sync: float
    lost: int
    diverged: int
    unclean: int
    refused: int

    def faults(self) -> int:
        """Return the sum of what may not happen."""
        return self.lost + self.diverged + self.unclean + self.refused


class Team:
    """Three clones of one bare remote.

    A text is lost when it was acknowledged, nobody changed or deleted it where it stood, and it is nowhere at the end.
    """

    def __init__(self, base: Path, seed: int) -> None:
        self.base = base
        self.remote = bare(base / "remote.git")
        self.clones = [Clone(base, name, self.remote) for name in ("ada", "bob", "cyd")]
        self.rng = random.Random(seed)
        self.acknowledged: set[str] = set()
        self.replaced: set[str] = set()
        self.counts = dict.fromkeys(
            ("changes", "syncs", "at_once", "killed", "offline", "raced", "refused"), 0
        )
        self.seconds = 0.0

    def change(self, clone: Clone) -> None:
        """Add, change or delete an entry; what was acknowledged is remembered."""
        self.counts["changes"] += 1
        text = f"{clone.name} {self.counts['changes']}"
        with clone.memory() as memory:
            there = [row.key for row in memory.rows().rows if not row.problem]
            key = self.rng.choice([*there, *KEYS] if there else KEYS)
            try:
                old = memory.show(key)
            except NotFound:
                memory.add(key, _entry(text))
                self.acknowledged.add(text)
                return
            if self.rng.random() < 0.25:
                memory.rm(key, old.version)
            else:
                memory.edit(key, _entry(text), old.version)
                self.acknowledged.add(text)
            self.replaced.add(old.entry.body.strip())

    def sync(self, clone: Clone) -> None:
        """Sync in this process."""
        before = time.perf_counter()
        self.counts["syncs"] += 1
        self.counts["offline"] += clone.sync().outcome == "offline"
        self.seconds += time.perf_counter() - before

    def race(self) -> None:
        """Let all sync at once."""
        running = [clone.start() for clone in self.clones]
        for process in running:
            out, err = process.communicate(timeout=120)
            self.counts["syncs"] += 1
            self.counts["at_once"] += 1
            if process.returncode:
                self.counts["refused"] += 1
                sys.stderr.write(err)  # told when the loop fails
            else:
                self.counts["raced"] += json.loads(out)["outcome"] == "synced"

    def kill(self, clone: Clone, longest: float) -> None:
        """Kill a sync at a random moment; change something meanwhile."""
        process = clone.start()
        self.change(clone)
        time.sleep(self.rng.uniform(0.05, longest))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        self.counts["killed"] += process.returncode == -signal.SIGKILL

    def cut_off(self) -> None:
        """Let everybody work while the remote is away."""
        away = self.remote.rename(self.base / "away.git")
        for clone in self.clones:
            self.change(clone)
            self.sync(clone)
        away.rename(self.remote)

    def outcome(self) -> Loop:
        """Let everybody sync until nothing moves any more, and say what is there."""
        for _ in range(SETTLED):
            for clone in self.clones:
                self.sync(clone)
        copies = [clone.texts() for clone in self.clones]
        bodies = set(self.clones[0].bodies().values())
        heads = {git(clone.team, "rev-parse", "HEAD") for clone in self.clones}
        return Loop(
            **self.counts,
            kept_versions=sum("(version " in key for key in copies[0]),
            seconds_of_sync=self.seconds,
            lost=len(self.acknowledged - self.replaced - bodies),
            diverged=sum(copy != texts(self.remote) for copy in copies) + (len(heads) != 1),
            unclean=sum(bool(clone.status()) for clone in self.clones),
        )


def _entry(text: str) -> Entry:
    return Entry(body=f"{text}\n", type="project")


def loop(base: Path, rounds: int, seed: int = 1, longest: float = 0.5) -> Loop:
    """Run some rounds: changes everywhere, then syncs one after the other, at once, killed, or without a remote.

    Args:
        base: an empty folder.
        rounds: how many.
        seed: of what happens.
        longest: seconds after which a sync is killed at the latest.
    """
    team = Team(base, seed)
    for number in range(rounds):
        for clone in team.clones:
            for _ in range(team.rng.randrange(3)):
                team.change(clone)
        kind = number % 4
        if kind == 0:
            team.race()
        elif kind == 1:
            team.kill(team.rng.choice(team.clones), longest)
        elif kind == 2 and number % 8 == 2:
            team.cut_off()
        else:
            for clone in team.rng.sample(team.clones, 2):
                _patiently(team, clone)
    return team.outcome()


def _patiently(team: Team, clone: Clone) -> None:
    try:
        team.sync(clone)
    except KeepthreadError as problem:
        sys.stderr.write(f"{problem}\n")
        team.counts["refused"] += 1
