"""The README cannot lie: commands, options, variables, settings keys, exit codes and the sample are the code's."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest

from keepthread import cli, resources
from keepthread.cli import cli as commands
from keepthread.diagnose.doctor import examine
from keepthread.engines import choose, endpoints
from keepthread.host import variables
from keepthread.host.config import Config
from keepthread.host.entries import ENTRIES, OPTIONAL
from keepthread.installing import install_here
from tests.support import reference, report_picture
from tests.support.readme import block, run_sample

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
REFERENCE = reference.REFERENCE.read_text(encoding="utf-8")
FILES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    # The other one is the document that keepthread itself writes here.
    *sorted(set((ROOT / "docs").glob("*.md")) - {ROOT / "docs" / "handoff-context.md"}),
]
DOCS = "".join(path.read_text(encoding="utf-8") for path in FILES)
MADE = "python -m tests.support.reference"
COMMANDS = reference.flat(commands)
# A word that keepthread puts into the environment of its children to find them again; nobody sets it.
INTERNAL = {"KEEPTHREAD_RUN", "KEEPTHREAD_COMPLETE"}


def section(title: str, text: str = REFERENCE) -> str:
    """Return a section of the reference, or of another document."""
    return re.split(r"\n##? ", text.partition(f"\n## {title}\n")[2])[0]


def rows(title: str) -> list[list[str]]:
    """Return the cells of the tables of a section of the reference."""
    lines = [line for line in section(title).splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


@pytest.mark.parametrize("path", reference.BLOCKS, ids=lambda path: path.name)
def test_what_is_made_from_the_code_is_up_to_date(path: Path) -> None:
    """The command that renews it stands in the document."""
    text = path.read_text(encoding="utf-8")

    assert MADE in text
    assert reference.renewed(text, reference.BLOCKS[path]) == text, f"run {MADE}"


def test_the_reference_names_exactly_the_commands_there_are() -> None:
    """In alphabetical order, each with its usage."""
    headings = re.findall(r"^### `keepthread ([a-z ]+)`$", REFERENCE, re.MULTILINE)

    assert headings == sorted(COMMANDS)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_the_reference_names_exactly_the_options_of_a_command(name: str) -> None:
    """In its usage and, with their help, below it; and its arguments."""
    command = COMMANDS[name]
    options = {opt for p in command.params if isinstance(p, click.Option) for opt in p.opts}
    arguments = [p.metavar or "" for p in command.params if isinstance(p, click.Argument)]
    part = section("Commands").partition(f"### `keepthread {name}`\n")[2].partition("\n### ")[0]
    usage = part.partition("\n    keepthread ")[2].partition("\n")[0]

    assert set(re.findall(r"--[a-z-]+", usage)) == options
    assert usage.partition(" [-")[0] == " ".join([name, *arguments])
    assert set(re.findall(r"^- `(--[a-z-]+)", part, re.MULTILINE)) == options


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_and_option_has_a_help_text(name: str) -> None:
    """The help is the reference of whoever has no document at hand."""
    command = COMMANDS[name]

    assert command.help
    assert [p.name for p in command.params if isinstance(p, click.Option) and not p.help] == []


def test_every_command_named_anywhere_exists() -> None:
    """In the documents, the slash commands and the hints of the code, down to the last word of it."""
    texts = [DOCS, *(p.read_text(encoding="utf-8") for p in (ROOT / "commands").glob("*.md"))]
    texts += [p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py")]
    named = {
        words for text in texts for words in re.findall(r"`keepthread ([a-z]+(?: [a-z]+)?)", text)
    }

    assert {words for words in named if not _is_command(words.split())} == set()


def _is_command(words: list[str]) -> bool:
    command: click.Command | None = commands
    for word in words:
        if isinstance(command, click.Group):
            command = command.commands.get(word)
    return command is not None


def test_every_option_named_beside_a_command_exists() -> None:
    """Wherever a document shows a command line."""
    options = {
        name: {opt for p in command.params for opt in p.opts} for name, command in COMMANDS.items()
    }
    wrong = []
    for line in re.findall(r"`keepthread ([^`\n]+)`", DOCS):
        words = re.match(r"[a-z ]*[a-z]", line)
        name = max(
            (n for n in options if words and f"{words[0]} ".startswith(f"{n} ")),
            key=len,
            default="",
        )
        wrong += [
            line
            for opt in re.findall(r"(?<!\w)--[a-z-]+", line)
            if name and opt not in options[name]
        ]

    assert wrong == []


def test_every_variable_has_a_reader_a_default_and_a_meaning() -> None:
    """Whoever adds one is reminded of the others, and of the reference."""
    fields = {field.name for field in dataclasses.fields(Config)} - reference.COMPUTED

    assert set(variables.ALL) == fields
    assert set(variables.MEANINGS) == fields
    assert set(variables.NARROWING) <= fields
    assert [key for key, told in variables.MEANINGS.items() if not told] == []


def test_the_reference_names_exactly_the_variables_there_are() -> None:
    """With their defaults, nothing where that is nothing, and how the process environment narrows them."""
    fields = [field for field in dataclasses.fields(Config) if field.name not in reference.COMPUTED]
    listed = {row[0].strip("`"): row for row in rows("Variables") if len(row) == 5}

    assert list(listed) == [reference.named(field.name) for field in fields]
    for field in fields:
        row = listed[reference.named(field.name)]
        assert row[1] == reference.as_written(field.default)
        assert row[2] and row[3]
        assert (row[4] == "ignored") == (field.name not in variables.NARROWING)


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
    known = {reference.named(key) for key in variables.ALL}
    of_endpoints = {
        endpoints.variable(name, part)
        for name in ("anthropic", "ollama", *endpoints.OPENAI_LIKE)
        for part in reference.PARTS
    } - known
    everywhere = set(re.findall(r"KEEPTHREAD_[A-Z][A-Z_]*[A-Z]", DOCS))
    here = set(re.findall(r"KEEPTHREAD_[A-Z][A-Z_]*[A-Z]", REFERENCE))

    assert (used - of_endpoints | known) - INTERNAL == here - of_endpoints
    assert everywhere - of_endpoints == here - of_endpoints


def test_every_engine_and_every_variable_of_an_endpoint_is_in_the_reference() -> None:
    """And no engine that there is not; packages of others may add more. The README names each, too."""
    line = next(
        line for line in REFERENCE.splitlines() if line.startswith("`KEEPTHREAD_ENGINE` takes")
    )
    code = (ROOT / "src" / "keepthread" / "engines" / "endpoints.py").read_text(encoding="utf-8")
    named = {
        name for name in re.findall(r"`([^`]+)`", section("Engines", README)) if name.islower()
    }

    assert re.findall(r"`([^`]+)`", line)[1:] == [choose.AUTO, *choose._MAKERS]
    assert sorted(re.findall(r'said\("(\w+)"\)', code)) == sorted(reference.PARTS)
    assert named == {choose.AUTO, *choose._MAKERS}


def test_the_reference_names_exactly_the_settings_keys_that_are_written() -> None:
    """One entry in each, and three in SessionStart."""
    entries = [(entry.event, entry.script) for entry in (*ENTRIES, *OPTIONAL)]
    found = re.findall(r"^\| `hooks\.(\w+)` \| `(\w+\.py)`", REFERENCE, re.MULTILINE)

    assert found == entries


def test_the_reference_names_exactly_the_exit_codes() -> None:
    """With their meaning; hooks always end with 0."""
    codes = re.findall(r"^\| (\d+) \| \w", section("Exit codes"), re.MULTILINE)

    assert [int(code) for code in codes] == [
        cli.OK,
        cli.REFUSED,
        cli.USAGE,
        cli.BUG,
        cli.INTERRUPTED,
    ]


def test_every_check_of_doctor_is_explained_and_none_that_there_is_not(home: Path) -> None:
    """Those of a fresh installation in its document, and in the guide none that the code has not."""
    docs = {
        name: (ROOT / "docs" / name).read_text(encoding="utf-8")
        for name in ("doctor.md", "guide.md")
    }
    table = section("Troubleshooting", docs["guide.md"]).splitlines()
    named = {name for line in table if line.startswith("|") for name in _checks_in(line)}
    folder = ROOT / "src" / "keepthread" / "diagnose"
    code = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    (home / "proj" / ".git").mkdir(parents=True)
    env, cwd = {"HOME": str(home), "PATH": "/usr/bin:/bin"}, str(home / "proj")
    install_here(env, cwd)

    assert len(named) > 10
    assert [name for name in named if f'"{name}"' not in code] == []
    for name in {
        re.sub(r"^dry run .*", "dry run ...", check["name"]) for check in examine(env, cwd)
    }:
        short = f"... {name.rpartition(' ')[2]}"
        assert f"`{name}`" in docs["doctor.md"] or f"`{short}`" in docs["doctor.md"], name


def _checks_in(line: str) -> list[str]:
    return [
        name
        for name in re.findall(r"`([a-z ]+)`", line.split("|")[2])
        if not name.startswith("keepthread ")
    ]


def test_every_benchmark_is_in_the_contributing_guide() -> None:
    """With the command that runs it; the one that runs none is named as such."""
    text = reference.CONTRIBUTING.read_text(encoding="utf-8")
    modules = {path.stem for path in (ROOT / "benchmarks").glob("*.py")} - {"__init__", "collected"}

    assert set(re.findall(r"^\| `python -m benchmarks\.(\w+)", text, re.MULTILINE)) >= modules
    for module in modules:
        code = (ROOT / "benchmarks" / f"{module}.py").read_text(encoding="utf-8")
        checked = section("Benchmarks", text).partition("Without `--check`")[0]
        assert ('"--check"' in code) == (f"benchmarks.{module}`" in checked), module


def test_nothing_but_one_module_of_the_engines_talks_to_the_network() -> None:
    """docs/security.md says so: no telemetry, no look for updates."""
    network = {
        "aiohttp",
        "asyncio.streams",
        "ftplib",
        "http.client",
        "httpx",
        "requests",
        "smtplib",
        "socket",
    }
    network |= {"socketserver", "ssl", "urllib.request", "urllib3", "xmlrpc.client"}
    talking = set()
    for path in (ROOT / "src").rglob("*.py"):
        code = path.read_text(encoding="utf-8")
        named = re.findall(
            r"^\s*(?:import|from) ([\w.]+)(?: import ([\w, ]+))?", code, re.MULTILINE
        )
        modules = {part for module, names in named for part in (module, *_joined(module, names))}
        talking |= {path.name} if modules & network else set()

    assert talking == {"http.py"}


def _joined(module: str, names: str) -> list[str]:
    return [f"{module}.{name.strip()}" for name in names.split(",") if name.strip()]


def test_the_picture_of_the_report_is_one_of_a_page_that_can_still_be_made(tmp_path: Path) -> None:
    """python -m tests.support.report_picture makes it anew; its pixels depend on the fonts at hand."""
    page = report_picture.make_report(tmp_path).read_text(encoding="utf-8")
    picture = report_picture.PICTURE.read_bytes()

    assert "over 1 of 1 compaction" in page
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(picture[16:20], "big") == report_picture.WIDTH
    assert len(picture) < 300_000
    assert "](docs/report.png)" in README or 'src="docs/report.png"' in README


def test_every_slash_command_is_in_the_readme_and_the_reference() -> None:
    """By the name under which it is typed."""
    for path in Path(resources.folder("commands")).glob("*.md"):
        assert f"`/{path.stem}" in README
        assert f"`/{path.stem}" in REFERENCE


def test_every_drawing_is_well_formed_and_says_what_it_shows() -> None:
    """In words, for those who do not see it; in both colour schemes; nothing in it is fetched or run."""
    for path in (ROOT / "docs").glob("*.svg"):
        text = path.read_text(encoding="utf-8")
        drawing = ElementTree.fromstring(text)
        tags = {part.tag.rpartition("}")[2] for part in drawing.iter()}

        assert {"title", "desc"} <= tags
        assert "prefers-color-scheme: dark" in text
        assert not tags & {"script", "image", "foreignObject", "a"}


def test_the_readme_stays_a_page() -> None:
    """What grows belongs into docs/."""
    assert README.count("\n") <= 200


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
        line[2:]
        for line in section("Before and after", README).splitlines()
        if line.startswith("> ")
    ]

    assert len(quotes) == 2
    assert [quote for quote in quotes if quote not in before] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_and_heading_that_a_document_links_to_is_there(path: Path) -> None:
    """Relative links only; the web is not asked."""
    for target in re.findall(
        r"""(?:\]\(|src=")(?!https?:)([^)"]+)""", path.read_text(encoding="utf-8")
    ):
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path

        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


def anchors(path: Path) -> set[str]:
    """Return what may stand behind the # of a link to a document."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_index_links_every_document() -> None:
    """Each in docs/, and the README links the index."""
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")

    assert [
        p.name
        for p in FILES
        if p.parent.name == "docs" and p.name != "README.md" and f"]({p.name})" not in index
    ] == []
    assert "](docs/README.md)" in README
