"""Taking a handoff by code alone: read, collect, redact, store. Within milliseconds, without a model."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from keepthread import log, redact
from keepthread.errors import KeepthreadError
from keepthread.handoff.alive import running
from keepthread.handoff.facts.collect import collect
from keepthread.handoff.facts.git import git_state
from keepthread.handoff.facts_index.opened import Index, opened
from keepthread.handoff.kept_words import UPDATE, note, with_notes
from keepthread.handoff.merge import carry
from keepthread.handoff.model import Git, Handoff, Reason, Trigger
from keepthread.handoff.publish import Outlet, publish
from keepthread.handoff.rewound import left_behind, rewritten
from keepthread.handoff.secrets import without
from keepthread.handoff.store import is_shown, load, read_worker, session_at, update_worker
from keepthread.host.locations import project_root
from keepthread.transcript.earlier import earlier_prompts
from keepthread.transcript.model import Call, Item, Message, Transcript
from keepthread.transcript.read import count_boundaries, read_transcript
from keepthread.transcript.tail import uuids_from_end
from keepthread.transcript.tokens import estimate

_PROMPT_LAG = 0.15  # seconds
_EARLIER = 16 * 1024 * 1024  # bytes: several compactions of talk, in a twentieth of a second
_BEFORE_BOUNDARY = 256 * 1024  # bytes
_TALK = ("prompt", "queued", "rejection", "approval", "answer", "plan", "reply")
ENOUGH_NEW = 5_000  # tokens; with less that is new a handoff is updated by code and buys no call


class Job(NamedTuple):
    """What a handoff is taken of. `transcript_path` and `project` may be ""; `pins` are texts to keep verbatim, `note`
    is what its user wants this handoff to attend to.
    """

    session_id: str
    transcript_path: str
    project: str
    trigger: Trigger
    pins: Sequence[str] = ()
    note: str = ""


class Checkpoint(NamedTuple):
    """What was taken.

    `handoff` is the newest one of the session; `fresh` is false when the session has not moved since it was taken;
    `new_tokens` counts what came since the last complete one, None when there has been none; `refused` is true when
    it was not stored, since another process has stored a newer one meanwhile.
    """

    handoff: Handoff
    fresh: bool
    new_tokens: int | None
    refused: bool = False


def take(
    job: Job, outlet: Outlet, *, reason: Reason | None = None, again: bool = False
) -> Checkpoint:
    """Take a partial handoff and store it.

    Args:
        job: the session.
        outlet: where to.
        reason: why the handoff will stay partial, None when a model is asked next.
        again: take it even when the session has not moved, as a person who asks for a checkpoint expects.

    Raises:
        OSError: the state folder cannot be written.
    """
    started = time.monotonic()
    index = opened(outlet.state, job.session_id, job.transcript_path)
    transcript = _read(job.transcript_path, index)
    if transcript is not None and job.trigger == "auto" and _ends_with_reply(transcript):
        transcript = _with_pending_prompt(transcript, index)
    previous = _previous(job.session_id, transcript, outlet.state)
    if transcript is None:
        return _without_transcript(job, outlet, previous)
    ordinal = _ordinal(transcript, previous)
    job = _with_pins_of_parent(job, previous, outlet.state)
    if previous is not None and _unmoved(previous, job, transcript, None if again else ordinal):
        previous, changed = _repinned(previous, job.pins, outlet.secrets)
        if changed or not is_shown(outlet.state, previous):  # its save was killed halfway
            publish(previous, outlet)
        return Checkpoint(previous, fresh=False, new_tokens=None)
    replaced = previous if previous is not None and rewritten(previous, transcript) else None
    if previous is not None:
        previous = left_behind(previous, transcript)
    worker = read_worker(outlet.state, job.session_id) if outlet.state else None
    tokens = _new_tokens(transcript, worker, ordinal)
    little = tokens is not None and tokens < ENOUGH_NEW
    chosen = reason is not None
    if not _has_talk(transcript):  # there is nothing to ask a model about
        reason = reason or ("engine_facts" if transcript.items else "no_transcript")
    handoff = _collected(job, transcript, previous, ordinal, outlet.secrets, index)
    handoff["meta"]["reason"] = reason
    if little and not chosen:  # too little is new to pay for a model call
        handoff["meta"]["reason"], handoff["meta"]["engine"] = "engine_facts", UPDATE
    if previous is not None:
        handoff = _carried(handoff, previous, outlet.state, transcript if little else None)
    handoff["meta"]["seconds"] = round(time.monotonic() - started, 3)
    stored = publish(handoff, outlet, replaced=replaced)
    return Checkpoint(handoff, fresh=True, new_tokens=tokens, refused=not stored)


def computed(
    job: Job,
    transcript: Transcript,
    previous: Handoff | None,
    secrets: Sequence[str],
    index: Index | None = None,
) -> Handoff:
    """Return what code computes of a transcript, redacted, with what `previous` says carried over; nothing is stored.

    Args:
        job: the session.
        transcript: its live part.
        previous: the last handoff of this session, or None.
        secrets: values to take out, beyond what patterns find.
        index: the session's, if it has one that fits.
    """
    handoff = _collected(job, transcript, previous, _ordinal(transcript, previous), secrets, index)
    if previous is None:
        return handoff
    earlier = left_behind(previous, transcript)
    return carry(handoff, earlier, now=handoff["meta"]["generated_at"])


def new_since(transcript: Transcript, size: int) -> list[Item]:
    """Return what was said or answered at the byte offset `size` of the transcript or behind it."""
    return [item for item in transcript.items if _newest_place(item) >= size]


def tokens_of(items: Sequence[Item]) -> int:
    """Return about how many tokens these take in the context."""
    return sum(_tokens_of(item) for item in items)


def _newest_place(item: Item) -> int:
    if isinstance(item, Call) and item.result is not None:
        return item.result.place.offset
    return item.place.offset


def _with_pins_of_parent(job: Job, previous: Handoff | None, state: str) -> Job:
    """Return the job with the session pins of the session that this one was forked from."""
    if previous is None or previous["meta"]["session_id"] == job.session_id:
        return job
    from keepthread.handoff.pins import inherit  # imported here: a session is forked once

    inherited = inherit(state, previous["meta"]["session_id"], job.session_id)
    return job._replace(pins=list(dict.fromkeys([*job.pins, *inherited])))


def _repinned(
    handoff: Handoff, pins: Sequence[str], secrets: Sequence[str]
) -> tuple[Handoff, bool]:
    """Return the handoff with the pins of now, and whether they differ from its own."""
    now = redact.document(list(pins), secrets)
    if now == handoff["facts"]["pins"]:
        return handoff, False
    return cast(Handoff, {**handoff, "facts": {**handoff["facts"], "pins": now}}), True


def _updated(handoff: Handoff, previous: Handoff, transcript: Transcript) -> Handoff:
    """Return the previous handoff's judgement with the new facts laid over it."""
    # Imported here: only a compaction soon after a complete handoff needs it.
    from keepthread.handoff.facts.files import touched
    from keepthread.handoff.facts.paths import Paths
    from keepthread.handoff.update import update

    end = previous["meta"]["transcript"]["size"]
    since = [item for item in transcript.items if item.place.offset >= end]
    project = handoff["meta"]["project"]
    paths = Paths(project, transcript.cwd, _aliases(project, transcript.cwd))
    changed = {entry.path for entry in touched(since, paths) if entry.status != "read"}
    return update(handoff, previous, now=handoff["meta"]["generated_at"], touched=changed)


