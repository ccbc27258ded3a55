"""The variables of our own, KEEPTHREAD_*: the user's file decides, the process environment may only narrow.

A repository's own settings file can set the process environment of a hook, so nothing there may widen what a hook
does. The user's file is `<config dir>/.env`; what it came to is stored in `<state>/settings.json` for SessionStart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Config:
    """All variables with their defaults. Times in seconds, budgets in UTF-16 units, sizes in tokens."""

    engine: str = "auto"
    model: str = "sonnet"
    memory_model: str = "haiku"
    effort: str = "low"
    prompt_tokens: int = 40_000
    timeout: float = 60.0
    join: float = 3.0
    mode: str = "overlap"
    budget: int = 9_900
    index: int = 4_000
    sources: tuple[str, ...] = ("compact", "resume", "fork")
    guide: bool = True
    document: str = "docs/handoff-context.md"
    disable: bool = False
    max_calls_per_hour: int = 20
    max_usd_per_day: float = 5.0
    window: int = 0
    command: str = ""
    off_projects: tuple[str, ...] = ()
    local_only_projects: tuple[str, ...] = ()
    user: Mapping[str, str] = field(
        default_factory=dict
    )  # every KEEPTHREAD_* of the user's file, as written
    problems: tuple[str, ...] = ()  # values that could not be used, in words; the default stands in
