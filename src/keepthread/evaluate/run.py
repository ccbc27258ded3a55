"""The evaluation over files and folders, in several processes. Nothing leaves the machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple, TypedDict

from keepthread.errors import KeepthreadError
from keepthread.evaluate.needed import compactions
from keepthread.evaluate.score import Score, score
from keepthread.evaluate.systems import chain

Progress = Callable[[int, int], None]


class Unread(TypedDict):
    """A file that could not be evaluated, and why."""

    file: str
    error: str


class Result(NamedTuple):
    """What was found: every boundary in the order of files and ordinals, and what the run took."""

    boundaries: list[Score]
    unread: list[Unread]
    files: int
    megabytes: float
    seconds: float


class _Share(NamedTuple):
    """What one file came to."""

    boundaries: list[Score]
    error: str
    size: int


def evaluate(
    paths: Sequence[str],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    show: bool = False,
) -> Result:
    """Evaluate the transcripts at `paths`.

    Args:
        paths: transcripts, or folders that are searched for them.
        jobs: processes to use; as many as the machine has processors when None, which is also the most.
        progress: told how many files of how many are done.
        show: add what was missed to the counts.

    Raises:
        KeepthreadError: a path does not exist, or no transcript lies there.
    """
    started = time.perf_counter()
    files = transcripts(paths)
    processors = os.cpu_count() or 1
    workers = max(1, min(jobs or processors, processors, len(files)))
    boundaries: list[Score] = []
    unread: list[Unread] = []
    size = 0
    for number, (file, share) in enumerate(
        zip(files, _shares(files, workers, show), strict=True), 1
    ):
        boundaries += share.boundaries
        unread += [Unread(file=file, error=share.error)] if share.error else []
        size += share.size
        if progress is not None:
            progress(number, len(files))
    return Result(boundaries, unread, len(files), size / 1_000_000, time.perf_counter() - started)


def transcripts(paths: Iterable[str]) -> list[str]:
    """Return the session files that the paths name or hold, sorted; subagents' files are none.

    Raises:
        KeepthreadError: a path does not exist, or no transcript lies there.
    """
    found: set[str] = set()
    for path in paths:
        if os.path.isdir(path):
            found.update(_below(path))
        elif os.path.exists(path):
            found.add(path)
        else:
            raise KeepthreadError(
                f"{path}: there is no such file or folder",
                "Name a transcript or a folder of them; Claude Code's own lie in ~/.claude/projects.",
            )
    if not found:
        raise KeepthreadError(
            "No transcripts found",
            "Name .jsonl files of sessions, or folders that hold such files.",
        )
    return sorted(found)


def _below(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "subagents"]
        for name in names:
            file = os.path.join(place, name)
            if name.endswith(".jsonl") and not name.startswith("agent-") and os.path.isfile(file):
                yield file


def _shares(files: Sequence[str], workers: int, show: bool) -> Iterator[_Share]:
    """Yield each file's share, in the order of the files."""
    if workers == 1:
        yield from (_evaluated(file, show) for file in files)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(_evaluated, files, [show] * len(files), chunksize=1)


def _evaluated(file: str, show: bool) -> _Share:
    try:
        found = compactions(file)
        scores = [
            score(compaction, texts, show=show)
            for compaction, texts in zip(found, chain(found), strict=True)
        ]
        return _Share(scores, "", os.path.getsize(file))
    except KeepthreadError as error:
        return _Share([], error.message, 0)
    except OSError as error:  # the file went away, or its disk did
        return _Share([], error.strerror or str(error), 0)
