"""What a transcript says, so that a claim can be looked up in it, and who said it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from keepthread.handoff.frame import FRAME
from keepthread.handoff.model import Handoff
from keepthread.handoff.named import Named, without_place
from keepthread.handoff.wording import is_aged, unmarked, words
from keepthread.transcript.model import Call, Item, Message, Note, Transcript

_SLASHES = re.compile(r"[\\/]+")
_ARITY = re.compile(
    r"/\d{1,2}(?!\w)"
)  # Elixir and Erlang name a function with the number of its arguments
_PARTS = re.compile(r":\d{2,5}(?=/)|\.(?=\w)|::|->|#|[()\[\]{}<>,;:=|&\"'$!?*+%^]+|\s+")
_SPECIAL = re.compile(r"[\d_./\\A-Z-]")
_WEB = re.compile(r"\b(?:curl|wget|http|httpie|xh|lynx|Invoke-WebRequest|iwr|irm)\b")
_MOST_WINDOWS = 40  # passages of one text that are looked up
_WIDE = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")

# Words of everyday commands: a step may name such a command although nobody has run it yet.
_EVERYDAY_WORDS = """
    add apply audit bash branch build bundle cargo cat cd check checkout ci clean clone commit compile compose cp
    deploy dev diff docker down echo exec fetch fix fmt format generate git gh go grep init install jest lint list log
    ls make merge migrate mkdir mv mvn mypy node npm npx pip pnpm poetry pr publish pull push pytest python rebase
    release reset restart restore rm ruff run serve show start stash status stop sync tag test tests tox tsc up update
    upgrade uv view vitest watch yarn all main origin master head true false none null"""
_EVERYDAY = frozenset(_EVERYDAY_WORDS.split())


# What shows that an act took place: in what was run, and in what outputs or the user say.
ACTS = {
    "commit": (
        r"\bgit\b[^\n]{0,80}\bcommit\b|\b(?:jj|hg|svn) (?:commit|describe)\b|create_commit|create_or_update_file",
        r"\[[\w./-]+ [0-9a-f]{7,}\]|gitOperation|\b(?:i|we)(?:['’]ve| have)? (?:just |already )?committed\b",
    ),
    "push": (
        r"\bgit\b[^\n]{0,80}\bpush\b|\bgh pr create\b|push_files|create_pull_request",
        r"->\s*(?:origin/|main|master)|gitOperation|\b(?:i|we)(?:['’]ve| have)? (?:just |already )?pushed\b",
    ),
    "merge": (
        r"\bmerge\b|\bgh pr merge\b|merge_pull_request",
        r"\bmerged\b|\bFast-forward\b",
    ),
    "deploy": (
        r"deploy|release|publish|kubectl|helm|terraform|rollout|scp |rsync ",
        r"\bdeployed\b|\breleased\b|\bpublished\b|\blive\b",
    ),
}
_TEST_RUN = re.compile(
    r"\b(?:pytest|unittest|tox|nox|jest|vitest|mocha|rspec|ctest|phpunit|playwright|cypress|tests?|check|verify)\b",
    re.IGNORECASE,
)
_TEST_TOLD = re.compile(
    r"\b(?:tests?|specs?|suite)\b[^\n]{0,60}\b(?:pass\w*|fail\w*|green|ok)\b|\b\d+ (?:passed|failed|passing)\b",
    re.IGNORECASE,
)


_OURS = "<!-- keepthread "
_ENTRY = re.compile(r"^\s*(?:- |\d{1,2}\. )?(?:First next step: )?")
_QUOTING = ("errors", "last_check", "identifiers")  # facts that stand in a tool's output


@dataclass(frozen=True)
class Evidence:
    """The words of a session, by who said them.

    Attributes:
        typed: what the user typed, message by message.
        said: what the agent wrote and what summaries say.
        done: the inputs of the tool calls.
        commands: the part of `done` that went to a shell.
        ours: handoffs of this session that were put into it; they were checked when they were written.
        before: what the host's summary and an earlier handoff say of the time before.
        seen: results of tools, reports, and whatever else came in.
        fetched: the part of `seen` that came from the web or from a server.
        folders: names of the project's folders.
        focus: the instructions given to the compaction itself, which are no task.
    """

    typed: tuple[str, ...] = ()
    said: str = ""
    done: str = ""
    seen: str = ""
    fetched: str = ""
    folders: frozenset[str] = frozenset()
    focus: str = ""
    commands: str = ""
    before: str = ""
    ours: str = ""

    @classmethod
    def from_transcript(
        cls, transcript: Transcript, earlier: Handoff | None = None, *, focus: str = ""
    ) -> Evidence:
        """Collect the words of a transcript.

        Args:
            transcript: the live part.
            earlier: a handoff whose statements count as said before, such as the partial that carries older ones.
            focus: the instructions given to the compaction.
        """
        items = transcript.items
        messages = [item for item in items if isinstance(item, Message)]
        messages += transcript.abandoned
        calls = [item for item in items if isinstance(item, Call)]
        summary = transcript.boundary.summary if transcript.boundary else ""
        own, quoted = _parted(earlier) if earlier else ({}, {})
        before = [summary, transcript.cwd, transcript.git_branch, *_strings(own)]
        return cls(
            typed=tuple(message.text for message in messages if message.typed),
            said="\n".join(
                [*(m.text for m in messages if m.via in ("reply", "summary", "plan")), *before]
            ),
            done="\n".join(text for call in calls for text in (call.name, *_strings(call.input))),
            seen="\n".join([*_incoming(items), *_strings(quoted)]),
            fetched="\n".join(c.result.text for c in calls if c.result and _from_web(c)),
            folders=_folders(calls),
            focus=focus,
            commands="\n".join(_shell(call) for call in calls),
            ours="\n".join(m.text for m in messages if _is_ours(m)),
            before="\n".join([summary, *(text for text in before if is_aged(text))]),
        )

    def with_facts(self, handoff: Handoff) -> Evidence:
        """Return this evidence and what code computed of the same session, which includes the repository's state."""
        facts, quoted = _parted_facts(handoff)
        known = {
            "facts": facts,
            "rules": handoff["constraints"]["rules"],
            "paths": [[entry["path"], entry.get("from", "")] for entry in handoff["files_touched"]],
            "modified": handoff["current_state"]["files_modified"],
            "project": handoff["meta"]["project"],
            "transcript": handoff["meta"]["transcript"]["path"],
        }
        folders = {
            part
            for entry in handoff["files_touched"]
            for part in entry["path"].replace("\\", "/").split("/")[:-1]
        }
        return replace(
            self,
            said="\n".join((self.said, *_strings(known))),
            seen="\n".join((self.seen, *_strings(quoted))),
            folders=self.folders | folders,
            commands="\n".join(
                (self.commands, *(entry["command"] for entry in handoff["facts"]["commands"]))
            ),
        )

    def holds(self, thing: Named, project: str = "") -> bool:
        """Return whether the thing occurs in the session, however its path is written."""
        if "REDACTED" in thing.text:
            return True  # what stood there is gone on purpose
        if any(self._occurs(form) for form in _forms(thing, project)):
            return True
        return self._assembled(thing) or self._listed(thing)

    def user_wanted(self, text: str) -> bool:
        """Return whether the text stands in the user's own words or in something that was done."""
        flat = _flat(text)
        return flat in _flat("\n".join(self.typed)) or flat in _flat(self.done)

    def contains(self, text: str) -> bool:
        """Return whether the text occurs anywhere, spacing and case aside."""
        flat = _flat(text)
        return flat in self._flat_own or flat in self._flat_seen

    def mentions(self, text: str) -> bool:
        """Return whether one of the text's telling words occurs in the session, by its stem; True without any."""
        telling = [word for word in words(text) if len(word) > 3 or not word.isascii()]
        return not telling or any(word[:5] in self._all_lower for word in telling)

    def in_commands(self, text: str) -> bool:
        """Return whether the text stands in a shell command that ran."""
        return text in self.commands

    def tells_of_tests(self) -> bool:
        """Return whether any test has run, or somebody has told of one."""
        if _TEST_RUN.search(self.commands):
            return True
        return any(_TEST_TOLD.search(text) for text in (self.seen, *self.typed))

    def has_done(self, act: str) -> bool:
        """Return whether an act (a key of `ACTS`) is on record: a command, a tool, an output, or the user's word."""
        ran, told = ACTS[act]
        return bool(
            re.search(ran, f"{self.commands}\n{self.done}", re.IGNORECASE)
            or any(re.search(told, text, re.IGNORECASE) for text in (self.seen, *self.typed))
        )

    def told_before(self, text: str) -> bool:
        """Return whether an earlier handoff of this session says this as a whole entry of its own."""
        return bool(text.strip()) and _flat(unmarked(text)) in self._entries

    def share_only_in(self, text: str, *, fetched: bool) -> float:
        """Return which part of the text (0 to 1) was copied from tool output that neither user nor agent repeated.

        With `fetched`, only output that came from the web or a server counts.
        """
        windows = list(_windows(_flat(text)))
        windows = windows[:: 1 + len(windows) // _MOST_WINDOWS]
        source = self._flat_fetched if fetched else self._flat_seen
        if not windows or not source:
            return 0.0
        copied = sum(1 for window in windows if window in source and window not in self._flat_own)
        return copied / len(windows)

    @cached_property
    def _entries(self) -> frozenset[str]:
        lines = (_ENTRY.sub("", line) for line in self.ours.splitlines())
        return frozenset(_flat(unmarked(line)) for line in lines)

    def _assembled(self, thing: Named) -> bool:
        """Whether a command or an expression in backquotes is put together from words that occur."""
        if thing.kind != "code":
            return False
        text = _ARITY.sub("", thing.text)
        parts = [part.strip("./\\").rstrip("-") for part in _PARTS.split(text)]
        parts = [part for part in parts if part and part.casefold() not in _EVERYDAY]
        if parts == [text]:
            return False
        return all(self._occurs(_folded(part)) for part in parts if _tells(part, text))

    def _listed(self, thing: Named) -> bool:
        """Whether a command that named the folder printed the file's name, as `ls docs` does."""
        folder, _, name = _folded(thing.text).rpartition("/")
        if thing.kind != "path" or not folder or "." not in name:
            return False
        return _stands_in(folder, _folded(self.commands)) and _stands_in(name, self.seen)

    def _occurs(self, form: str) -> bool:
        return _stands_in(form, self._all) or _stands_in(form.casefold(), self._all_lower)

    @cached_property
    def _all(self) -> str:
        return _folded("\n".join((*self.typed, self.said, self.done, self.seen)))

    @cached_property
    def _all_lower(self) -> str:
        return self._all.casefold()

    @cached_property
    def _flat_seen(self) -> str:
        return _flat(self.seen)

    @cached_property
    def _flat_fetched(self) -> str:
        return _flat(self.fetched)

    @cached_property
    def _flat_own(self) -> str:
        return _flat("\n".join((*self.typed, self.said, self.done)))


def _parted(handoff: Handoff) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return an earlier handoff without what quotes the output of tools, and that."""
    facts, quoted = _parted_facts(handoff)
    state: dict[str, Any] = {**handoff["current_state"]}
    quoted["broken"] = state.pop("broken")  # where errors are told once more
    return {**handoff, "facts": facts, "current_state": state}, quoted


def _parted_facts(handoff: Handoff) -> tuple[dict[str, Any], dict[str, Any]]:
    facts: dict[str, Any] = {**handoff["facts"]}
    quoted = {name: facts.pop(name) for name in _QUOTING}
    return facts, quoted


def _is_ours(message: Message) -> bool:
    """Whether the host put a handoff of ours into the session with this message."""
    text = message.text.lstrip()
    return message.via == "injected" and (text.startswith(_OURS) or f"<{FRAME}>" in text)


def _incoming(items: Iterable[Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, Call):
            if item.result:
                yield item.result.text
                yield from _strings(item.result.data)
        elif isinstance(item, Note):
            yield from _strings(item.data)
        elif not item.typed and item.via != "reply":
            yield item.text


def _from_web(call: Call) -> bool:
    if call.name in ("WebFetch", "WebSearch") or call.name.startswith("mcp__"):
        return True
    return call.name in ("Bash", "PowerShell") and bool(
        _WEB.search(str(call.input.get("command", "")))
    )


def _shell(call: Call) -> str:
    return str(call.input.get("command", "")) if call.name in ("Bash", "PowerShell") else ""


def _folders(calls: Iterable[Call]) -> frozenset[str]:
    paths = (str(call.input.get("file_path", "")).replace("\\", "/") for call in calls)
    return frozenset(part for path in paths for part in path.split("/")[:-1] if part)


def _strings(value: Any) -> Iterator[str]:
    """Yield every string in a JSON value, and the keys, which name files in some records."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield str(name)
            yield from _strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _strings(inner)
    elif isinstance(value, (int, float)):
        yield json.dumps(value)


def _forms(thing: Named, project: str) -> Iterator[str]:
    """Yield the ways the thing may be written in a transcript, separators made alike."""
    form = _folded(thing.text)
    yield form
    bare = without_place(form).rstrip("/").removesuffix("()")
    yield bare
    yield bare.removeprefix("./").removeprefix("~/")
    if thing.kind in ("code", "name"):
        yield _ARITY.sub("", bare)
    root = _folded(project).rstrip("/")
    if root and bare.casefold().startswith(root.casefold() + "/"):
        yield bare[len(root) + 1 :]


def _tells(part: str, text: str) -> bool:
    """Whether a part of a command must occur: not a short flag, a number or an ordinary word among others."""
    if len(part) < 2 or part.isdigit() or (part[0] == "-" and part[1] != "-"):
        return False
    return bool(_SPECIAL.search(part)) or " " not in text.strip()


def _stands_in(form: str, text: str) -> bool:
    """Return whether `form` occurs and is not part of a longer word."""
    if not form:
        return True
    at = text.find(form)
    while at >= 0:
        end = at + len(form)
        left = (
            at == 0 or not form[0].isalnum() or not (text[at - 1].isalnum() or text[at - 1] in "_-")
        )
        right = (
            end >= len(text)
            or not form[-1].isalnum()
            or not (text[end].isalnum() or text[end] == "_")
        )
        if left and right:
            return True
        at = text.find(form, at + 1)
    return False


def _folded(text: str) -> str:
    return _SLASHES.sub("/", text)


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()


def _windows(flat: str) -> Iterator[str]:
    """Yield overlapping passages of about four words."""
    size = 10 if _WIDE.search(flat) else 24
    if len(flat) <= size:
        if len(flat) > size // 2:
            yield flat
        return
    for start in range(0, len(flat) - size + 1, size // 3):
        yield flat[start : start + size]
