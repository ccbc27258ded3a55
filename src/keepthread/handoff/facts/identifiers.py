"""Exact names ranked by use: how recently, how often, by whom, and beside which file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from keepthread.handoff.facts import calls, commands, names, shell
from keepthread.handoff.facts.files import Touched
from keepthread.handoff.facts.names import Found, Judge
from keepthread.handoff.facts.paths import Paths, is_absolute
from keepthread.handoff.facts.text import as_text, lazy, word_set
from keepthread.handoff.model import Identifier
from keepthread.transcript.model import Call, Item, Message, Note

MOST = 600
_TEXT = 16_000
_CONTENT = 20_000
_OUTPUT = 2_000
_ONE_OUTPUT = 64_000
_ALL_OUTPUT = 300_000
_NEARBY = 8
_FEW_LINES = 60
_LONGEST = 300
_HALF = 5

# Weight of one mention, by who makes it and where.
_TYPED = 5.0
_SAID = 3.0
_POINTED = 3.0  # where and what of a tool's input
_REPLACED = 1.5  # the old text of an edit
_WRITTEN = 0.8  # new content
_FAILED = 0.8
_READ = 0.5
_SEARCHED = 3.0  # times that, where a few lines were asked for: somebody knew what stands there
_REPORTED = 1.5  # what describes the work: an issue, a document
_PRINTED = 0.4
_SUMMED = 1.5  # the host's summary of what came before

_MESSAGES: Mapping[str, float] = {
    "prompt": _TYPED, "queued": _TYPED, "command": _TYPED, "rejection": _TYPED, "approval": _TYPED, "answer": _TYPED,
    "bash": _TYPED, "memory": _TYPED, "plan": _SAID, "reply": _SAID, "summary": _SUMMED, "notification": _PRINTED,
}  # fmt: skip
_POINTING = (
    "pattern",
    "path",
    "file_path",
    "notebook_path",
    "query",
    "glob",
    "skill",
    "args",
    "subject",
    "relative_path",
    "symbol",
    "name_path",
)
_PROSE = ("description", "prompt", "plan", "content", "message")
_SPEAKING = frozenset(
    ("prompt", "queued", "command", "rejection", "approval", "answer", "bash", "memory", "reply")
)
# What stands in outputs and inputs by the hundred and is hardly ever used again, unless somebody speaks of it.
_RARELY_NEEDED: Mapping[str, float] = {
    "number": 0.1, "url": 0.1, "uuid": 0.3, "dotted": 0.4, "hash": 0.5, "issue": 0.5, "plain": 0.6, "path": 0.8,
}  # fmt: skip
# Commands and tools whose output says what is to be done.
_DESCRIBES = lazy(
    r"\b(?:gh|glab|hub)\s+(?:issue|pr|mr)\s+view\b|\b(?:bd|jira|linear|tea|ticket)\s+(?:issue\s+)?(?:show|view|get)\b"
)
_ISSUE_TOOL = lazy(
    r"mcp__.*(?:get|read|view|fetch)_?\w*(?:issue|ticket|task|page|document|pull_request)",
    re.IGNORECASE,
)
_DOCUMENTS = (".md", ".mdx", ".rst", ".txt", ".adoc", ".markdown")
_LABEL = lazy(r"[\w./@+-]+(?: (?!s/)[\w./@:+-]+)*")
_KEYWORDS = frozenset(
    ("for", "case", "select", "function", "export", "set", "local", "return", "[", "[[")
)
# The host's own words around what its tools and background tasks report.
_HOST_WORDS = word_set(
    """task_id task_type tool_use_id tool_use_error local_bash local_agent retrieval_status output_file exit_code
    not_ready duration_ms subagent_tokens total_tokens tool_uses"""
)
_NO_PROSE = frozenset(("Write", "Edit", "MultiEdit", "NotebookEdit"))


# Plain classes here and in the rooms beside: making a dataclass takes as long as reading a small session.
class _Name:
    """One name: `spoken` when the user or the agent said it in words.

    `bond` is how firmly `near` is known: 4 declared there, 3 edited there, 2 looked for there, 1 spoken of beside it.
    """

    __slots__ = ("bond", "kind", "near", "score", "spoken")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.score = 0.0
        self.near = ""
        self.spoken = False
        self.bond = 0


class Ranking(NamedTuple):
    """All names that were seen: `scores` by name, `best` in the order of the document, `beside` by file."""

    scores: dict[str, float]
    best: list[Identifier]
    beside: dict[str, list[str]]


def rank(items: Sequence[Item], touched: Sequence[Touched], paths: Paths) -> Ranking:
    """Rank the exact names in the items. Files in `touched` are not named again."""
    index = _Index(len(items), paths)
    index.rooms = _rooms(items)
    for at, item in enumerate(items):
        index.see(at, item)
    index.bind(touched)
    return index.ranking(touched)


def _rooms(items: Sequence[Item]) -> dict[int, int]:
    """Return how many characters of each result are looked at: the latest ones, together a bounded amount."""
    left = _ALL_OUTPUT
    rooms: dict[int, int] = {}
    for at in range(len(items) - 1, -1, -1):
        item = items[at]
        if isinstance(item, Call) and item.result is not None and left > 0:
            rooms[at] = min(len(item.result.text), _ONE_OUTPUT)
            left -= rooms[at]
    return rooms


def _without_colours(found: Found) -> Found:
    """Leave out what in a file's content is a colour rather than an issue: #888."""
    return tuple(pair for pair in found if not pair[0].startswith("#"))


