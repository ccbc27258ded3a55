"""Short looks at a transcript, so that a test states one thing."""

from __future__ import annotations

from typing import Any

from keepthread.transcript.model import Call, Message, Note, Transcript
from keepthread.transcript.read import read_transcript
from tests.support.session import SessionFile


def read(session: SessionFile, **options: Any) -> Transcript:
    """Read the whole transcript under construction."""
    return read_transcript(str(session.path), **options)


def said(transcript: Transcript, *vias: str) -> list[str]:
    """Return the texts of messages, of some speakers only when named."""
    return [
        m.text for m in transcript.items if isinstance(m, Message) and (not vias or m.via in vias)
    ]


def typed(transcript: Transcript) -> list[str]:
    """Return what a person wrote."""
    return [m.text for m in transcript.items if isinstance(m, Message) and m.typed]


def calls(transcript: Transcript) -> list[Any]:
    """Return the tool calls; a test that looks into a result knows that there is one."""
    return [item for item in transcript.items if isinstance(item, Call)]


def notes(transcript: Transcript, kind: str) -> list[dict[str, Any]]:
    """Return the data of the notes of one kind."""
    return [n.data for n in transcript.items if isinstance(n, Note) and n.kind == kind]
