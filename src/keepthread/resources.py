"""Where the folders hooks, commands and templates are: inside an installed package, or beside src in a checkout."""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def folder(name: str) -> str:
    """Return the absolute path of `hooks`, `commands` or `templates`."""
    installed = os.path.join(_PACKAGE, name)
    if os.path.isdir(installed):
        return installed
    return os.path.join(os.path.dirname(os.path.dirname(_PACKAGE)), name)


def read(*parts: str) -> str:
    """Return the text of one bundled file, e.g. `read("templates", "handoff.schema.json")`."""
    with open(os.path.join(folder(parts[0]), *parts[1:]), encoding="utf-8") as file:
        return file.read()
