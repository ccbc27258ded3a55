"""What a transcript is turned into: the words said, the tools called, and the host's own notes, in file order.

Every text is clean (no NUL, no lone surrogate, no ANSI sequence), bounded, and free of base64.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Speaker = Literal["user", "assistant", "host"]

Via = Literal[
    "prompt",  # typed at the prompt (or sent through the SDK)
    "queued",  # typed while the agent worked: a queue-operation or a queued_command attachment
    "command",  # a slash command: text is "/name args"
    "rejection",  # the user's words inside a rejected tool result ("" when they gave none)
    "approval",  # the user's words beside an approved tool result
    "answer",  # an answer to AskUserQuestion: text is "question -> answer"
    "plan",  # "Implement the following plan": machine-written, but the user's decision
    "bash",  # "!cmd" typed by the user: text is the command
    "memory",  # "# note" typed by the user
    "interruption",  # "[Request interrupted by user...]"
    "reply",  # what the assistant wrote
    "summary",  # the host's own compaction summary
    "notification",  # a background task, teammate or monitor reports
    "injected",  # everything else that stands under the user's name without having been typed
    "error",  # a synthetic assistant line: API error, limit reached
]

TYPED: frozenset[str] = frozenset(
    ("prompt", "queued", "command", "rejection", "approval", "answer", "bash", "memory")
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: byte offset of its record in the file, and the record's uuid ("" if it has none)."""

    offset: int
    uuid: str


@dataclass(frozen=True, slots=True)
class Message:
    """Words. `typed` is true only for what a person wrote."""

    speaker: Speaker
    via: Via
    text: str
    place: Place
    timestamp: str = ""
    cwd: str = ""
    images: int = 0

    @property
    def typed(self) -> bool:
        """Whether a person wrote these words."""
        return self.via in TYPED


@dataclass(slots=True)
class Result:
    """What a tool answered: `text` bounded to head and tail, `data` the slim `toolUseResult` without large texts."""

    text: str
    is_error: bool
    rejected: bool
    place: Place
    timestamp: str = ""
    data: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Call:
    """One tool call, with its result if the transcript has one (paired by id).

    `input` is the tool's input with base64 removed and each string bounded to 64 KiB; values may have any JSON type.
    """

    id: str
    name: str
    input: dict[str, Any]
    place: Place
    timestamp: str = ""
    cwd: str = ""
    result: Result | None = None


@dataclass(frozen=True, slots=True)
class Note:
    """A record of the host that carries facts but no words.

    kind and its data:
        file_history   {"files": {path: existed_before: bool}}
        tasks          {"tasks": [{"id", "subject", "status"}]}   (a full task_reminder snapshot)
        todos          {"todos": [{"content", "status"}]}         (the `todos` field of old user lines)
        edited_file    {"path"}          changed by the user or a formatter
        nested_memory  {"path"}          an instruction file loaded below the root
        plan_file      {"path"}
        away_summary   {"text"}
        title          {"text"}
        pr             {"number", "url"}
        mentioned_file {"path"}          @-mentioned, or named again by the host after a compaction
        api_error      {"text"}
    """

    kind: str
    data: dict[str, Any]
    place: Place
    timestamp: str = ""


Item = Message | Call | Note


@dataclass(frozen=True, slots=True)
class Boundary:
    """The last compaction before the live part: where it is, who asked, tokens before it, the host's summary text."""

    offset: int
    uuid: str
    trigger: str
    pre_tokens: int
    summary: str
    timestamp: str = ""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Size of the context in tokens: the API's own figure of the last answer, and an estimate of what came after.

    `reported` is 0 when no answer since the boundary carried usage; then the whole live part is estimated.
    """

    reported: int
    estimated: int

    @property
    def total(self) -> int:
        """Tokens in context now, as well as it is known."""
        return self.reported + self.estimated


@dataclass(slots=True)
class Transcript:
    """The live part of one session, on its live branch.

    Attributes:
        size: bytes of the file that were looked at, counted from its start (where reading ended).
        start: offset of the first byte read; 0 when the whole file was.
        position: uuid of the last conversational record ("" when there is none).
        position_offset: byte offset just past that record.
        boundaries: compaction boundaries in the file, as far as it was scanned.
        skipped: records that could not be read.
        truncated: the byte limit was reached before a boundary or the start of the file.
        abandoned: prompts typed on branches that were rewound.
        kept: items before the boundary that the host kept verbatim (also part of `items`).
    """

    path: str
    size: int
    start: int = 0
    items: list[Item] = field(default_factory=list)
    position: str = ""
    position_offset: int = 0
    boundary: Boundary | None = None
    boundaries: int = 0
    session_id: str = ""
    session_started: str = ""
    last_timestamp: str = ""
    cwd: str = ""
    git_branch: str = ""
    version: str = ""
    model: str = ""
    skipped: int = 0
    truncated: bool = False
    tokens: Tokens = Tokens(0, 0)
    abandoned: list[Message] = field(default_factory=list)
    kept: list[Item] = field(default_factory=list)

    def holds(self, uuid: str) -> bool:
        """Return whether a record of this uuid is on the live branch and says something."""
        return any(
            item.place.uuid == uuid
            or (
                isinstance(item, Call)
                and item.result is not None
                and item.result.place.uuid == uuid
            )
            for item in self.items
        )
