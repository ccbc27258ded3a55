"""The texts that are measured side by side: the host's summary, the tail of the conversation, and keepthread's own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from keepthread import redact
from keepthread.evaluate.needed import Compaction
from keepthread.handoff.facts.collect import collect
from keepthread.handoff.merge import carry
from keepthread.handoff.model import Git, Handoff
from keepthread.handoff.render.context import CLOSING, render_context
from keepthread.handoff.render.index import render_index
from keepthread.handoff.units import cut_start, units
from keepthread.transcript.earlier import earlier_prompts
from keepthread.transcript.model import Call, Item, Message, Transcript
from keepthread.transcript.read import read_transcript

BUDGET, INDEX = 9_900, 4_000
OTHER_INDEXES = (2_000, 9_900)
_ARGUMENTS = 200  # characters of a tool's input in the tail


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts for one compaction by system, and the seconds it took to compute keepthread's."""

    by_system: dict[str, str]
    seconds: float


def chain(compactions: Sequence[Compaction]) -> list[Texts]:
    """Return the texts for the compactions of one file, in order; each handoff knows the one before it.

    The engine is `facts`: no model is asked, and nothing outside the transcript is looked at.

    Raises:
        KeepthreadError: the file cannot be read.
    """
    previous: Handoff | None = None
    found = []
    for compaction in compactions:
        started = time.perf_counter()
        transcript = read_transcript(compaction.path, end=compaction.offset)
        previous = _handoff(compaction, transcript, previous)
        found.append(_texts(compaction, transcript, previous, started))
    return found


def _handoff(compaction: Compaction, transcript: Transcript, previous: Handoff | None) -> Handoff:
    """Take the handoff that PreCompact would have taken at the boundary."""
    earlier: Sequence[Message] = ()
    if previous is None and transcript.boundary is not None:
        earlier = earlier_prompts(transcript.path, transcript.boundary.offset)
    handoff = collect(
        transcript,
        project=compaction.root or transcript.cwd,
        previous=previous,
        earlier=earlier,
        git=Git(branch=transcript.git_branch, head="", dirty=[]),
        trigger="auto",
        ordinal=compaction.ordinal,
        generated_at=transcript.last_timestamp,
    )
    handoff["meta"]["reason"] = "engine_facts"
    handoff = cast(Handoff, redact.document(handoff, ()))
    if previous is not None:
        handoff = carry(handoff, previous, now=handoff["meta"]["generated_at"])
    return handoff


def _texts(
    compaction: Compaction, transcript: Transcript, handoff: Handoff, started: float
) -> Texts:
    context = render_context(handoff, budget=BUDGET).text + CLOSING
    indexes = {
        size: render_index(handoff, budget=size, shown=context) for size in (INDEX, *OTHER_INDEXES)
    }
    seconds = time.perf_counter() - started
    own = {
        "tail": tail(transcript.items, BUDGET),
        "context": context,
        "context+index": f"{context}\n{indexes[INDEX]}",
    }
    for size in OTHER_INDEXES:
        own[f"context+index {size}"] = f"{context}\n{indexes[size]}"
    together = {f"host+{name}": f"{compaction.summary}\n{text}" for name, text in own.items()}
    return Texts({"host": compaction.summary, **own, **together}, seconds)


def tail(items: Sequence[Item], limit: int) -> str:
    """Return the last `limit` units of the conversation in readable form: words, and tools with their arguments."""
    parts: list[str] = []
    left = limit
    for item in reversed(items):
        line = _line(item)
        if line:
            parts.append(line)
            left -= units(line) + 1
        if left <= 0:
            break
    return cut_start("\n".join(reversed(parts)), limit)


def _line(item: Item) -> str:
    if isinstance(item, Message) and item.speaker != "host":
        return f"{item.speaker}: {item.text}"
    if isinstance(item, Call):
        given = " ".join(f"{key}={value}" for key, value in item.input.items())
        return f"tool {item.name}: {given[:_ARGUMENTS]}"
    return ""
