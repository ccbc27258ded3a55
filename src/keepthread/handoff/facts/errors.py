"""Errors that still stand: after them neither the same command nor the same edit has succeeded."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keepthread.handoff.facts import calls, commands
from keepthread.handoff.facts.commands import Run
from keepthread.handoff.facts.paths import Paths
from keepthread.handoff.facts.shell import shown
from keepthread.handoff.facts.text import lazy, source
from keepthread.handoff.model import Handoff, StandingError
from keepthread.handoff.wording import aged
from keepthread.transcript.model import Call, Item, Place

MOST = 8
_MOST_CARRIED = 3
_FRESH = 40  # items; older failures of one-off scripts have been given up
_LONGEST = 400
_HARMLESS = lazy(
    r"has not been read yet|has been modified since|Sibling tool call errored|Input ?Validation ?Error"
    r"|Invalid arguments for tool|No such tool"
    r"|Cancelled|was cancelled|String to replace not found|Found \d+ matches of the string|No changes to make"
    r"|No task found|File does not exist|EISDIR|exceeds maximum allowed|The user doesn't want|Path does not exist"
    r"|hook (?:error|returned)|blocked by|Request failed with status code|Unable to verify|user-rejected|Blocked:",
    re.IGNORECASE,
)
_MISTYPED = lazy(
    r"command not found|unrecognized (?:subcommand|arguments)|unknown (?:command|option)|not recognized as"
)
_EMPTY_FAILURE = lazy(r"\s*(?:Exit code \d+)?\s*")
_TELLING = lazy(
    r"error|fail|exception|traceback|panic|fatal|denied|refused|not found|no such"
    r"|cannot|can't|undefined|unexpected|expected|assert|missing|invalid|unresolved|ERR!|E\d{3,5}\b|TS\d{3,5}",
    re.IGNORECASE,
)
_NOISE = lazy(
    r"^\s*(?:at .+:\d+|\^+|[-=_~*#.\s|]+|File \".*\", line \d+.*|npm (?:ERR!|error) A complete log.*"
    r"|\[keepthread: .*)$"  # what a shortened result says of itself
)
_TAG = lazy(r"</?(?:tool_use_error|error|stderr|stdout)>")


class Failure(NamedTuple):
    """One failed call: when, what the document will say, and whether it matters long after."""

    at: int
    error: StandingError
    lasting: bool = True


def standing(items: Sequence[Item], every: Sequence[Run], paths: Paths) -> list[StandingError]:
    """Return the errors nothing has cleared since, latest first."""
    open_failures = [
        each for each in _shell_failures(every) if each.lasting or len(items) - each.at <= _FRESH
    ]
    open_failures += [
        each
        for each in _tool_failures(items, paths)
        if each.lasting or len(items) - each.at <= _FRESH
    ]
    latest = sorted(open_failures, key=lambda failure: -failure.at)
    return [failure.error for failure in latest[:MOST]]


def carried(previous: Handoff, every: Sequence[Run], now: str) -> list[StandingError]:
    """Return the failed checks of the previous handoff that no run since has settled or repeated, with their age."""
    written = previous["meta"]["generated_at"]
    found: list[StandingError] = []
    for error in previous["facts"]["errors"]:
        failed = _run_of(error)
        if failed is None or any(_settles(run, failed) for run in every):
            continue
        found.append({**error, "error": aged(error["error"], written, now)})
    return found[:_MOST_CARRIED]


def _run_of(error: StandingError) -> Run | None:
    """Return the check that an error of an earlier handoff tells of, None when it is none or not told whole."""
    told = Call("", "Bash", {"command": error["what"]}, Place(0, ""))
    run = next(iter(commands.runs([told])), None)
    whole = run is not None and bool(run.tool) and not error["what"].endswith("…")
    return run if whole else None


def _settles(run: Run, failed: Run) -> bool:
    if run.outcome not in ("ok", "failed"):
        return False
    return run.key == failed.key or _covers(run, failed)


def telling(text: str, limit: int = _LONGEST) -> str:
    """Return the lines of an error output that tell most, in their order, within `limit` characters."""
    text = _TAG.sub("", text).strip()
    lines = [
        line.strip()
        for line in text[-16_000:].splitlines()
        if line.strip() and not _NOISE.match(line)
    ]
    lines = list(dict.fromkeys(lines))
    if len(" ".join(lines)) <= limit:
        return "\n".join(lines)
    picked = [index for index, line in enumerate(lines) if _TELLING.search(line)] or list(
        range(len(lines))
    )
    # The first error is the cause, the last line the sum.
    wanted = dict.fromkeys([*picked[:3], *picked[-2:], len(lines) - 1])
    chosen: list[int] = []
    room = limit
    for index in wanted:
        size = min(len(lines[index]), limit // 2) + 1
        if size <= room:
            chosen.append(index)
            room -= size
    return "\n".join(lines[index][: limit // 2] for index in sorted(chosen))


def _shell_failures(every: Sequence[Run]) -> list[Failure]:
    open_runs: dict[str, Run] = {}
    for run in every:
        if run.outcome == "ok":
            for key in [key for key, failed in open_runs.items() if _clears(run, failed)]:
                del open_runs[key]
        elif run.outcome == "failed" and not _harmless_run(run):
            # What the newer run covers is as it says now.
            for key in [key for key, failed in open_runs.items() if _covers(run, failed)]:
                del open_runs[key]
            open_runs.pop(run.key, None)
            open_runs[run.key] = run
    return [Failure(run.at, _run_error(run), lasting=_lasts(run)) for run in open_runs.values()]


def _lasts(run: Run) -> bool:
    """Return whether a failure is one of a command that will be run again, not of a script written for the moment."""
    if run.call and run.call.result and _MISTYPED.search(run.call.result.text[:600]):
        return False
    grouped = any(piece.program in commands.GROUPED for piece in run.pieces)
    return bool(run.tool) or ("\n" not in run.command and grouped)


def _run_error(run: Run) -> StandingError:
    text = run.call.result.text if run.call and run.call.result else ""
    return {
        "what": shown(run.command, 200),
        "error": telling(text) or run.result,
        "source": run.source,
    }


def _clears(run: Run, failed: Run) -> bool:
    """Return whether a success settles an earlier failure: same command, the same check no narrower, a retry."""
    if run.key == failed.key:
        return True
    if failed.tool:
        return _covers(run, failed)
    return bool(failed.families) and failed.families <= run.families


def _covers(run: Run, failed: Run) -> bool:
    """Return whether a run is the same check, of everything or at least of what the other one looked at."""
    same = bool(failed.tool) and run.tool == failed.tool and run.picks <= failed.picks
    return same and (not run.targets or (bool(failed.targets) and failed.targets <= run.targets))


def _harmless_run(run: Run) -> bool:
    text = run.call.result.text if run.call and run.call.result else ""
    if run.looking or _HARMLESS.search(text[:600]):
        return True
    return not run.tool and bool(_EMPTY_FAILURE.fullmatch(text[:200]))


def _tool_failures(items: Sequence[Item], paths: Paths) -> list[Failure]:
    open_failures: dict[str, Failure] = {}
    for at, item in enumerate(items):
        if (
            not isinstance(item, Call)
            or item.name in calls.SHELLS
            or item.result is None
            or item.result.rejected
        ):
            continue
        key = _key(item, paths)
        if not item.result.is_error:
            open_failures.pop(key, None)
        elif not _is_harmless_tool(item):
            what = calls.named(item, 200)
            error: StandingError = {
                "what": what,
                "error": telling(item.result.text),
                "source": source(item.result.place),
            }
            open_failures.pop(key, None)
            open_failures[key] = Failure(at, error, lasting=calls.is_edit(item))
    return list(open_failures.values())


def _key(call: Call, paths: Paths) -> str:
    path = paths.show(calls.path_of(call), call.cwd)
    if calls.is_edit(call):
        return f"edit {path}"
    return f"{call.name} {path or calls.argument_of(call)}"


def _is_harmless_tool(call: Call) -> bool:
    if call.result is None or call.name in calls.READERS or call.name in calls.SEARCHERS:
        return True
    text = call.result.text
    if calls.is_edit(call) and "String to replace not found" in text:
        # The edit was wanted; only a later success of the same file clears it.
        return False
    return bool(_HARMLESS.search(text[:600])) or not text.strip()


def settled(checks: Sequence[Run]) -> Mapping[str, list[str]]:
    """Return what works and what is broken, from the last run of each check: {"works": [...], "broken": [...]}."""
    found: dict[str, list[str]] = {"works": [], "broken": []}
    for run in checks[:8]:
        words = f"{shown(run.check, 120)}: {run.result}" if run.result else shown(run.check, 120)
        found["works" if run.outcome == "ok" else "broken"].append(words)
    return found
