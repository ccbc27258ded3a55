"""Where the host's variables are set: every place that can set one, what it says, and whether the host reads it.

The host's order, later wins: shell profile (through the process environment it makes), process environment, user,
project, local, managed settings. `~/.claude/.env` is read by keepthread alone, for its own variables: measured on the
real client. Shell profiles are read line by line and never run, so what they compute is not known.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from keepthread import files, platforms
from keepthread.errors import KeepthreadError
from keepthread.host import in_force, locations
from keepthread.host.profiles import names, reading

Kind = Literal["unread", "shell", "environment", "settings"]
SHELLS = (
    ".profile",
    ".bash_profile",
    ".bashrc",
    ".zshenv",
    ".zprofile",
    ".zshrc",
    ".config/fish/config.fish",
)
_LIMIT = 1 << 20
_SET = re.compile(r"""(?:export|declare\s+-gx|declare\s+-x|typeset\s+-x)\s+(.*)""")
_FISH = re.compile(r"""set\s+(?:-[a-zA-Z]+\s+|--\w+\s+)+([A-Za-z_]\w*)\s*(.*)""")
_PAIR = re.compile(
    r"""([A-Za-z_]\w*)(?:=("(?:[^"\\]|\\.)*"|'[^']*'|[^\s;"'#&|]*))?(?=\s|;|&|\||$)"""
)
_HERE = re.compile(r"""(?<!<)<<-?\s*(["']?)([A-Za-z_]\w*)\1""")
_COMPUTED = re.compile(r"[$`]")


class Source(NamedTuple):
    """One place: what kind it is, its path or "environment", and the variables of the host it sets."""

    kind: Kind
    place: str
    values: dict[str, str]


class Said(NamedTuple):
    """What counts for one variable, where that comes from, and the weaker places that say something else."""

    value: str
    place: str
    shadowed: tuple[tuple[str, str], ...]  # value, place; the strongest first


def all_sources(env: Mapping[str, str], config_dir: str, project: str) -> list[Source]:
    """Return the places that set a variable of the host, the weakest first; broken files are passed over.

    Args:
        env: the process environment.
        config_dir: the host's configuration folder.
        project: the project's folder, "" for none.
    """
    found = [Source("unread", path, _dotenv(path)) for path in [os.path.join(config_dir, ".env")]]
    home = platforms.home(env)
    for name in SHELLS if os.path.isabs(home) else ():
        path = os.path.join(home, *name.split("/"))
        found.append(Source("shell", path, _shell(path)))
    found.append(Source("environment", in_force.ENVIRONMENT, dict(env)))
    for path in in_force.settings_files(config_dir, project):
        block = in_force.read_settings(path).get("env")
        texts = {key: in_force.as_text(text) for key, text in _items(block)}
        found.append(Source("settings", path, {k: v for k, v in texts.items() if v is not None}))
    return [one._replace(values=kept) for one in found if (kept := _ours(one.values))]


def here(env: Mapping[str, str], cwd: str) -> list[Source]:
    """Return them for the user whose environment this is, in the project around a folder.

    Raises:
        KeepthreadError: there is no configuration folder.
    """
    return all_sources(env, locations.config_dir(env), locations.project_root(env, cwd))


def in_force_of(sources: list[Source]) -> dict[str, Said]:
    """Return what counts for each variable. What only a shell profile sets counts from the next terminal on."""
    found: dict[str, Said] = {}
    for source in sources:
        if source.kind == "unread":
            continue
        for name, value in source.values.items():
            before = found.get(name)
            weaker = ((before.value, before.place), *before.shadowed) if before else ()
            found[name] = Said(value, source.place, weaker)
    return {
        name: said._replace(shadowed=tuple(one for one in said.shadowed if one[0] != said.value))
        for name, said in found.items()
    }


def shell_values(text: str, *, fish: bool = False) -> dict[str, str]:
    """Return what a shell's start file exports, by its lines; what it computes or takes back is left out."""
    values: dict[str, str] = {}
    plain: dict[str, str] = {}
    for line in text.splitlines() if fish else _lines(text):
        for name, value, exported in _fish_line(line) if fish else _line(line):
            if value is None and exported:
                if name in plain:
                    values[name] = plain[name]
            elif value is None:
                values.pop(name, None)
                plain.pop(name, None)
            elif exported or name in values:
                values[name] = value
            else:
                plain[name] = value
    return {name: value for name, value in values.items() if not _COMPUTED.search(value)}


def _lines(text: str) -> Iterator[str]:
    """Yield the lines of a script, continued ones as one, without the text of here-documents."""
    ends: list[str] = []
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        if ends:
            if line.strip() == ends[0]:
                ends.pop(0)
            continue
        ends = [found[2] for found in _HERE.finditer(line.partition(" #")[0])]
        yield line


def _line(line: str) -> list[tuple[str, str | None, bool]]:
    """Return name, value (None without one) and whether it is exported; for `unset NAME` neither."""
    line = line.strip()
    if line.startswith("unset "):
        return [(word, None, False) for word in line[6:].split() if word.isidentifier()]
    match = _SET.match(line)
    exported, rest = bool(match), match[1] if match else line
    found: list[tuple[str, str | None, bool]] = []
    while pair := _PAIR.match(rest):
        if pair[2] is None and not exported:
            break  # a command
        found.append((pair[1], None if pair[2] is None else _unquoted(pair[2]), exported))
        rest = rest[pair.end() :].lstrip(" \t")
    if not exported and rest and not rest.startswith(("#", ";")):
        return []  # NAME=value command: for that command alone
    return found


def _fish_line(line: str) -> list[tuple[str, str | None, bool]]:
    match = _FISH.match(line.strip())
    if not match:
        return []
    flags = line.strip()[: match.start(1) - match.start()].split()[1:]
    if any(flag == "--erase" or (flag[1] != "-" and "e" in flag) for flag in flags):
        return [(match[1], None, False)]
    exported = any(flag == "--export" or (flag[1] != "-" and "x" in flag) for flag in flags)
    text = match[2].split(" #")[0].strip()
    # A command's output; marked as what other shells mark so.
    value = f"`{text}`" if text.startswith("(") else _unquoted(text)
    return [(match[1], value, True)] if exported else []


def _unquoted(text: str) -> str:
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        inner = text[1:-1]
        return re.sub(r"\\(.)", r"\1", inner) if text[0] == '"' else inner
    return text


def _items(block: object) -> list[tuple[str, object]]:
    return list(block.items()) if isinstance(block, dict) else []


def _ours(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if names.concerns(name)}


def _dotenv(path: str) -> dict[str, str]:
    try:
        return reading.read_file(path)
    except KeepthreadError:
        return {}  # absent or broken: nobody but us reads it


def _shell(path: str) -> dict[str, str]:
    try:
        text = files.read_regular(os.path.realpath(path), _LIMIT).decode("utf-8", "replace")
    except OSError:
        return {}  # most homes have only some of them
    return shell_values(text, fish=path.endswith(".fish"))
