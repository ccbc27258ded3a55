"""Exact names ranked by use: how recently, how often, by whom, and beside which file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from keepthread.handoff.facts import calls, commands, names, shell
from keepthread.handoff.facts.files import Touched
from keepthread.handoff.facts.names import Found, Judge
from keepthread.handoff.facts.paths import Paths, is_absolute
from keepthread.handoff.facts.text import as_text
from keepthread.handoff.model import Identifier
from keepthread.transcript.model import Call, Item, Message, Note

MOST = 400
_TEXT = 16_000
_CONTENT = 6_000
_OUTPUT = 2_000
_NEARBY = 8
_LONGEST = 300

# Weight of one mention, by who makes it and where.
_TYPED = 5.0
_SAID = 3.0
_POINTED = 3.0  # where and what of a tool's input
_REPLACED = 1.5  # the old text of an edit
_WRITTEN = 0.8  # new content
_FAILED = 1.5
_PRINTED = 0.6
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
# Worth naming though only printed.
_LASTING = frozenset(("url", "hash", "uuid", "issue", "number"))
_NO_PROSE = frozenset(("Write", "Edit", "MultiEdit", "NotebookEdit"))


@dataclass(slots=True)
class _Name:
    kind: str
    score: float = 0.0
    near: str = ""
    bond: int = 0  # how firmly `near` is known: 4 declared there, 3 edited there, 2 looked for there, 1 spoken of beside it


@dataclass(slots=True)
class Ranking:
    """All names that were seen: `scores` by name, `best` in the order of the document, `beside` by file."""

    scores: dict[str, float]
    best: list[Identifier]
    beside: dict[str, list[str]] = field(default_factory=dict)


def rank(items: Sequence[Item], touched: Sequence[Touched], paths: Paths) -> Ranking:
    """Rank the exact names in the items. Files in `touched` are not named again."""
    index = _Index(len(items), paths)
    for at, item in enumerate(items):
        index.see(at, item)
    index.bind(touched)
    return index.ranking(touched)


class _Index:
    def __init__(self, total: int, paths: Paths) -> None:
        self.judge = Judge()
        self.paths = paths
        self.known: dict[str, _Name] = {}
        self.total = total
        self.half = max(60.0, total / 5)
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
        endings = {"/" + path for path in named}
        scores: dict[str, float] = {}
        for name, seen in self.known.items():
            scores[name] = seen.score * (1.25 if seen.near in edited else 1.0)
        order = sorted(scores, key=lambda name: (-scores[name], name))
        best: list[Identifier] = []
        beside: dict[str, list[str]] = {}
        suffixes = {
            ending[at:] for ending in endings for at in range(len(ending)) if ending[at] == "/"
        }
        for name in order:
            seen = self.known[name]
            if seen.kind == "path" and (name in named or f"/{name}" in suffixes):
                continue
            if (
                seen.near in named
                and len(beside.setdefault(seen.near, [])) < 20
                and seen.kind in ("name", "flag")
            ):
                beside[seen.near].append(name)
            if len(best) < MOST:
                best.append({"text": name, "kind": seen.kind, "near": seen.near[:_LONGEST]})  # type: ignore[typeddict-item]
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
        quoted: dict[tuple[str, str], None] = {}
        for span in names.backticked(text):
            quoted.update(dict.fromkeys(self.judge.quoted(span)))
        near = self.place if at - self.place_at <= _NEARBY else ""
        self._take(found, weight, near, 1)
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
        self._result(call, path, recency)

    def _shell(self, call: Call, recency: float) -> None:
        command = calls.command_of(call)
        head = shell.without_heredocs(command)[:_CONTENT]
        acting = next((piece for piece in shell.pieces(head) if not commands.looks(piece)), None)
        near = commands.family(acting) if acting else ""
        self._take(
            self._found(head, strong=True),
            _POINTED * recency,
            near if shell.concrete(near) else "",
            1,
        )
        if len(head) < len(command):
            self._take(self._found(command[:_CONTENT], strong=False), _WRITTEN * recency, "", 0)
        self._take(
            self._found(as_text(call.input.get("description")), strong=False), recency, "", 0
        )

    def _inputs(self, call: Call, path: str, recency: float) -> None:
        if path:
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
            self._take(self._found(old[:_CONTENT], strong=False), _REPLACED * recency, path, 3)
            self._take(self._found(new[:_CONTENT], strong=False), _WRITTEN * recency, path, 3)

    def _result(self, call: Call, path: str, recency: float) -> None:
        if call.result is None or call.result.rejected:
            return
        text = call.result.text
        if call.result.is_error:
            self._take(
                self._found(text[:_OUTPUT] + "\n" + text[-_OUTPUT:], strong=False),
                _FAILED * recency,
                path,
                1,
            )
        elif call.name in calls.SHELLS or call.name.startswith(("mcp__", "Web")):
            ends = text if len(text) <= 2 * _OUTPUT else text[:_OUTPUT] + "\n" + text[-_OUTPUT:]
            self._take(
                [pair for pair in self._found(ends, strong=False) if pair[1] in _LASTING],
                _PRINTED * recency,
                "",
                0,
            )

    def _found(self, text: str, *, strong: bool) -> dict[tuple[str, str], None]:
        """Return the different names in a text; a dict, so that their order is the same in every run."""
        found: dict[tuple[str, str], None] = {}
        if not text:
            return found
        for url in names.urls(text):
            found[url, "url"] = None
        for token in names.tokens(text):
            for pair in self.judge.names(token, strong=strong):
                found[pair] = None
        return found

    def _take(
        self, found: Iterable[tuple[str, str]] | Found, weight: float, near: str, bond: int
    ) -> None:
        for text, kind in found:
            if kind == "path" and is_absolute(text):
                text = self.paths.show(text) or text
            seen = self.known.get(text)
            if seen is None:
                seen = self.known[text] = _Name(kind)
            seen.score += weight
            if near and bond >= seen.bond and near != text:
                seen.near, seen.bond = near, bond
