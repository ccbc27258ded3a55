"""The child's argument list, in the form its program's version takes."""

from __future__ import annotations

import json
import re
from typing import Any

from keepthread.engines import login as logins
from keepthread.engines.model import EngineError, Request
from keepthread.engines.process import Completed

_LONG = re.compile(r"(?<![\w-])--[a-zA-Z][\w-]*")
_UNKNOWN = re.compile(r"unknown option '?(--[\w-]+)")

# Without these a child could act, load what its user has set up, or answer as something else than we ask for.
_NEEDED = ("--output-format", "--system-prompt", "--strict-mcp-config")
_SOURCES = "--setting-sources"
_SCHEMA = "--json-schema"
# What older programs take to leave the model without tools.
_DENY = "--disallowedTools"
_TOOLS = (
    "Bash,BashOutput,KillShell,Edit,MultiEdit,Write,NotebookEdit,NotebookRead,Read,Glob,Grep,LS,Task,TodoWrite,TodoRead,"
    "WebFetch,WebSearch,SlashCommand,Skill,ExitPlanMode,AskUserQuestion,EnterPlanMode,TaskOutput,LSP"
)


class Flags:
    """What one version of the program takes.

    Args:
        known: every long flag its help lists; None for a program of today, which takes all of ours.
    """

    def __init__(self, known: frozenset[str] | None = None) -> None:
        self.known = known

    def takes(self, flag: str) -> bool:
        """Return whether the program knows the flag."""
        return self.known is None or flag in self.known

    def arguments(self, login: logins.Login, request: Request) -> list[str]:
        """Return the arguments. The prompt is not in it: every user of the machine can read that list.

        Raises:
            EngineError: the program is too old to be asked without its user's set-up; for good.
        """
        missing = next((flag for flag in _NEEDED if not self.takes(flag)), "")
        if missing:
            raise too_old(missing)
        argv = ["-p", *self._alone(login)]
        argv += ["--tools", ""] if self.takes("--tools") else [_DENY, _TOOLS]
        argv += ["--strict-mcp-config", "--output-format", "json"]
        if self.takes("--no-session-persistence"):
            argv.append("--no-session-persistence")
        if self.takes(_SCHEMA):
            # Two turns are normal with a schema, so the number of turns is never limited.
            argv += [_SCHEMA, json.dumps(_terse(request.bare_schema), separators=(",", ":"))]
        argv += ["--system-prompt", request.system]
        if request.model:
            argv += ["--model", request.model]
        if request.effort and self.takes("--effort"):
            argv += ["--effort", request.effort]
        return argv

    def prompt(self, request: Request) -> str:
        """Return what goes to stdin: with the schema in it where the program takes none beside it."""
        return request.prompt if self.takes(_SCHEMA) else request.spelled_out

    def _alone(self, login: logins.Login) -> list[str]:
        """Return the flags that keep everything of the user's but the login away from the child."""
        kind, *more = login.flags
        kinds = (logins.BARE, logins.SAFE) if kind == logins.BARE else (logins.SAFE,)
        first = next((flag for flag in kinds if self.takes(flag)), "")
        if not first and not self.takes(_SOURCES):
            raise too_old(kind)
        return [*([first] if first else [_SOURCES, ""]), *more]


def _terse(schema: Any) -> Any:
    """Return a schema without its descriptions: the prompt says the same, and every word of both is paid for."""
    if isinstance(schema, list):
        return [_terse(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _terse(value)
        for key, value in schema.items()
        if not (key == "description" and isinstance(value, str))
    }


def listed(help_text: str) -> frozenset[str]:
    """Return every long flag a help text names."""
    return frozenset(_LONG.findall(help_text))


def unknown_flag(done: Completed) -> str:
    """Return the flag that the program refused to start with, or ""."""
    found = _UNKNOWN.search(done.stderr.decode("utf-8", "replace")) if done.returncode else None
    return found[1] if found else ""


def too_old(flag: str) -> EngineError:
    """Return the failure of a program that lacks a flag it cannot be asked without."""
    detail = f"claude does not know {flag}, it is too old: update it with `claude update`"
    return EngineError("bad_answer", detail, permanent=True)
