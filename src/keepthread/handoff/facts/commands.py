"""Shell commands with how they ended, the last check, and the errors that still stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from keepthread.handoff.facts import calls, checks, shell
from keepthread.handoff.facts.shell import Piece
from keepthread.handoff.facts.text import source, word_set
from keepthread.handoff.model import Check, Command, Outcome
from keepthread.transcript.model import Call, Item, Message

MOST = 60
_LONGEST = 300
_NONE: Mapping[str, Outcome] = {}
_EVERYTHING = frozenset((".", "./...", "...", "src", "tests", "test"))
_PICKING = word_set(
    "-k -m -t -g --filter --grep -run --run --testNamePattern --test-name-pattern --tests --only"
)
_LOOKING = word_set(
    """ls cat grep rg find head tail echo pwd wc which tree file stat sed awk less more sort uniq cut diff du df ps env
    printenv date whoami type test true false sleep cd pushd popd bat fd jq xxd tr basename dirname realpath readlink
    get-content get-childitem select-string select-object where-object write-output write-host measure-object
    foreach-object test-path get-location get-command out-string format-table gc gci dir"""
)
_GIT_LOOKING = frozenset(
    (
        "status",
        "diff",
        "log",
        "show",
        "branch",
        "blame",
        "ls-files",
        "rev-parse",
        "remote",
        "reflog",
        "config",
        "fetch",
        "grep",
    )
)
GROUPED = frozenset(
    (
        "git",
        "npm",
        "pnpm",
        "yarn",
        "bun",
        "docker",
        "gh",
        "cargo",
        "go",
        "dotnet",
        "kubectl",
        "terraform",
        "make",
        "uv",
        "poetry",
        "pip",
        "brew",
        "apt",
        "apt-get",
        "flutter",
        "mix",
        "rails",
        "az",
        "aws",
        "gcloud",
    )
)


class Run:
    """One run of a shell command.

    Attributes:
        at: index of its item.
        key: the form under which runs of the same command are counted.
        families: what its simple commands do, without those that only look around.
        tool: the check it runs, "" when it is none.
        check: the simple command that runs it.
        targets: the files, folders and packages that check was narrowed to.
        picks: the options by which it ran some tests only.
        result: what the check came to, in one line.
    """

    def __init__(
        self, at: int, call: Call | None, command: str, outcome: Outcome, pieces: Sequence[Piece]
    ) -> None:
        self.at = at
        self.call = call
        self.command = command
        self.key = shell.comparable(command)
        self.outcome: Outcome = outcome
        self.pieces = pieces
        self.families: frozenset[str] = frozenset()
        self.tool = ""
        self.check = ""
        self.targets: frozenset[str] = frozenset()
        self.picks: frozenset[str] = frozenset()
        self.result = ""
        self.source = ""

    @property
    def short(self) -> str:
        """The command line for display; of a long one only the check it runs."""
        long = len(self.command) > _LONGEST // 2 or "\n" in self.command
        return shell.shown(self.check if long and self.check else self.command, _LONGEST)

    @property
    def looking(self) -> bool:
        """Whether it only looked around."""
        return all(looks(piece) for piece in self.pieces)


def runs(items: Sequence[Item], ended: Mapping[str, Outcome] = _NONE) -> list[Run]:
    """Return every shell command of the items, in order. `ended`: ids of background work, and how it ended."""
    found: list[Run] = []
    for at, item in enumerate(items):
        if isinstance(item, Call) and item.name in calls.SHELLS:
            command = calls.command_of(item).strip()
            if command:
                found.append(_run(item, command, at, ended))
        elif isinstance(item, Message) and item.via == "bash" and item.text.strip():
            text = item.text.strip()
            run = Run(at, None, text, "unknown", shell.pieces(text))
            run.source = source(item.place)
            found.append(run)
    return found


def ranked(every: Sequence[Run], total: int) -> list[Command]:
    """Return the different commands, most useful first; `total` is the number of items they come from."""
    groups: dict[str, list[Run]] = {}
    for run in every:
        groups.setdefault(run.key, []).append(run)
    scored = sorted(groups.values(), key=lambda group: (-_use(group, total), -group[-1].at))
    return [
        {
            "command": shell.shown(group[-1].command, _LONGEST),
            "outcome": group[-1].outcome,
            "count": len(group),
        }
        for group in scored[:MOST]
    ]


def last_check(every: Sequence[Run]) -> Check | None:
    """Return the last test, build, lint or type-check run that came to an end."""
    for run in reversed(every):
        if run.tool and run.outcome in ("ok", "failed"):
            return {
                "command": run.short,
                "outcome": run.outcome,
                "result": run.result,
                "source": run.source,
            }
    return None


def standing_checks(every: Sequence[Run]) -> list[Run]:
    """Return the last run of each different check, latest first."""
    latest: dict[str, Run] = {}
    for run in every:
        if run.tool and run.outcome in ("ok", "failed"):
            latest[run.tool] = run
    return sorted(latest.values(), key=lambda run: -run.at)


def family(piece: Piece) -> str:
    """Return what a simple command does in two or three words: program and sub-command, or program and file."""
    words = piece.words
    if not words:
        return ""
    arguments = [word for word in words[1:] if not word.startswith("-")]
    if piece.program in GROUPED:
        depth = 2 if arguments[:1] in (["run"], ["exec"], ["compose"], ["pr"], ["issue"]) else 1
        return " ".join([piece.program, *arguments[:depth]])
    inline = next((word for word in words[1:3] if word in ("-c", "-e", "-")), "")
    return f"{piece.program} {inline or next(iter(arguments), '')}".strip()


def _run(call: Call, command: str, at: int, ended: Mapping[str, Outcome]) -> Run:
    outcome = calls.outcome(call)
    away = outcome == "running"
    if away:
        outcome = ended.get(calls.background_id(call), outcome)
    pieces = shell.pieces(command, powershell=call.name == "PowerShell")
    run = Run(at, call, command, outcome, pieces)
    run.families = frozenset(family(piece) for piece in pieces if piece.words and not looks(piece))
    for piece in pieces:
        run.tool = checks.tool_of(piece)
        if run.tool:
            run.check = " ".join(piece.words)
            run.targets = frozenset(filter(_is_target, piece.words[1:]))
            run.picks = frozenset(_picks(piece.words[1:]))
            break
    if call.result is not None:
        run.source = source(call.result.place)
        if run.tool and outcome in ("ok", "failed"):
            certain = not _hides_exit_code(command, run.check)
            run.result = (
                "ended in the background"
                if away
                else checks.result_line(
                    call.result.text, failed=outcome == "failed", certain=certain
                )
            )
            if outcome == "ok" and checks.says_failed(run.result):
                run.outcome = "failed"
    return run


def _hides_exit_code(command: str, check: str) -> bool:
    """Return whether the exit code may be another program's: `pytest | tail` ends with that of tail."""
    start = max(command.find(check.split(" ", 1)[0]), 0)
    return any(mark in command[start:].replace("||", "|") for mark in ("|", ";", "\n"))


