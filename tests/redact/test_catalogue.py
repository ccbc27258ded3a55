"""The documentation's table of rules is the code's."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import redaction
from keepthread.redact import catalogue, scan
from keepthread.redact.environment import environment_secrets
from tests.redact.samples import FORMED, TOLD

WORD = "h4rbour-Lights-1854"
BESIDE = [
    (
        "aws-secret-key",
        "AKI" + "A" + "A1B2C3D4E5F6G7H8" + " " + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dF3hJ5kL7n",
    ),
    ("told-secret", f"the password is {WORD}"),
    ("configured-secret", f"npm config set //npm.host/:_authToken {WORD}"),
    ("stored-secret", f"kubectl create secret generic db --from-literal=key={WORD}"),
    ("variable", f"heroku config:set MAPBOX={WORD}"),
    ("piped-secret", f"echo {WORD} | docker login -u me --password-stdin"),
    ("signed-url", "https://bucket.host/a?X-Amz-Signature=" + "0a1b2c3d" * 8),
]
UPDATE = "bring it up to date: python -m benchmarks.redaction --write"


def rows(text: str) -> list[list[str]]:
    """Return the cells of a table's rows, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_every_rule_is_in_the_catalogue_and_nothing_else() -> None:
    """Whoever adds a rule says what it finds."""
    assert set(catalogue.ENTRIES) == set(catalogue.names())
    assert [name for name in catalogue.ENTRIES if not re.fullmatch("[a-z0-9-]+", name)] == []


def test_the_documentation_s_rules_are_the_code_s() -> None:
    """Rule, form, source and note, in the order in which they are tried."""
    text = redaction.DOCUMENT.read_text(encoding="utf-8")
    documented = [[*row[:3], row[4]] for row in rows(text.split(redaction.MARK)[1])]

    assert documented == rows(catalogue.table()), UPDATE


def test_what_was_measured_is_kept_when_the_table_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without transcripts there is nothing to measure."""
    copy = tmp_path / "redaction.md"
    copy.write_text(redaction.DOCUMENT.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(redaction, "DOCUMENT", copy)
    monkeypatch.setattr(sys, "argv", ["redaction", "--write"])

    redaction.main()

    assert copy.read_text(encoding="utf-8") == Path(redaction.__file__).parent.parent.joinpath(
        "docs", "redaction.md"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name", [n for n in catalogue.names() if n not in ("private-key", "environment")]
)
def test_every_rule_has_a_sample_that_it_finds(name: str) -> None:
    """No line of the table is a promise alone."""
    told = [*FORMED, *((rule, "".join(parts)) for rule, *parts in TOLD), *BESIDE]
    texts = [text for rule, text in told if rule == name]

    assert texts
    assert [text for text in texts if name not in {one.rule for one in scan(text)}] == []


def test_the_sources_are_public_pages() -> None:
    """One each, but for what has no page: names, prose, options."""
    without = {name for name, entry in catalogue.ENTRIES.items() if not entry.source}

    assert without <= {
        "environment", "option", "secret-value", "told-secret", "configured-secret", "stored-secret", "variable",
        "piped-secret",
    }  # fmt: skip
    sources = [entry.source for entry in catalogue.ENTRIES.values() if entry.source]
    assert [one for one in sources if not re.fullmatch(r"https://[\w.-]+\.[a-z]+/\S*", one)] == []


def test_the_benchmark_prints_masks_and_no_values(tmp_path: Path) -> None:
    """What it finds could be somebody's."""
    secret = "gh" + "p_" + "a1B2" * 9
    record = json.dumps({"message": {"content": f"use {secret} now"}})
    (tmp_path / "a.jsonl").write_text(f"{record}\n{{damaged\n")
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.redaction", str(tmp_path), "--show"],
        cwd=Path(redaction.__file__).parent.parent,
        env={"PYTHONPATH": "src"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert re.search(r"^github-token +1 +1$", run.stdout, re.MULTILINE)
    assert "use >>> 'aaa_a0A0" in run.stdout
    assert secret not in run.stdout + run.stderr
    assert environment_secrets({"A_TOKEN": secret}) == (secret,)
