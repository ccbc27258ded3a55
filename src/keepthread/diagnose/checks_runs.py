"""What the hooks have done, by the log: do they fire at all, and what failed last."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from keepthread import log
from keepthread.diagnose.check import Check, Place, finding, listed, note
from keepthread.diagnose.registered import Settings
from keepthread.host import manifest, scopes
from keepthread.host.locations import inside_any
from keepthread.host.sessions import project_sessions
from keepthread.memory.session.due import NEW_BYTES

LINES = 20_000  # of the log
_SESSIONS = 20  # of the project, the newest
_HEAD, _TAIL = 64 << 10, 4 << 20  # bytes of a transcript
_BEGAN = re.compile(rb'"timestamp":\s*"([0-9T:.+-]{19,32}Z?)"')
_BOUNDARY = b'"compact_boundary"'
_RECENT = 7 * 86_400.0  # seconds
# Reasons for which a worker's handoff stayed partial although a model was asked.
_FAILED = ("timeout", "no_login", "rate_limit", "overload", "overflow", "bad_answer", "cap")
_ASKING = ("worker", "memory")
_SAME = {"worker": ("worker", "handoff")}  # what shows that it works again
_CHOSEN = ("no_login", "cap")  # states its user may live with: the facts serve
_WHY = (
    "Likely: the folder is not trusted yet (the host then runs no hooks: start `claude` in it and accept), the "
    "session was begun before the installation or with --bare, hooks are off (disableAllHooks, allowManagedHooksOnly), "
    "or the host runs with another CLAUDE_CONFIG_DIR. `/hooks` in a session shows what it has"
)


class _Session(NamedTuple):
    name: str
    compacted: bool
    size: int


def check(
    place: Place, files: Sequence[Settings], entries: Sequence[Mapping[str, Any]]
) -> Iterator[Check]:
    """Yield what the log's `entries`, oldest first, tell of the registered hooks."""
    yield _fired(place, files, entries)
    yield _last_failure(entries, asks_nobody=place.config.engine == "facts")


def _fired(place: Place, files: Sequence[Settings], entries: Sequence[Mapping[str, Any]]) -> Check:
    """Say which hooks left no line for any session of this project that should have run them."""
    name = "hooks fire"
    since = _installed(place, files)
    if since is None:
        return note(name, "nothing to tell it by: nothing is registered in the settings")
    if place.config.disable or inside_any(place.project, place.config.off_projects):
        return note(name, "keepthread is off here")
    if os.path.exists(os.path.join(place.state, log.NAME + ".1")) and entries:
        since = max(since, str(entries[0].get("time", "")))  # what is older was rotated away
    begun = _begun_since(place, since)
    ran: dict[str, set[str]] = {}
    for entry in entries:
        if str(entry.get("time", "")) >= since:
            ran.setdefault(str(entry.get("event")), set()).add(str(entry.get("session")))
    there = {entry.hook.script.removesuffix(".py") for one in files for entry in one.entries}
    expected = {hook: who for hook, who in _expected(begun, place).items() if who and hook in there}
    silent = [hook for hook, who in expected.items() if not who & ran.get(hook, set())]
    if not expected:
        return note(
            name,
            "no session of this project that should have run them began since the installation",
        )
    if not silent:
        return finding(name, True, f"{listed(list(expected))} ran here since the installation")
    told = f"{len(set().union(*expected.values()))} sessions of this project began since the installation"
    detail = f"never ran here: {listed(silent)}, although {told}"
    return finding(
        name,
        False,
        f"{detail}. {_WHY}",
        "Start `claude` in this folder, trust it, and look at /hooks",
    )


def _installed(place: Place, files: Sequence[Settings]) -> str | None:
    """Return when the entries in force were last written, in the form the log has; None without a record of it."""
    times = []
    for one in files:
        if one.known and one.entries:
            key = scopes.place(one.scope, place.folder, place.state, place.project).key
            try:
                times.append(os.stat(manifest.path(place.state, key)).st_mtime)
            except OSError:
                continue  # removed this instant
    return log.stamp(max(times)) if times else None


def _begun_since(place: Place, since: str) -> list[_Session]:
    folders = dict.fromkeys((place.cwd, place.project))
    paths = [path for one in folders if one for path in project_sessions(place.folder, one)]
    found = (_session(path, since) for path in paths[:_SESSIONS])
    return [one for one in found if one]


def _session(path: str, since: str) -> _Session | None:
    """Return a session that began after the installation, None for any other."""
    try:
        size = os.stat(path).st_size
        with open(path, "rb") as file:
            began = _BEGAN.search(file.read(_HEAD))
            if began is None or began[1].decode() < since.rstrip("Z"):
                return None
            file.seek(max(0, size - _TAIL))
            compacted = _BOUNDARY in file.read(_TAIL)
    except OSError:
        return None  # gone, or not to be read
    return _Session(os.path.splitext(os.path.basename(path))[0], compacted, size)


def _expected(begun: Sequence[_Session], place: Place) -> dict[str, set[str]]:
    """Return the sessions in which each hook must have left a line; the other hooks are mostly silent."""
    compacted = {one.name for one in begun if one.compacted}
    keeps = place.config.session_memory != "off"
    long = {one.name for one in begun if one.size > 2 * NEW_BYTES and keeps}
    long = long if len(long) > 1 else set()  # one may be a single turn, which its user broke off
    starts = compacted if "compact" in place.config.sources else set()
    return {
        "pre_compact": compacted,
        "session_start": starts,
        "post_compact": compacted,
        "stop": long,
    }


def failed(entry: Mapping[str, Any]) -> bool:
    """Return whether a line of the log tells of a failure."""
    late = entry.get("event") in _ASKING and entry.get("reason") in _FAILED
    return entry.get("outcome") == "failed" or late


def last_failure(entries: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], bool] | None:
    """Return the last failure of the log, and whether the same went well afterwards; None when nothing failed."""
    for at in range(len(entries) - 1, -1, -1):
        if failed(entries[at]):
            event = entries[at].get("event")
            same = _SAME.get(str(event), (event,))
            return entries[at], any(_went_well(one, same) for one in entries[at + 1 :])
    return None


def _went_well(entry: Mapping[str, Any], events: Sequence[Any]) -> bool:
    return entry.get("event") in events and entry.get("reason") not in _FAILED


def _last_failure(entries: Sequence[Mapping[str, Any]], *, asks_nobody: bool) -> Check:
    name = "last failure"
    found = last_failure(entries)
    if found is None:
        return finding(name, True, f"none in the last {len(entries):,} runs")
    entry, mended = found
    when, event = str(entry.get("time")), entry.get("event")
    what = f"{when} {event}: {entry.get('reason') or entry.get('outcome')}"
    look = f"keepthread logs --since {when}"
    old = when < log.stamp(time.time() - _RECENT)
    over = old or event == "cli" or entry.get("reason") in _CHOSEN
    if mended or over or (asks_nobody and event == "worker"):
        return note(name, f"{what}{'; later runs went well' if mended else ''}", look)
    return finding(name, False, what, f"{look}; {_remedy(entry)}")


def _remedy(entry: Mapping[str, Any]) -> str:
    """Return what ends the finding: the cause mended, and the same done once more."""
    again = "`keepthread handoff`" if entry.get("event") == "worker" else "the next run"
    if entry.get("reason") in _FAILED:
        return f"see `keepthread doctor --live`; {again} that goes well ends this finding"
    return f"{again} that goes well ends this finding"
