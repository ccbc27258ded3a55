"""Which test files need a POSIX system, told by their text and that of the helpers they import.

On Windows they are left out, with the reason in the head of the run: better than hundreds of failures that say nothing.
What remains there has not been run yet.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
_NEEDS = {
    "locks or terminals of POSIX": r"\bimport (?:fcntl|pty|termios|resource|pwd|grp)\b",
    "processes of POSIX": r"os\.(?:fork|setsid|killpg|getpgid|wait)|signal\.SIG(?:KILL|TERM|STOP|ALRM)|preexec_fn",
    "a shell": r"\"(?:sh|bash)\"[,\]]|shell=True|#!/bin/|os\.defpath|install\.sh",
    "modes, owners or links": r"0o[0-7]{3}|st_mode|chmod|umask|symlink|geteuid|getuid|os\.link\b",
    "files of POSIX": r"mkfifo|AF_UNIX|\"/(?:proc|dev|etc|usr|bin)/|dir_fd|O_NOFOLLOW|fsencode|fsdecode",
    "the real client": r"pytest\.mark\.client|tests\.support\.client\b|tests\.support\.fetch_client",
}
_HELPER = re.compile(r"^(?:from|import) (tests\.[\w.]+)(?: import (.+))?$", re.MULTILINE)


@functools.cache
def needs_posix(path: Path) -> str:
    """Return what of POSIX a test file or a helper needs, "" when nothing in it says so."""
    text = path.read_text(encoding="utf-8")
    for reason, pattern in _NEEDS.items():
        if re.search(pattern, text):
            return reason
    if path == Path(__file__).resolve():
        return ""
    return next((reason for one in _helpers(text) if (reason := needs_posix(one))), "")


def _helpers(text: str) -> list[Path]:
    found = []
    for module, names in _HELPER.findall(text):
        parts = module.split(".")[1:]
        candidates = [parts, *([*parts, name.strip()] for name in names.strip("()").split(","))]
        found += [TESTS.joinpath(*one).with_suffix(".py") for one in candidates if one and one[-1]]
    return [path for path in found if path.is_file() and path.name != "posix.py"]