def _carried(handoff: Handoff, previous: Handoff, state: str, little: Transcript | None) -> Handoff:
    """Carry the previous handoff's judgement over; where it had none, the host's summary says something of it.

    `little` is the transcript when it holds little that is new since the last complete handoff.
    """
    if little is not None:
        return _updated(handoff, previous, little)
    at, before = handoff["meta"]["generated_at"], previous["meta"]
    carried = carry(handoff, previous, now=at)
    if before["status"] == "complete" or not state:
        return carried
    # Imported here: most compactions have no use for it.
    from keepthread.handoff.host_summary import lay_over, summary_since

    summary = summary_since(state, before["session_id"], before["generated_at"])
    return lay_over(carried, summary, before["generated_at"], at) if summary else carried


def _read(path: str, index: Index | None = None) -> Transcript | None:
    try:
        return read_transcript(path, known=index.known if index else None) if path else None
    except (KeepthreadError, OSError):
        return None  # the caller says so: the handoff's reason becomes no_transcript


def _ends_with_reply(transcript: Transcript) -> bool:
    """Return whether the last thing said is the assistant's answer: nobody has asked for anything since."""
    spoken = (item for item in reversed(transcript.items) if isinstance(item, (Message, Call)))
    last = next(spoken, None)
    return isinstance(last, Message) and last.via == "reply"


