"""The context of one session as an inline SVG, and the same figures as a table.

Places across are percentages, so the drawing fits every width while its text keeps its size; the curve lies in an
inner drawing that is stretched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from keepthread.evaluate.page import words
from keepthread.evaluate.page.markup import Markup, element
from keepthread.evaluate.page.model import Session
from keepthread.evaluate.timeline import Fold, Point, Timeline

TOP, BOTTOM = 20, 6  # pixels above and below the curve
HEIGHT, LOW_HEIGHT = 168, 72  # pixels of the curve, with compactions and without
_SCALE = 1_000  # units of the inner drawing, either way
# Percent of the width that the numbers of two compactions need, on a page of any width and on a wide one.
_APART = {"": 5.0, "wide": 2.0}
_LABEL = 14  # pixels that a line's label needs
_ROWS = 24  # of the table, the compactions' not counted


def chart(session: Session, name: str) -> Markup:
    """Return the figure; `name` is unique in the page and begins the ids in it."""
    timeline = session["timeline"]
    folds = timeline["folds"]
    top, step = _scale(peak(timeline))
    height = HEIGHT if folds else LOW_HEIGHT
    drawing = element(
        "svg",
        element("title", "Tokens in context after each answer of the model", id=f"{name}-t"),
        element("desc", _told(timeline), id=f"{name}-d"),
        *_grid(top, step, session["window"], height),
        _curve(session, top, height),
        *_marks(folds, timeline["answers"], height),
        class_="chart",
        role="img",
        aria_labelledby=f"{name}-t {name}-d",
        width="100%",
        height=TOP + height + BOTTOM,
    )
    return element("figure", drawing, _axis(session), _figures(session))


def peak(timeline: Timeline) -> int:
    """Return the most tokens the context is known to have held."""
    points = [point.tokens for point in timeline["points"]]
    return max(points + [fold.before for fold in timeline["folds"]])


def _told(timeline: Timeline) -> str:
    """Say in words what the drawing shows."""
    told = [
        f"{words.counted(timeline['answers'], 'answer')}; at most {words.tokens(peak(timeline))} tokens;",
        f"{words.counted(len(timeline['folds']), 'compaction')}.",
    ]
    return " ".join(told + [f"{_named(fold)}." for fold in timeline["folds"][:20]])


def _named(fold: Fold) -> str:
    return f"Compaction {fold.ordinal}, {trigger(fold)}: {change(fold)}"


def trigger(fold: Fold) -> str:
    """Return who asked for a compaction."""
    return {"auto": "automatic", "manual": "by hand"}.get(fold.trigger, "unknown trigger")


def change(fold: Fold) -> str:
    """Return the tokens before and after a compaction."""
    before, after = (words.tokens(n) if n else "unknown" for n in (fold.before, fold.after))
    return f"{before} → {after} tokens"


def _scale(most: int) -> tuple[float, int]:
    """Return the value at the chart's top edge, and the distance of its grid lines: two to four of them."""
    power = 10 ** max(0, len(str(most)) - 2)
    step = next(power * factor for factor in (1, 2, 5, 10, 20, 50) if most <= 4 * power * factor)
    return most * 1.06 or 1.0, step


def _across(answers: float, count: int) -> float:
    """Return the place of an answer in percent: the first one at 0, the last one at 100."""
    return max(0.0, min(100.0, 100 * (answers - 1) / max(1, count - 1)))


def _down(value: float, top: float, height: int) -> float:
    return round(TOP + height * (1 - value / top), 1)


def _grid(top: float, step: int, window: int | None, height: int) -> Iterator[Markup]:
    """Draw lines at round figures, and one for the model's window where it lies within the chart.

    A context that grew well beyond the window known for its model had a larger one.
    """
    known = window if window is not None and top / 1.3 < window <= top else None
    if known is not None:
        yield from _level(known, top, height, "window", f"{words.tokens(known)} window")
    for value in range(0, int(top) + 1, step):
        near = known is not None and abs(value - known) * height < _LABEL * top
        label = "" if near or not value else words.tokens(value)
        yield from _level(value, top, height, "grid", label)


def _level(value: int, top: float, height: int, kind: str, label: str) -> Iterator[Markup]:
    at = _down(value, top, height)
    yield element("line", class_=kind, x1="0", x2="100%", y1=at, y2=at)
    if label:
        above = (
            -3 if kind == "grid" else 12
        )  # above the window's line stand the compactions' numbers
        yield element("text", label, class_="tick", x="2", y=round(at + above, 1))


