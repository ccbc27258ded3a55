"""Which entries may stand in the index: none that holds a secret, as far as anything told of it so far."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from keepthread import redact
from keepthread.handoff.facts_index.storage import Stretch, dumped
from keepthread.handoff.secrets import secrets_in, strings
from keepthread.transcript.known import Entry
from keepthread.transcript.model import Call, Message, Note
from keepthread.transcript.packed import PARTS, Names, pack, unpack
from keepthread.transcript.record import Part, Record

_LAYERS = 4
_AT_ONCE = 300_000  # characters: the search for secrets bounds how much of one text it looks at

Line = tuple[int, int, list[Record]]  # offset, end, records


class Search:
    """Collects the secrets that records give away, and packs the records that hold none.

    Args:
        secrets: those that are known already.
    """

    def __init__(self, secrets: Sequence[str]) -> None:
        self._given = tuple(secrets)
        self._found: dict[str, None] = dict.fromkeys(_written(one) for one in secrets if one)
        self._clean_names: dict[str, bool] = {}

    def learn(self, records: Iterable[Record]) -> None:
        """Take in the secrets that these records give away."""
        texts: list[str] = []
        inputs: list[object] = []
        size = 0
        for part in chain.from_iterable(record.parts for record in records):
            fresh = list(_texts(part))
            texts += fresh
            inputs += [part.input] if isinstance(part, Call) else []
            size += sum(map(len, fresh))
            if size > _AT_ONCE:
                self._learn(texts, inputs)
                texts, inputs, size = [], [], 0
        self._learn(texts, inputs)

    def _learn(self, texts: Sequence[str], inputs: Sequence[object]) -> None:
        found = secrets_in(texts, inputs, self._given) if texts else []
        self._found.update(dict.fromkeys(map(_written, found)))

    def entries(self, lines: Iterable[Line]) -> tuple[list[Entry], list[str]]:
        """Return the lines' entries and the names in them; what may not be kept becomes a place in the file.

        What the lines give away, and all lines kept so far, has to be learnt before.
        """
        names = Names()
        found: list[Entry] = []
        texts: list[str] = []
        for offset, end, records in lines:
            entry = self._packed(records[0], names) if self._is_plain(offset, records) else None
            found.append(entry or [offset, end])
            texts.append(dumped(found[-1]))
        holding = self._holding("\n".join(texts))
        for at, text in enumerate(texts):
            if any(secret in text for secret in holding):
                found[at] = found[at][:2]
        return found, names.texts

    def is_free(self, one: Stretch) -> bool:
        """Return whether a stretch of the index holds none of the secrets found."""
        line = bytes(one.line)
        return not any(secret.encode("utf-8", "replace") in line for secret in self._found)

    def cleared(self, one: Stretch) -> tuple[list[Entry], Sequence[str]]:
        """Return the entries and names of a stretch, a place in the file instead of each entry with a secret found."""
        entries, names = one.block.entries, one.block.names
        holding = self._holding(bytes(one.line).decode())
        if any(secret in dumped(names) for secret in holding):
            return [entry[:2] for entry in entries], []
        texts = map(dumped, entries)
        return [
            entry[:2] if any(secret in text for secret in holding) else entry
            for entry, text in zip(entries, texts, strict=True)
        ], names

    def _holding(self, text: str) -> list[str]:
        return [secret for secret in self._found if secret in text]

    def _is_plain(self, offset: int, records: Sequence[Record]) -> bool:
        """Return whether a line is one record that means the same whatever stands behind it."""
        if len(records) != 1 or records[0].offset != offset:
            return False
        record = records[0]
        names = (record.kind, record.model, record.cwd, record.branch, record.version)
        return "history" not in record.extra and all(map(self._is_clean_name, names))

    def _is_clean_name(self, name: str) -> bool:
        known = self._clean_names.get(name)
        if known is None:
            plain = redact.text(name, self._given) == name
            known = self._clean_names[name] = plain and not self._holding(_written(name))
        return known

    def _packed(self, record: Record, names: Names) -> Entry | None:
        """Return the entry of a record, None when it holds a secret or would not come back the same."""
        packed = pack(record, names.number)
        try:
            text = dumped(packed)
            text.encode()
        except (TypeError, ValueError):  # a value that JSON does not know, a lone surrogate
            return None
        if len(packed) <= PARTS:
            return packed
        again = json.loads(text)
        if unpack(again, names.texts) != record:
            return None
        told = again[PARTS], again[-1]
        bare = [text, *_unescaped(text)]
        clean = redact.document(told) == [*told] and all(redact.text(one) == one for one in bare)
        return packed if clean else None


def _unescaped(text: str) -> Iterator[str]:
    """Yield the text with one layer of escapes less each time, as JSON in JSON has them."""
    for _ in range(_LAYERS):
        if "\\" not in text:
            return
        text = (
            text.replace("\\\\", "\0").replace('\\"', '"').replace("\\n", "\n").replace("\0", "\\")
        )
        yield text


def _written(secret: str) -> str:
    """Return a text as it stands in the index."""
    return dumped(secret)[1:-1]


def _texts(part: Part) -> Iterator[str]:
    if isinstance(part, Message):
        yield part.text
    elif isinstance(part, Call):
        yield from strings(part.input)
    elif isinstance(part, Note):
        yield from strings(part.data)
    else:
        yield part.result.text
        yield from strings(part.result.data)