def _picks(words: Sequence[str]) -> Iterator[str]:
    """Yield the options that pick some of a check's tests by name."""
    for at, word in enumerate(words):
        option, _, value = word.partition("=")
        if option in _PICKING:
            yield f"{option} {value or ' '.join(words[at + 1 : at + 2])}"


def _is_target(word: str) -> bool:
    """Return whether an argument narrows a check to a place; "everything" narrows it to nothing."""
    if word.startswith("-") or word.rstrip("/") in _EVERYTHING:
        return False
    return "/" in word or "." in word or "::" in word


def _use(group: Sequence[Run], total: int) -> float:
    last = group[-1]
    recency = (last.at + 1) / max(total, 1)
    if last.looking:
        kind = 0.0
    elif last.tool or any(_acts(piece) for piece in last.pieces):
        kind = 2.0
    else:
        kind = 1.0
    standing = 0.5 if last.outcome in ("failed", "running") and not last.looking else 0.0
    script = -0.8 if "\n" in last.command and not last.tool else 0.0
    return kind + 1.5 * recency + 0.4 * min(len(group) - 1, 5) + standing + script


def looks(piece: Piece) -> bool:
    """Return whether a simple command only looks around: it changes nothing and checks nothing."""
    program = piece.program.lower()
    if piece.writes or piece.appends:
        return False
    if program == "git":
        name = next(
            (word for word in piece.words[1:] if not word.startswith("-") and "/" not in word), ""
        )
        return name in _GIT_LOOKING
    if program == "sed":
        return not any(word.startswith("-i") for word in piece.words)
    return program in _LOOKING


def _acts(piece: Piece) -> bool:
    if piece.program in GROUPED:
        return not looks(piece)
    return bool(piece.words) and bool(re.match(r"\.?/?(?:scripts|bin|tools)/", piece.words[0]))
