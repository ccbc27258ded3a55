"""What micro-compaction saves on transcripts: tokens per tool, at a limit.

    python -m benchmarks.spill PATH... [--limit N] [--turn N]

Every result of a tool that an event would bring to the hook is taken from the transcripts (files, or folders of them)
and shortened as the hook does it, into a folder that is removed. What the client of today cuts itself counts as no
saving. Tokens are estimated from the text, and the last share is that of all tool results, also those that are never
shortened. A token once in the context is sent again with each later request of its session: the table counts what
enters, not what is billed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from keepthread.economy import spill
from keepthread.transcript.tokens import estimate

HOST_CUTS = 30_000  # characters of a shell's output, beyond which the client shows 2 KB and a path


class Seen(NamedTuple):
    """One result in a transcript: its session and turn, and the event that its tool call would send."""

    session: str
    event: dict[str, Any]
    text: str


class Row:
    """The sums of one tool: results, those shortened, tokens before and after of all of them."""

    def __init__(self) -> None:
        self.results = self.shortened = self.before = self.after = 0

    def add(self, before: int, after: int) -> None:
        """Count one result."""
        self.results += 1
        self.shortened += after < before
        self.before += before
        self.after += after

    def cells(self, name: str, all_before: int) -> list[str]:
        """Return the line of the table."""
        saved = self.before - self.after
        share = saved / self.before if self.before else 0.0
        of_all = saved / all_before if all_before else 0.0
        figures = [self.results, self.shortened, self.before, saved]
        return [name, *map(str, figures), f"{share:.1%}", f"{of_all:.1%}"]


def results(path: Path) -> Iterator[Seen]:
    """Yield the tool results of one transcript, without those of subagents and those that failed."""
    calls: dict[str, dict[str, Any]] = {}
    turn = ""
    for record in _records(path):
        content = (record.get("message") or {}).get("content")
        if record.get("isSidechain") or not isinstance(content, list):
            turn = record.get("uuid", turn) if isinstance(content, str) else turn
            continue
        for block in content:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use":
                calls[str(block.get("id"))] = block
            elif block.get("type") == "tool_result" and block.get("tool_use_id") in calls:
                call = calls.pop(block["tool_use_id"])
                yield Seen(
                    path.stem, _event(call, block, record, turn), _text(block.get("content"))
                )


def measure(paths: Sequence[Path], limits: spill.Limits) -> dict[str, Row]:
    """Return the rows by tool; all tools of one server are one row."""
    rows: dict[str, Row] = {}
    with tempfile.TemporaryDirectory() as state:
        for path in paths:
            for seen in results(path):
                before = after = estimate(seen.text)
                short = _shortened(seen, limits, state)
                if short is not None:
                    after = min(before, short)
                rows.setdefault(_name(seen.event["tool_name"]), Row()).add(before, after)
    return rows


def _shortened(seen: Seen, limits: spill.Limits, state: str) -> int | None:
    if seen.event["is_error"]:
        return None
    found = spill.candidate(seen.event)
    shell = seen.event["tool_name"] in ("Bash", "PowerShell")
    if found is None or (shell and len(found[0]) > HOST_CUTS):
        return None
    spilled = spill.shorten(found, seen.event, limits, state, seen.session, {})
    return None if spilled is None else estimate(_text_of_output(spilled.output))


def _event(
    call: dict[str, Any], block: dict[str, Any], record: dict[str, Any], turn: str
) -> dict[str, Any]:
    response = record.get("toolUseResult")
    return {
        "tool_name": call.get("name"),
        "tool_input": call.get("input"),
        "tool_use_id": call.get("id"),
        "tool_response": block.get("content") if response is None else response,
        "prompt_id": record.get("promptId") or turn,
        "is_error": bool(block.get("is_error")),
    }


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for line in file:
            try:
                record = json.loads(line)
            except ValueError:
                continue  # a torn line
            if isinstance(record, dict):
                yield record


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(str(b.get("text", "")) for b in blocks if isinstance(b, dict))


def _text_of_output(output: object) -> str:
    """Return what the model reads of a changed result."""
    if isinstance(output, dict):
        for key in ("stdout", "content", "result"):
            if isinstance(output.get(key), str) and output[key]:
                return str(output[key])
        parts = output.get("filenames") or output.get("results") or []
        return "\n".join(part if isinstance(part, str) else json.dumps(part) for part in parts)
    return output if isinstance(output, str) else _text(output)


def _name(tool: object) -> str:
    name = str(tool)
    return "__".join(name.split("__")[:2]) if name.startswith("mcp__") else name


def _files(paths: Sequence[str]) -> list[Path]:
    found: list[Path] = []
    for path in map(Path, paths):
        found += sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    return found


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--limit", type=int, default=8_000, help="characters of one result")
    parser.add_argument(
        "--turn", type=int, default=200_000, help="characters of one turn's results"
    )
    options = parser.parse_args()
    rows = measure(_files(options.paths), spill.Limits(options.limit, options.turn))
    total = Row()
    for row in rows.values():
        for name in ("results", "shortened", "before", "after"):
            setattr(total, name, getattr(total, name) + getattr(row, name))
    head = ["tool", "results", "shortened", "tokens ~est", "saved ~est", "share", "of all"]
    lines = [head]
    ordered = sorted(rows.items(), key=lambda item: item[1].after - item[1].before)
    lines += [row.cells(name, total.before) for name, row in ordered if row.before]
    lines.append(total.cells("all", total.before))
    for line in lines:
        print(f"{line[0][:30]:30}" + "".join(f"{cell:>13}" for cell in line[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
