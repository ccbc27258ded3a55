"""Everything that code can say of a transcript, as one partial handoff."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from keepthread.handoff.facts import (
    carry,
    commands,
    errors,
    files,
    identifiers,
    messages,
    open_asks,
    rules,
    state,
    tasks,
)
from keepthread.handoff.facts.identifiers import Ranking
from keepthread.handoff.facts.paths import Paths
from keepthread.handoff.facts.text import as_text, head_tail, unique
from keepthread.handoff.kept_words import notes, with_notes
from keepthread.handoff.model import (
    Constraints,
    CurrentState,
    Facts,
    FileTouched,
    Git,
    Handoff,
    Identifier,
    Meta,
    Outcome,
    RuledOut,
    StandingError,
    Todo,
    Trigger,
)
from keepthread.transcript.model import Item, Message, Note, Transcript

SCHEMA_VERSION = 1
LARGEST = 240_000  # bytes of the JSON document
_MOST_PINS = 40
_PIN = 2_000


class _Collected(NamedTuple):
    """What the parts of the document share."""

    items: Sequence[Item]
    transcript: Transcript
    previous: Handoff | None
    earlier: Sequence[Message]
    before: Sequence[Item]
    runs: list[commands.Run]
    ended: Mapping[str, Outcome]
    files: list[FileTouched]
    ranking: Ranking
    todos: list[Todo]
    now: str


def collect(
    transcript: Transcript,
    *,
    project: str,
    previous: Handoff | None,
    earlier: Sequence[Message] = (),
    before: Sequence[Item] = (),
    git: Git,
    pins: Sequence[str] = (),
    trigger: Trigger,
    ordinal: int,
    generated_at: str,
    aliases: Sequence[str] = (),
) -> Handoff:
    """Return a partial handoff with every computed field. It is not redacted.

    Args:
        transcript: the live part of the session.
        project: the project's root; paths inside it are shown relative to it.
        previous: the session's last handoff; what it knew and the live part does not say is carried over.
        earlier: typed messages from before the live part, for sessions without a previous handoff: they may hold
            the task and rules.
        before: what was typed before the live part, and the calls that changed files, as the session's index knows
            them: they count as said and done.
        git: the repository's state.
        pins: texts to keep verbatim.
        trigger: who asked for the compaction.
        ordinal: number of the compaction that comes next.
        generated_at: the present (ISO 8601).
        aliases: other spellings of the project's root, where a link leads to it.
    """
    paths = Paths(project, transcript.cwd, aliases)
    said_before = [item for item in before if isinstance(item, Message)]
    base = _collected(transcript, paths, previous, [*earlier, *said_before], before, generated_at)
    document = _document(base, paths, git, pins)
    document["meta"] = _meta(transcript, project, trigger, ordinal, generated_at)
    return _fitted(document)


def _collected(
    transcript: Transcript,
    paths: Paths,
    previous: Handoff | None,
    earlier: Sequence[Message],
    before: Sequence[Item],
    now: str,
) -> _Collected:
    items = transcript.items
    ended = tasks.finished(items)
    touched = files.touched(items, paths)
    ranking = identifiers.rank(items, touched, paths)
    described = files.described(touched, ranking.scores, ranking.beside)
    todos = tasks.todos(items)
    if previous is not None:
        described = carry.files(described, previous["files_touched"])
        todos = carry.todos(todos, previous)
    if before:
        changed = files.described(files.touched(before, paths), {}, {})
        # How often a file was edited is not known of what lies so far back.
        described = carry.files(described, [{**entry, "summary": ""} for entry in changed])
    runs = commands.runs(items, ended)
    return _Collected(
        items, transcript, previous, earlier, before, runs, ended, described, ranking, todos, now
    )


def _document(base: _Collected, paths: Paths, git: Git, pins: Sequence[str]) -> Handoff:
    answered = messages.is_answered(base.items, base.todos)
    facts = _facts(base, paths, git, pins, answered=answered)
    task = messages.task(base.items, base.earlier)
    questions = messages.open_questions(base.items)
    if base.previous is not None:
        own = task if messages.names_work(task) and not rules.only_binds(task) else ""
        task = carry.task(own, base.previous) or task
        questions = carry.questions(
            questions, base.previous, base.now, spoken=messages.said(base.items) != []
        )
    current = _current_state(base)
    steps = state.next_steps(
        base.items, base.todos, facts["pending_ask"], facts["last_check"], answered=answered
    )
    changed = current["files_modified"]
    return {
        "meta": _meta(base.transcript, "", "auto", 0, base.now),
        "session_started": _started(base),
        "task": task,
        "completed_tasks": state.completed(base.items, base.todos),
        "current_state": current,
        "constraints": _constraints(base),
        "files_touched": base.files,
        "issues_discovered": [],
        "open_questions": questions,
        "next_steps": steps,
        "resume_prompt": state.resume_prompt(
            task, facts["pending_ask"], current["in_flight"], steps, changed, facts["last_check"]
        ),
        "facts": facts,
        "audit": {"checked": [], "failed": []},
    }


def _facts(
    base: _Collected, paths: Paths, git: Git, pins: Sequence[str], *, answered: bool
) -> Facts:
    previous = base.previous
    before = open_asks.carried(previous, base.items, answered=answered) if previous else []
    kept = notes(previous["facts"]["user_messages"]) if previous else []
    fresh = messages.notes(base.items)
    whole = [*base.before, *base.items]
    said = with_notes([*before, *messages.said(whole), *kept], fresh)
    plan = tasks.plan(base.items)
    names = base.ranking.best
    left: list[StandingError] = []
    if previous is not None:
        plan = plan or previous["facts"]["plan"]
        left = errors.carried(previous, base.runs, base.now)
        names = carry.identifiers(names, previous, identifiers.MOST)
    return {
        "pending_ask": messages.pending(base.items, before),
        "user_messages": said,
        "commands": commands.ranked(base.runs, len(base.items)),
        "last_check": commands.last_check(base.runs),
        "errors": [*errors.standing(base.items, base.runs, paths), *left][: errors.MOST],
        "todos": base.todos,
        "plan": plan,
        "answers": messages.answers(whole),
        "rejections": messages.rejections(base.items),
        "background": tasks.background(base.items, base.ended),
        "instructions_loaded": _instructions(base.items, paths),
        "git": git,
        "identifiers": _without_transcripts(names, base.transcript.path),
        "pins": unique([head_tail(pin, _PIN) for pin in pins], _MOST_PINS),
        "tokens": max(base.transcript.tokens.total, 0),
    }


def _without_transcripts(names: Sequence[Identifier], path: str) -> list[Identifier]:
    """Leave out the session's own files, which the host and a shortened result name: nobody works on them."""
    folder = path.rpartition("/")[0]
    return [
        name
        for name in names
        if (name["text"].rpartition("/")[0] != folder or not name["text"].endswith(".jsonl"))
        and "/keepthread/sessions/" not in name["text"].replace("\\", "/")
    ]


