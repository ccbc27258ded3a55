"""The host's own lists: todos and tasks, the accepted plan, and work that still runs in the background."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from keepthread.handoff.facts import calls
from keepthread.handoff.facts.text import as_dict, as_list, as_text, head_tail, lazy, one_line
from keepthread.handoff.model import Background, Outcome, Todo
from keepthread.transcript.model import Call, Item, Message, Note

MOST = 60
_LONGEST = 300
_PLAN = 4_000
_PLAN_OPENING = "Implement the following plan:"
_STATUS: Mapping[str, Literal["pending", "in_progress", "completed"]] = {
    "pending": "pending", "open": "pending", "in_progress": "in_progress",
    "completed": "completed", "done": "completed",
}  # fmt: skip
_TASK_ID = lazy(r"Task #(\w+)")
_ENDED = lazy(
    r"<status>\s*(?:completed|failed|killed|stopped|error)|\"?status\"?:\s*\"?(?:completed|failed|killed)"
)
_WENT_WRONG = lazy(
    r"<status>\s*(?:failed|killed|error)|\"?status\"?:\s*\"?(?:failed|killed)|\bexit code:? [1-9]|<exit_code>\s*[1-9]"
)
_REPORT = 2_000
_STOPPERS = frozenset(("KillShell", "KillBash", "TaskStop"))
_ENDED_STATES = frozenset(
    ("completed", "failed", "killed", "stopped", "error", "exited", "success")
)


def todos(items: Sequence[Item]) -> list[Todo]:
    """Return the host's task list as it stands: whichever kind was written last, replayed to its end."""
    lists = _Lists()
    for item in items:
        if isinstance(item, Call):
            lists.call(item)
        elif isinstance(item, Note):
            lists.note(item)
    return lists.current()[:MOST]


class _Lists:
    """Replays TodoWrite (whole lists) and TaskCreate/TaskUpdate (steps)."""

    def __init__(self) -> None:
        self.whole: list[Todo] = []
        self.tasks: dict[str, Todo] = {}
        self.latest = ""

    def current(self) -> list[Todo]:
        return self.whole if self.latest == "whole" else list(self.tasks.values())

    def call(self, call: Call) -> None:
        if call.name == "TodoWrite" and not calls.refused(call):
            self.replace(as_list(call.input.get("todos")))
        elif call.name == "TaskCreate" and calls.succeeded(call):
            self.create(call)
        elif call.name == "TaskUpdate" and calls.succeeded(call):
            self.update(call)

    def note(self, note: Note) -> None:
        if note.kind == "todos":
            self.replace(as_list(note.data.get("todos")))
        elif note.kind == "tasks":
            self.tasks = {}
            self.latest = "tasks"
            for entry in map(as_dict, as_list(note.data.get("tasks"))):
                self.put(
                    str(entry.get("id", "")), as_text(entry.get("subject")), entry.get("status")
                )

    def replace(self, entries: Sequence[Any]) -> None:
        self.latest = "whole"
        self.whole = [
            todo
            for entry in map(as_dict, entries)
            if (todo := _todo(entry.get("content"), entry.get("status")))
        ]

    def create(self, call: Call) -> None:
        self.latest = "tasks"
        result = call.result
        made = as_dict(result.data.get("task")) if result else {}
        found = _TASK_ID.search(result.text[:200]) if result else None
        identifier = str(made.get("id") or (found[1] if found else "") or len(self.tasks) + 1)
        self.put(
            identifier,
            as_text(call.input.get("subject")) or as_text(made.get("subject")),
            "pending",
        )

    def update(self, call: Call) -> None:
        identifier = str(call.input.get("taskId") or call.input.get("task_id") or "")
        status = call.input.get("status")
        if status == "deleted":
            self.tasks.pop(identifier, None)
            return
        known = self.tasks.get(identifier)
        subject = as_text(call.input.get("subject")) or (known["text"] if known else "")
        self.latest = "tasks" if subject else self.latest
        self.put(identifier, subject, status or (known["status"] if known else "pending"))

    def put(self, identifier: str, subject: str, status: Any) -> None:
        todo = _todo(subject, status)
        if todo and identifier:
            self.tasks[identifier] = todo


def _todo(text: Any, status: Any) -> Todo | None:
    line = one_line(as_text(text), _LONGEST)
    if not line:
        return None
    return {"text": line, "status": _STATUS.get(as_text(status), "pending")}


def plan(items: Sequence[Item]) -> str:
    """Return the plan the user accepted last, bounded, "" when there is none."""
    for item in reversed(items):
        if isinstance(item, Message) and item.via == "plan":
            return head_tail(item.text.removeprefix(_PLAN_OPENING), _PLAN)
        if isinstance(item, Call) and item.name == "ExitPlanMode" and calls.succeeded(item):
            data = item.result.data if item.result else {}
            text = as_text(item.input.get("plan")) or as_text(data.get("plan"))
            if text.strip():
                return head_tail(text, _PLAN)
    return ""


def finished(items: Sequence[Item]) -> dict[str, Outcome]:
    """Return the ids of background work that was reported as ended or was stopped, and how it ended."""
    reports: list[str] = []
    ended: dict[str, Outcome] = {}
    for item in items:
        if isinstance(item, Message) and item.via == "notification" and _ENDED.search(item.text):
            reports.append(item.text)
        elif isinstance(item, Call) and item.name in calls.AWAITERS:
            if item.result is not None and _has_ended(item):
                ended[_asked_for(item)] = _ending(item.result.text)
        elif isinstance(item, Call) and item.name in _STOPPERS and calls.succeeded(item):
            ended[_asked_for(item)] = "interrupted"
    for identifier in _launched(items):
        report = next((report for report in reports if identifier in report), "")
        if report:
            ended[identifier] = _ending(report)
    ended.pop("", None)
    return ended


def _ending(report: str) -> Outcome:
    return "failed" if _WENT_WRONG.search(report[:_REPORT]) else "ok"


def background(items: Sequence[Item], ended: Collection[str]) -> list[Background]:
    """Return the background work that, as far as the transcript tells, still runs."""
    running: list[Background] = []
    for identifier, call in _launched(items).items():
        if identifier not in ended and call.id not in ended:
            what = calls.named(call, 200) if call.name in calls.SHELLS else _agent(call)
            running.append({"id": identifier[:256], "what": what})
    return running[-20:]


def _agent(call: Call) -> str:
    about = as_text(call.input.get("description")) or as_text(call.input.get("prompt"))
    return f"{call.name}: {one_line(about, 200)}"


def _launched(items: Sequence[Item]) -> dict[str, Call]:
    return {
        identifier: item
        for item in items
        if isinstance(item, Call) and (identifier := calls.background_id(item))
    }


def _asked_for(call: Call) -> str:
    return next(
        (
            as_text(call.input.get(key))
            for key in ("task_id", "bash_id", "shell_id", "agentId")
            if call.input.get(key)
        ),
        "",
    )


def _has_ended(call: Call) -> bool:
    if call.result is None:
        return False
    data = call.result.data
    task = as_dict(data.get("task"))
    if as_text(task.get("status") or data.get("status")) in _ENDED_STATES:
        return True
    return bool(_ENDED.search(call.result.text[:_REPORT]))