def _with_pending_prompt(transcript: Transcript, index: Index | None) -> Transcript:
    """Return the transcript once the prompt that met the full context is in it, or as it was.

    Measured on the client: an automatic compaction comes between a typed prompt and its record, which the host writes
    some 50 ms later; a compaction in the middle of a turn has no prompt to wait for.
    """
    until = time.monotonic() + _PROMPT_LAG
    while time.monotonic() < until:
        time.sleep(0.01)
        try:
            grown = os.stat(transcript.path).st_size > transcript.size
        except OSError:
            break
        newer = _read(transcript.path, index) if grown else None
        if newer is not None and not _ends_with_reply(newer):
            return newer
    return transcript


def _previous(session_id: str, transcript: Transcript | None, state: str) -> Handoff | None:
    """Return the session's last handoff; under a new session id, that of the session it was forked from."""
    if not state:
        return None
    own = load(state, session_id)
    if own is not None or transcript is None:
        return own
    uuids = [item.place.uuid for item in reversed(transcript.items)]
    if transcript.boundary is not None:  # a handoff is taken right before the boundary
        uuids += uuids_from_end(
            transcript.path, end=transcript.boundary.offset, limit=_BEFORE_BOUNDARY
        )
    parent = next(filter(None, (session_at(state, uuid) for uuid in uuids if uuid)), "")
    return load(state, parent) if parent else None


def _unmoved(previous: Handoff, job: Job, transcript: Transcript, ordinal: int | None) -> bool:
    """Return whether the session's last handoff says all there is to say.

    It does when nobody has said anything since the boundary, and when the position and the number of the compaction
    that comes next (`ordinal`, None to take it again all the same) are its own.
    """
    meta = previous["meta"]
    if meta["session_id"] != job.session_id or meta["reason"] == "no_transcript":
        return False
    if not _has_talk(transcript):
        return True
    reference = meta["transcript"]
    same = reference["last_uuid"] == transcript.position
    if not transcript.position:  # records without uuids
        same = same and reference["size"] == transcript.size
    return same and meta["ordinal"] == ordinal


def _has_talk(transcript: Transcript) -> bool:
    """Return whether anything was said or done since the boundary; records without a uuid have no position."""
    return bool(transcript.position) or any(
        (isinstance(item, Call) or (isinstance(item, Message) and item.via in _TALK))
        and item.place.offset >= transcript.start
        for item in transcript.items
    )


def _ordinal(transcript: Transcript, previous: Handoff | None) -> int:
    """Return the number of the compaction that comes next: boundaries in the file + 1.

    Only the last 64 MB are scanned; what lay before them is known from the previous handoff.
    """
    if previous is not None and previous["meta"]["transcript"]["path"] == transcript.path:
        size = previous["meta"]["transcript"]["size"]
        if size <= transcript.size:
            return previous["meta"]["ordinal"] + count_boundaries(
                transcript.path, size, transcript.size
            )
    return transcript.boundaries + 1


