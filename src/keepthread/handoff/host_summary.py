"""The host's own summary, as PostCompact hands it over: kept as a fallback and as the baseline to measure against.

When no model of ours has judged a compaction, what the host's summary says of pending work and problems is laid over
the next handoff, each line labelled as what it is: a model's words about the session, never the user's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import NamedTuple

from keepthread import log
from keepthread.files import read_regular
from keepthread.handoff.claims import planted
from keepthread.handoff.model import Handoff
from keepthread.handoff.wording import aged, cut, distinct, key, same
from keepthread.host.locations import session_dir

LIMIT = 200_000  # characters
LABEL = "(from the host's summary)"

_ANALYSIS = re.compile(r"<analysis>.*?(?:</analysis>|\Z)", re.DOTALL)
_TAGS = re.compile(r"</?summary>")
_ERROR = re.compile(
    r"\W*(?:you['’]ve (?:hit|reached) your|api error|not logged in|please run /login|prompt is too long|invalid api key"
    r"|(?:claude )?(?:ai )?usage limit|overloaded|request timed out|internal server error|connection error|fetch failed"
    r"|credit balance|rate limit|error:? \d{3}|\d{3} \{|type\"?: ?\"?error"
    r"|conversation too long|compaction (?:failed|canceled))",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\W*(?:i['’]m sorry|i am sorry|sorry,|i (?:cannot|can['’]?t|am unable))", re.IGNORECASE
)
_SHORT = 600  # characters; a summary that is longer is not a mere refusal

_WANTED = {
    "pending": r"pending tasks?|remaining (?:tasks?|work)|outstanding (?:tasks?|work)|open tasks?|to-?dos?"
    r"|(?:optional )?next steps?",
    "current": r"current (?:work|state|status|task)|(?:work )?in progress",
    "problems": r"problem[- ]solving|problems? solved|errors?(?: and fixes)?"
    r"|(?:key |design |important )?decisions(?: made)?",
}
_OTHERS = (
    r"primary request(?: and intent)?|key technical concepts|files? and code(?: sections?)?|files?(?: modified)?"
    r"|(?:all )?user messages|summary|context|background|overview|completed(?: tasks?| work)?|constraints"
)
_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*)?(?:\d{1,2}[.)][ \t]*)?(?:\*\*|__)?(?:\d{1,2}[.)][ \t]*)?"
    + "(?:"
    + "|".join(f"(?P<{name}>{titles})" for name, titles in _WANTED.items())
    + rf"|(?P<other>{_OTHERS}))"
    + r"[ \t]*(?:\*\*|__)?[ \t]*(?::[ \t]*(?:\*\*|__)?(?P<rest>.*)|(?<=\*\*)|(?=$))$",
    re.IGNORECASE,
)
_MARKDOWN = re.compile(r"^[ \t]*#{1,6}[ \t]+\S")
_ITEM = re.compile(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?(.*)$")
_NOTHING = re.compile(r"\W*(?:none|n/?a|nothing)\b.{0,60}", re.IGNORECASE)
_MOST = {"pending": 6, "current": 2, "problems": 4}
_LONGEST = 400


class Told(NamedTuple):
    """What a summary says of work that is left, of the work at that moment, and of problems and decisions."""

    pending: list[str]
    current: list[str]
    problems: list[str]


def clean_summary(text: str) -> str:
    """Return the summary without its scratchpad and tags; "" when it is empty, an error's text or a refusal."""
    summary = _TAGS.sub("", _ANALYSIS.sub("", text)).strip()[:LIMIT]
    refused = len(summary) < _SHORT and _REFUSAL.match(summary)
    return "" if refused or _ERROR.match(summary) else summary


def parse_summary(text: str) -> Told:
    """Return what a summary's sections say, in whatever order and style of heading they come."""
    found: dict[str, list[str]] = {name: [] for name in _WANTED}
    for section, lines in _sections(clean_summary(text)):
        found[section] += _items(lines)
    kept = {name: distinct(items, _MOST[name]) for name, items in found.items()}
    return Told(kept["pending"], kept["current"], kept["problems"])


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    section, lines = "", []
    for line in text.splitlines():
        match = _HEADING.match(line)
        if match is None and not _MARKDOWN.match(line):
            lines.append(line)
            continue
        if section:
            yield section, lines
        named = match.groupdict() if match else {}
        section = next((name for name in _WANTED if named.get(name)), "")
        lines = [named.get("rest") or ""]
    if section:
        yield section, lines


def _items(lines: list[str]) -> Iterator[str]:
    """Yield the items of a list or the paragraphs; code in fences is left out."""
    item: list[str] = []
    fenced = False
    for line in [*lines, ""]:
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            match = _ITEM.match(line)
            if match or not line.strip():
                yield from _whole(item)
                item = [match[1]] if match else []
            else:
                item.append(line)


def _whole(lines: list[str]) -> Iterator[str]:
    text = " ".join(" ".join(lines).replace("**", "").split())
    if len(text) > 2 and not _NOTHING.fullmatch(text) and not planted(text):
        yield cut(text, _LONGEST)


def summary_since(state: str, session_id: str, written: str) -> str:
    """Return the host's summary when it was stored after the handoff generated at `written`, else ""."""
    path = os.path.join(session_dir(state, session_id), "host-summary.md")
    moment = log.epoch(written)
    try:
        if moment is None or os.stat(path).st_mtime < moment:
            return ""  # an earlier compaction's
        return read_regular(path, 8 * LIMIT).decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""  # none was stored


def lay_over(handoff: Handoff, summary: str, written: str, now: str) -> Handoff:
    """Return the partial with what the host's summary adds, behind everything else and labelled.

    Args:
        handoff: a partial that carries the judgement of the session's previous handoff, itself a partial.
        summary: the host's summary of the compaction in between.
        written: when that previous handoff was generated (ISO 8601).
        now: the present (ISO 8601).
    """
    told = parse_summary(summary)
    laid = deepcopy(handoff)
    state = laid["current_state"]

    def label(text: str) -> str:
        return aged(f"{text} {LABEL}", written, now)

    if told.pending:  # the newest summary says what is left, also of what an older one told
        laid["next_steps"] = [text for text in laid["next_steps"] if LABEL not in text]
    if told.current or told.problems:
        told_before = laid["issues_discovered"]
        laid["issues_discovered"] = [one for one in told_before if LABEL not in one["issue"]]
    if told.current and LABEL in state["in_flight"]:
        state["in_flight"] = ""
    known = [*laid["completed_tasks"], *laid["next_steps"], state["in_flight"]]
    left = [text for text in told.pending if not any(same(text, other) for other in known)]
    laid["next_steps"] = distinct([*laid["next_steps"], *map(label, left)], 12)
    work = list(told.current)
    if work and not state["in_flight"].strip():
        state["in_flight"] = label(work.pop(0))
    _add_issues(laid, [*(f"Work then: {text}" for text in work), *told.problems], label)
    return laid


def _add_issues(laid: Handoff, texts: list[str], label: Callable[[str], str]) -> None:
    known = {key(entry["issue"]) for entry in laid["issues_discovered"]}
    for text in texts:
        if key(label(text)) not in known:
            laid["issues_discovered"].append({"issue": label(text), "workaround": ""})
    del laid["issues_discovered"][40:]
