"""What the evaluation found, as a table for people and as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from typing import TypedDict

from keepthread.evaluate.page.words import counted
from keepthread.evaluate.run import Progress, Result, Unread, evaluate
from keepthread.evaluate.score import Score

_COLUMNS = ("host", "tail", "context", "context+index", "host+context+index")


class Total(TypedDict):
    """One system over all boundaries.

    `units` is its average size; `held` the share of the needed facts over the scored boundaries, in percent; the other
    shares are over every boundary that had such things, null where none had.
    """

    units: int
    held: float | None
    rules: float | None
    edited: float | None
    ask: float | None


class Totals(TypedDict):
    """The sums; `boundaries` are the scored ones of `compactions`."""

    files: int
    compactions: int
    boundaries: int
    needed: int
    rules: int
    edited: int
    asks: int
    systems: dict[str, Total]


class Document(TypedDict):
    """The JSON output. The same files give the same output but for `seconds` and what is derived from it."""

    boundaries: list[Score]
    totals: Totals
    unread: list[Unread]
    megabytes: float
    seconds: float


def eval_text(
    paths: Sequence[str],
    *,
    jobs: int | None = None,
    show: bool = False,
    as_json: bool = False,
    progress: Progress | None = None,
) -> str:
    """Evaluate the transcripts at `paths` and return what is to be printed; the arguments are those of `evaluate`.

    Raises:
        KeepthreadError: a path does not exist, or no transcript lies there.
    """
    result = evaluate(paths, jobs=jobs, progress=progress, show=show)
    if as_json:
        return json.dumps(document(result), indent=2, ensure_ascii=False)
    return table(result)


def document(result: Result) -> Document:
    """Return what `eval --json` prints."""
    return {
        "boundaries": result.boundaries,
        "totals": totals(result.boundaries, result.files),
        "unread": result.unread,
        "megabytes": round(result.megabytes, 3),
        "seconds": round(result.seconds, 3),
    }


def totals(boundaries: Sequence[Score], files: int) -> Totals:
    """Return the sums over all boundaries."""
    scored = [each for each in boundaries if each["scored"]]
    names = list(boundaries[0]["systems"]) if boundaries else []
    return {
        "files": files,
        "compactions": len(boundaries),
        "boundaries": len(scored),
        "needed": sum(each["needed"] for each in scored),
        "rules": sum(each["rules"] for each in boundaries),
        "edited": sum(each["edited"] for each in boundaries),
        "asks": sum(each["ask"] for each in boundaries),
        "systems": {name: _total(name, boundaries, scored) for name in names},
    }


def _total(name: str, boundaries: Sequence[Score], scored: Sequence[Score]) -> Total:
    sizes = [each["systems"][name]["units"] for each in scored or boundaries]
    own = [each["systems"][name] for each in boundaries]
    return {
        "units": round(sum(sizes) / len(sizes)),
        "held": _share(
            sum(each["systems"][name]["held"] for each in scored),
            sum(each["needed"] for each in scored),
        ),
        "rules": _share(sum(each["rules"] for each in own), sum(b["rules"] for b in boundaries)),
        "edited": _share(sum(each["edited"] for each in own), sum(b["edited"] for b in boundaries)),
        "ask": _share(sum(each["ask"] for each in own), sum(b["ask"] for b in boundaries)),
    }


def _share(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 1) if whole else None


def table(result: Result) -> str:
    """Return the table: a line for each boundary, then one for each system."""
    if not result.boundaries:
        lines = [f"No compaction in {counted(result.files, 'file')}."]
        return "\n".join(lines + _unread(result.unread))
    sums = totals(result.boundaries, result.files)
    lines = [
        "What the session needed after each compaction, and the share of it that each text held"
    ]
    lines += _aligned(_boundary_rows(result.boundaries))
    lines += [
        "",
        f"{sums['boundaries']:,} of {sums['compactions']:,} compactions scored in {counted(sums['files'], 'file')}, "
        f"{counted(sums['needed'], 'needed fact')}, {counted(sums['rules'], 'typed rule')}, "
        f"{counted(sums['edited'], 'edited file')}, {counted(sums['asks'], 'ask')}",
    ]
    lines += _aligned(_system_rows(sums))
    lines += ["", f"{result.megabytes:,.1f} MB in {result.seconds:,.1f} s"]
    for each in result.boundaries:
        lines += _missed(each)
    return "\n".join(lines + _unread(result.unread))


def _boundary_rows(boundaries: Sequence[Score]) -> list[list[str]]:
    rows = [["file", "needed", *_COLUMNS, "rules", "edited", "ask", "seconds"]]
    for each in boundaries:
        ours = each["systems"]["context"]
        rows.append(
            [
                f"{os.path.basename(each['file'])}#{each['ordinal']}",
                str(each["needed"]),
                *(
                    _percent(_share(each["systems"][name]["held"], each["needed"]))
                    if each["scored"]
                    else "–"
                    for name in _COLUMNS
                ),
                f"{ours['rules']}/{each['rules']}",
                f"{ours['edited']}/{each['edited']}",
                ("yes" if ours["ask"] else "no") if each["ask"] else "–",
                f"{each['seconds']:.2f}",
            ]
        )
    return rows


def _system_rows(sums: Totals) -> list[list[str]]:
    rows = [["system", "units", "held", "rules", "edited", "ask"]]
    for name, total in sums["systems"].items():
        shares = (total["held"], total["rules"], total["edited"], total["ask"])
        rows.append([name, f"{total['units']:,}", *map(_percent, shares)])
    return rows


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.1f} %"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows with the first column to the left and the others to the right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            [row[0].ljust(widths[0])]
            + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        ).rstrip()
        for row in rows
    ]


def _missed(each: Score) -> list[str]:
    if "missed" not in each:
        return []
    by_kind: dict[str, list[str]] = {}
    for unit in each["missed"]:
        by_kind.setdefault(unit["kind"], []).append(unit["text"])
    lines = [f"  {kind}: {', '.join(texts)}" for kind, texts in by_kind.items()]
    lines += [f"  rule: {rule}" for rule in each.get("missed_rules", ())]
    title = f"Missed after {os.path.basename(each['file'])}#{each['ordinal']}:"
    return ["", title, *lines] if lines else []


def _unread(unread: Iterable[Unread]) -> list[str]:
    return [f"not read: {each['error']}" for each in unread]
