"""The compaction point: what the formula says, against the real client, with one and with several earlier turns.

    python -m benchmarks.thresholds [--check] [--write]

For each model and environment the API's stand-in reports 500 tokens less than predicted, where nothing may happen, and
500 more, where the client has to announce an automatic compaction. Where none is predicted before the window is full,
none may come; where automatic compaction is off, the hard stop is tried in the same way. --check exits 1 when the
client differs; --write brings the table of docs/thresholds.md up to date.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from keepthread.host.thresholds import MEASURED_ON, Thresholds, thresholds
from tests.support.compaction_point import Decision, Setup, decisions
from tests.support.fetch_client import PINNED, fetch_client

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "thresholds.md"
MARK = "<!-- thresholds -->"
MARGIN = 500  # tokens
_SMALL = 1_000  # tokens of a turn that fills nothing

_SONNET, _OPUS, _HAIKU = "claude-sonnet-4-6", "claude-opus-5-5", "claude-haiku-4-5"
_WINDOW, _PERCENT = "CLAUDE_CODE_AUTO_COMPACT_WINDOW", "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE"
_OUTPUT, _CONTEXT = "CLAUDE_CODE_MAX_OUTPUT_TOKENS", "CLAUDE_CODE_MAX_CONTEXT_TOKENS"
SETUPS = (
    Setup(_SONNET),
    Setup("claude-opus-4-6"),
    Setup("claude-opus-4-7"),
    Setup("claude-opus-4-8"),
    Setup("claude-opus-5"),
    Setup(_OPUS),
    Setup("claude-sonnet-5"),
    Setup("claude-sonnet-5-5"),
    Setup("claude-haiku-5-5"),
    Setup("claude-fable-5"),
    Setup("opus[1m]"),
    Setup("opusplan[1m]"),
    Setup("Claude-Sonnet-4-6"),
    Setup("us.anthropic.claude-sonnet-4-6-v1:0"),
    Setup("claude-sonnet-4-6@20260101"),
    Setup("anthropic/claude-sonnet-4.6"),
    Setup("claude-opus-4-1"),
    Setup("claude-sonnet-4-7"),
    Setup("no-known-model"),
    Setup(_HAIKU),
    Setup("claude-sonnet-4-5"),
    Setup("claude-opus-4-5"),
    Setup("claude-3-5-haiku-latest"),
    Setup("claude-opus-4-1@20250805"),
    Setup("arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123"),
    Setup(f"{_SONNET}[1m]"),
    Setup("no-known-model[1m]"),
    Setup(_SONNET, {_PERCENT: "80"}),
    Setup(_SONNET, {_PERCENT: "50"}),
    Setup(_SONNET, {_PERCENT: "99"}),
    Setup(_SONNET, {_PERCENT: "150"}),
    Setup(_SONNET, {_PERCENT: "0"}),
    Setup(_OPUS, {_PERCENT: "50"}),
    Setup(_HAIKU, {_PERCENT: "50"}),
    Setup(_SONNET, {_WINDOW: "120000"}),
    Setup(_SONNET, {_WINDOW: "120000", _PERCENT: "50"}),
    Setup(_SONNET, {_WINDOW: "50000"}),
    Setup(_SONNET, {_WINDOW: "900000"}),
    Setup(_OPUS, {_WINDOW: "500k"}),
    Setup(_HAIKU, {_WINDOW: "120000"}),
    Setup(f"{_SONNET}[1m]", {_WINDOW: "500000"}),
    Setup(_SONNET, {_OUTPUT: "8000"}),
    Setup(_SONNET, {_OUTPUT: "8k"}),
    Setup(_SONNET, {_OUTPUT: "64000"}),
    Setup("no-known-model", {_CONTEXT: "100000"}),
    Setup(_OPUS, {"CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"}),
    Setup(_SONNET, {_PERCENT: "80"}, {"env": {_PERCENT: "50"}}),
    Setup(_SONNET, {}, {"autoCompactWindow": 150_000}),
    Setup(_SONNET, {}, {"autoCompactWindow": 50_000}),
    Setup(_SONNET, {_WINDOW: "130000"}, {"autoCompactWindow": 150_000}),
    Setup(_SONNET, {}, {"autoCompactEnabled": False}),
    Setup(_SONNET, {"DISABLE_AUTO_COMPACT": "1"}),
    Setup(_SONNET, {"DISABLE_COMPACT": "1"}),
    Setup(_HAIKU, {"DISABLE_AUTO_COMPACT": "1"}),
)


class Row(NamedTuple):
    """One line of the table: the setup, what the client did, whether it is what was predicted."""

    setup: Setup
    several: str
    one: str
    same: bool


def main() -> int:
    """Print the table; return 1 when --check was asked for and the client does something else."""
    options = _options()
    executable = fetch_client()
    rows = []
    for setup in SETUPS:
        row = measured(executable, setup)
        rows.append(row)
        print(_line(row), flush=True)
    missed = [row for row in rows if not row.same]
    print(f"{len(rows) - len(missed)} of {len(rows)} as predicted, client {PINNED}")
    if options.write:
        write(rows)
    return 1 if missed and options.check else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="The compaction point in the real client.")
    parser.add_argument("--check", action="store_true", help="exit 1 when the client differs")
    parser.add_argument("--write", action="store_true", help="write the table of the documentation")
    return parser.parse_args()


def predicted(setup: Setup) -> Thresholds:
    """Return what the formula says of a setup."""
    inner = {str(name): str(value) for name, value in setup.settings.get("env", {}).items()}
    return thresholds(setup.model, {**setup.env, **inner}, [setup.settings])


def measured(executable: Path, setup: Setup) -> Row:
    """Return what the client does around the predicted point."""
    point = predicted(setup)
    if point.threshold is not None:
        return _around(executable, setup, point.threshold)
    if not point.enabled and point.hard_stop is not None:
        return _at_stop(executable, setup, point.hard_stop)
    # A little before the window the reactive models would have passed every threshold of the formula.
    steps = [_SMALL, point.effective - 12_000, point.window - _SMALL]
    found = decisions(executable, setup, steps)
    quiet = not any(one.fired or one.summarised for one in found)
    told = "none" if quiet else _told(found)
    return Row(setup, told, "", quiet)


def _around(executable: Path, setup: Setup, threshold: int) -> Row:
    before, after = threshold - MARGIN, threshold + MARGIN
    several = decisions(executable, setup, [min(_SMALL, before), before, after])
    first = decisions(executable, setup, [before])
    one = decisions(executable, setup, [after])
    right = [several[-1].tokens == after and several[-1].fired, one[-1].fired, not first[-1].fired]
    summary = "summary too" if one[-1].summarised else "no summary"
    told = f"{_told([*first, *one])}, {summary}" if one[-1].fired else _told(one)
    return Row(setup, _told(several), told, all(right))


def _at_stop(executable: Path, setup: Setup, stop: int) -> Row:
    found = decisions(executable, setup, [_SMALL, stop - MARGIN, stop + MARGIN])
    last = found[-1]
    right = last.tokens == stop + MARGIN and last.refused and not any(one.fired for one in found)
    told = f"takes no prompt at {last.tokens:,}" if last.refused else _told(found)
    return Row(setup, told, "", right)


def _told(found: Sequence[Decision]) -> str:
    """Return between which figures the client fired."""
    last = found[-1]
    quiet = [one.tokens for one in found if not one.fired]
    if not last.fired:
        return f"nothing up to {last.tokens:,}"
    return f"{max(quiet, default=0):,} to {last.tokens:,}"


def begun(setup: Setup) -> str:
    """Return the cells of a line that say what was tried and what the formula predicts."""
    point = predicted(setup)
    if point.threshold is not None:
        text = f"{point.threshold:,}"
    elif point.hard_stop is not None:
        text = f"none; full at {point.hard_stop:,}"
    else:
        text = "none before the API refuses"
    return f"| `{setup.model}` | {_settings(setup)} | {text} |"


def _line(row: Row) -> str:
    mark = "" if row.same else "**differs**"
    return f"{begun(row.setup)} {row.several} | {row.one} | {mark} |"


def _settings(setup: Setup) -> str:
    named = [f"`{name}={value}`" for name, value in setup.env.items()]
    for name, value in setup.settings.items():
        inner = value.items() if isinstance(value, dict) else [("", value)]
        named += [f"setting `{name}{'.' if key else ''}{key}: {_json(one)}`" for key, one in inner]
    return ", ".join(named)


def _json(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def write(rows: Sequence[Row]) -> None:
    """Put the table into the documentation."""
    before, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(MARK)
    after = rest.partition(MARK)[2]
    head = [
        f"Client {PINNED}, formula of {MEASURED_ON}; tokens.",
        "",
        "| model | environment, settings | predicted | several earlier turns: fired between | one earlier turn | |",
        "|---|---|---|---|---|---|",
    ]
    table = "\n".join([*head, *map(_line, rows)])
    DOCUMENT.write_text(f"{before}{MARK}\n{table}\n{MARK}{after}", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
