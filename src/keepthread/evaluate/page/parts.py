"""Small pieces that more than one section of the page is made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from keepthread.evaluate.page import words
from keepthread.evaluate.page.markup import Markup, element
from keepthread.evaluate.page.totals import CONTEXT, HOST, OWN, TOGETHER

# What the texts are called on the page.
NAMES = {
    HOST: "Host’s summary alone",
    CONTEXT: "keepthread’s context",
    OWN: "Context and index",
    TOGETHER: "All three together",
}


def bar(share: float | None, system: str) -> Markup:
    """Return a bar that is filled to a share in percent; its figure stands beside it, so it is hidden from readers."""
    kind = "host" if system == HOST else "own"
    return element(
        "svg",
        element("rect", class_="track", width="100%", height="100%", rx="2"),
        element("rect", class_=kind, width=f"{share or 0:.1f}%", height="100%", rx="2"),
        class_="bar",
        width="100%",
        height="8",
        aria_hidden="true",
    )


def cards(
    caption: str, titles: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], class_: str
) -> Markup:
    """Return a table whose rows become cards where the page is narrow.

    Args:
        caption: what the table says.
        titles: of the columns.
        rows: the row's title and its cells; a single cell takes the whole row.
        class_: the table's own class.
    """
    # The roles are those the elements have: a display other than a table's takes them away.
    heads = [element("th", title, scope="col", role="columnheader") for title in titles]
    return element(
        "table",
        element("caption", caption),
        element("thead", element("tr", *heads, role="row"), role="rowgroup"),
        element("tbody", *(_card(*row, titles[1:]) for row in rows), role="rowgroup"),
        class_=f"{class_} cards",
        role="table",
    )


def _card(name: str, cells: Sequence[str], titles: Sequence[str]) -> Markup:
    first = element("th", name, scope="row", role="rowheader")
    if len(cells) == 1:
        whole = element("td", *cells, colspan=len(titles), class_="none", role="cell")
        return element("tr", first, whole, role="row")
    others = [
        element("td", cell, class_="none" if cell == "–" else None, data_label=title, role="cell")
        for cell, title in zip(cells, titles, strict=True)
    ]
    return element("tr", first, *others, role="row")


def described(pairs: Iterable[tuple[str, str]], **attributes: str) -> Markup:
    """Return a list of terms with what is to be said of them; pairs without anything to say are left out."""
    items = [
        element("div", element("dt", term), element("dd", text)) for term, text in pairs if text
    ]
    return element("dl", *items, **attributes)


def moment(at: int | None) -> Markup:
    """Return a time as text and as machines read it."""
    if at is None:
        return element("span", words.day(None))
    return element("time", words.day(at), datetime=words.iso(at))


def part(held: int, whole: int) -> Markup:
    """Return "91 %" with the counts behind it, "–" when there was nothing to hold."""
    if not whole:
        return element("span", "–", class_="none")
    counts = element("small", f"{held:,} of {whole:,}")
    return element("span", element("b", words.percent(words.share(held, whole))), " ", counts)
