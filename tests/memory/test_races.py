"""Other processes at the same time: attackers who swap folders, and writers who are killed."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable

import pytest

from tests.support.fuzzed import SCALE
from tests.support.memory_stress import Arena, Swaps, crowd

needs_exchange = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "renameat2"),
    reason="swaps two names in one call, as only Linux does",
)


def both_ways(swaps: Swaps) -> bool:
    """Return whether the folder was met as itself and as a link."""
    return min(swaps.inside, swaps.refused) > 0


def repeated(attack: Callable[[], Swaps], is_enough: Callable[[Swaps], bool]) -> Swaps:
    """Attack until both sides had their turn: on a loaded machine the swapper may sleep through a round."""
    rounds = [attack()]
    while not is_enough(total := Swaps(*map(sum, zip(*rounds, strict=True)))) and len(rounds) < 20:
        rounds.append(attack())
    return total


@needs_exchange
def test_a_folder_swapped_for_a_link_all_the_time_lets_nothing_out(tmp_path):
    """F34 and F36: the naive way leaks, which proves that the attack works; ours never does."""
    arena = Arena(tmp_path)
    with arena.swapping():
        naive = repeated(lambda: arena.naive_reads(3000), lambda swaps: swaps.escaped > 0)
        reads = repeated(lambda: arena.reads(int(3000 * SCALE)), both_ways)
        writes = repeated(lambda: arena.writes(int(600 * SCALE)), both_ways)

    assert naive.escaped > 0
    assert reads.escaped == writes.escaped == 0
    assert min(reads.inside, reads.refused, writes.inside, writes.refused) > 0
    assert arena.untouched()


def test_a_crowd_of_writers_of_whom_some_are_killed_loses_nothing(tmp_path):
    """F42: every acknowledged change is there, no file is torn, no lock is left, the index fits."""
    outcome = crowd(tmp_path, processes=6, seconds=3 * SCALE)

    assert outcome.killed == 1
    assert outcome.acknowledged > 10
    assert outcome.faults() == 0, outcome
