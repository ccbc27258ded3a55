"""The page's data: timelines and scores out of the transcripts, handoffs and runs out of the state folder."""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, cast

from keepthread import log, redact
from keepthread.errors import KeepthreadError
from keepthread.evaluate.page.model import Compaction, Report, Runs, Session
from keepthread.evaluate.page.stored import stored
from keepthread.evaluate.page.totals import totals
from keepthread.evaluate.run import Progress, evaluate
from keepthread.evaluate.score import Score
from keepthread.evaluate.timeline import Timeline, read_timeline
from keepthread.handoff.user_secrets import user_secrets
from keepthread.host.locations import config_dir, project_root, state_dir
from keepthread.host.sessions import project_sessions
from keepthread.host.windows import window_of

MOST_SESSIONS = 50
MOST_SCORED = 100_000_000  # bytes; scoring takes about a second per megabyte
_LOG_LINES = 20_000
_RUNS = frozenset(("worker", "handoff"))


def collect(
    env: Mapping[str, str],
    cwd: str,
    *,
    most: int = MOST_SESSIONS,
    jobs: int | None = None,
    progress: Progress | None = None,
    now: float | None = None,
) -> Report:
    """Return what there is to show of the project at `cwd`; nothing is changed and nothing leaves the machine.

    Args:
        env: the process environment; the values of its secret variables are redacted.
        cwd: a folder of the project.
        most: how many of the newest transcripts are looked at.
        jobs: processes that measure; as many as there are processors when None.
        progress: told how many steps of how many are done: reading a transcript is one, measuring it another.
        now: seconds since 1970; the clock's when None.

    Raises:
        KeepthreadError: the project has no session, or there is no configuration folder.
    """
    folder, state = config_dir(env), state_dir(env)
    root = project_root(env, cwd)
    paths = _transcripts(folder, cwd, root)
    timelines, unread = _timelines(paths[:most], progress)
    scores = _scores(timelines, jobs, progress, len(timelines) + len(unread))
    runs = _runs(state)
    spoken = [path for path, timeline in timelines.items() if timeline["answers"]]
    sessions = [
        _session(path, timelines[path], scores, stored(state, _id(path)), runs) for path in spoken
    ]
    report: Report = {
        "project": os.path.basename(root or cwd) or cwd,
        "folder": root or cwd,
        "made": int(time.time() if now is None else now),
        "found": len(paths),
        "silent": len(timelines) - len(spoken),
        "unread": unread,
        "sessions": sessions,
        "totals": totals(sessions),
    }
    return _redacted(report, user_secrets(env))


def _transcripts(folder: str, cwd: str, root: str) -> list[str]:
    """Return the transcripts of sessions that were started in the folder or at the project's root, newest first."""
    found = project_sessions(folder, cwd)
    if root and root != cwd:
        found = sorted({*found, *project_sessions(folder, root)}, key=_changed, reverse=True)
    if not found:
        raise KeepthreadError(
            f"No session of {root or cwd} was found",
            "Run it in the folder in which the sessions were started.",
        )
    return found


def _timelines(
    paths: Sequence[str], progress: Progress | None
) -> tuple[dict[str, Timeline], list[str]]:
    found, unread = {}, []
    for number, path in enumerate(paths, 1):
        timeline = _timeline(path)
        if isinstance(timeline, str):
            unread.append(f"{os.path.basename(path)}: {timeline}")
        else:
            found[path] = timeline
        if progress is not None:
            progress(number, 2 * len(paths))  # how many will be measured is not known yet
    return found, unread


def _timeline(path: str) -> Timeline | str:
    try:
        return read_timeline(path)
    except OSError as problem:  # it went away, or belongs to somebody else
        return problem.strerror or str(problem)


def _scores(
    timelines: Mapping[str, Timeline], jobs: int | None, progress: Progress | None, read: int
) -> dict[tuple[str, int], Score]:
    paths = [path for path, timeline in timelines.items() if timeline["folds"]]
    small = [path for path in paths if _size(path) <= MOST_SCORED]

    def step(done: int, total: int) -> None:
        if progress is not None:
            progress(read + done, read + total)

    if not small:
        step(0, 0)
        return {}
    result = evaluate(small, jobs=jobs, progress=step)
    return {(score["file"], score["ordinal"]): score for score in result.boundaries}


def _session(
    path: str,
    timeline: Timeline,
    scores: Mapping[tuple[str, int], Score],
    handoff: Any,
    runs: Mapping[str, list[Runs]],
) -> Session:
    compactions: list[Compaction] = [
        {"fold": fold, "score": scores.get((path, fold.ordinal))} for fold in timeline["folds"]
    ]
    return {
        "id": _id(path),
        "size": _size(path),
        "timeline": timeline,
        "window": window_of(timeline["model"]),
        "compactions": compactions,
        "handoff": handoff,
        "runs": runs.get(_id(path), []),
    }


def _runs(state: str) -> dict[str, list[Runs]]:
    """Return what the log says of workers and of handoffs on demand, by session."""
    counts: Counter[tuple[str, ...]] = Counter()
    seconds: dict[tuple[str, ...], float] = defaultdict(float)
    for line in log.read(state, limit=_LOG_LINES):
        key = tuple(
            str(line.get(name, "")) for name in ("session", "event", "outcome", "reason", "engine")
        )
        took = line.get("seconds")
        if key[1] in _RUNS:
            counts[key] += 1
            seconds[key] += took if isinstance(took, (int, float)) else 0.0
    found: dict[str, list[Runs]] = defaultdict(list)
    for key, count in sorted(counts.items()):
        session, what, outcome, reason, engine = key
        found[session].append(
            {
                "what": what,
                "outcome": outcome,
                "reason": reason,
                "engine": engine,
                "count": count,
                "seconds": round(seconds[key], 2),
            }
        )
    return found


def _redacted(report: Report, secrets: Sequence[str]) -> Report:
    """Take the secrets out of every text; the points, of which there are thousands, are figures alone."""
    figures = [(session["timeline"], session["compactions"]) for session in report["sessions"]]
    bare = {
        **report,
        "sessions": [
            {
                **session,
                "timeline": {**session["timeline"], "points": []},
                "compactions": [],
            }
            for session in report["sessions"]
        ],
    }
    clean = cast(Report, redact.document(bare, secrets))
    for session, (timeline, compactions) in zip(clean["sessions"], figures, strict=True):
        session["timeline"]["points"] = timeline["points"]
        session["timeline"]["folds"] = timeline["folds"]
        session["compactions"] = compactions
    return clean


def _id(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0  # it went away meanwhile


def _changed(path: str) -> float:
    try:
        return os.path.getmtime(path)
    except OSError:
        return 0.0