def _program(command: str) -> str:
    """Return what a command line does in two or three words, "" when these would be a piece of a script."""
    acting = next((piece for piece in shell.pieces(command) if not commands.looks(piece)), None)
    name = commands.family(acting) if acting else ""
    return name if _LABEL.fullmatch(name) and name.split(" ", 1)[0] not in _KEYWORDS else ""


def _describes_work(call: Call) -> bool:
    if call.name in calls.SHELLS:
        return bool(_DESCRIBES.search(calls.command_of(call)))
    return call.name.startswith("mcp__") and bool(_ISSUE_TOOL.match(call.name))


def _is_narrow(call: Call) -> bool:
    limit = call.input.get("limit")
    return isinstance(limit, int) and limit <= _FEW_LINES


def _without_host_words(found: Found) -> Found:
    return tuple(pair for pair in found if pair[0] not in _HOST_WORDS)


def _ends(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room // 2] + "\n" + text[-room // 2 :]


class _Index:
    def __init__(self, total: int, paths: Paths) -> None:
        self.judge = Judge()
        self.paths = paths
        self.known: dict[str, _Name] = {}
        self.total = total
        self.half = max(60.0, total / _HALF)
        self.rooms: dict[int, int] = {}
        self.place = ""
        self.place_at = -_NEARBY

    def see(self, at: int, item: Item) -> None:
        """Take in one item."""
        recency = 1.0 / (1.0 + (self.total - 1 - at) / self.half)
        if isinstance(item, Message):
            self._message(at, item, recency)
        elif isinstance(item, Call):
            self._call(at, item, recency)
        elif isinstance(item, Note) and item.kind in ("mentioned_file", "plan_file", "pr"):
            text = as_text(item.data.get("path")) or as_text(item.data.get("url"))
            self._take(self._found(text, strong=True), _TYPED * recency, "", 0)

    def bind(self, touched: Iterable[Touched]) -> None:
        """Lay names to the files that declare them; an edited file wins over one that was read."""
        for entry in touched:
            for name in entry.names:
                seen = self.known.get(name)
                if seen is not None and seen.bond < 4:
                    seen.near, seen.bond = entry.path, 4

    def ranking(self, touched: Sequence[Touched]) -> Ranking:
        """Return what was seen, best first."""
        edited = {entry.path for entry in touched if entry.edited}
        named = {entry.path for entry in touched}
        scores = {name: _final(name, seen, edited) for name, seen in self.known.items()}
        best: list[Identifier] = []
        beside: dict[str, list[str]] = {}
        needless = _needless_paths(named) | _needless_parts(scores)
        # By score, those of the same score by name.
        for name in sorted(sorted(scores), key=scores.__getitem__, reverse=True):
            seen = self.known[name]
            if name in needless:
                continue
            if (
                seen.bond >= 2
                and seen.near in named
                and len(beside.setdefault(seen.near, [])) < 20
                and seen.kind in ("name", "flag")
            ):
                beside[seen.near].append(name)
            if len(best) < MOST:
                best.append({"text": name, "kind": seen.kind, "near": seen.near[:_LONGEST]})
        return Ranking(scores, best, beside)

    def _message(self, at: int, message: Message, recency: float) -> None:
        weight = _MESSAGES.get(message.via, 0.0) * recency
        if not weight:
            return
        text = (
            message.text
            if len(message.text) <= 2 * _TEXT
            else message.text[:_TEXT] + "\n" + message.text[-_TEXT:]
        )
        found = self._found(text, strong=message.via == "bash")
        if message.via == "notification":
            found = _without_host_words(found)
        quoted: dict[tuple[str, str], None] = {}
        for span in names.backticked(text):
            quoted.update(dict.fromkeys(self.judge.quoted(span)))
        near = self.place if at - self.place_at <= _NEARBY else ""
        self._take(found, weight, near, 1)
        if message.via in _SPEAKING:
            for text, _ in found:
                if text in self.known:  # an absolute path is known by its name in the project
                    self.known[text].spoken = True
        self._take(quoted, weight * (0.4 if message.via == "reply" else 0.2), near, 1)

    def _call(self, at: int, call: Call, recency: float) -> None:
        path = self.paths.show(calls.path_of(call), call.cwd)
        if path and (calls.is_edit(call) or calls.is_read(call)):
            self.place, self.place_at = path, at
        if call.name in calls.SHELLS:
            self._shell(call, recency)
        else:
            self._inputs(call, path, recency)
        if calls.is_edit(call):
            self._edit(call, path, recency)
        self._result(call, path, recency, self.rooms.get(at, 0))

    def _shell(self, call: Call, recency: float) -> None:
        command = calls.command_of(call)
        head = shell.without_heredocs(command)[:_CONTENT]
        self._take(self._found(head, strong=True), _POINTED * recency, _program(head), 1)
        if len(head) < len(command):
            self._take(self._found(command[:_CONTENT], strong=False), _WRITTEN * recency, "", 0)
        self._take(
            self._found(as_text(call.input.get("description")), strong=False), recency, "", 0
        )

    def _inputs(self, call: Call, path: str, recency: float) -> None:
        if path and ("/" in path or "." in path[1:] or "\\" in path):
            self._take(((path, "path"),), _POINTED * recency, "", 0)
        for key in _POINTING:
            text = as_text(call.input.get(key))
            if text and text != calls.path_of(call):
                self._take(self._found(text[:_OUTPUT], strong=True), _POINTED * recency, path, 2)
        url = as_text(call.input.get("url"))
        if url:
            self._take(self._found(url, strong=True), _POINTED * recency, "", 0)
        if call.name not in _NO_PROSE:
            for key in _PROSE:
                text = as_text(call.input.get(key))
                if text:
                    self._take(
                        self._found(text[:_CONTENT], strong=False), _SAID * 0.5 * recency, "", 0
                    )

    def _edit(self, call: Call, path: str, recency: float) -> None:
        if calls.refused(call):
            return
        for old, new in calls.changes(call)[:20]:
            self._take(
                _without_colours(self._found(old[:_CONTENT], strong=False)),
                _REPLACED * recency,
                path,
                3,
            )
            self._take(
                _without_colours(self._found(new[:_CONTENT], strong=False)),
                _WRITTEN * recency,
                path,
                3,
            )

    def _result(self, call: Call, path: str, recency: float, room: int) -> None:
        if call.result is None or call.result.rejected:
            return
        text = call.result.text
        if call.result.is_error:
            found = _without_host_words(self._found(_ends(text, _TEXT), strong=False))
            self._take(found, _FAILED * recency, path, 1)
        elif room and not calls.is_edit(call):
            text = _ends(text, room)
            weight = self._result_weight(call, path) * recency
            found = self._found(text, strong=False)
            if calls.is_read(call):
                found = _without_colours(found)
            elif call.name in calls.AWAITERS:
                found = _without_host_words(found)
            self._take(found, weight, path, 2)
            for span in names.backticked(text) if weight >= _REPORTED * recency else ():
                self._take(self.judge.quoted(span), weight * 0.3, path, 2)

    def _result_weight(self, call: Call, path: str) -> float:
        """Return how much a result's names count: what describes the work counts more than what is worked on."""
        if _describes_work(call):
            return _REPORTED
        if not calls.is_read(call):
            return _PRINTED
        asked_for = path in self.known and self.known[path].score >= _TYPED
        if path.lower().endswith(_DOCUMENTS):
            return _REPORTED * (1.5 if asked_for else 1.0)
        return _READ * (1.5 if asked_for else 1.0) * (_SEARCHED if _is_narrow(call) else 1.0)

    def _found(self, text: str, *, strong: bool) -> Found:
        """Return the different names in a text."""
        if not text:
            return ()
        found = self.judge.all(names.tokens(text), strong=strong)
        links = names.urls(text)
        return (*found, *((url, "url") for url in dict.fromkeys(links))) if links else found

    def _take(self, found: Iterable[tuple[str, str]], weight: float, near: str, bond: int) -> None:
        for written, kind in found:
            text = written
            if kind == "path" and is_absolute(written):
                text = self.paths.show(written) or written
                if text == ".":
                    continue
            seen = self.known.get(text)
            if seen is None:
                seen = self.known[text] = _Name(kind)
            seen.score += weight
            if bond >= seen.bond and near not in ("", ".", text):
                seen.near, seen.bond = near, bond


def _final(name: str, seen: _Name, edited: set[str]) -> float:
    score = seen.score * (1.25 if seen.near in edited else 1.0)
    if seen.spoken:
        return score
    form = (
        "plain"
        if seen.kind == "name" and name.isalpha() and (name.islower() or name.istitle())
        else seen.kind
    )
    form = "dotted" if form == "name" and "." in name else form
    return score * _RARELY_NEEDED.get(form, 1.0)


def _needless_paths(named: Iterable[str]) -> set[str]:
    """Return the touched paths and their endings: whoever reads the path reads those too."""
    needless: set[str] = set()
    for path in named:
        needless.add(path)
        needless.update(path[at + 1 :] for at, character in enumerate(path) if character in "/\\")
    return needless


def _needless_parts(scores: Mapping[str, float]) -> set[str]:
    """Return of dotted names and their last parts the one that the other makes needless."""
    needless: set[str] = set()
    for name, score in scores.items():
        if "." not in name or "/" in name:
            continue
        parts = name.split(".")
        if len(parts) == 2 and parts[0].islower() and parts[1] in scores:
            needless.add(name)
            continue
        for part in parts:
            own = scores.get(part)
            if own is None or part == name:
                continue
            if own <= 1.3 * score:
                needless.add(part)
            elif score < 0.4 * own:
                needless.add(name)
    return needless
