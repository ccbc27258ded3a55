"""The handoff as the document a person reads: every section, nothing cut."""

from __future__ import annotations

from collections.abc import Iterable

from keepthread.handoff.kept_words import UPDATE, earlier, notes, said
from keepthread.handoff.model import Handoff
from keepthread.handoff.render.blocks import (
    bullets,
    fenced,
    inline,
    numbered,
    prose,
    quotes,
    span,
    table,
)
from keepthread.handoff.render.words import outcome, why_partial

PARTIAL = "HANDOFF_AUTO_PARTIAL"
MARKER = "<!-- keepthread handoff: generated, do not edit -->"
_NONE = "_none recorded_"
_LAST = 10  # messages a partial shows as the last turns
_ALWAYS = frozenset(("Pending Ask", "Last Turns", "User Messages", "Commands"))


def render_markdown(handoff: Handoff) -> str:
    """Return the document. A partial's first line is PARTIAL, then comes MARKER; a complete one begins with MARKER."""
    parts = [PARTIAL] if handoff["meta"]["status"] == "partial" else []
    parts += [MARKER, "# Session handoff", _status(handoff)]
    for title, text in _judgement(handoff):
        parts += [f"## {title}", text or _NONE]
    for title, text in _facts(handoff):
        if text or title in _ALWAYS:
            parts += [f"## {title}", text or _NONE]
    parts += ["## Audit", _audit(handoff), "## About This Document", _meta(handoff)]
    return "\n\n".join(parts) + "\n"


def _status(handoff: Handoff) -> str:
    meta = handoff["meta"]
    if meta["status"] == "complete":
        return (
            f"Complete, written with {span(meta['engine'])}, before compaction {meta['ordinal']}."
        )
    why = why_partial(handoff)
    if meta["engine"] == UPDATE and meta["reason"] == "engine_facts":
        return (
            f"Partial, before compaction {meta['ordinal']}: the last complete handoff, updated from the transcript "
            f"({why}). The facts are exact; what needs judgement bears its age."
        )
    return (
        f"Partial, before compaction {meta['ordinal']}: computed from the transcript without a model"
        + (f" ({why})" if why else "")
        + ". The facts are exact; the sections that need judgement hold what code can say."
    )


def _judgement(handoff: Handoff) -> list[tuple[str, str]]:
    """Return the ten sections every handoff has."""
    return [
        ("Session Started", inline(handoff["session_started"])),
        ("Task", prose(handoff["task"])),
        ("Completed Tasks", bullets(map(inline, handoff["completed_tasks"]))),
        ("Current State", _state(handoff)),
        ("Constraints", _constraints(handoff)),
        ("Files Touched", _files(handoff)),
        (
            "Issues Discovered",
            _pairs((each["issue"], each["workaround"]) for each in handoff["issues_discovered"]),
        ),
        ("Open Questions", bullets(map(inline, handoff["open_questions"]))),
        ("Next Steps", numbered(map(inline, handoff["next_steps"]))),
        ("Resume Prompt", prose(handoff["resume_prompt"])),
    ]


def _facts(handoff: Handoff) -> list[tuple[str, str]]:
    facts = handoff["facts"]
    pending = facts["pending_ask"]
    return [
        ("Pending Ask", quotes([pending] if pending else [])),
        *_said(handoff),
        ("Pins", bullets(map(prose, facts["pins"]))),
        ("Commands", _commands(handoff)),
        ("Last Check", _check(handoff)),
        (
            "Standing Errors",
            bullets(f"{span(each['what'])}: {inline(each['error'])}" for each in facts["errors"]),
        ),
        (
            "Todos",
            bullets(
                f"{each['status'].replace('_', ' ')}: {inline(each['text'])}"
                for each in facts["todos"]
            ),
        ),
        ("Answers", _pairs((each["question"], each["answer"]) for each in facts["answers"])),
        ("Rejections", _pairs((each["what"], each["words"]) for each in facts["rejections"])),
        (
            "Background Work",
            bullets(f"{span(each['id'])}: {inline(each['what'])}" for each in facts["background"]),
        ),
        ("Plan", fenced(facts["plan"]) if facts["plan"].strip() else ""),
        ("Instructions Loaded", bullets(map(span, facts["instructions_loaded"]))),
        ("Git", _git(handoff)),
        ("Identifiers", _identifiers(handoff)),
    ]


def _said(handoff: Handoff) -> list[tuple[str, str]]:
    everything = handoff["facts"]["user_messages"]
    messages = said(everything)
    kept = [
        ("Notes", bullets(prose(entry["text"]) for entry in notes(everything))),
        ("Earlier Asks, Perhaps Still Open", quotes(earlier(everything))),
    ]
    if handoff["meta"]["status"] == "complete":
        return [*kept, ("User Messages", quotes(messages))]
    return [
        *kept,
        ("Last Turns", quotes(messages[-_LAST:])),
        ("Earlier Messages", quotes(messages[:-_LAST])),
    ]


