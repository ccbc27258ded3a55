"""What of the profiles is generated: the tables in docs/profiles.md, and the list of names the client knows.

python -m tests.support.profiles          the tables, from the catalogue and templates/profiles
python -m tests.support.profiles names    templates/client-names.txt, from the real client's program
"""

from __future__ import annotations

import mmap
import re
import sys
from pathlib import Path

from keepthread.host.profiles.catalogue import CATALOGUE
from keepthread.host.profiles.table import profile_table, variable_table

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "profiles.md"
NAMES = ROOT / "templates" / "client-names.txt"
# What stands before a name is asked behind its first word: so the word itself is searched for, which is fast.
_OWN = re.compile(rb"CLAUDE_(?<![A-Za-z0-9_]CLAUDE_)[A-Z0-9]+(?:_[A-Z0-9]+)*(?![A-Za-z0-9_])")
# The others are told apart from the program's constants by the table they are exported from.
_OTHERS = [
    re.compile(rb"%s_(?<=[{,]%s_)[A-Z0-9_]+(?=:\(\)=>)" % (word, word))
    for word in (b"ANTHROPIC", b"API", b"BASH", b"DISABLE", b"ENABLE", b"MCP", b"SLASH")
]


def names_in(program: Path) -> set[str]:
    """Return the variables of its own that a client's program names."""
    with program.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        found = {match[0].decode() for match in _OWN.finditer(data)}
        found |= {match[0].decode() for one in _OTHERS for match in one.finditer(data)}
        found |= {name for name in CATALOGUE if data.find(name.encode()) >= 0}
    # A letter of the program's that happens to follow a name makes no other one.
    return {name for name in found if name[:-1] not in found}


def with_tables(text: str) -> str:
    """Return a document with the present tables in it."""
    for mark, table in (("values", profile_table()), ("variables", variable_table())):
        head, _, tail = text.split(f"<!-- {mark} -->")
        text = f"{head}<!-- {mark} -->\n{table}<!-- {mark} -->{tail}"
    return text


def _main() -> None:
    if "names" not in sys.argv:
        DOCUMENT.write_text(with_tables(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
        return
    from tests.support.fetch_client import fetch_client

    NAMES.write_text("\n".join(sorted(names_in(fetch_client()))) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _main()
