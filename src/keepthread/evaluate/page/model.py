"""What the page shows, as plain data. Every text in it is redacted; none of it is escaped yet."""

from __future__ import annotations

from typing import Literal, TypedDict

from keepthread.evaluate.score import Score
from keepthread.evaluate.timeline import Fold, Timeline


class Tried(TypedDict):
    """An engine that was asked for the stored handoff: its result ("ok" or a reason) and the seconds it took."""

    engine: str
    result: str
    seconds: float


class Finding(TypedDict):
    """How often a check of the audit failed, and what was done about it."""

    check: str
    action: str
    count: int


class Stored(TypedDict):
    """The session's stored handoff. `made` is in seconds since 1970; `files` are "path (status)"."""

    status: str
    reason: str
    engine: str
    made: int | None
    ordinal: int
    seconds: float
    cost_usd: float | None
    tried: list[Tried]
    task: str
    files: list[str]
    rules: list[str]
    findings: list[Finding]


class Runs(TypedDict):
    """Runs of keepthread for a session that the log still holds, by outcome and engine."""

    what: str
    outcome: str
    reason: str
    engine: str
    count: int
    seconds: float


class Compaction(TypedDict):
    """A compaction, and what the texts held of what was needed after it; `score` is None when it was not measured."""

    fold: Fold
    score: Score | None


class Session(TypedDict):
    """One session. `window` is its model's context window in tokens, None when not known."""

    id: str
    size: int
    timeline: Timeline
    window: int | None
    compactions: list[Compaction]
    handoff: Stored | None
    runs: list[Runs]


Kind = Literal["needed", "rules", "edited", "ask"]


class Held(TypedDict):
    """What one text held over all compactions: needed facts (of the scored ones), rules, edited files, asks."""

    needed: int
    rules: int
    edited: int
    ask: int


class Totals(TypedDict):
    """The sums over the sessions shown.

    `measured` are the compactions after which enough was needed again to be scored, `large` those whose transcripts
    were too large to be scored. `asked` is what there was to hold, `held` what each system's text held of it, and
    `folded` are the tokens that compactions took out of contexts.
    """

    answers: int
    compactions: int
    automatic: int
    measured: int
    large: int
    folded: int
    asked: Held
    held: dict[str, Held]
    handoffs: int
    complete: int
    cost_usd: float | None
    seconds: float


class Report(TypedDict):
    """A project's sessions, newest first.

    `found` counts the transcripts there are, `silent` those without a single answer of a model, which are not shown;
    `unread` are the names of those that could not be read; `made` is in seconds since 1970.
    """

    project: str
    folder: str
    made: int
    found: int
    silent: int
    unread: list[str]
    sessions: list[Session]
    totals: Totals
