"""The sections of the context that fill what room is left, most useful first."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from keepthread.handoff.facts.rules import only_binds
from keepthread.handoff.facts.withdrawn import all_taken_back, is_withdrawn
from keepthread.handoff.kept_words import said
from keepthread.handoff.model import Handoff
from keepthread.handoff.render.names import by_name, name_lines
from keepthread.handoff.render.words import Shown, command_line, listed, message, outcome, short

_ITEM = 300  # units of one line
_MESSAGE = 400
_COMMAND = 200  # the index has longer ones in full


class Optional(NamedTuple):
    """One optional section.

    Attributes:
        name: its key among the headings.
        body: its text in at most so many units, given the text above it; "" when there is nothing to say.
        share: units kept free for it in a full budget while the sections before it are filled, when there is room.
        cap: the most it takes.
    """

    name: str
    body: Callable[[Handoff, int, str], str]
    share: int
    cap: int


def _ruled_out(handoff: Handoff, limit: int, _above: str) -> str:
    ruled_out = handoff["constraints"]["ruled_out"]
    return _pairs([(each["approach"], each["reason"]) for each in ruled_out], ": ", limit)


def _questions(handoff: Handoff, limit: int, _above: str) -> str:
    return _bullets(handoff["open_questions"], limit)


def _todos(handoff: Handoff, limit: int, _above: str) -> str:
    order = {"in_progress": 0, "pending": 1, "completed": 2}
    todos = sorted(handoff["facts"]["todos"], key=lambda todo: order[todo["status"]])
    if all(todo["status"] == "completed" for todo in todos):
        return ""
    lines = (
        f"- {todo['status'].replace('_', ' ')}: {short(todo['text'], _ITEM)}" for todo in todos
    )
    return listed(lines, limit, len(todos))


def _issues(handoff: Handoff, limit: int, _above: str) -> str:
    issues = handoff["issues_discovered"]
    return _pairs([(each["issue"], each["workaround"]) for each in issues], " → ", limit)


def _completed(handoff: Handoff, limit: int, _above: str) -> str:
    return _bullets(list(reversed(handoff["completed_tasks"])), limit)


def _commands(handoff: Handoff, limit: int, above: str) -> str:
    printed = [
        (command_line(each["command"], _COMMAND), each)
        for each in handoff["facts"]["commands"][:200]
    ]
    lines = [f"- {line} ({outcome(each)})" for line, each in printed if line not in above]
    return listed(lines, limit, len(lines))


def _answers(handoff: Handoff, limit: int, above: str) -> str:
    facts = handoff["facts"]
    lines = [
        f"- asked: {short(each['question'], _ITEM)} — answered: {short(each['answer'], _ITEM)}"
        for each in facts["answers"][-20:]
    ]
    for each in facts["rejections"][-20:]:
        # Words that stand above already, as a rule mostly, are not said twice.
        words = "" if each["words"].strip() in above else f" — “{short(each['words'], _ITEM)}”"
        lines.append(f"- refused: {short(each['what'], _ITEM)}{words}")
    return listed(lines, limit, len(lines))


def _background(handoff: Handoff, limit: int, _above: str) -> str:
    items = handoff["facts"]["background"]
    return listed(
        (f"- {short(each['id'], 60)}: {short(each['what'], _ITEM)}" for each in items),
        limit,
        len(items),
    )


def _plan(handoff: Handoff, limit: int, above: str) -> str:
    plan = handoff["facts"]["plan"]
    if not plan.strip() or plan.strip()[:200] in above:
        return ""
    lines = [line.strip() for line in plan.splitlines() if line.strip()]
    # Its headings and numbered steps tell a plan in little room; one that has none begins with what matters.
    steps = [line for line in lines if line.startswith("#") or _is_step(line)] or lines
    told = [f"- {short(line.lstrip('# '), _ITEM)}" for line in steps]
    return listed(told, limit, len(told), " in the whole document")


def _is_step(line: str) -> bool:
    number, mark, _ = line.partition(". " if ". " in line[:4] else ") ")
    return bool(mark) and number.isdigit() and len(number) <= 2


def _git(handoff: Handoff, limit: int, _above: str) -> str:
    git = handoff["facts"]["git"]
    if not git["branch"] and not git["head"]:
        return ""
    head = f"branch {short(git['branch'], 120) or '(detached)'}"
    head += f" at {short(git['head'], 60)}" if git["head"] else ""
    if not git["dirty"]:
        return short(head + ", nothing uncommitted", limit)
    return short(f"{head}, uncommitted: {', '.join(git['dirty'][:30])}", limit)


def _names(handoff: Handoff, limit: int, above: str) -> str:
    identifiers = handoff["facts"]["identifiers"]
    label = by_name(handoff["files_touched"], identifiers)
    shown = Shown(above)
    return "\n".join(name_lines(identifiers, limit, label, lambda name: name not in shown))


def _messages(handoff: Handoff, limit: int, above: str) -> str:
    typed = said(handoff["facts"]["user_messages"])
    taken = all_taken_back(rule["text"] for rule in handoff["constraints"]["rules"])
    newest = [
        each
        for each in reversed(typed[-60:])
        if each["text"].strip()
        and not (only_binds(each["text"]) and is_withdrawn(each["text"], taken))
    ]
    # The ask and the task stand above, with more of them than would stand here.
    shown = (
        (text, text.split(" […", 1)[0]) for text in (message(each, _MESSAGE) for each in newest)
    )
    fresh = [text for text, head in shown if head not in above]
    return listed((f"- {text}" for text in fresh), limit, len(fresh))


def _instructions(handoff: Handoff, limit: int, _above: str) -> str:
    return _bullets(handoff["facts"]["instructions_loaded"], limit)


def _pairs(items: list[tuple[str, str]], between: str, limit: int) -> str:
    lines = (
        f"- {short(first, _ITEM)}" + (f"{between}{short(second, _ITEM)}" if second else "")
        for first, second in items
    )
    return listed(lines, limit, len(items))


def _bullets(items: list[str], limit: int) -> str:
    return listed((f"- {short(item, _ITEM)}" for item in items), limit, len(items))


# In the order they stand.
OPTIONAL: tuple[Optional, ...] = (
    Optional("ruled_out", _ruled_out, 700, 1_500),
    Optional("questions", _questions, 300, 800),
    Optional("todos", _todos, 400, 1_200),
    Optional("issues", _issues, 400, 1_200),
    Optional("completed", _completed, 300, 1_000),
    Optional("commands", _commands, 900, 2_400),
    Optional("answers", _answers, 300, 1_000),
    Optional("background", _background, 150, 500),
    Optional("plan", _plan, 200, 700),
    Optional("git", _git, 160, 500),
    Optional("names", _names, 3_600, 9_000),
    Optional("messages", _messages, 900, 3_000),
    Optional("instructions", _instructions, 100, 400),
)
# Who has its share first when there is not room for all: what was decided and is left to do counts more than names,
# which the index holds too.
_FIRST = ("ruled_out", "questions", "todos", "issues", "answers", "background", "names")
BY_WEIGHT = (*_FIRST, *(section.name for section in OPTIONAL if section.name not in _FIRST))
