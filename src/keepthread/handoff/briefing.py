"""What code knows of a session, as lines for the model that writes the handoff."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from keepthread.handoff.frame import one_line
from keepthread.handoff.model import Command, FileTouched, Handoff, Identifier, ModelAnswer
from keepthread.handoff.units import cut
from keepthread.handoff.wording import is_aged


class Section(NamedTuple):
    """A heading and the lines below it."""

    heading: str
    lines: list[str]


def facts(handoff: Handoff) -> list[Section]:
    """Return the computed facts, the most needed first."""
    sections = [*_wanted(handoff), *_done(handoff)]
    return [section for section in sections if section.lines]


def _wanted(handoff: Handoff) -> Iterator[Section]:
    """Yield what the user wants and where the work stands."""
    known = handoff["facts"]
    ask, check = known["pending_ask"], known["last_check"]
    yield Section("Session", list(_session(handoff)))
    yield Section(
        "The user's last ask, not answered yet", [_line(ask["text"], 1_500)] if ask else []
    )
    yield Section(
        "Rules and constraints the user typed (candidates found by a program)",
        [_line(rule["text"], 400) for rule in handoff["constraints"]["rules"]],
    )
    yield Section(
        "To be kept whatever happens (pinned by the user)",
        [_line(pin, 400) for pin in known["pins"]],
    )
    yield Section(
        "Last test, build or lint run",
        [_line(f"{check['command']} → {check['outcome']}: {check['result']}", 500)]
        if check
        else [],
    )
    yield Section(
        "Errors still standing",
        [_line(f"{error['what']}: {error['error']}", 400) for error in known["errors"]],
    )


def _done(handoff: Handoff) -> Iterator[Section]:
    """Yield what was touched, run, decided and named."""
    known = handoff["facts"]
    yield Section("Files touched", [_file(entry) for entry in handoff["files_touched"]])
    yield Section(
        "Todo list", [_line(f"[{todo['status']}] {todo['text']}", 240) for todo in known["todos"]]
    )
    yield Section(
        "Answers the user gave",
        [_line(f"{given['question']} → {given['answer']}", 400) for given in known["answers"]],
    )
    yield Section(
        "Refused or interrupted by the user",
        [_line(f"{entry['what']}: {entry['words']}", 300) for entry in known["rejections"]],
    )
    yield Section("Commands", [_command(entry) for entry in known["commands"]])
    yield Section("Accepted plan", [_line(known["plan"], 2_000)] if known["plan"] else [])
    yield Section(
        "Still running in the background",
        [_line(f"{entry['id']}: {entry['what']}", 200) for entry in known["background"]],
    )
    yield Section("Exact names", [_identifier(entry) for entry in known["identifiers"]])


def earlier(handoff: Handoff) -> list[Section]:
    """Return what a partial carries of the session's earlier handoff; every line bears its age."""
    state, constraints = handoff["current_state"], handoff["constraints"]
    sections = [
        Section("Task", _aged([handoff["task"]], 800)),
        Section(
            "Ruled out",
            [
                _line(f"{entry['approach']}: {entry['reason']}", 400)
                for entry in constraints["ruled_out"]
            ],
        ),
        Section("Next steps then", _aged(handoff["next_steps"], 300)),
        Section("Open questions then", _aged(handoff["open_questions"], 300)),
        Section("In flight then", _aged([state["in_flight"]], 400)),
        Section("Broken then", _aged(state["broken"], 300)),
        Section("Worked then", _aged(state["works"], 300)),
        Section(
            "Issues",
            _aged(
                [
                    f"{entry['issue']} → {entry['workaround']}"
                    for entry in handoff["issues_discovered"]
                ],
                400,
            ),
        ),
        Section("Completed", _aged(handoff["completed_tasks"], 240)),
    ]
    return [section for section in sections if section.lines]


