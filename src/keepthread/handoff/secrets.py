"""What of a session must not be kept or sent: the secrets it gives away, wherever they or parts of them stand."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, cast

from keepthread import redact
from keepthread.handoff.model import Handoff
from keepthread.redact.exposed import exposed
from keepthread.redact.pieces import cut, formed, is_piece, parts
from keepthread.redact.rules import Known
from keepthread.transcript.model import Call, Item, Message, Note, Transcript

_ONLY_MARK = re.compile(r"\[REDACTED:[a-z0-9-]+\]")


def without(
    handoff: Handoff,
    transcript: Transcript,
    secrets: Sequence[str],
    *,
    before: Sequence[Item] = (),
    searched: Container[int] = (),
) -> Handoff:
    """Return the handoff without secrets, also where a name or a cut command no longer shows that it is one.

    Args:
        handoff: the document.
        transcript: the live part of the session.
        secrets: those that are known already.
        before: what was said before the live part.
        searched: identities of texts and JSON values of both that are known to give none away.
    """
    told = [item.text for item in reversed(before) if isinstance(item, Message)]
    fresh = [text for text in told if id(text) not in searched]
    secrets = secrets_in(fresh, (), secrets) if fresh else secrets
    written = "\n".join(strings(handoff))
    known = known_secrets(transcript, secrets, written=written, searched=searched)
    whole = "\n".join(known)
    names = handoff["facts"]["identifiers"]
    handoff["facts"]["identifiers"] = [n for n in names if not is_piece(n["text"], whole)]
    written = "\n".join(strings(handoff))
    standing = [value for value in known if value in written]
    clean = cast(Handoff, redact.document(handoff, [*standing, *cut(written, known)]))
    names = clean["facts"]["identifiers"]
    clean["facts"]["identifiers"] = [
        name for name in names if not _ONLY_MARK.fullmatch(name["text"])
    ]
    return clean


def known_secrets(
    transcript: Transcript,
    secrets: Sequence[str],
    *,
    written: str = "",
    searched: Container[int] = (),
) -> list[str]:
    """Return the secrets to be taken out wherever they stand, and their parts.

    Args:
        transcript: gives secrets away.
        secrets: those that are known already.
        written: what else may hold tokens in a vendor's format, as what git says.
        searched: identities of what need not be looked at, as with `without`.
    """
    calls = (item.input for item in reversed(transcript.items) if isinstance(item, Call))
    inputs = (given for given in calls if id(given) not in searched)
    return secrets_in(list(_texts(transcript, searched)), inputs, secrets, written=written)


def secrets_in(
    texts: Sequence[str], inputs: Iterable[object], secrets: Sequence[str], *, written: str = ""
) -> list[str]:
    """Return `secrets`, what these texts (the newest first) and inputs of calls give away, and the parts of it."""
    found = [*formed([*texts, written]), *map(Known, exposed(texts, inputs))]
    return list(dict.fromkeys([*secrets, *found, *parts(found)]))


def _texts(transcript: Transcript, searched: Container[int]) -> Iterator[str]:
    """Yield all words of the live part that have not been searched, the newest first."""
    yield transcript.git_branch
    for item in reversed(transcript.items):
        if isinstance(item, Message):
            given: list[object] = [item.text]
        elif isinstance(item, Note):
            given = [item.data]
        else:
            given = [item.input, "" if item.result is None else item.result.text]
        for value in given:
            if id(value) not in searched:
                yield from strings(value)
    yield from (message.text for message in transcript.abandoned)
    if transcript.boundary is not None:
        yield transcript.boundary.summary


def strings(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, the names of its members too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (key for key in value if isinstance(key, str))
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from strings(item)