def _state(handoff: Handoff) -> str:
    state = handoff["current_state"]
    parts = [f"**In flight:** {prose(state['in_flight'])}"] if state["in_flight"].strip() else []
    for title, items in (
        ("Files modified", [span(path) for path in state["files_modified"]]),
        ("Works", [inline(text) for text in state["works"]]),
        ("Broken", [inline(text) for text in state["broken"]]),
    ):
        if items:
            parts.append(f"**{title}:**\n\n{bullets(items)}")
    return "\n\n".join(parts)


def _constraints(handoff: Handoff) -> str:
    rules, ruled_out = handoff["constraints"]["rules"], handoff["constraints"]["ruled_out"]
    parts = []
    if rules:
        parts.append(f"**Rules, in the user's words:**\n\n{quotes(rules)}")
    if ruled_out:
        parts.append(
            "**Ruled out:**\n\n" + _pairs((each["approach"], each["reason"]) for each in ruled_out)
        )
    return "\n\n".join(parts)


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return bullets(
        inline(one) + (f" → {inline(other)}" if other.strip() else "") for one, other in pairs
    )


def _files(handoff: Handoff) -> str:
    rows = [
        (
            span(file["path"]),
            file["status"] + (f" from {span(file['from'])}" if file.get("from") else ""),
            inline(file["summary"]),
        )
        for file in handoff["files_touched"]
    ]
    return table(("Path", "Status", "Summary"), rows)


def _commands(handoff: Handoff) -> str:
    return bullets(
        f"{outcome(each)}:\n\n{fenced(each['command'])}"
        if "\n" in each["command"].strip()
        else f"{span(each['command'])} ({outcome(each)})"
        for each in handoff["facts"]["commands"]
    )


def _check(handoff: Handoff) -> str:
    check = handoff["facts"]["last_check"]
    if check is None:
        return ""
    result = f": {inline(check['result'])}" if check["result"].strip() else ""
    return f"{span(check['command'])} {check['outcome']}{result}"


def _git(handoff: Handoff) -> str:
    git = handoff["facts"]["git"]
    if not git["branch"] and not git["head"]:
        return ""
    head = f"Branch {span(git['branch'] or '(detached)')} at {span(git['head'] or '(no commit)')}"
    return "\n\n".join([head, bullets(map(inline, git["dirty"]))] if git["dirty"] else [head])


def _identifiers(handoff: Handoff) -> str:
    places: dict[str, list[str]] = {}
    for each in handoff["facts"]["identifiers"]:
        places.setdefault(each["near"] or each["kind"], []).append(span(each["text"]))
    return bullets(f"{inline(place)}: {', '.join(names)}" for place, names in places.items())


def _audit(handoff: Handoff) -> str:
    audit = handoff["audit"]
    if not audit["checked"]:
        return "Nothing a model wrote was there to be checked."
    head = f"Checked: {', '.join(map(inline, audit['checked']))}."
    failed = bullets(
        f"{inline(each['check'])}: {inline(each['item'])} ({inline(each['action'])})"
        for each in audit["failed"]
    )
    return "\n\n".join([head, failed] if failed else [head, "Everything held."])


def _meta(handoff: Handoff) -> str:
    meta = handoff["meta"]
    transcript, usage = meta["transcript"], meta["usage"]
    tried = ", ".join(
        f"{inline(each['engine'])} {inline(each['result'])}" for each in meta["rungs"]
    )
    lines = [
        ("Session", span(meta["session_id"])),
        ("Project", span(meta["project"])),
        (
            "Generated",
            f"{inline(meta['generated_at'])} ({meta['trigger']}), in {meta['seconds']:.1f} s",
        ),
        ("Engine", inline(meta["engine"]) + (f" (tried: {tried})" if tried else "")),
        (
            "Transcript",
            f"{span(transcript['path'])}, {transcript['size']:,} bytes, {transcript['skipped']} skipped",
        ),
        ("Position", span(transcript["last_uuid"])),
        ("Tokens in context", f"{handoff['facts']['tokens']:,}"),
    ]
    if usage:
        cost = "" if meta["cost_usd"] is None else f", ${meta['cost_usd']:.4f}"
        lines.append(
            (
                "Used",
                f"{usage['input_tokens'] or 0:,} in, {usage['output_tokens'] or 0:,} out{cost}",
            )
        )
    return bullets(f"{name}: {text}" for name, text in lines)