def _collected(
    job: Job,
    transcript: Transcript,
    previous: Handoff | None,
    ordinal: int,
    secrets: Sequence[str],
    index: Index | None = None,
) -> Handoff:
    """Return what code computes of a transcript, redacted; an index tells what lies before its live part."""
    before = index.before(transcript, previous) if index else None
    project = job.project or project_root({}, "", transcript.cwd) or transcript.cwd
    earlier: Sequence[Message] = ()
    if before is None and previous is None and transcript.boundary is not None:
        earlier = earlier_prompts(transcript.path, transcript.boundary.offset, limit=_EARLIER)
    nowhere = Git(branch=transcript.git_branch, head="", dirty=[])
    handoff = collect(
        transcript,
        project=project,
        previous=previous,
        earlier=earlier,
        before=before or (),
        git=git_state(project) if project else nowhere,
        pins=job.pins,
        trigger=job.trigger,
        ordinal=ordinal,
        generated_at=log.stamp(),
        aliases=_aliases(project, transcript.cwd),
    )
    if job.note.strip():
        facts = handoff["facts"]
        facts["user_messages"] = with_notes(facts["user_messages"], [note(job.note)])
    # The host's word: a file may hold the records of the session it was forked from, or none at all.
    handoff["meta"]["session_id"] = job.session_id
    searched = index.searched() if index else ()
    return without(handoff, transcript, secrets, before=before or (), searched=searched)


def _aliases(project: str, cwd: str) -> list[str]:
    """Return the other spellings of the project's root: where its link leads, and how the session itself spells it."""
    real = os.path.realpath(project) if project else ""
    own = project_root({}, "", cwd)
    spelt = [own] if own and os.path.realpath(own) == real else []
    return [root for root in dict.fromkeys([real, *spelt]) if root and root != project]


def _without_transcript(job: Job, outlet: Outlet, previous: Handoff | None) -> Checkpoint:
    """Return the earlier handoff when there is one; else store a partial that says that there was no transcript."""
    if previous is not None:
        return Checkpoint(previous, fresh=False, new_tokens=None)
    empty = Transcript(path=job.transcript_path, size=0)
    handoff = _collected(job, empty, None, 1, outlet.secrets)
    handoff["meta"]["reason"] = "no_transcript"
    publish(handoff, outlet)
    return Checkpoint(handoff, fresh=True, new_tokens=None)


def note_complete(state: str, handoff: Handoff) -> None:
    """Remember where the session's last complete handoff was taken; later ones count their new tokens from there."""
    if state:
        session = handoff["meta"]["session_id"]
        update_worker(state, session, lambda worker: {**worker, "complete": mark_of(handoff)})


def mark_of(handoff: Handoff) -> dict[str, Any]:
    """Return the point of the transcript from which what is new after this handoff is counted."""
    reference = handoff["meta"]["transcript"]
    return {
        "path": reference["path"],
        "size": reference["size"],
        "ordinal": handoff["meta"]["ordinal"],
        "tokens": handoff["facts"]["tokens"],
    }


def _new_tokens(transcript: Transcript, worker: dict[str, Any] | None, ordinal: int) -> int | None:
    """Return the tokens since the last complete handoff, None when this session has none.

    One that a worker is about to complete counts as complete: its answer will be carried over.
    """
    known = worker or {}
    last = known.get("mark") if running(worker) else known.get("complete")
    if not isinstance(last, dict):
        return None
    size = last.get("size") if last.get("path") == transcript.path else 0
    if not isinstance(size, int):
        return None
    estimated = sum(_tokens_of(item) for item in transcript.items if item.place.offset >= size)
    before = last.get("tokens")
    if last.get("ordinal") == ordinal and isinstance(before, int):
        return max(estimated, transcript.tokens.total - before)
    return estimated


def _tokens_of(item: Item) -> int:
    if isinstance(item, Message):
        return estimate(item.text)
    if isinstance(item, Call):
        return estimate(str(item.input)) + (estimate(item.result.text) if item.result else 0)
    return 0
