"""The README cannot lie: commands, options, variables, settings keys, exit codes and the sample are the code's."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import click
import pytest

from keepthread import cli, resources
from keepthread.cli import cli as commands
from keepthread.engines import choose, endpoints
from keepthread.host import variables
from keepthread.host.config import Config
from keepthread.host.entries import ENTRIES, OPTIONAL
from tests.support.readme import block, run_sample

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = README + "".join(
    path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "docs").glob("*.md"))
    if path.name != "handoff-context.md"  # the document that keepthread itself writes here
)
# Fields of Config that no variable sets.
COMPUTED = {"user", "problems", "unnarrowed"}
# A word that keepthread puts into the environment of its children to find them again; nobody sets it.
INTERNAL = {"KEEPTHREAD_RUN", "KEEPTHREAD_COMPLETE"}


def section(title: str) -> str:
    """Return a section of the README."""
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    """Return the cells of a section's table, without its head."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def flat(group: click.Group, prefix: str = "") -> dict[str, click.Command]:
    """Return the commands of a group by what is typed for them; a group in it gives its own."""
    found: dict[str, click.Command] = {}
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found |= flat(command, f"{prefix}{name} ")
        else:
            found[prefix + name] = command
    return found


COMMANDS = flat(commands)


def documented() -> dict[str, str]:
    """Return the usage line of each command in the README's table, without "keepthread" and the command."""
    usages = [row[0].strip("`").removeprefix("keepthread ") for row in rows("Commands")]
    named = {}
    for usage in usages:
        name = " ".join(re.findall(r"^[a-z ]+(?= |$)", usage)) or usage
        named[name.strip()] = usage[len(name) :]
    return named


