"""What each engine needs, sends and rejects: the tables of docs/engines.md are made from this."""

from __future__ import annotations

from typing import NamedTuple

from keepthread.engines import (
    anthropic,
    choose,
    claude,
    command,
    endpoints,
    facts,
    ollama,
    plugins,
)
from keepthread.engines.endpoints import variable


class About(NamedTuple):
    """One row: the engine's names, what it needs, how it logs in, what it sends, what it rejects beyond the common."""

    names: tuple[str, ...]
    needs: str
    login: str
    sends: str
    rejects: str


# Common to every engine that asks a model: what `answers` and `rejects` hold a text to.
_EVERYWHERE = (
    "an empty answer, one that is cut off or holds no JSON object, one that breaks the schema (the field is named), "
    "a refusal, an echo of the prompt, an error message or a login nag in the form of an answer"
)
_OVER_HTTP = (
    "a wrong content type, an HTML page, an error inside a 200, a redirect, a connection that is cut, a body that is "
    "late or beyond all measure"
)
_LIKE = tuple(endpoints.OPENAI_LIKE)

ABOUT: tuple[About, ...] = (
    About(
        (claude.NAME,),
        "the host's program on PATH, outside the project",
        "its user's own login: stored, token, API key, apiKeyHelper, Bedrock, Vertex, Foundry",
        "system prompt, prompt on stdin, schema; no tools, settings, hooks or MCP servers",
        "`is_error`, an exit code, a usage limit",
    ),
    About(
        (anthropic.NAME,),
        f"`{variable(anthropic.NAME, 'API_KEY')}`",
        "`x-api-key`",
        "`/v1/messages` with `output_config`, else a tool that must be called, else the schema in words; "
        "`/v1/models` for the newest of a family, `count_tokens` for what may not fit",
        "as over HTTP; `refusal`, `max_tokens`",
    ),
    About(
        _LIKE,
        "a model, and for a remote server a key; servers of this machine are asked for their model",
        "`Authorization: Bearer`, nothing without a key",
        "`/v1/chat/completions` with `json_schema`, else `json_object`, else the schema in words",
        "as over HTTP; `content_filter`, `length`",
    ),
    About(
        (ollama.NAME,),
        f"`{variable(ollama.NAME, 'MODEL')}`",
        f"nothing; `Authorization: Bearer` with `{variable(ollama.NAME, 'API_KEY')}`",
        "`/api/show`, then `/api/chat` with the schema as `format` and `num_ctx` for the whole prompt",
        "as over HTTP; `length`, a `prompt_eval_count` that tells of a cut prompt",
    ),
    About(
        (command.NAME,),
        f"`{command.VARIABLE}`, a program outside the project",
        "the program's own affair",
        "system prompt, prompt and schema in words on stdin; no shell, an empty folder",
        "an exit code",
    ),
    About(
        (f"of a package (`{plugins.GROUP}`)",),
        "the package in keepthread's environment",
        "the package's own affair",
        "as the package does",
        "a bug of the package",
    ),
    About((facts.NAME,), "nothing", "nothing", "nothing", "nothing"),
)


def engines_table() -> str:
    """Return the table of all engines, in Markdown, with what is common to them in front."""
    lines = [
        f"Every engine that asks a model rejects {_EVERYWHERE}; over HTTP also {_OVER_HTTP}.",
        "",
        "| engine | needs | logs in with | sends | rejects |",
        "|---|---|---|---|---|",
    ]
    for about in ABOUT:
        names = ", ".join(name if " " in name else f"`{name}`" for name in about.names)
        lines.append(f"| {names} | {' | '.join(about[1:])} |")
    return "\n".join(lines)


def endpoints_table() -> str:
    """Return the table of all named endpoints, in Markdown."""
    lines = ["| engine | base URL | key | model |", "|---|---|---|---|"]
    all_of_them = {anthropic.NAME: endpoints.ANTHROPIC, **endpoints.OPENAI_LIKE}
    for name, vendor in {**all_of_them, ollama.NAME: endpoints.OLLAMA}.items():
        key = f"`{variable(name, 'API_KEY')}`" + ("" if vendor.key else " (optional)")
        model = f"`{variable(name, 'MODEL')}`"
        lines.append(f"| `{name}` | `{vendor.base_url}` | {key} | {model} |")
    return "\n".join(lines)


def undocumented() -> list[str]:
    """Return the engines that no row is about."""
    told = {name for about in ABOUT for name in about.names}
    own = [name for name in choose.built_in() if name != choose.AUTO]
    return [name for name in own if name not in told]