def _constraints(base: _Collected) -> Constraints:
    before = base.previous["constraints"]["rules"] if base.previous is not None else []
    refused: list[RuledOut] = messages.ruled_out(base.items, base.transcript.abandoned)
    if base.previous is not None:
        refused = carry.ruled_out(refused, base.previous, base.now)
    return {"rules": rules.rules(base.earlier, base.items, before), "ruled_out": refused}


def _current_state(base: _Collected) -> CurrentState:
    settled = errors.settled(commands.standing_checks(base.runs))
    return {
        "in_flight": state.in_flight(base.items),
        "files_modified": [entry["path"] for entry in base.files if entry["status"] != "read"][
            :150
        ],
        "works": settled["works"],
        "broken": settled["broken"],
    }


def _instructions(items: Sequence[Item], paths: Paths) -> list[str]:
    loaded = [
        as_text(item.data.get("path"))
        for item in items
        if isinstance(item, Note) and item.kind == "nested_memory"
    ]
    return unique([paths.show(path) for path in loaded], 60)


def _started(base: _Collected) -> str:
    if base.previous is not None and base.previous["session_started"]:
        return base.previous["session_started"]
    return base.transcript.session_started[:64]


def _meta(
    transcript: Transcript, project: str, trigger: Trigger, ordinal: int, generated_at: str
) -> Meta:
    return {
        "schema_version": SCHEMA_VERSION,
        "session_id": transcript.session_id,
        "project": project,
        "generated_at": generated_at,
        "trigger": trigger,
        "ordinal": ordinal,
        "status": "partial",
        "reason": None,
        "engine": "facts",
        "rungs": [],
        "transcript": {
            "path": transcript.path,
            "size": transcript.size,
            "last_uuid": transcript.position,
            "skipped": transcript.skipped,
        },
        "usage": None,
        "cost_usd": None,
        "seconds": 0.0,
    }


def _fitted(document: Handoff) -> Handoff:
    """Return the document, its largest lists halved until it is small enough to store and pass around."""
    facts = document["facts"]
    for _ in range(12):
        if len(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")) <= LARGEST:
            break
        spoken = facts["user_messages"]
        facts["user_messages"] = [
            {"text": head_tail(each["text"], 600), "source": each["source"]}
            for each in spoken[-len(spoken) // 2 :]
        ]
        facts["identifiers"] = facts["identifiers"][: max(len(facts["identifiers"]) // 2, 50)]
        facts["rejections"] = facts["rejections"][-max(len(facts["rejections"]) // 2, 5) :]
        facts["answers"] = facts["answers"][-max(len(facts["answers"]) // 2, 5) :]
        document["files_touched"] = document["files_touched"][
            : max(len(document["files_touched"]) * 3 // 4, 60)
        ]
        facts["commands"] = facts["commands"][: max(len(facts["commands"]) // 2, 15)]
    return document
