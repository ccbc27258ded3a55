"""One finding of doctor's, and where its checks look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypedDict

from keepthread.host.config import Config

INSTALL = "keepthread install"
FIX = "keepthread doctor --fix"


class Check(TypedDict):
    """One finding: `fix` is the command or the step that mends it, "" when there is nothing to do.

    A finding that is `ok` and has a `fix` is a note: nothing is broken, and something can be done.
    """

    name: str
    ok: bool
    detail: str
    fix: str


class Place(NamedTuple):
    """Whose installation is looked at: environment, folder at hand, configuration, state and project folder.

    `project` is "" outside of one.
    """

    env: Mapping[str, str]
    cwd: str
    folder: str
    state: str
    project: str
    config: Config


def finding(name: str, ok: bool, detail: str, fix: str = "") -> Check:
    """Return a finding; what is well has nothing to mend."""
    return {"name": name, "ok": ok, "detail": detail, "fix": "" if ok else fix}


def note(name: str, detail: str, fix: str = "") -> Check:
    """Return a finding that breaks nothing, with what can be done about it."""
    return {"name": name, "ok": True, "detail": detail, "fix": fix}


def listed(things: list[str], most: int = 5) -> str:
    """Return the first of some things between commas, and how many more there are."""
    more = f" and {len(things) - most} more" if len(things) > most else ""
    return ", ".join(things[:most]) + more
