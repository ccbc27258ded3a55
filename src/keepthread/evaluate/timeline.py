"""How one session's context grew: the API's own figures, answer by answer, with the compactions between them.

One pass from the end of the file backwards. Only lines that say something of it are parsed, and the points are thinned
while they are read, so memory does not grow with the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

from keepthread import log
from keepthread.evaluate import said
from keepthread.transcript.boundaries import MARK, is_boundary
from keepthread.transcript.lines import lines, open_regular, size_of
from keepthread.transcript.model import Message
from keepthread.transcript.parse import parse, reported
from keepthread.transcript.record import mapping, string
from keepthread.transcript.text import clean
from keepthread.transcript.wording import is_local_command

MOST_POINTS = 240  # in what is returned; more than a screen can show
_MOST_HELD = 20_000  # while reading
_MOST_TOKENS = 10**9  # beyond any context; what says more is no figure of the API
_LONGEST_TITLE, _LONGEST_RAW = 140, 4_000  # characters, blanks in a row as one and as they are
_PROMPTS = frozenset(("prompt", "queued", "command"))
_TITLES = ("customTitle", "aiTitle")
_TRIGGERS = {name: name for name in ("auto", "manual")}


class Point(NamedTuple):
    """The context after a model's answer: the answer's number and its turn's, from 1; tokens; seconds since 1970."""

    answer: int
    turn: int
    tokens: int
    at: int | None


class Fold(NamedTuple):
    """A compaction: its number in the file, the answers before it, who asked for it, and the tokens around it.

    `trigger` is "auto", "manual", or "" when the host does not say. `before` is the host's figure, `after` the API's
    with the first answer after it; 0 when not known.
    """

    ordinal: int
    answers: int
    trigger: str
    before: int
    after: int
    at: int | None


class Timeline(TypedDict):
    """One session. `title` is its user's, else the host's, else the first prompt's beginning, else "".

    `answers` and `turns` are counts; `points` are at most MOST_POINTS of the answers, in order, the ones around each
    compaction among them; `started` and `ended` are seconds since 1970, None when no record has a time.
    """

    title: str
    model: str
    started: int | None
    ended: int | None
    answers: int
    turns: int
    points: list[Point]
    folds: list[Fold]


def read_timeline(path: str) -> Timeline:
    """Read how the context of a session grew.

    Raises:
        OSError: the file cannot be read, or it is no regular file.
    """
    reader = _Reader()
    with open_regular(path) as file:
        for offset, end, line in lines(file, size_of(file)):
            reader.line(line, offset, end)
    return reader.timeline()


def epoch(stamp: str) -> int | None:
    """Return an ISO 8601 time as whole seconds since 1970, None when it is none."""
    moment = log.epoch(stamp)
    return None if moment is None else int(moment)


class _Answer(NamedTuple):
    """An answer on the way backwards: how many answers and turns come after it."""

    later: int
    turns_later: int
    tokens: int
    at: int | None


class _Fold(NamedTuple):
    later: int
    trigger: str
    before: int
    after: int
    at: int | None


