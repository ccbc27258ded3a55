"""What of a session must not be kept or sent: the secrets it gives away, wherever they or parts of them stand."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

from keepthread import redact
from keepthread.handoff.model import Handoff
from keepthread.redact.exposed import exposed
from keepthread.redact.pieces import cut, formed, is_piece, parts
from keepthread.redact.rules import Known
from keepthread.transcript.model import Call, Message, Note, Transcript

_ONLY_MARK = re.compile(r"\[REDACTED:[a-z0-9-]+\]")


def without(handoff: Handoff, transcript: Transcript, secrets: Sequence[str]) -> Handoff:
    """Return the handoff without secrets, also where a name or a cut command no longer shows that it is one."""
    known = known_secrets(transcript, secrets, written="\n".join(_strings(handoff)))
    whole = "\n".join(known)
    names = handoff["facts"]["identifiers"]
    handoff["facts"]["identifiers"] = [n for n in names if not is_piece(n["text"], whole)]
    written = "\n".join(_strings(handoff))
    standing = [value for value in known if value in written]
    clean = cast(Handoff, redact.document(handoff, [*standing, *cut(written, known)]))
    names = clean["facts"]["identifiers"]
    clean["facts"]["identifiers"] = [
        name for name in names if not _ONLY_MARK.fullmatch(name["text"])
    ]
    return clean


def known_secrets(
    transcript: Transcript, secrets: Sequence[str], *, written: str = ""
) -> list[str]:
    """Return the secrets to be taken out wherever they stand, and their parts.

    Args:
        transcript: gives secrets away.
        secrets: those that are known already.
        written: what else may hold tokens in a vendor's format, as what git says.
    """
    texts = list(_texts(transcript))
    calls = (item.input for item in reversed(transcript.items) if isinstance(item, Call))
    found = [*formed([*texts, written]), *map(Known, exposed(texts, calls))]
    return list(dict.fromkeys([*secrets, *found, *parts(found)]))


def _texts(transcript: Transcript) -> Iterator[str]:
    """Yield all words of the live part, the newest first."""
    yield transcript.git_branch
    for item in reversed(transcript.items):
        if isinstance(item, Message):
            yield item.text
        elif isinstance(item, Note):
            yield from _strings(item.data)
        else:
            yield from _strings(item.input)
            if item.result is not None:
                yield item.result.text
    yield from (message.text for message in transcript.abandoned)
    if transcript.boundary is not None:
        yield transcript.boundary.summary


def _strings(value: Any) -> Iterator[str]:
    """Yield every text in a JSON value, the names of its members too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (key for key in value if isinstance(key, str))
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item)
