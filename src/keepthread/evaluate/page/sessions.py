"""One session: its chart, what each compaction kept and lost, and its handoff."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keepthread.evaluate.page import words
from keepthread.evaluate.page.chart import change, chart, trigger
from keepthread.evaluate.page.markup import Markup, element, joined
from keepthread.evaluate.page.model import Compaction, Runs, Session, Stored
from keepthread.evaluate.page.parts import NAMES, bar, cards, described, moment, part
from keepthread.evaluate.page.totals import HOST, SYSTEMS, TOGETHER
from keepthread.evaluate.score import Score

_OPEN = 10  # compactions that are shown without being asked for
_COLUMNS = ("Needed again", *(NAMES[system] for system in SYSTEMS), "Rules", "Edited files", "Ask")


def article(session: Session, number: int) -> Markup:
    """Return the section on one session; `number` makes its ids unique."""
    name = f"s{number}"
    title = session["timeline"]["title"] or session["id"]
    return element(
        "article",
        element("h2", title, id=f"{name}-h"),
        _about(session),
        chart(session, name),
        _compactions(session["compactions"]),
        _handoff(session["handoff"], session["runs"]),
        id=name,
        aria_labelledby=f"{name}-h",
    )


def _about(session: Session) -> Markup:
    timeline = session["timeline"]
    lasted = ""
    if timeline["started"] is not None and timeline["ended"] is not None:
        lasted = words.duration(max(0, timeline["ended"] - timeline["started"]))
    facts = [
        lasted,
        words.counted(timeline["turns"], "turn"),
        words.counted(timeline["answers"], "answer"),
        timeline["model"],
        words.size(session["size"]),
    ]
    parts = [moment(timeline["started"]), *(f" · {fact}" for fact in facts if fact), " · "]
    return element("p", *parts, element("code", session["id"]), class_="about")


def _compactions(compactions: Sequence[Compaction]) -> Markup:
    if not compactions:
        return Markup()
    told = "What each text held of what was needed afterwards; “→” leads from the host’s summary alone to all three"
    table = cards(told, ("Compaction", *_COLUMNS), map(_row, compactions), "folds")
    summary = element("summary", words.counted(len(compactions), "compaction"))
    return element("details", summary, table, open="" if len(compactions) <= _OPEN else None)


def _row(compaction: Compaction) -> tuple[Markup, list[Markup | str]]:
    fold, score = compaction["fold"], compaction["score"]
    told = element("small", ", ".join(filter(None, (trigger(fold), words.clock(fold.at)))))
    name = joined(element("b", f"No. {fold.ordinal}"), told, element("small", change(fold)))
    if score is None:
        return name, [
            joined("not measured: the file is large; ", element("code", "keepthread eval FILE"))
        ]
    return name, [*_cells(score)]


def _cells(score: Score) -> Iterator[Markup]:
    scored, needed = score["scored"], score["needed"]
    few = Markup() if scored else element("small", " too few")
    yield element("span", element("b", f"{needed:,}"), few)
    for system in SYSTEMS:
        held = score["systems"][system]["held"]
        shown = joined(bar(words.share(held, needed), system), part(held, needed))
        yield shown if scored else element("span", f"{held} of {needed}", class_="none")
    host, together = score["systems"][HOST], score["systems"][TOGETHER]
    yield _both(host["rules"], together["rules"], score["rules"])
    yield _both(host["edited"], together["edited"], score["edited"])
    told = ["yes" if text["ask"] else "no" for text in (host, together)]
    asked = element("span", f"{told[0]} → ", element("b", told[1]))
    yield asked if score["ask"] else element("span", "–", class_="none")


def _both(host: int, together: int, whole: int) -> Markup:
    """Return what the host's summary held and what all three did: "2 → 9 of 9"."""
    if not whole:
        return element("span", "–", class_="none")
    return element(
        "span", f"{host:,} → ", element("b", f"{together:,}"), element("small", f" of {whole:,}")
    )


def _handoff(handoff: Stored | None, runs: Sequence[Runs]) -> Markup:
    if handoff is None:
        text = "No handoff is stored for this session."
        return joined(element("p", text, class_="note"), _runs(runs))
    files, rules = handoff["files"], handoff["rules"]
    brief = [
        f"Handoff {handoff['status']}" + (f" ({handoff['reason']})" if handoff["reason"] else ""),
        handoff["engine"],
        words.seconds(handoff["seconds"]) if handoff["seconds"] else "",
        words.money(handoff["cost_usd"]) if handoff["cost_usd"] is not None else "",
        words.counted(len(files), "file"),
        words.counted(len(rules), "rule"),
        words.counted(sum(one["count"] for one in handoff["findings"]), "audit finding"),
    ]
    lists = [
        described(
            [
                (
                    "Taken",
                    joined(moment(handoff["made"]), f" UTC, for compaction {handoff['ordinal']}"),
                ),
                ("Task", handoff["task"]),
                ("Engines tried", _tried(handoff)),
                ("Audit", _findings(handoff)),
            ],
            class_="pairs",
        ),
        _listed("Files", files),
        _listed("Rules", rules),
        _runs(runs),
    ]
    summary = element("summary", " · ".join(filter(None, brief)))
    state = "complete" if handoff["status"] == "complete" else "partial"
    return element("details", summary, *lists, class_=f"handoff {state}")


def _tried(handoff: Stored) -> str:
    return "; ".join(
        f"{one['engine']}: {one['result']}, {words.seconds(one['seconds'])}"
        for one in handoff["tried"]
    )


def _findings(handoff: Stored) -> str:
    found = [f"{one['check']}: {one['count']:,} {one['action']}" for one in handoff["findings"]]
    return "; ".join(found) or "nothing failed"


def _listed(title: str, items: Sequence[str]) -> Markup:
    if not items:
        return Markup()
    entries = element("ul", *(element("li", item) for item in items), class_="names")
    return joined(element("h3", f"{title} ({len(items):,})"), entries)


def _runs(runs: Sequence[Runs]) -> Markup:
    if not runs:
        return Markup()
    lines = []
    for run in runs:
        outcome = f"{run['outcome']} ({run['reason']})" if run["reason"] else run["outcome"]
        facts = [f"{run['what']} {outcome}", run["engine"], words.seconds(run["seconds"])]
        lines.append(f"{run['count']:,} × {' · '.join(filter(None, facts))}")
    return joined(
        element("h3", "Runs in the log"), element("ul", *(element("li", x) for x in lines))
    )