def noted(answer: ModelAnswer) -> list[Section]:
    """Return what a model wrote down of one part of the session, the most needed first."""
    pairs = {
        "Ruled out": [f"{entry['approach']}: {entry['reason']}" for entry in answer["ruled_out"]],
        "Issues": [
            f"{entry['issue']} → {entry['workaround']}" for entry in answer["issues_discovered"]
        ],
        "Files": [f"{entry['path']}: {entry['summary']}" for entry in answer["file_summaries"]],
    }
    sections = [
        Section("Task", [_line(answer["task"], 800)] if answer["task"].strip() else []),
        Section("Rules, as quoted", _lines(answer["rules"], 400)),
        Section("Ruled out", _lines(pairs["Ruled out"], 400)),
        Section(
            "Left open at its end", _lines([*answer["next_steps"], *answer["open_questions"]], 300)
        ),
        Section("Broken then", _lines(answer["broken"], 300)),
        Section("Worked then", _lines(answer["works"], 300)),
        Section("Issues", _lines(pairs["Issues"], 400)),
        Section("Completed", _lines(answer["completed_tasks"], 240)),
        Section("Files", _lines(pairs["Files"], 300)),
    ]
    return [section for section in sections if section.lines]


def write(sections: Iterable[Section], *, room: int, redact: Callable[[str], str]) -> str:
    """Return the sections as text within `room` bytes of UTF-8; of what does not fit, a count is left.

    No section takes more than half of what is left when its turn comes, so none starves the others.
    """
    parts: list[str] = []
    for section in sections:
        text = _written(section, room if len(section.lines) < 4 else room // 2, redact)
        parts.append(text)
        room -= len(text.encode()) + 1 if text else 0
    return "\n".join(part for part in parts if part)


def _written(section: Section, room: int, redact: Callable[[str], str]) -> str:
    lines = [f"{section.heading}:"]
    room -= len(lines[0].encode()) + 24  # the count of what is left out
    for number, line in enumerate(section.lines):
        text = f"- {redact(line)}"
        room -= len(text.encode()) + 1
        if room < 0:
            lines.append(f"- … {len(section.lines) - number} more")
            break
        lines.append(text)
    return "\n".join(lines) if len(lines) > 1 and (room >= 0 or len(lines) > 2) else ""


def _session(handoff: Handoff) -> Iterator[str]:
    meta, git = handoff["meta"], handoff["facts"]["git"]
    if meta["project"]:
        yield _line(f"project folder: {meta['project']}", 300)
    if git["branch"] or git["head"]:
        yield _line(
            f"git: branch {git['branch']}, head {git['head']}, {len(git['dirty'])} files not committed",
            300,
        )
    if meta["ordinal"] > 1:
        yield f"compactions before this one: {meta['ordinal'] - 1}"
    if not is_aged(handoff["task"]) and handoff["task"]:
        yield _line(f"task, as first asked: {handoff['task']}", 800)


def _file(entry: FileTouched) -> str:
    origin = f" (from {entry['from']})" if entry.get("from") else ""
    summary = f": {entry['summary']}" if entry["summary"] else ""
    return _line(f"{entry['path']} [{entry['status']}]{origin}{summary}", 300)


def _command(entry: Command) -> str:
    times = f", {entry['count']} times" if entry["count"] > 1 else ""
    return f"{_line(entry['command'], 200)} [{entry['outcome']}{times}]"


def _identifier(entry: Identifier) -> str:
    near = f" ({entry['near']})" if entry["near"] else ""
    return _line(f"{entry['text']}{near}", 200)


def _lines(texts: Iterable[str], limit: int) -> list[str]:
    return [_line(text, limit) for text in texts if text.strip()]


def _aged(texts: Iterable[str], limit: int) -> list[str]:
    return [_line(text, limit) for text in texts if is_aged(text)]


def _line(text: str, limit: int) -> str:
    flat = one_line(text[: limit * 4])
    return flat if len(flat) <= limit else cut(flat, limit - 1).rstrip() + "…"
