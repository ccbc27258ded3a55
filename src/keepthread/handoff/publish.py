"""From a handoff to its files: redacted once more, rendered, stored, and written for the person to read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from keepthread import redact
from keepthread.handoff.document import write_document
from keepthread.handoff.model import Handoff
from keepthread.handoff.render.context import CLOSING, render_context
from keepthread.handoff.render.index import render_index
from keepthread.handoff.render.markdown import render_markdown
from keepthread.handoff.render.notice import render_notice
from keepthread.handoff.render.upgrade import render_upgrade
from keepthread.handoff.store import save


class Outlet(NamedTuple):
    """Where and how large.

    `state` is the state folder, "" to store nothing; budgets are in UTF-16 units; `document` is the path of the
    person-facing document in the project, or "off".
    """

    state: str
    budget: int
    index_budget: int
    document: str
    secrets: Sequence[str] = ()


def publish(
    handoff: Handoff,
    outlet: Outlet,
    *,
    partial: Handoff | None = None,
    replaced: Handoff | None = None,
) -> bool:
    """Store the handoff and everything rendered from it; return False when a better one is stored already.

    A model may join again what redaction parted, so the whole document passes through it here, right before the disk.

    Args:
        handoff: the document.
        outlet: where to.
        partial: what this one completes: a session that has been shown it lacks what is new.
        replaced: the stored one that this one takes the place of, though it is of a smaller transcript.

    Raises:
        OSError: the state folder cannot be written.
    """
    if not outlet.state:
        return True
    clean = cast(Handoff, redact.document(handoff, outlet.secrets))
    project = clean["meta"]["project"]
    shown_path = outlet.document if project and outlet.document != "off" else ""
    context = render_context(clean, budget=outlet.budget, document=shown_path)
    markdown = render_markdown(clean)
    stored = save(
        outlet.state,
        clean,
        context_text=context.text,
        cuts=context.cuts,
        closing=CLOSING,
        index_text=render_index(clean, budget=outlet.index_budget, shown=context.text),
        markdown=markdown,
        notice=render_notice(clean, document=shown_path),
        document=shown_path,
        upgrade=_upgrade(partial, clean, outlet.budget) if partial is not None else None,
        replaced=replaced,
    )
    if stored and shown_path:
        write_document(project, outlet.document, markdown)
    return stored


def _upgrade(partial: Handoff, clean: Handoff, budget: int) -> dict[str, Any] | None:
    if clean["meta"]["status"] != "complete":
        return None
    rendered = render_upgrade(partial, clean, budget=budget)
    told = {"text": rendered.text, "cuts": list(rendered.cuts), "closing": CLOSING}
    return told if rendered.text else None
