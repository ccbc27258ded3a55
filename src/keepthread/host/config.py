"""The variables of our own, KEEPTHREAD_*: the user's file decides, the process environment may only narrow.

A repository's own settings file can set the process environment of a hook, so nothing there may widen what a hook
does. The user's file is `<config dir>/.env`; what it came to is stored in `<state>/settings.json` for SessionStart.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from keepthread import files
from keepthread.host import variables
from keepthread.host.locations import user_file
from keepthread.host.variables import BadValueError

_LIMIT = 1 << 20
_STORED = "settings.json"
_PREFIX = "KEEPTHREAD_"
# What keeps texts to oneself. Where it cannot be told what was meant by one of them, nothing is sent.
_PRIVATE = ("engine", "disable", "off_projects", "local_only_projects")
_WRITES = ("document", "session_memory")  # what is written beside the handoff, unless it is "off"


@dataclass(frozen=True, slots=True)
class Config:
    """All variables with their defaults. Times in seconds, budgets in UTF-16 units, sizes in tokens."""

    engine: str = "auto"
    model: str = "sonnet"
    memory_model: str = "haiku"
    session_memory: str = "facts"
    effort: str = "low"
    prompt_tokens: int = 40_000
    timeout: float = 60.0
    join: float = 3.0
    mode: str = "overlap"
    budget: int = 9_900
    index: int = 4_000
    memory_budget: int = 6_000
    sources: tuple[str, ...] = ("compact", "resume", "fork")
    guide: bool = True
    document: str = "docs/handoff-context.md"
    disable: bool = False
    max_calls_per_hour: int = 20
    max_usd_per_day: float = 5.0
    keep_sessions: int = 500
    keep_days: int = 90
    spill: bool = False
    spill_chars: int = 8_000
    spill_turn_chars: int = 200_000
    max_transcript_bytes: int = 0
    window: int = 0
    turns: tuple[str, ...] = ()
    command: str = ""
    off_projects: tuple[str, ...] = ()
    local_only_projects: tuple[str, ...] = ()
    user: Mapping[str, str] = field(
        default_factory=dict
    )  # every KEEPTHREAD_* of the user's file, as written
    problems: tuple[str, ...] = ()  # values that could not be used, in words; the default stands in
    unnarrowed: Config | None = None  # what the user's file alone says; None: the same as this
    user_file: list[int] | None = field(default=None, compare=False)  # see `locations.user_file`

    def turns_of(self, engine: str) -> int:
        """Return how many of the user's last turns an engine is told, 0: as many as fit."""
        told = dict(one.rpartition("=")[::2] for one in self.turns)
        return int(told.get(engine, told.get("", 0)))

    @property
    def features(self) -> frozenset[str]:
        """What is turned on beyond the main job and needs a hook entry of its own (`Entry.only_for`)."""
        return frozenset(("spill",) if self.spill else ())


def load(env: Mapping[str, str], config_dir: str) -> Config:
    """Return the variables of the user's file, narrowed by the process environment.

    Whatever is wrong with the file or a value, there is an answer: the default, and a line in `problems`.

    Args:
        env: the process environment.
        config_dir: the host's configuration folder, which holds the user's `.env`.
    """
    path = os.path.join(config_dir, ".env")
    found = user_file(config_dir)  # before it is read: what is written meanwhile shows as newer
    written, problems, clear = _read(path)
    base = Config(user=written, user_file=found)
    for name, text in written.items():
        key = name[len(_PREFIX) :].lower()
        if not text.strip():
            continue  # a line kept as a reminder
        try:
            if key in variables.ALL:
                changed: dict[str, Any] = {key: variables.value(key, text, env)}
                base = replace(base, **changed)
            elif guess := variables.misspelt(key):
                problems.append(f"{name} in {path} is unknown; is {_PREFIX}{guess.upper()} meant?")
                clear = clear and guess not in _PRIVATE
        except BadValueError as bad:
            problems.append(f"{name} in {path} is {_shown(text)}: {bad}; its default is used")
            clear = clear and not (key in _PRIVATE or _is_private(text))
    if not clear:
        problems.append("until that is mended no model is asked, and what was off stays off")
        base = _as_before(base, config_dir)
    base = replace(base, problems=tuple(problems))
    return replace(_narrowed(base, env, path), unnarrowed=base)


