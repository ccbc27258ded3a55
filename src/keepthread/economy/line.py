"""The one line for the host's status line: context, distance to compaction, handoff. Standard library only, and light.

Made of the host's own numbers, of the state files of the session, and of the last 256 KB of its transcript.
"""

from __future__ import annotations

import os
import time

from keepthread import log
from keepthread.economy.pace import Pace, pace
from keepthread.errors import KeepthreadError
from keepthread.handoff import inject
from keepthread.handoff.alive import running
from keepthread.host import windows
from keepthread.host.locations import config_dir, project_root, session_dir, state_dir
from keepthread.host.thresholds import Thresholds, thresholds
from keepthread.transcript.parse import reported

TYPE_CHECKING = False
if TYPE_CHECKING:  # loading typing costs a hook more than everything else here
    from collections.abc import Mapping
    from typing import Any

_BETWEEN = " | "
_WIDEST, _NARROWEST = 120, 20  # columns
_LOG = 16 * 1024  # bytes of the log in which a failure is looked for
_FRESH = 3_600  # seconds for which a failure is marked
_NEVER = 1e11  # seconds since 1970; NaN and what is larger than this are no time
_QUIET = (None, "engine_facts")  # reasons that are none


def status_line(raw: Mapping[str, Any], session: str, env: Mapping[str, str]) -> str:
    """Return what the host shows as its status line for a session, as wide as the terminal.

    Args:
        raw: what the host gives its status line: `model.id`, `context_window` with `context_window_size` and
            `current_usage` (null after a compaction), `transcript_path`, `cwd`; anything of it may be missing.
        session: the session's id, "" when there is none.
        env: the environment; the host hands on what its settings put there.
    """
    path, cwd = raw.get("transcript_path"), raw.get("cwd")
    path, cwd = path if isinstance(path, str) else "", cwd if isinstance(cwd, str) else ""
    last = pace(path) if path else Pace()
    given = raw.get("context_window")
    given = given if isinstance(given, dict) else {}
    tokens = reported(given.get("current_usage"))
    if "current_usage" not in given:  # an older host, or a terminal
        tokens = last.tokens
    try:
        folder, state = config_dir(env), state_dir(env)
    except KeepthreadError:
        folder = state = ""
    point = _point(raw, given.get("context_window_size"), last, env, folder, cwd)
    parts = _context(tokens, point, last)
    if state:
        settings = inject.settings(state, env)
        parts += _handoff(state, session, settings, env, cwd)
        parts += _large(path, settings.get("max_transcript_bytes"))
    return _fitted(parts, env.get("COLUMNS", ""))


def _point(
    raw: Mapping[str, Any],
    size: object,
    last: Pace,
    env: Mapping[str, str],
    folder: str,
    cwd: str,
) -> Thresholds:
    """Return the thresholds of the model at hand."""
    model = raw.get("model")
    name = model.get("id") if isinstance(model, dict) else None
    name = name if isinstance(name, str) and name else last.model
    if size == windows.MILLION and windows.window_of(name) == windows.SHORT:
        name += windows.LONG
    project = project_root(env, cwd)
    paths = [os.path.join(folder, "settings.json")] if folder else []
    if project:
        inner = os.path.join(project, ".claude")
        paths += [os.path.join(inner, one) for one in ("settings.json", "settings.local.json")]
    return thresholds(name, env, [inject.read_json(path) or {} for path in paths])


def _context(tokens: int, point: Thresholds, last: Pace) -> list[str]:
    window = point.model_window if point.window_source != "unknown" else 0
    if not tokens:
        first = "context unknown" if last.crossed or last.cut or last.tokens else "context new"
    elif window:
        first = f"context {tokens / window:.0%} of {_short(window)}"
    else:
        first = f"context {_short(tokens)}"
    if not point.model:
        return [first]
    if not point.enabled:
        return [first, "compaction off"]
    if point.threshold is None:
        return [first, "compacts when the API refuses"]
    if not tokens:
        return [first, f"compacts at {_short(point.threshold)}"]
    left = point.threshold - tokens
    if left <= 0:
        return [first, "compaction due"]
    turns = f", ~ est {left // last.growth} turns" if last.growth else ""
    return [first, f"{_short(left)} to compaction{turns}"]


def _handoff(
    state: str, session: str, settings: dict[str, Any], env: Mapping[str, str], cwd: str
) -> list[str]:
    """Return the handoff's kind and age, and a mark when the last attempt failed."""
    if inject.is_off(settings, env, cwd):
        return ["keepthread off"]
    if not session:
        return []
    folder = session_dir(state, session)
    context = inject.read_json(os.path.join(folder, "context.json")) or {}
    kind = context.get("status")
    if kind not in ("complete", "partial"):
        parts = ["no handoff yet"]
    else:
        parts = [f"handoff {kind} {_age(context.get('generated_epoch'))}"]
    worker = inject.read_json(os.path.join(folder, "worker.json"))
    if running(worker):
        return [*parts, "being written"]
    reason = context.get("reason")
    failed = str(reason) if kind == "partial" and reason not in _QUIET else ""
    failed = failed or _failure(state, session, context.get("generated_at"))
    return [*parts, f"! {_word(failed)}"] if failed else parts


def _failure(state: str, session: str, since: object) -> str:
    """Return what failed last in this session, within the hour and after the handoff; "" when nothing did."""
    oldest = log.stamp(time.time() - _FRESH)
    oldest = max(oldest, since) if isinstance(since, str) else oldest
    mark = f'"session":"{session}"'.encode()
    for line in reversed(log.tail(state, _LOG)):
        if b'"outcome":"failed"' in line and mark in line:
            stamp = line[9:29].decode("ascii", "replace")
            event = line.partition(b'"event":"')[2].partition(b'"')[0].decode("ascii", "replace")
            return f"{event} failed" if stamp > oldest else ""
    return ""


def _large(path: str, most: object) -> list[str]:
    """Return a warning about a transcript over KEEPTHREAD_MAX_TRANSCRIPT_BYTES, as PreCompact stored it."""
    if type(most) is not int or most <= 0 or not path:
        return []
    try:
        size = os.stat(path).st_size
    except (OSError, ValueError):
        return []  # not there yet
    return [f"! transcript {size / 1e6:,.0f} MB"] if size > most else []


def _age(epoch: object) -> str:
    if not isinstance(epoch, (int, float)) or not 0 <= epoch < _NEVER:
        return "of unknown age"
    return span(max(0, int(time.time() - epoch)))


def span(seconds: int) -> str:
    """Return a length of time in its largest unit: "3 d", "2 h", "5 min", "40 s"."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _short(tokens: int) -> str:
    return f"{tokens / 1_000:,.0f}k" if tokens >= 1_000 else str(tokens)


def _word(text: str) -> str:
    """Return what may stand on a terminal of a reason in a state file."""
    return "".join(c if c.isascii() and (c.isalnum() or c in " _-") else "?" for c in text[:40])


def _fitted(parts: list[str], columns: str) -> str:
    """Return as many of the parts as the terminal is wide; the first is always there."""
    told = columns.isascii() and columns.isdigit() and len(columns) < 6
    width = int(columns) if told else _WIDEST
    width = max(_NARROWEST, min(width, _WIDEST))
    line = parts[0]
    for part in parts[1:]:
        if len(line) + len(_BETWEEN) + len(part) <= width:
            line += _BETWEEN + part
    return line[:width]