def _curve(session: Session, top: float, height: int) -> Markup:
    timeline = session["timeline"]
    line, area = [], []
    for part in _parts(timeline["points"], timeline["folds"], timeline["answers"]):
        steps = [f"{10 * x:.1f} {_SCALE * (1 - tokens / top):.1f}" for x, tokens in part]
        line.append(f"M{' L'.join(steps)}")
        first, last = (f"{10 * part[end][0]:.1f} {_SCALE}" for end in (0, -1))
        area.append(f"M{first} L{' L'.join(steps)} L{last}Z")
    return element(
        "svg",
        element("path", class_="area", d="".join(area)),
        element("path", class_="line", d="".join(line), vector_effect="non-scaling-stroke"),
        y=TOP,
        width="100%",
        height=height,
        viewBox=f"0 0 {_SCALE} {_SCALE}",
        preserveAspectRatio="none",
    )


def _parts(
    points: Sequence[Point], folds: Sequence[Fold], count: int
) -> Iterator[list[tuple[float, int]]]:
    """Yield the stretches between compactions as (place in percent, tokens), each up to the compactions' lines."""
    begins, left, started = 0, 0.0, 0
    for fold in [*folds, None]:
        until = fold.answers if fold else count
        right = _across(until + 0.5, count) if fold else 100.0
        within = [point for point in points if begins < point.answer <= until]
        if within:
            last = fold.before if fold and fold.before else within[-1].tokens
            part = [(_across(point.answer, count), point.tokens) for point in within]
            yield [(left, started or within[0].tokens), *part, (right, last)]
        begins, left, started = until, right, fold.after if fold else 0


def _marks(folds: Sequence[Fold], count: int, height: int) -> Iterator[Markup]:
    """Draw the compactions; numbers stand where there is room for them, fewer on a narrow page."""
    last = {"": -_APART[""], "wide": -_APART["wide"]}
    for fold in folds:
        at = _across(fold.answers + 0.5, count)
        kind = next((kind for kind, apart in _APART.items() if at - last[kind] >= apart), None)
        place = f"{at:.2f}%"
        parts = [
            element("title", _named(fold)),
            element("line", x1=place, x2=place, y1=TOP - 4, y2=TOP + height),
        ]
        if kind is not None:
            last.update({"wide": at} if kind else {"": at, "wide": at})
            number = element("text", str(fold.ordinal), x=place, y=13, text_anchor="middle")
            parts += [element("circle", cx=place, cy=9, r=8), number]
        yield element("g", *parts, class_=f"mark {kind}" if kind else "mark")


def _axis(session: Session) -> Markup:
    timeline = session["timeline"]
    count = timeline["answers"]
    first = " · ".join(filter(None, ["answer 1", words.clock(timeline["started"])]))
    last = " · ".join(filter(None, [f"answer {count:,}", words.clock(timeline["ended"])]))
    ends = (
        [element("span", first), element("span", last)] if count > 1 else [element("span", first)]
    )
    return element("div", *ends, class_="axis", aria_hidden="true")


def _figures(session: Session) -> Markup:
    """Return the table of what is drawn: some answers, evenly, and every compaction."""
    timeline = session["timeline"]
    points = timeline["points"]
    apart = -(-len(points) // _ROWS)
    shown = [p for i, p in enumerate(points) if i % apart == 0 or i == len(points) - 1]
    rows = [(point.answer, 1, _point_row(point)) for point in shown]
    rows += [(fold.answers, 2, _fold_row(fold)) for fold in timeline["folds"]]
    titles = ("Answer", "Turn", "Time (UTC)", "Tokens in context")
    head = element("tr", *(element("th", title, scope="col") for title in titles))
    body = [row for _, _, row in sorted(rows, key=lambda row: row[:2])]
    table = element(
        "table",
        element("caption", "Tokens in context after each answer shown, and at each compaction"),
        element("thead", head),
        element("tbody", *body),
        class_="figures",
    )
    scroll = element(
        "div",
        table,
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label="Figures of the chart",
    )
    return element("details", element("summary", "Figures of this chart"), scroll)


def _point_row(point: Point) -> Markup:
    cells = (f"{point.answer:,}", f"{point.turn:,}", words.clock(point.at), f"{point.tokens:,}")
    return element("tr", *(element("td", cell) for cell in cells))


def _fold_row(fold: Fold) -> Markup:
    told = f"Compaction {fold.ordinal} ({trigger(fold)})"
    before, after = (f"{n:,}" if n else "unknown" for n in (fold.before, fold.after))
    return element(
        "tr",
        element("th", told, scope="row", colspan=2),
        element("td", words.clock(fold.at)),
        element("td", f"{before} → {after}"),
        class_="fold",
    )
