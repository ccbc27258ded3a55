"""The tables of docs/engines.md are the code's. To mend them: python tests/engines/test_catalogue.py"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from keepthread.engines import catalogue

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"
TABLES = {"engines": catalogue.engines_table, "endpoints": catalogue.endpoints_table}


def marked(name: str) -> re.Pattern[str]:
    return re.compile(f"(<!-- {name} -->\n)(.*?)(<!-- /{name} -->)", re.DOTALL)


@pytest.mark.parametrize("name", TABLES)
def test_the_table_in_the_docs_is_the_codes(name: str) -> None:
    """Word for word."""
    found = marked(name).search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    assert found[2].strip() == TABLES[name]()


def test_every_engine_has_a_row() -> None:
    """A new one is told of."""
    assert catalogue.undocumented() == []


def write() -> None:
    """Put the tables into the page."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in TABLES.items():
        found = marked(name).search(text)
        assert found is not None
        text = f"{text[: found.end(1)]}{table()}\n{text[found.start(3) :]}"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write()
