"""The context now: its size, how far it is from the host's next compaction, how fast it grows, and what fills it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from keepthread.economy.pace import Pace
from keepthread.host import windows
from keepthread.host.thresholds import Thresholds
from keepthread.transcript.model import Call, Transcript
from keepthread.transcript.tokens import of_result, weigh

_SHOWN = 5  # names of each kind
_LONGEST = 160  # characters of a name
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
PACE_LIMIT = 8 << 20  # bytes of a transcript in which turns are looked for


class Part(NamedTuple):
    """A tool, a file or a server, the estimated tokens of its calls and results in the context, and its results."""

    name: str
    tokens: int
    results: int


def gauge(transcript: Transcript, point: Thresholds, pace: Pace) -> dict[str, Any]:
    """Return what is known of the context; every figure in tokens, None where it is not known.

    Returns:
        tokens: the API's own figure of the last answer. Without an answer an estimate (then `estimated` is true), and
            None after a compaction: the old figure is that of another context.
        window, share: the model's own window, and how much of it is taken.
        since: an estimate of what was added after that answer.
        threshold, to_compaction: where the host compacts, and how far that is; None where it does not by itself.
        growth_per_turn, turns_left: the median of the last turns, and an estimate made of it.
        contributors: tools, files and MCP servers by the size of their calls and results, each an estimate, the largest
            first.
    """
    reported = transcript.tokens.reported
    known = reported or transcript.boundary is None
    tokens = reported or (transcript.tokens.estimated if known else None)
    since = transcript.tokens.estimated if reported else 0
    window = point.model_window if point.window_source != "unknown" else None
    threshold = point.threshold if point.model else None
    left = None if tokens is None or threshold is None else threshold - tokens - since
    return {
        "tokens": tokens,
        "estimated": not reported,
        "window": window,
        "share": None if tokens is None or not window else round(tokens / window, 3),
        "since": since,
        "threshold": threshold,
        "to_compaction": None if left is None else max(0, left),
        "growth_per_turn": pace.growth or None,
        "turns_left": None if left is None or not pace.growth else max(0, left) // pace.growth,
        "contributors": contributors(transcript),
    }


def contributors(transcript: Transcript) -> dict[str, list[dict[str, Any]]]:
    """Return what fills the context: {"tools", "files", "servers"}: [{name, tokens, results}].

    A call counts with its result: what a tool writes stands in the context as what one reads does.
    """
    kinds: dict[str, dict[str, Part]] = {"tools": {}, "files": {}, "servers": {}}
    for item in transcript.items:
        if isinstance(item, Call):
            result = item.result
            tokens = weigh(item.input) + (of_result(result.text) if result else 0)
            for kind, name in _names(item, transcript.cwd):
                old = kinds[kind].get(name, Part(name, 0, 0))
                kinds[kind][name] = Part(
                    name, old.tokens + tokens, old.results + (result is not None)
                )
    return {
        kind: [part._asdict() for part in _largest(parts.values())] for kind, parts in kinds.items()
    }


def _names(call: Call, cwd: str) -> Iterable[tuple[str, str]]:
    _, found, rest = call.name.partition("mcp__")
    server, _, tool = rest.partition("__")
    if found and server and tool:
        yield "servers", shown(server)
    yield "tools", shown(call.name)
    path = call.input.get("file_path") or call.input.get("notebook_path")
    if isinstance(path, str):
        inside = cwd and path.startswith(cwd.rstrip("/") + "/")
        yield "files", shown(path[len(cwd.rstrip("/")) + 1 :] if inside else path)


def _largest(parts: Iterable[Part]) -> list[Part]:
    full = [part for part in parts if part.tokens]
    return sorted(full, key=lambda part: (-part.tokens, part.name))[:_SHOWN]


def shown(name: str) -> str:
    """Return a name of somebody else's making as a terminal may be given it: no control characters, bounded."""
    clean = _CONTROL.sub("?", name)
    return clean if len(clean) <= _LONGEST else clean[:_LONGEST] + "…"


def model_in_force(model: str, tokens: int, chosen: str) -> str:
    """Return a transcript's model with the "[1m]" that the transcript leaves out.

    Args:
        model: as the answers name it, "" before the first one: then it is `chosen`.
        tokens: the size of the context; one that is larger than the model's window shows that the window is.
        chosen: what its user has chosen (ANTHROPIC_MODEL, the setting `model`): an id or an alias.
    """
    if not model:
        return chosen
    window = windows.window_of(model)
    chosen = chosen.strip().lower()
    bare = chosen.removesuffix(windows.LONG)
    long = chosen != bare and bool(bare) and bare in model
    if window == windows.SHORT and (long or tokens > window):
        return model + windows.LONG
    return model


def told(context: Mapping[str, Any], point: Thresholds) -> list[str]:
    """Return the lines of the status that tell of the context."""
    tokens = context["tokens"]
    if tokens is None:
        lines = ["Context      unknown until the next answer: it was compacted"]
    else:
        about = "~ est " if context["estimated"] else ""
        window, share = context["window"], context["share"]
        of = f", {share:.0%} of {window:,}" if window else ""
        later = f"; ~ est {context['since']:,} more since" if context["since"] else ""
        lines = [f"Context      {about}{tokens:,} tokens{of}{later}"]
    lines.append(f"Compaction   {_distance(context, point)}")
    if largest := _told_largest(context["contributors"]):
        lines.append(f"Largest      ~ est {largest}")
    return lines


def _distance(context: Mapping[str, Any], point: Thresholds) -> str:
    if not point.model:
        return "unknown until a model answers"
    if not point.enabled:
        return f"off by {point.off_by}"
    if point.threshold is None:
        return "only when the API refuses: this model has no earlier point"
    at = f"at {point.threshold:,}"
    if point.fires_early is None:
        at += ", if the model's window is that large"
    left = context["to_compaction"]
    if left is None:
        return at
    about = "~ est " if context["since"] or context["estimated"] else ""
    text = f"in {about}{left:,} tokens, {at}" if left else f"due, {at}"
    if context["turns_left"] is not None:
        each = context["growth_per_turn"]
        text += f"; ~ est {context['turns_left']:,} turns, {each:,} tokens each"
    return text


def _told_largest(kinds: Mapping[str, list[dict[str, Any]]]) -> str:
    groups = []
    for kind, before in (("tools", ""), ("files", "files: "), ("servers", "MCP: ")):
        parts = [f"{part['name']} {part['tokens']:,}" for part in kinds[kind][:3]]
        groups += [before + ", ".join(parts)] if parts else []
    return "; ".join(groups)
