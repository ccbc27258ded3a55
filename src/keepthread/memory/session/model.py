"""A session's memory as types: a handoff, and what a handoff has no place for."""

from __future__ import annotations

from typing import Literal, TypedDict

from keepthread.handoff.model import Handoff, ModelAnswer

VERSION = 1
Form = Literal["model", "facts"]


class Extras(TypedDict):
    """What stands in a memory beside its handoff. `title` is one line; the lists hold sentences, the oldest first."""

    title: str
    workflow: list[str]
    codebase_documentation: list[str]
    learnings: list[str]
    worklog: list[str]


class Memory(TypedDict):
    """The whole document.

    `form` says who wrote the judgement. `handoff.meta` says of which session and up to which point of its transcript
    the memory is, who answered, and what the last update cost; `tokens` is the context then as the API counted it, 0
    when that is unknown.
    """

    version: int
    form: Form
    tokens: int
    extras: Extras
    handoff: Handoff


class MemoryAnswer(ModelAnswer):
    """What an engine is asked for (`templates/session-memory.schema.json`)."""

    title: str
    workflow: list[str]
    codebase_documentation: list[str]
    learnings: list[str]
    worklog: list[str]
