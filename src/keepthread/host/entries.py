"""The one table of our hook entries, and the forms in which they stand in the host's settings file.

Install, uninstall and doctor are driven by this table alone, so they cannot disagree about the set.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from keepthread.errors import KeepthreadError

_REFUGE = " || exit 0"
# What Windows runs instead of `python script`, which exits 2 when the script is gone: this does nothing then, and ends
# with 0. No quotation mark, percent or dollar sign in it, whatever reads the command line.
_IF_THERE = (
    "import os,sys; __file__=sys.argv.pop(1); "
    "exec(compile(open(__file__,'rb').read(),__file__,'exec')) if os.path.isfile(__file__) else None"
)
# What stood before the script in exec form: now, and in earlier versions.
_EXEC_FORMS = (["-I", "-c", _IF_THERE], ["-I"])
DEFAULT_SOURCES = ("compact", "resume", "fork")


@dataclass(frozen=True, slots=True)
class Entry:
    """One hook of ours: the event, the script in hooks/, the time limit in seconds.

    `by_source` says that the entry's matcher is the list of KEEPTHREAD_SOURCES; the others have no matcher. `also` are
    starts at which it is needed as well. An entry with `only_for` stands there when that source or feature is wanted;
    `matcher` is a fixed one.
    """

    event: str
    script: str
    timeout: int
    by_source: bool = False
    also: tuple[str, ...] = ()
    only_for: str = ""
    matcher: str = ""


# Those of everyone. A start that puts nothing back still tells of a failure.
ENTRIES = (
    Entry("PreCompact", "pre_compact.py", 75),
    Entry("SessionStart", "session_start.py", 10, by_source=True, also=("startup",)),
    Entry("SessionStart", "session_index.py", 10, by_source=True),
    Entry("SessionStart", "team_memory.py", 10, by_source=True, also=("startup", "clear")),
    Entry("PostCompact", "post_compact.py", 10),
    Entry("UserPromptSubmit", "user_prompt_submit.py", 10),
    Entry("Stop", "stop.py", 10),
)

# Tools whose results may be shortened: what they print is looked at, not edited. Any sign beyond letters, digits,
# "_", "|" and the like makes it a regular expression for the host, and that one is not anchored by itself.
_PRINTING = r"^(?:Bash|PowerShell|Grep|Glob|WebFetch|WebSearch|mcp__.+)$"

# Those of who asked for them. The host gives all hooks of SessionEnd 1.5 s, or the longest limit that one of them has.
OPTIONAL = (
    Entry("SessionEnd", "session_end.py", 10, only_for="clear"),
    Entry("PostToolUse", "post_tool_use.py", 10, only_for="spill", matcher=_PRINTING),
)

# Scripts of this and of every earlier version: what is recognised as ours when the manifest is lost.
SCRIPTS = frozenset(entry.script for entry in (*ENTRIES, *OPTIONAL))
# Not a hook: the host's setting `statusLine` runs it.
LINE = "status_line.py"


@dataclass(frozen=True, slots=True)
class Wanted:
    """An entry as it shall stand in the settings file; `handler` is the JSON object of the hook."""

    event: str
    script: str
    matcher: str | None
    handler: Mapping[str, Any]


def wanted(
    python: str,
    hooks: str,
    sources: Sequence[str] = DEFAULT_SOURCES,
    features: Collection[str] = (),
    *,
    windows: bool = False,
) -> list[Wanted]:
    """Return all entries for one interpreter and one folder of hook scripts.

    Args:
        python: absolute path of the interpreter that has keepthread installed.
        hooks: absolute path of the folder that holds the scripts.
        sources: the SessionStart sources on which the context is given back.
        features: what its user has turned on beyond the main job (`Config.features`).
        windows: exec form, which needs no shell and no quoting.

    Raises:
        KeepthreadError: a path is relative, or has characters that JSON in UTF-8 cannot hold.
    """
    for path in (python, hooks):
        _check_path(path, windows=windows)
    return [
        Wanted(
            entry.event,
            entry.script,
            _matcher(entry, sources),
            handler(entry, python, hooks, windows=windows),
        )
        for entry in entries_for(sources, features)
    ]


def entries_for(sources: Sequence[str], features: Collection[str] = ()) -> list[Entry]:
    """Return the entries that are needed for these sources and features."""
    asked = {"", *sources, *features}
    return [entry for entry in (*ENTRIES, *OPTIONAL) if entry.only_for in asked]


def _matcher(entry: Entry, sources: Sequence[str]) -> str | None:
    if not entry.by_source:
        return entry.matcher or None
    # What a cleared session leaves is offered at the next start, whichever it is.
    also = ("startup",) if "clear" in sources else entry.also
    return "|".join(dict.fromkeys([*sources, *also]))


def handler(entry: Entry, python: str, hooks: str, *, windows: bool = False) -> dict[str, Any]:
    """Return the JSON object of one hook: a shell command on POSIX, program and arguments on Windows."""
    if windows:
        script = hooks.rstrip("\\/") + "\\" + entry.script
        form: dict[str, Any] = {"command": python, "args": ["-I", "-c", _IF_THERE, script]}
    else:
        form = {"command": posix_command(python, hooks.rstrip("/") + "/" + entry.script)}
    return {"type": "command", **form, "timeout": entry.timeout}


def posix_command(python: str, script: str) -> str:
    """Return the shell command that runs a hook script.

    `|| exit 0` is there for the day when the installation is gone: Python exits 2 for a missing script, and the
    host takes 2 as an order to block the compaction.
    """
    return f"{_quoted(python)} -I {_quoted(script)}{_REFUGE}"


def windows_command(python: str, script: str) -> str:
    """Return a shell command for Git Bash, which both it and PowerShell run as long as no path needs quoting."""
    return " ".join(shlex.quote(word.replace("\\", "/")) for word in (python, "-I", script))


def line_command(python: str, hooks: str, *, windows: bool = False) -> str:
    """Return the shell command that runs our status line; the arguments are those of `wanted`.

    Raises:
        KeepthreadError: as `wanted`.
    """
    for path in (python, hooks):
        _check_path(path, windows=windows)
    if windows:
        return windows_command(python, hooks.rstrip("\\/") + "\\" + LINE)
    return posix_command(python, hooks.rstrip("/") + "/" + LINE)


def is_line(command: str) -> bool:
    """Return whether a whole command has a form in which we ever shipped the status line."""
    try:
        words = shlex.split(command)
    except ValueError:
        return False  # quotes that do not close: nothing we ever wrote
    if len(words) not in (3, 6):
        return False
    forms = (posix_command(words[0], words[2]), windows_command(words[0], words[2]))
    return command in forms and bool(_script_of(words[0], words[2], {LINE}))


def shipped_script(hook: Mapping[str, Any]) -> str:
    """Return the script that a hook object runs if it has a form that we ever shipped, else "".

    The whole command must be ours, from the interpreter to the last word: a foreign command that only names one
    of our files is not ours.
    """
    command, args = hook.get("command"), hook.get("args")
    if hook.get("type") != "command" or not isinstance(command, str):
        return ""
    if args is None:
        return _posix_script(command)
    if isinstance(args, list) and args[:-1] in _EXEC_FORMS and isinstance(args[-1], str):
        return _script_of(command.replace("\\", "/"), args[-1].replace("\\", "/"))
    return ""


def _posix_script(command: str) -> str:
    if not command.endswith(_REFUGE):
        return ""
    try:
        words = shlex.split(command)
    except ValueError:
        return ""  # quotes that do not close: nothing we ever wrote
    if len(words) != 6 or command != posix_command(words[0], words[2]):
        return ""
    return _script_of(words[0], words[2])


def _script_of(python: str, script: str, names: Collection[str] = SCRIPTS) -> str:
    folder, _, name = script.rpartition("/")
    interpreter = python.rpartition("/")[2]
    ours = (
        name in names
        and folder.endswith("/keepthread/hooks")
        and re.fullmatch(r"python[0-9.]*w?(?:\.exe)?", interpreter, re.IGNORECASE)
    )
    return name if ours else ""


def _quoted(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"


def _check_path(path: str, *, windows: bool) -> None:
    absolute = re.match(r"[A-Za-z]:[\\/]|\\\\", path) if windows else path.startswith("/")
    if not absolute:
        raise KeepthreadError(
            f"A hook command needs absolute paths, and {path!r} is relative",
            "The host runs hooks in the folder of the session.",
        )
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise KeepthreadError(
            f"The path {path!r} is not UTF-8 and cannot stand in the host's settings",
            "Install keepthread in a folder whose name is UTF-8.",
        ) from None
