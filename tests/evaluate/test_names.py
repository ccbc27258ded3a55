"""What counts as an exact thing, and when a text holds it."""

from __future__ import annotations

import pytest

from keepthread.evaluate.held import Holder
from keepthread.evaluate.names import Unit, named

ROOT = "/home/dev/proj"


def texts(text: str, root: str = ROOT) -> set[str]:
    """Return what a text names, without the kinds."""
    return {unit.text for unit in named(text, root)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("call load_rows, then MergeTool", {"load_rows", "MergeTool"}),
        ("set MAX_RETRIES with --dry-run", {"MAX_RETRIES", "--dry-run"}),
        ("dto.isNewUser and Map.get", {"isNewUser"}),
        ("the quick brown Fox, GitHub, JavaScript", set()),
        ("see #412 and PROJ-88, in UTF-8", {"#412", "PROJ-88"}),
        ("commit 3f9a1bc, colour #3f9a1b", {"3f9a1bc"}),
        ("(https://example.org/a/b?x=1).", {"https://example.org/a/b?x=1"}),
        ("/home/dev/proj/src/app.py:12", {"src/app.py"}),
        ("read/write and and/or", set()),
        ("console.log(rows)", set()),
        ("run setup.cfg", {"setup.cfg"}),
        ("/usr/local/bin and /tmp", {"/usr/local/bin"}),
    ],
)
def test_exact_things_are_named_and_plain_words_are_not(text: str, expected: set[str]) -> None:
    assert texts(text) == expected


def test_a_windows_path_is_relative_to_its_project_whatever_the_case_of_its_drive() -> None:
    assert texts(r"d:\work\src\app.ts", "D:\\work") == {"src/app.ts"}


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("- src/core/app.py (modified)", True),
        ("/home/dev/proj/src/core/app.py", True),
        (r"D:\proj\src\core\app.py", True),
        ("core/app.py", True),
        ("- modified in src/core/: main.py, app.py", True),
        ("app.py", False),
        ("src/core/app.pyc", False),
        ("- modified in src/: app.py", False),
    ],
)
def test_a_path_is_held_whole_by_two_parts_or_beside_its_folder(text: str, held: bool) -> None:
    assert Holder(text).holds(Unit("path", "src/core/app.py")) is held


def test_two_parts_do_not_hold_a_path_that_shares_them_with_another() -> None:
    one, other = Unit("path", "api/core/app.py"), Unit("path", "web/core/app.py")

    assert Holder("core/app.py").count([one]) == 1
    assert Holder("core/app.py").count([one, other]) == 0


@pytest.mark.parametrize(
    ("text", "held"), [("`load_rows`", True), ("load_rows_twice", False), ("preload_rows", False)]
)
def test_a_name_is_held_as_a_whole_word(text: str, held: bool) -> None:
    assert Holder(text).holds(Unit("name", "load_rows")) is held


def test_a_command_is_held_whatever_parts_its_words() -> None:
    assert Holder("ran `cd a ⏎ make\n  all` (ok)").holds(Unit("command", "cd a make all"))
