"""The tables of docs/reference.md, made from the code: commands, exit codes, variables, hooks, schema, log.

And the floors in CONTRIBUTING.md. Run as a program, python -m tests.support.reference, it puts the present ones there.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from keepthread import cli, log
from keepthread.engines import choose, endpoints
from keepthread.host import variables
from keepthread.host.config import Config
from keepthread.host.entries import DEFAULT_SOURCES, ENTRIES, OPTIONAL, wanted
from tests.test_house_rules import FLOORS

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
# Fields of Config that no variable sets.
COMPUTED = {"user", "problems", "unnarrowed", "user_file"}
EXIT_CODES: Mapping[int, str] = {
    cli.OK: "done",
    cli.REFUSED: "refused, or a fault was found",
    cli.USAGE: "wrong usage",
    cli.BUG: "a bug, logged",
    cli.INTERRUPTED: "interrupted",
}
# What an endpoint may be told, and in which form.
PARTS: Mapping[str, str] = {
    "BASE_URL": "the server's address, as its vendor writes it",
    "API_KEY": "the key",
    "MODEL": "the model; before `KEEPTHREAD_MODEL`",
    "PRICE": "USD per million tokens of input and output: `3,15`",
    "NUM_CTX": "only `ollama`: the largest context to ask for, in tokens",
}
OTHERS: Mapping[str, str] = {
    "KEEPTHREAD_CA_BUNDLE": "a file of certificates to trust instead of the usual ones; only in the file",
    "KEEPTHREAD_CHILD": "set by keepthread for the model call, so that its hooks do nothing there",
    "KEEPTHREAD_PYTHON": "read by `install.sh`: the Python of a new environment",
    "KEEPTHREAD_TEST_VENV": "read by `install.sh --test`: where its environment is made",
    "KEEPTHREAD_TEST_SCALE": "read by the tests: how much they try",
    "KEEPTHREAD_TEST_CACHE": "read by the tests: where the real client is kept",
    "KEEPTHREAD_TEST_MODEL": "read by the tests: a model file for llama.cpp",
}


def flat(group: click.Group, prefix: str = "") -> dict[str, click.Command]:
    """Return the commands of a group by what is typed for them; a group in it gives its own."""
    found: dict[str, click.Command] = {}
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            found |= flat(command, f"{prefix}{name} ")
        else:
            found[prefix + name] = command
    return found


def _commands() -> Iterator[str]:
    for name, command in sorted(flat(cli.cli).items()):
        options = [p for p in command.params if isinstance(p, click.Option)]
        arguments = [p.metavar or "" for p in command.params if isinstance(p, click.Argument)]
        usage = [name, *arguments, *(f"[{_option(option)}]" for option in options)]
        yield f"### `keepthread {name}`\n"
        yield f"    keepthread {' '.join(usage)}\n"
        yield inspect.cleandoc(command.help or "").split("\f")[0].replace("\b\n", "") + "\n"
        for option in options:
            usual = f" Default: `{option.default}`." if option.show_default else ""
            yield f"- `{_option(option)}`: {option.help}{usual}"
        if options:
            yield ""


def _option(option: click.Option) -> str:
    if option.is_flag:
        return ", ".join(option.opts)
    if isinstance(option.type, click.Choice) and not option.metavar:
        return f"{', '.join(option.opts)} {'|'.join(option.type.choices)}"
    return f"{', '.join(option.opts)} {option.metavar or option.type.name.upper()}"


def _exit_codes() -> Iterator[str]:
    yield from table(("code", "meaning"), [(str(code), told) for code, told in EXIT_CODES.items()])


def _variables() -> Iterator[str]:
    rows = []
    for field in dataclasses.fields(Config):
        if (key := field.name) not in COMPUTED:
            row = (f"`{named(key)}`", as_written(field.default), variables.MEANINGS[key])
            rows.append((*row, accepted(key), narrowing(key)))
    yield from table(
        ("variable", "default", "meaning", "value", "in the process environment"), rows
    )


def named(key: str) -> str:
    """Return the variable of a field of Config."""
    return f"KEEPTHREAD_{key.upper()}"


def as_written(value: object) -> str:
    """Return a default as the file would hold it."""
    if isinstance(value, bool):
        return "`on`" if value else ""
    if isinstance(value, tuple):
        value = ",".join(value)
    if isinstance(value, (int, float)):
        value = f"{value:g}" if value else ""
    return f"`{value}`" if value else ""


def accepted(key: str) -> str:
    """Return what a variable takes, in the words with which its reader refuses anything else."""
    try:
        variables.value(key, "../\0", {})
    except variables.BadValueError as bad:
        return re.sub(r",?(?: in digits only,)? (?:is|are) expected", "", str(bad))
    raise AssertionError(f"{key} takes anything")


def narrowing(key: str) -> str:
    """Return how far the process environment may set a variable."""
    if key not in variables.NARROWING:
        return "ignored"
    allowed = variables.NARROWING[key]
    if allowed is None:
        return "only smaller"
    words = {True: "on", False: "off"}
    return "only " + " or ".join(
        f"`{words[one] if isinstance(one, bool) else one}`" for one in allowed
    )


def _endpoints() -> Iterator[str]:
    rows = [(f"`KEEPTHREAD_<NAME>_{part}`", told) for part, told in PARTS.items()]
    yield from table(("variable", "meaning"), rows)
    names = ["anthropic", *endpoints.OPENAI_LIKE, "ollama"]
    yield "\n`<NAME>` is one of " + ", ".join(
        f"`{endpoints.variable(name, 'X')[len('KEEPTHREAD_') : -2]}`" for name in names
    )
    built_in = ", ".join(f"`{name}`" for name in choose.built_in())
    yield f"\n`KEEPTHREAD_ENGINE` takes {built_in}, and what packages add."


def _others() -> Iterator[str]:
    yield from table(
        ("variable", "meaning"), [(f"`{name}`", told) for name, told in OTHERS.items()]
    )


def _hooks() -> Iterator[str]:
    matchers = {
        (one.event, one.script): one.matcher
        for one in wanted("/python", "/hooks", (*DEFAULT_SOURCES, "clear"), ("spill",))
    } | {(one.event, one.script): one.matcher for one in wanted("/python", "/hooks")}
    when = {
        "": "always",
        "clear": "`KEEPTHREAD_SOURCES` has `clear`",
        "spill": "`KEEPTHREAD_SPILL=on`",
    }
    rows = [
        (
            f"`hooks.{entry.event}`",
            f"`{entry.script}`",
            f"{entry.timeout}",
            f"`{matchers[entry.event, entry.script] or ''}`".replace("``", ""),
            when[entry.only_for],
        )
        for entry in (*ENTRIES, *OPTIONAL)
    ]
    yield from table(("key", "script", "limit (s)", "matcher", "stands there when"), rows)


def _schema() -> Iterator[str]:
    path = ROOT / "templates" / "handoff.schema.json"
    schema = json.loads(path.read_text(encoding="utf-8"))
    rows = [(f"`{where}`", told) for where, told in _fields(schema, schema, "")]
    yield from table(("field", "value"), rows)


def _fields(schema: Any, part: Any, prefix: str) -> Iterator[tuple[str, str]]:
    for name, raw in part["properties"].items():
        field = _resolved(schema, raw)
        items = _resolved(schema, field.get("items", {}))
        where = f"{prefix}{name}" + ("[]" if items else "")
        inner = items or field
        optional = "" if name in part["required"] else "; may be missing"
        yield where, _kind(inner, field) + optional
        if "properties" in inner:
            yield from _fields(schema, inner, f"{where}.")


def _resolved(schema: Any, part: Any) -> Any:
    name = part.get("$ref", "").removeprefix("#/$defs/")
    return {**schema["$defs"][name], **part} if name else part


def _kind(inner: Any, field: Any) -> str:
    if "enum" in inner:
        words = ["null" if one is None else str(one) for one in inner["enum"]]
        told = ", ".join(f"`{word}`" for word in words)
    elif "const" in inner:
        told = f"`{inner['const']}`"
    else:
        kinds = inner["type"] if isinstance(inner["type"], list) else [inner["type"]]
        told = " or ".join(kinds)
    bounds = [("maxLength", "characters", inner), ("maxItems", "items", field)]
    return told + "".join(f", at most {of[key]:,} {what}" for key, what, of in bounds if key in of)


def _log() -> Iterator[str]:
    arguments = (inspect.getdoc(log.record) or "").partition("Args:")[2]
    told = dict(re.findall(r"^ +(\w+): (.*)$", arguments, re.MULTILINE)) | {"time": "UTC, ISO 8601"}
    names = ["time", "event", "session", "outcome", "reason", "engine", "seconds", "detail"]
    widths = {name: f"{width}" for name, width in log._WIDTHS.items()}
    rows = [(f"`{name}`", told[name].rstrip("."), widths.get(name, "")) for name in names]
    yield from table(("field", "meaning", "characters at most"), rows)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def _floors() -> Iterator[str]:
    rows = [
        (str(number), ", ".join(f"`{room}`" for room in sorted(rooms)))
        for number, rooms in reversed(list(enumerate(FLOORS, 1)))
    ]
    yield from table(("floor", "rooms"), rows)


Makers = Mapping[str, Callable[[], Iterator[str]]]
BLOCKS: Mapping[Path, Makers] = {
    REFERENCE: {
        "commands": _commands,
        "exit codes": _exit_codes,
        "variables": _variables,
        "endpoints": _endpoints,
        "other variables": _others,
        "hooks": _hooks,
        "schema": _schema,
        "log": _log,
    },
    CONTRIBUTING: {"floors": _floors},
}


def renewed(text: str, makers: Makers) -> str:
    """Return a document with every block made anew."""
    for name, made in makers.items():
        mark = f"<!-- {name} -->"
        head, _, tail = text.split(mark)
        text = "\n".join([head + mark, *made(), mark]) + tail
    return text


def _update() -> None:
    for path, makers in BLOCKS.items():
        path.write_text(renewed(path.read_text(encoding="utf-8"), makers), encoding="utf-8")


if __name__ == "__main__":
    _update()
