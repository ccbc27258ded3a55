"""The page's head: what compaction cost, in one sentence and four bars, the sums, and the list of sessions."""

from __future__ import annotations

from collections.abc import Iterator

from keepthread.evaluate.page import words
from keepthread.evaluate.page.chart import peak
from keepthread.evaluate.page.markup import Markup, element, joined
from keepthread.evaluate.page.model import Kind, Report, Session, Totals
from keepthread.evaluate.page.parts import NAMES, bar, cards, moment, part
from keepthread.evaluate.page.totals import HOST, SYSTEMS, TOGETHER

_KINDS: tuple[tuple[Kind, str], ...] = (
    ("needed", "Names, paths, commands"),
    ("rules", "Rules, word for word"),
    ("edited", "Edited files"),
    ("ask", "Pending ask"),
)


def head(report: Report) -> Markup:
    """Return the title, the verdict and the sums."""
    sums = report["totals"]
    return element(
        "header",
        element(
            "p",
            element("span", "keepthread", class_="brand"),
            " report · ",
            moment(report["made"]),
            " UTC",
            class_="kicker",
        ),
        element("h1", report["project"]),
        element("p", report["folder"], class_="folder"),
        _verdict(sums, len(report["sessions"])),
        _held(sums),
        _sums(report),
    )


def _verdict(sums: Totals, sessions: int) -> Markup:
    """Say in one sentence what compaction cost."""
    if not sums["compactions"]:
        said = f"No compaction yet in {words.counted(sessions, 'session')}: nothing was forgotten."
        return element("p", said, class_="verdict")
    compactions = words.counted(sums["compactions"], "compaction")
    if sums["large"] == sums["compactions"]:
        said = f"{compactions}, not measured here: transcripts of more than 100 MB are only drawn."
        return element("p", said, class_="verdict")
    if not sums["measured"]:
        said = f"{compactions}; after none of them was much of the earlier work used again."
        return element("p", said, class_="verdict")
    needed = sums["asked"]["needed"]
    lost = {name: _lost(sums, name) for name in (HOST, TOGETHER)}
    return element(
        "p",
        f"Of {words.counted(needed, 'name, path or command', 'names, paths and commands')} ",
        "needed again after a compaction, the host’s summary alone had lost ",
        element("strong", lost[HOST], class_="lost-host"),
        "; with keepthread’s texts beside it, ",
        element("strong", lost[TOGETHER], class_="lost-own"),
        ".",
        class_="verdict",
    )


def _lost(sums: Totals, system: str) -> str:
    needed = sums["asked"]["needed"]
    return words.percent(words.share(needed - sums["held"][system]["needed"], needed))


def _held(sums: Totals) -> Markup:
    """Return the table of what each text held."""
    kinds = [(kind, told) for kind, told in _KINDS if sums["asked"][kind]]
    if not kinds:
        return Markup()
    rows = [(NAMES[system], [_cell(sums, system, kind) for kind, _ in kinds]) for system in SYSTEMS]
    titles = ["Still there afterwards", *(told for _, told in kinds)]
    note = (
        "keepthread’s texts are those its hook computes at that point of the transcript, without asking a model. "
        "These are counts alone; ",
        element("code", "keepthread eval --show FILE"),
        " names what was missed.",
    )
    return joined(cards(_measured(sums), titles, rows, "held"), element("p", *note, class_="note"))


def _measured(sums: Totals) -> str:
    measured, compactions = sums["measured"], words.counted(sums["compactions"], "compaction")
    return f"What each text held, over {measured:,} of {compactions} after which enough was needed again to be measured"


def _cell(sums: Totals, system: str, kind: Kind) -> Markup:
    held, whole = sums["held"][system][kind], sums["asked"][kind]
    return joined(bar(words.share(held, whole), system), part(held, whole))


def _sums(report: Report) -> Markup:
    sums = report["totals"]
    shown = len(report["sessions"])
    others = report["found"] - shown
    handoffs = f"{sums['complete']:,} complete, {sums['handoffs'] - sums['complete']:,} partial"
    tiles = [
        ("Sessions", f"{shown:,}", f"of {report['found']:,} found" if others else ""),
        (
            "Compactions",
            f"{sums['compactions']:,}",
            f"{sums['automatic']:,} of them automatic",
        ),
        ("Folded away", words.tokens(sums["folded"]), "tokens taken out of contexts"),
        ("Handoffs stored", f"{sums['handoffs']:,}", handoffs if sums["handoffs"] else ""),
    ]
    if sums["handoffs"]:
        tiles.append(("Their cost", words.money(sums["cost_usd"]), "as far as engines said"))
        tiles.append(("Their time", words.seconds(sums["seconds"]), "beside the host’s own"))
    items = [
        element(
            "div", element("dt", name), element("dd", element("b", value), element("small", more))
        )
        for name, value, more in tiles
    ]
    return element("dl", *items, class_="tiles")


def overview(report: Report) -> Markup:
    """Return the list of sessions with a link to each."""
    table = cards(
        "Sessions, newest first",
        (
            "Session",
            "Last used",
            "Turns",
            "Peak context",
            "Compactions",
            "Host’s summary held",
            "With keepthread",
            "Handoff",
        ),
        [_row(session, number) for number, session in enumerate(report["sessions"], 1)],
        "overview",
    )
    return element("nav", table, _left_out(report), aria_label="Sessions")


def _left_out(report: Report) -> Markup:
    silent, unread = report["silent"], report["unread"]
    older = report["found"] - len(report["sessions"]) - silent - len(unread)
    reasons = [
        f"{words.counted(silent, 'transcript')} without any answer of a model" if silent else "",
        f"{words.counted(older, 'older one')}" if older else "",
        *(f"not readable: {name}" for name in unread),
    ]
    told = "; ".join(filter(None, reasons))
    return element("p", f"Not shown: {told}.", class_="note") if told else Markup()


def _row(session: Session, number: int) -> tuple[Markup, list[str]]:
    timeline = session["timeline"]
    link = element("a", timeline["title"] or session["id"], href=f"#s{number}")
    cells = [
        words.day(timeline["ended"]),
        f"{timeline['turns']:,}",
        words.tokens(peak(timeline)),
        f"{len(timeline['folds']):,}" if timeline["folds"] else "–",
        *_kept(session),
        _state(session),
    ]
    return link, cells


def _kept(session: Session) -> Iterator[str]:
    scores = [each["score"] for each in session["compactions"]]
    scored = [score for score in scores if score is not None and score["scored"]]
    needed = sum(score["needed"] for score in scored)
    for system in (HOST, TOGETHER):
        held = sum(score["systems"][system]["held"] for score in scored)
        yield words.percent(words.share(held, needed))


def _state(session: Session) -> str:
    handoff = session["handoff"]
    return (handoff["status"] or "unknown") if handoff else "–"