def resolved(config: Config) -> dict[str, Any]:
    """Return what SessionStart needs to know, as it is stored.

    What the process environment narrowed is left out: it holds for one project, the stored values for all.
    """
    base = config.unnarrowed or config
    return {
        "join": base.join,
        "budget": base.budget,
        "index": base.index,
        "memory_budget": base.memory_budget,
        "sources": list(base.sources),
        "disable": base.disable,
        "document": base.document,
        "off_projects": list(base.off_projects),
        "engine": base.engine,
        "session_memory": base.session_memory,
        "spill": base.spill,
        "spill_chars": base.spill_chars,
        "spill_turn_chars": base.spill_turn_chars,
        "max_transcript_bytes": base.max_transcript_bytes,
        "user_file": base.user_file,
    }


def store_resolved(state_dir: str, config: Config) -> None:
    """Store what SessionStart needs in `<state>/settings.json`, unless that is what stands there.

    Raises:
        OSError: the state folder cannot be written.
    """
    data = json.dumps(resolved(config), indent=2).encode() + b"\n"
    path = os.path.join(state_dir, _STORED)
    try:
        if files.read_regular(path, _LIMIT) == data:
            return
    except OSError:
        pass  # absent, or something that write_private replaces
    files.make_private(state_dir)
    files.write_private(path, data)


def _as_before(base: Config, config_dir: str) -> Config:
    """Return the settings while the user's file is not clear: nobody is asked, and what was off stays off."""
    try:
        data = files.read_regular(os.path.join(config_dir, "keepthread", _STORED), _LIMIT)
        stored = json.loads(data)
        off, disabled = stored["off_projects"], stored["disable"] is True
        folders = tuple(folder for folder in off if isinstance(folder, str))
        unwritten: dict[str, Any] = {key: "off" for key in _WRITES if stored.get(key) == "off"}
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        folders, disabled, unwritten = (), False, {}  # nothing is known of before
    off_projects = tuple(dict.fromkeys((*base.off_projects, *folders)))
    here = os.path.abspath(
        os.sep
    )  # everywhere: what is typed behind --engine sends nothing out either
    base = replace(base, engine="facts", local_only_projects=(here,), off_projects=off_projects)
    return replace(base, disable=base.disable or disabled, **unwritten)


def _read(path: str) -> tuple[dict[str, str], list[str], bool]:
    """Return the KEEPTHREAD_* of a dotenv file, what is wrong with it, and whether its _PRIVATE are clear."""
    try:
        # A link is followed here: the folder is the user's own, and dotfiles are often kept elsewhere.
        text = files.read_regular(os.path.realpath(path), _LIMIT).decode("utf-8-sig")
    except FileNotFoundError:
        return {}, [], True
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        problem = f"{path} is not used: {reason}; it should be a regular file under 1 MB"
        return {}, [problem], False
    except UnicodeDecodeError:
        return {}, [f"{path} is not used: it is not UTF-8; save it as UTF-8"], False
    return _parsed(text, path) if _PREFIX in text else ({}, [], True)


def _parsed(text: str, path: str) -> tuple[dict[str, str], list[str], bool]:
    import io

    # Below dotenv_values, which reports a broken line through logging only. Nothing is interpolated here:
    # ${NAME} would bring the process environment in.
    from dotenv.parser import parse_stream

    written: dict[str, str] = {}
    problems, clear = [], True
    for binding in parse_stream(io.StringIO(text)):
        ours = (binding.key or "").startswith(_PREFIX)
        if binding.key and ours and binding.value is not None:
            written[binding.key] = binding.value
        elif ours or (binding.error and _PREFIX in binding.original.string):
            line = binding.original.line
            problems.append(f"{path}:{line} is not used: write it as NAME=value")
            clear = clear and not _is_private(binding.original.string)
    return written, problems, clear


def _is_private(text: str) -> bool:
    return any(_PREFIX + key.upper() in text for key in _PRIVATE)


def _narrowed(base: Config, env: Mapping[str, str], path: str) -> Config:
    narrowed, problems = base, []
    for key in variables.NARROWING:
        text = env.get(_PREFIX + key.upper(), "")
        if not text:
            continue
        try:
            narrower = variables.narrower(key, getattr(base, key), text, env)
        except BadValueError as bad:
            problems.append(
                f"{_PREFIX}{key.upper()} in the environment is {_shown(text)}: {bad}; it is ignored"
                f" (the environment may only narrow, set it in {path})"
            )
        else:
            changes: dict[str, Any] = {key: narrower}
            narrowed = replace(narrowed, **changes)
    return replace(narrowed, problems=(*base.problems, *problems))


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "...")