class _Reader:
    def __init__(self) -> None:
        self.steps: list[_Answer | _Fold] = []
        self.answers = self.turns = 0
        self.message = self.model = self.first = ""
        self.titles: dict[str, str] = {}
        self.started: int | None = None
        self.ended: int | None = None

    def line(self, line: bytes, offset: int, end: int) -> None:
        """Take what a line says; most say nothing, which the bytes tell."""
        if b'"usage"' in line or MARK in line or b'Title"' in line:
            for _, raw in reversed(parse(line)[0]):
                self._record(raw)
        if (b'"user"' in line and b'"tool_result"' not in line) or b'"queued_command"' in line:
            self._typed(said.typed(line, offset, end))

    def timeline(self) -> Timeline:
        """Return what was read, in the order of the file."""
        steps = thinned(self.steps[::-1], MOST_POINTS)
        title = next((self.titles[key] for key in _TITLES if key in self.titles), self.first)
        return {
            "title": _cut(" ".join(clean(title[:_LONGEST_RAW]).split())),
            "model": self.model,
            "started": self.started,
            "ended": self.ended,
            "answers": self.answers,
            "turns": self.turns,
            "points": [self._point(step) for step in steps if isinstance(step, _Answer)],
            "folds": self._folds(steps),
        }

    def _record(self, raw: dict[str, Any]) -> None:
        if raw.get("isSidechain") is True:
            return
        for key in _TITLES:
            if isinstance(raw.get(key), str) and raw[key].strip():
                self.titles.setdefault(key, raw[key])
        if raw.get("type") == "assistant":
            self._answer(raw)
        elif is_boundary(raw):
            details = mapping(raw.get("compactMetadata"))
            self.message = ""
            self.steps.append(
                _Fold(
                    self.answers,
                    _TRIGGERS.get(string(details.get("trigger")), ""),
                    _tokens(details.get("preTokens")),
                    _tokens(details.get("postTokens")),
                    self._time(raw),
                )
            )

    def _answer(self, raw: Mapping[str, Any]) -> None:
        message = mapping(raw.get("message"))
        tokens = min(reported(message.get("usage")), _MOST_TOKENS)
        model, identifier = string(message.get("model")), string(message.get("id"))
        if not tokens or model == "<synthetic>":
            return
        self.model = self.model or model
        at, last = self._time(raw), self.steps[-1] if self.steps else None
        # An answer has a line for each of its blocks, with the figures as they were when it was written.
        if identifier and identifier == self.message and isinstance(last, _Answer):
            self.steps[-1] = last._replace(tokens=max(last.tokens, tokens))
            return
        self.message = identifier
        self.steps.append(_Answer(self.answers, self.turns, tokens, at))
        self.answers += 1
        if len(self.steps) > _MOST_HELD:
            self.steps = thinned(self.steps, _MOST_HELD // 2)

    def _typed(self, messages: Sequence[Message]) -> None:
        prompts = [each for each in messages if each.via in _PROMPTS and not _is_local(each)]
        if prompts:
            self.turns += 1
            self.first = prompts[0].text
            self._seen(epoch(prompts[0].timestamp))

    def _time(self, raw: Mapping[str, Any]) -> int | None:
        at = epoch(string(raw.get("timestamp")))
        self._seen(at)
        return at

    def _seen(self, at: int | None) -> None:
        # The file's order counts, not the least and the greatest: times do run backwards in it.
        if at is not None:
            self.started = at
            self.ended = at if self.ended is None else self.ended

    def _point(self, step: _Answer) -> Point:
        turn = max(1, self.turns - step.turns_later)
        return Point(self.answers - step.later, turn, step.tokens, step.at)

    def _folds(self, steps: Sequence[_Answer | _Fold]) -> list[Fold]:
        """Return the compactions; after one, the API counts all that is sent, and the host's own figure does not."""
        found: list[Fold] = []
        for index, step in enumerate(steps):
            if isinstance(step, _Fold):
                before = step.before or _tokens_of(steps[index - 1 : index])
                after = _tokens_of(steps[index + 1 : index + 2]) or step.after
                ordinal, answers = len(found) + 1, self.answers - step.later
                found.append(Fold(ordinal, answers, step.trigger, before, after, step.at))
        return found


def thinned(steps: Sequence[_Answer | _Fold], most: int) -> list[_Answer | _Fold]:
    """Return about `most` of the steps, evenly: never without a compaction, its neighbours, the first and the last."""
    apart = -(-len(steps) // max(1, most))
    last = len(steps) - 1
    return [
        step
        for index, step in enumerate(steps)
        if index % apart == 0
        or index == last
        or any(isinstance(near, _Fold) for near in steps[max(0, index - 1) : index + 2])
    ]


def _cut(title: str) -> str:
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1].rstrip()}…"


def _tokens_of(steps: Sequence[_Answer | _Fold]) -> int:
    return steps[0].tokens if steps and isinstance(steps[0], _Answer) else 0


def _tokens(value: Any) -> int:
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST_TOKENS
    return int(value) if usable else 0


def _is_local(message: Message) -> bool:
    return message.via == "command" and is_local_command(message.text)