def test_the_readme_names_exactly_the_commands_there_are() -> None:
    """In the order of its table."""
    assert sorted(documented()) == sorted(COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_readme_names_exactly_the_options_of_a_command(name: str) -> None:
    """With its arguments."""
    command = COMMANDS[name]
    options = {opt for p in command.params if isinstance(p, click.Option) for opt in p.opts}
    arguments = [p.metavar for p in command.params if isinstance(p, click.Argument)]
    usage = documented()[name]

    assert set(re.findall(r"--[a-z-]+", usage)) == options
    assert re.findall(r"[A-Z.]+", re.sub(r"\[-.*?\](?= |$)", "", usage)) == [
        word for argument in arguments for word in re.findall(r"[A-Z.]+", argument or "")
    ]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_has_a_help_text(name: str) -> None:
    """The help is the reference of whoever has no README at hand."""
    command = COMMANDS[name]

    assert command.help
    assert [p.name for p in command.params if isinstance(p, click.Option) and not p.help] == []


def test_every_command_named_anywhere_exists() -> None:
    """In the README, the documents, the slash commands and the hints of the code."""
    texts = [DOCS, *(p.read_text(encoding="utf-8") for p in (ROOT / "commands").glob("*.md"))]
    texts += [p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py")]
    named = {word for text in texts for word in re.findall(r"`keepthread ([a-z]+)", text)}

    assert named <= set(commands.commands)


def test_the_readme_names_exactly_the_variables_there_are() -> None:
    """Those of Config, each with a reader."""
    fields = {field.name for field in dataclasses.fields(Config)} - COMPUTED
    listed = [row[0].strip("`") for row in rows("Settings")]

    assert sorted(listed) == sorted(f"KEEPTHREAD_{name.upper()}" for name in fields)
    assert set(variables.ALL) == fields


def as_written(value: object) -> str:
    """Return a default as the README writes it."""
    if isinstance(value, bool):
        return "`on`" if value else ""
    if isinstance(value, tuple):
        value = ",".join(value)
    if isinstance(value, (int, float)):
        value = f"{value:g}" if value else ""
    return f"`{value}`" if value else ""


def test_the_defaults_in_the_readme_are_those_of_the_code() -> None:
    """Nothing, where the default is nothing."""
    defaults = {f"KEEPTHREAD_{f.name.upper()}": f.default for f in dataclasses.fields(Config)}
    listed = {row[0].strip("`"): row[1] for row in rows("Settings")}

    assert listed == {name: as_written(defaults[name]) for name in listed}


def test_the_readme_says_how_the_process_environment_narrows() -> None:
    """ "ignored" stands exactly where the code ignores it."""
    narrowing = {f"KEEPTHREAD_{key.upper()}" for key in variables.NARROWING}
    obeyed = {row[0].strip("`") for row in rows("Settings") if row[3] != "ignored"}

    assert obeyed == narrowing


def sources() -> list[Path]:
    """Return every file in which a variable may be named."""
    found = [ROOT / "install.sh", *(ROOT / "hooks").glob("*"), *(ROOT / ".ci").iterdir()]
    for folder in ("src", "tests", "benchmarks", "templates", "commands"):
        found += (ROOT / folder).rglob("*")
    return [path for path in found if path.suffix in (".py", ".sh", ".md", ".json", "")]


def test_every_variable_named_in_a_file_is_documented_and_the_other_way_round() -> None:
    """The tests may name ones that do not exist on purpose: theirs count only as far as they begin with TEST_."""
    used = set()
    for path in sources():
        if path.is_file():
            names = set(
                re.findall(r"KEEPTHREAD_[A-Z][A-Z_]*[A-Z]", path.read_text(errors="replace"))
            )
            tests = path.is_relative_to(ROOT / "tests")
            used |= {name for name in names if not tests or name.startswith("KEEPTHREAD_TEST_")}
    known = {f"KEEPTHREAD_{key.upper()}" for key in variables.ALL}
    known |= {"KEEPTHREAD_OLLAMA_NUM_CTX"}
    of_endpoints = {
        endpoints.variable(name, part)
        for name in ("anthropic", "ollama", *endpoints.OPENAI_LIKE)
        for part in PARTS
    } - known
    named = set(re.findall(r"KEEPTHREAD_[A-Z][A-Z_]*[A-Z]", DOCS))

    assert (used - of_endpoints | known) - INTERNAL == named - of_endpoints


# What an endpoint may be told; the README writes KEEPTHREAD_<NAME>_BASE_URL and so on.
PARTS = ("BASE_URL", "API_KEY", "MODEL", "PRICE", "NUM_CTX")


def test_every_engine_and_every_variable_of_an_endpoint_is_in_the_readme() -> None:
    """And no engine that there is not; packages of others may add more."""
    listed = [name for row in rows("Engines") for name in re.findall(r"`([^`]+)`", row[0])]
    code = (ROOT / "src" / "keepthread" / "engines" / "endpoints.py").read_text(encoding="utf-8")

    assert sorted(listed) == sorted([choose.AUTO, *choose._MAKERS])
    assert sorted(re.findall(r'said\("(\w+)"\)', code)) == sorted(PARTS)
    for part in PARTS:
        assert f"KEEPTHREAD_<NAME>_{part}" in section("Engines") or part == "NUM_CTX"


def test_the_readme_names_exactly_the_settings_keys_that_are_written() -> None:
    """One entry in each, and three in SessionStart."""
    events = [entry.event for entry in (*ENTRIES, *OPTIONAL)]

    assert sorted(re.findall(r"`hooks\.(\w+)`", README)) == sorted(set(events))
    assert {event for event in events if events.count(event) > 1} == {"SessionStart"}


def test_the_readme_names_exactly_the_exit_codes() -> None:
    """With their meaning; hooks always end with 0."""
    line = next(line for line in README.splitlines() if line.startswith("Exit codes: "))
    codes = [int(code) for code in re.findall(r"(?<![\d-])\d+(?= [a-z])", line)]

    assert codes == [cli.OK, cli.REFUSED, cli.USAGE, cli.BUG, cli.INTERRUPTED]


def test_every_slash_command_is_in_the_readme() -> None:
    """By the name under which it is typed."""
    for path in Path(resources.folder("commands")).glob("*.md"):
        assert f"`/{path.stem}" in README


def test_the_sample_in_the_readme_is_what_the_sample_prints() -> None:
    """Whole sections of it, in their order; python -m tests.support.readme brings it up to date."""
    printed = run_sample().stdout
    shown = block(printed)
    lines = [line for line in shown.splitlines()[2:-2] if line != "..."]

    assert shown in README
    assert len(lines) > 15
    assert set(lines) <= {line.strip() for line in printed.splitlines()}


def test_the_readme_quotes_what_the_sample_s_user_typed() -> None:
    """Word for word."""
    before = run_sample().stdout.partition("\nAfter the compaction")[0]
    quotes = [
        line[2:] for line in section("Before and after").splitlines() if line.startswith("> ")
    ]

    assert len(quotes) == 2
    assert [quote for quote in quotes if quote not in before] == []


def test_every_file_the_readme_links_to_is_there() -> None:
    """Relative links only; the web is not asked."""
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", DOCS):
        assert (ROOT / target).exists(), target
