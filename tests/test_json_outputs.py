"""What --json prints, as docs/reference.md has it: every command that takes the option, run once."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from keepthread.cli import cli
from tests.support import reference
from tests.support.cli import Person

TEXT = reference.REFERENCE.read_text(encoding="utf-8")
TABLE = re.findall(
    r"^\| `([a-z ]+)` \| (an object|a list of objects) \| ([^|]*) \|$",
    TEXT.partition("\n## JSON outputs\n")[2].partition("\n## ")[0],
    re.MULTILINE,
)


@pytest.fixture
def person(person: Person, home: Path) -> Person:
    """Give the test somebody at a terminal, in a repository with a remote, a session and a handoff."""
    remote = home / "remote.git"
    for folder, *arguments in (
        (home, "init", "-q", "--bare", "-b", "main", str(remote)),
        (person.project, "init", "-q", "-b", "main"),
        (person.project, "config", "user.name", "Ada"),
        (person.project, "config", "user.email", "ada@example.org"),
        (person.project, "commit", "-q", "--allow-empty", "-m", "first"),
        (person.project, "remote", "add", "origin", str(remote)),
        (person.project, "push", "-q", "-u", "origin", "main"),
    ):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    person.session()
    person.ok("handoff", "--engine", "facts")
    return person


def test_the_reference_names_every_command_that_prints_json() -> None:
    """In the order of its table."""
    commands = reference.flat(cli)
    taking = [name for name, one in commands.items() if any("--json" in p.opts for p in one.params)]

    assert sorted(name for name, _, _ in TABLE) == sorted(taking)


def test_what_is_printed_has_exactly_the_fields_that_the_reference_names(person: Person) -> None:
    """Those at the top, or of each item of a list."""
    printed = _printed(person)

    assert {name: _described(found) for name, found in printed.items()} == {
        name: (form, re.findall(r"`(\w+)`", fields)) for name, form, fields in TABLE
    }


def _described(found: Any) -> tuple[str, list[str]]:
    if isinstance(found, list):
        return "a list of objects", list(found[0])
    return "an object", list(found)


def _printed(person: Person) -> dict[str, Any]:
    """Run each command so that it has something to say."""
    notes = person.home / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("Ask before a release.\n")
    (person.home / "odd.env").write_text("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE=0.8\n")
    key = ["http/client.md"]
    lines = [
        ["install"], ["doctor"], ["status"], ["thresholds"], ["statusline", "--install"], ["pins"],
        ["eval", str(person.config)],
        ["profile list"], ["profile show", "tuned"], ["profile diff", "tuned"],
        ["profile lint", str(person.home / "odd.env")], ["profile apply", "tuned"], ["profile clear"],
        ["memory init"], ["memory add", *key, "Use httpx.", "--type", "project"],
        ["memory edit", *key, "Use httpx, never requests."], ["memory list"], ["memory show", *key],
        ["memory search", "httpx"], ["memory trust", "--yes"], ["memory sync"],
        ["memory import", "--from", str(notes)], ["memory session on"],
        ["memory session off"], ["memory session status"],
    ]  # fmt: skip
    printed = {name: person.json(*name.split(), *more, "--json") for name, *more in lines}
    broken = person.project / ".claude" / "team-memory" / "broken.md"
    broken.write_text("---\nno head\n")
    printed["memory check"] = person.json("memory", "check", "--json")
    broken.unlink()
    for name, *more in (["memory mv", *key, "b.md"], ["memory rm", "b.md"], ["uninstall"]):
        printed[name] = person.json(*name.split(), *more, "--json")
    return printed
