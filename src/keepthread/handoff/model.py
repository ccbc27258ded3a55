"""The handoff document as types; `templates/handoff.schema.json` says the same to validators.

A handoff is a plain dict all the way: it is read from and written to JSON, and shown to people as Markdown.
"""

from __future__ import annotations

from typing import Literal, TypedDict

Status = Literal["complete", "partial"]
Trigger = Literal["auto", "manual", "command"]
Reason = Literal[
    "engine_facts",
    "timeout",
    "no_login",
    "rate_limit",
    "overload",
    "overflow",
    "bad_answer",
    "circuit_open",
    "cap",
    "no_transcript",
]
FileStatus = Literal["created", "modified", "deleted", "renamed", "read"]
Outcome = Literal["ok", "failed", "rejected", "interrupted", "running", "unknown"]


class Rung(TypedDict):
    """One engine that was tried: what it answered ("ok" or a Reason) and how long it took."""

    engine: str
    result: str
    seconds: float


class TranscriptRef(TypedDict):
    """The transcript as it was: `size` in bytes, `last_uuid` the position, `skipped` unreadable records."""

    path: str
    size: int
    last_uuid: str
    skipped: int


class Usage(TypedDict):
    """Tokens the engine was billed for; null when it did not say."""

    input_tokens: int | None
    output_tokens: int | None


class Meta(TypedDict):
    """Where a handoff comes from. `reason` says why it is partial, null while a worker runs or when complete."""

    schema_version: int
    session_id: str
    project: str
    generated_at: str
    trigger: Trigger
    ordinal: int
    status: Status
    reason: Reason | None
    engine: str
    rungs: list[Rung]
    transcript: TranscriptRef
    usage: Usage | None
    cost_usd: float | None
    seconds: float


class Sourced(TypedDict):
    """A text with the record it came from: "<uuid>" or "@<byte offset>" when the record has no uuid."""

    text: str
    source: str


class RuledOut(TypedDict):
    """An approach that is not to be tried again, and why."""

    approach: str
    reason: str


class Constraints(TypedDict):
    """What the user has bound the work to; rules stand verbatim."""

    rules: list[Sourced]
    ruled_out: list[RuledOut]


class _FileBase(TypedDict):
    path: str
    status: FileStatus
    summary: str


# "from" is a keyword, hence the functional form.
_FileFrom = TypedDict("_FileFrom", {"from": str}, total=False)


class FileTouched(_FileBase, _FileFrom):
    """A file the session touched. `path` is relative to the project when inside it; `from` is the old name."""


class CurrentState(TypedDict):
    """Where the work stands."""

    in_flight: str
    files_modified: list[str]
    works: list[str]
    broken: list[str]


class IssueFound(TypedDict):
    """A gotcha met on the way, and what helps ("" when nothing is known to)."""

    issue: str
    workaround: str


class Command(TypedDict):
    """A shell command that ran: its last outcome, and how often it ran."""

    command: str
    outcome: Outcome
    count: int


class Check(TypedDict):
    """The last test, build or lint run: `result` is one line taken from its output."""

    command: str
    outcome: Outcome
    result: str
    source: str


class StandingError(TypedDict):
    """An error after which the same command or file has not succeeded."""

    what: str
    error: str
    source: str


class Todo(TypedDict):
    """A task of the host's own list."""

    text: str
    status: Literal["pending", "in_progress", "completed"]


class Given(TypedDict):
    """An answer the user gave to AskUserQuestion."""

    question: str
    answer: str
    source: str


class Rejection(TypedDict):
    """A tool call the user refused or interrupted, and the words said with it ("" when none)."""

    what: str
    words: str
    source: str


class Background(TypedDict):
    """Work still running in the background when the handoff was taken."""

    id: str
    what: str


class Git(TypedDict):
    """The repository's state; empty strings and an empty list outside git or when git did not answer in time."""

    branch: str
    head: str
    dirty: list[str]


class Identifier(TypedDict):
    """An exact name worth keeping, best first.

    `kind`: name | path | hash | uuid | issue | url | number | flag. `near` is the file or command it belongs to, or "".
    """

    text: str
    kind: str
    near: str


class Facts(TypedDict):
    """What code read out of the transcript. Nothing here was written by a model."""

    pending_ask: Sourced | None
    user_messages: list[Sourced]
    commands: list[Command]
    last_check: Check | None
    errors: list[StandingError]
    todos: list[Todo]
    plan: str
    answers: list[Given]
    rejections: list[Rejection]
    background: list[Background]
    instructions_loaded: list[str]
    git: Git
    identifiers: list[Identifier]
    pins: list[str]
    tokens: int


class AuditFailure(TypedDict):
    """A claim that did not hold: the check's name, the item, and what was done about it (dropped, marked, repaired)."""

    check: str
    item: str
    action: str


class Audit(TypedDict):
    """What was checked of the model's answer."""

    checked: list[str]
    failed: list[AuditFailure]


class Handoff(TypedDict):
    """The whole document."""

    meta: Meta
    session_started: str
    task: str
    completed_tasks: list[str]
    current_state: CurrentState
    constraints: Constraints
    files_touched: list[FileTouched]
    issues_discovered: list[IssueFound]
    open_questions: list[str]
    next_steps: list[str]
    resume_prompt: str
    facts: Facts
    audit: Audit


class FileSummary(TypedDict):
    """One line on a file, by the model."""

    path: str
    summary: str


class ModelAnswer(TypedDict):
    """What an engine is asked for (`templates/answer.schema.json`): the judgement fields only."""

    task: str
    completed_tasks: list[str]
    in_flight: str
    works: list[str]
    broken: list[str]
    rules: list[str]
    ruled_out: list[RuledOut]
    file_summaries: list[FileSummary]
    issues_discovered: list[IssueFound]
    open_questions: list[str]
    next_steps: list[str]
    resume_prompt: str
