"""Records of a transcript's lines as an earlier reading found them, so that these lines need not be parsed again.

A line stands there as its packed record, or as the two offsets where it is to be read from the file again: what holds
a secret is kept nowhere else, and what depends on the lines behind it is decided anew.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import FileIO
from typing import Any

from keepthread.transcript.lines import lines
from keepthread.transcript.packed import unpack
from keepthread.transcript.record import Record
from keepthread.transcript.slim import Slimmer

Entry = list[Any]  # a packed record, or [offset, end] of a line that is to be read again
_DAMAGED = (ValueError, TypeError, LookupError, AttributeError)


class Block:
    """Entries of the lines between two offsets, in file order.

    Attributes:
        start, stop: the offsets.
        spent: characters that its texts took of a reading's budget.
        names: texts that the packed records give by number.
        raw: the entries as JSON; they are decoded when they are asked for.
    """

    __slots__ = ("_entries", "names", "raw", "spent", "start", "stop")

    def __init__(
        self, start: int, stop: int, spent: int, names: Sequence[str], raw: str | memoryview
    ) -> None:
        self.start, self.stop, self.spent, self.names, self.raw = start, stop, spent, names, raw
        self._entries: list[Entry] | None = None

    @property
    def decoded(self) -> bool:
        """Whether the entries have been asked for."""
        return self._entries is not None

    @property
    def entries(self) -> list[Entry]:
        """One entry for each line, decoded when first asked for.

        Raises:
            ValueError: they are no JSON.
        """
        if self._entries is None:
            raw = self.raw if isinstance(self.raw, str) else str(self.raw, "utf-8")
            self._entries = json.loads(raw)
        return self._entries

    def records(self, file: FileIO, slimmer: Slimmer, floor: int = 0) -> list[Record]:
        """Return the records at or behind `floor`, in file order.

        Raises:
            ValueError, TypeError, LookupError, AttributeError: the entries are not what `pack` has made.
            OSError: the file cannot be read.
        """
        wanted = [entry for entry in self.entries if entry[0] >= floor]
        kept = [unpack(entry, self.names) if len(entry) > 2 else None for entry in wanted]
        found: list[Record] = []
        # Backwards, as the file is read: of the host's snapshots the last one counts.
        for entry, record in zip(reversed(wanted), reversed(kept), strict=True):
            if record is not None:
                found.append(record)
            else:
                found += reversed(again(file, slimmer, entry[0], entry[1]))
        found.reverse()
        return found


class Known:
    """The blocks from `start` on, without a gap.

    Args:
        blocks: at least one, in file order.
        whole: whether the first one begins at the file's first line or at the last compaction.
    """

    def __init__(self, blocks: Sequence[Block], *, whole: bool) -> None:
        self.blocks = blocks
        self.start, self.stop = blocks[0].start, blocks[-1].stop
        self._whole = whole

    def records(
        self, file: FileIO, slimmer: Slimmer, floor: int
    ) -> tuple[list[Record], int] | None:
        """Return the records at or behind `floor` in file order, and the offset that they reach back to.

        None when what is known does not reach back as far as reading would, or is more than is carried at full length.

        Raises:
            OSError: the file cannot be read.
        """
        spent = sum(block.spent for block in self.blocks)
        if not (self._whole or self.start <= floor) or slimmer.room <= spent:
            return None
        found: list[Record] = []
        try:
            for block in reversed(self.blocks):
                if block.stop > floor:
                    found = [*block.records(file, slimmer, floor), *found]
        except _DAMAGED:
            return None
        slimmer.spend(spent)
        return found, max(self.start, floor)


def again(file: FileIO, slimmer: Slimmer, start: int, end: int) -> list[Record]:
    """Return the records of the line between two offsets, read from the file.

    Raises:
        OSError: the file cannot be read.
    """
    return [
        record
        for offset, stop, line in lines(file, end, start)
        for record in slimmer.records(line, offset, stop)
    ]
