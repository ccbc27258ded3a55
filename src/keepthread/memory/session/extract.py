"""One update of a session's memory: by a model from what is new, or by code alone."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any, NamedTuple, cast

from keepthread import log, redact
from keepthread.engines.choose import engines_for
from keepthread.engines.fitted import fit
from keepthread.engines.ladder import both, climb, said_of
from keepthread.engines.model import Answer, Deadline, Outcome, Request
from keepthread.handoff.audit import Evidence, audit, faults, retry_note
from keepthread.handoff.checkpoint import Job, computed, new_since
from keepthread.handoff.facts_index.opened import Index
from keepthread.handoff.material import Material
from keepthread.handoff.merge import complete
from keepthread.handoff.model import Handoff
from keepthread.handoff.model import Rung as MetaRung
from keepthread.handoff.schema import memory_schema
from keepthread.handoff.secrets import known_secrets
from keepthread.handoff.store import load as load_handoff
from keepthread.host.config import Config
from keepthread.host.locations import config_dir
from keepthread.memory.session.extras import by_code, by_model, told
from keepthread.memory.session.model import VERSION, Extras, Form, Memory, MemoryAnswer
from keepthread.transcript.model import Transcript

PROMPT = (
    30_000  # tokens at most; the memory, the facts and 5,000 new tokens fill about half of that
)
SHARE = 0.75  # of both spending caps: the rest is left to the handoff
_RETRY_FLOOR = 8.0  # seconds that must be left for a corrective retry to be worth its cost


class Setting(NamedTuple):
    """What an update is made with: the settings, the process environment, the state folder, texts that are secret."""

    config: Config
    env: Mapping[str, str]
    state: str
    secrets: Sequence[str] = ()


class Source(NamedTuple):
    """The live part of a session, and its facts index if there is one that fits: what that holds gives nothing away."""

    transcript: Transcript
    facts: Index | None = None

    def secrets(self, known: Sequence[str]) -> list[str]:
        """Return `known` and the secrets that the session gives away."""
        searched = self.facts.searched() if self.facts else ()
        return known_secrets(self.transcript, known, searched=searched)


class Update(NamedTuple):
    """What an update came to.

    `memory` is the new one, None when the old one stays; `reason` says why no model wrote it, "" when one did; `told`
    is what each engine that failed said, without words of the transcript.
    """

    memory: Memory | None
    reason: str = ""
    cost_usd: float | None = None
    told: Sequence[str] = ()


def by_facts(job: Job, source: Source, before: Memory | None, setting: Setting) -> Memory:
    """Return the memory that code alone makes: facts, and what is known of an earlier judgement with its age."""
    previous = _previous(job.session_id, before, setting.state)
    handoff = computed(job, source.transcript, previous, setting.secrets, source.facts)
    handoff["meta"]["reason"], handoff["meta"]["engine"] = "engine_facts", "facts"
    extras = by_code(handoff, source.transcript, before["extras"] if before else None)
    return _memory(handoff, extras, "facts", 0, source.secrets(setting.secrets))


def ask(job: Job, source: Source, before: Memory | None, setting: Setting, tokens: int) -> Update:
    """Let a model bring the memory up to date, from what is new since; without an answer the old one stays.

    Args:
        job: the session.
        source: what is read of it.
        before: its memory as it is.
        setting: with what.
        tokens: the context as the API counted it.

    Raises:
        KeepthreadError: KEEPTHREAD_ENGINE names an engine that does not exist.
        OSError: the state folder cannot be read.
    """
    asking = _Asking(job, source, before, setting)
    result, outcome = asking.run()
    told = said_of(outcome.rungs, setting.secrets)
    if result is None or outcome.answer is None:
        return Update(None, outcome.reason or "bad_answer", outcome.cost_usd, told)
    answer = cast(MemoryAnswer, outcome.answer.document)
    extras = by_model(answer, asking.known, result, asking.evidence)
    memory = _memory(result, extras, "model", tokens, asking.secrets)
    return Update(memory, "", outcome.cost_usd, told)


class _Asking:
    """One question to the ladder, with at most one correction."""

    def __init__(self, job: Job, source: Source, before: Memory | None, setting: Setting) -> None:
        self.setting = setting
        transcript = source.transcript
        self.started = time.monotonic()
        previous = _previous(job.session_id, before, setting.state)
        # What code put under the headings is in the facts already.
        self.known = before["extras"] if before and before["form"] == "model" else None
        self.partial = computed(job, transcript, previous, setting.secrets, source.facts)
        self.evidence = Evidence.from_transcript(transcript, self.partial)
        self.secrets = source.secrets(setting.secrets)
        self.material = Material(
            self.partial,
            _news(transcript, previous),
            memory=told(self.known) if self.known else "",
            template="memory",
            secrets=self.secrets,
        )

    def run(self) -> tuple[Handoff | None, Outcome]:
        """Return the audited handoff and what the ladder came to; without an answer there is no handoff."""
        config = self.setting.config
        deadline = Deadline.after(config.timeout)
        room = {"window": config.window, "budget": min(PROMPT, config.prompt_tokens)}
        engines = [
            fit(engine, self.material.of_last(config.turns_of(engine.name)), **room)
            for engine in self._engines()
        ]
        request = Request(
            self.material.system(), "", memory_schema(), config.memory_model, config.effort
        )
        outcome = climb(engines, request, deadline)
        if outcome.answer is None:
            return None, outcome
        first, result = outcome.answer, self._settle(outcome)
        self.material.correction = retry_note(result)
        if self.material.correction and deadline.left() > _RETRY_FLOOR:
            outcome = both(outcome, climb(engines, request, deadline))
            second = self._settle(outcome)
            better = len(faults(second)) <= len(faults(result))
            result = second if better else cast(Handoff, {**result, "meta": second["meta"]})
            outcome.answer = outcome.answer if better else first
        return result, outcome

    def _engines(self) -> Any:
        config, env = self.setting.config, self.setting.env
        capped = replace(
            config,
            max_calls_per_hour=int(config.max_calls_per_hour * SHARE),
            max_usd_per_day=config.max_usd_per_day * SHARE,
        )
        meta = self.partial["meta"]
        return engines_for(
            capped,
            env,
            config_dir=config_dir(env),
            project=meta["project"],
            session=meta["session_id"],
        )

    def _settle(self, outcome: Outcome) -> Handoff:
        answer = cast(Answer, outcome.answer)
        rungs: list[MetaRung] = [
            {"engine": rung.engine, "result": rung.result, "seconds": round(rung.seconds, 2)}
            for rung in outcome.rungs
        ]
        document = cast(MemoryAnswer, answer.document)
        merged = complete(
            self.partial,
            document,
            engine=answer.engine,
            rungs=rungs,
            usage={"input_tokens": answer.input_tokens, "output_tokens": answer.output_tokens},
            cost_usd=outcome.cost_usd if outcome.cost_usd is not None else answer.cost_usd,
            seconds=round(time.monotonic() - self.started, 2),
            generated_at=log.stamp(),
        )
        return audit(merged, self.evidence, document)


def _previous(session: str, before: Memory | None, state: str) -> Handoff | None:
    """Return the newer of the memory's handoff and the session's own: a compaction between two updates left one."""
    stored = load_handoff(state, session)
    own = before["handoff"] if before else None
    if stored is None or own is None or stored["meta"]["status"] != "complete":
        return own or stored
    newer = stored["meta"]["transcript"]["size"] > own["meta"]["transcript"]["size"]
    return stored if newer else own


def _news(transcript: Transcript, previous: Handoff | None) -> Transcript:
    """Return the transcript with what came since the last summarised record alone."""
    if previous is None or previous["meta"]["status"] != "complete":
        return transcript
    reference = previous["meta"]["transcript"]
    if reference["path"] != transcript.path or reference["size"] > transcript.size:
        return transcript
    boundary = transcript.boundary
    if boundary is not None and boundary.offset < reference["size"]:
        boundary = None
    items = new_since(transcript, reference["size"])
    abandoned = [m for m in transcript.abandoned if m.place.offset >= reference["size"]]
    return replace(transcript, items=items, boundary=boundary, abandoned=abandoned)


def _memory(
    handoff: Handoff, extras: Extras, form: Form, tokens: int, secrets: Sequence[str]
) -> Memory:
    memory: Memory = {
        "version": VERSION,
        "form": form,
        "tokens": tokens,
        "extras": extras,
        "handoff": deepcopy(handoff),
    }
    # A model may join again what redaction parted, and the host's title of a session may name what its calls give away,
    # so the whole passes through it here, right before the disk.
    return cast(Memory, redact.document(memory, secrets))
