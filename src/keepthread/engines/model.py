"""What is asked of an engine, what it answers, and how it fails."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

FailureReason = Literal[
    "timeout", "no_login", "rate_limit", "overload", "overflow", "bad_answer", "circuit_open", "cap"
]


@dataclass(frozen=True, slots=True)
class Deadline:
    """A point on the monotonic clock that all rungs share."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> Deadline:
        """Return the deadline `seconds` from now."""
        return cls(time.monotonic() + seconds)

    def left(self) -> float:
        """Return the seconds left, never below 0."""
        return max(0.0, self.at - time.monotonic())


@dataclass(frozen=True, slots=True)
class Request:
    """One summary request. `schema` is the JSON Schema the answer must meet; `prompt` is redacted already."""

    system: str
    prompt: str
    schema: dict[str, Any]
    model: str
    effort: str

    @property
    def bare_schema(self) -> dict[str, Any]:
        """The schema without its draft and id, which vendors refuse."""
        return {key: value for key, value in self.schema.items() if key not in ("$schema", "$id")}

    @property
    def spelled_out(self) -> str:
        """The prompt with the schema in words, for whoever takes no schema beside it."""
        schema = json.dumps(self.bare_schema, separators=(",", ":"), ensure_ascii=False)
        ask = "Answer with one JSON object that meets this JSON Schema, and with nothing else:"
        return f"{self.prompt}\n\n{ask}\n{schema}"

    @property
    def size(self) -> int:
        """Bytes of system prompt and prompt together, in UTF-8."""
        return len(f"{self.system}{self.prompt}".encode("utf-8", "replace"))


@dataclass(frozen=True, slots=True)
class Setup:
    """What an engine is made from.

    Attributes:
        user: every KEEPTHREAD_* of the user's own file. Keys, addresses and programs come from here alone: the process
            environment can be set by a repository.
        env: the process environment, for proxies and for what children inherit.
        config_dir: the host's configuration folder.
        project: the project's folder, or ""; no program in it is ever run.
        window: the context window the user gave (KEEPTHREAD_WINDOW), 0 for none; tokens.
    """

    user: Mapping[str, str]
    env: Mapping[str, str]
    config_dir: str
    project: str = ""
    window: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """A parsed answer that met the schema. Tokens and cost are None when the engine did not say."""

    document: dict[str, Any]
    engine: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None


class EngineError(Exception):
    """An engine did not answer.

    Attributes:
        reason: one of `FailureReason`.
        detail: one line for the log, free of transcript text and secrets.
        permanent: trying again in this session is pointless (no login, program missing).
        cost_usd: what the failed call cost, if known.
        retry_after: seconds after which the same call may well succeed; None when it will not in this run.
        observed_tokens: on an overflow, how large the request was as its server counted it, if it said so.
        limit_tokens: on an overflow, the most its server takes, if it said so.
        vendor_text: what the server or program said, for telling failures apart; may hold the user's text, so it is
            never logged. Keys are taken out of it.
    """

    def __init__(
        self,
        reason: FailureReason,
        detail: str,
        *,
        permanent: bool = False,
        cost_usd: float | None = None,
        retry_after: float | None = None,
        observed_tokens: int | None = None,
        limit_tokens: int | None = None,
        vendor_text: str = "",
    ) -> None:
        super().__init__(reason, detail)
        self.reason: FailureReason = reason
        self.detail = detail
        self.permanent = permanent
        self.cost_usd = cost_usd
        self.retry_after = retry_after
        self.observed_tokens = observed_tokens
        self.limit_tokens = limit_tokens
        self.vendor_text = vendor_text


@dataclass(frozen=True, slots=True)
class Readiness:
    """Whether an engine could answer, found out without starting it: `why` for doctor, `fix` the remedy or ""."""

    ready: bool
    why: str
    fix: str = ""


class Engine(Protocol):
    """One way to get an answer."""

    @property
    def name(self) -> str:
        """The name as in KEEPTHREAD_ENGINE."""

    def readiness(self) -> Readiness:
        """Say whether this engine could answer, and why or why not. Starts nothing, calls nothing."""

    def ask(self, request: Request, deadline: Deadline) -> Answer:
        """Answer before the deadline.

        Raises:
            EngineError: there is no answer that meets the schema.
        """


@dataclass(slots=True)
class Rung:
    """What one rung of the ladder came to: "ok" or a failure reason."""

    engine: str
    result: str
    seconds: float
    detail: str = ""


@dataclass(slots=True)
class Outcome:
    """What the ladder came to: an answer, or the reason why there is none."""

    answer: Answer | None
    reason: FailureReason | Literal["engine_facts"] | None
    rungs: list[Rung] = field(default_factory=list)
    cost_usd: float | None = None


Figure = TypeVar("Figure", int, float)


def plus(one: Figure | None, other: Figure | None) -> Figure | None:
    """Return the sum of two figures, either of which may be unknown (None)."""
    return other if one is None else one if other is None else one + other
