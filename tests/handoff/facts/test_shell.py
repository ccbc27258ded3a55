from __future__ import annotations

import pytest

from keepthread.handoff.facts import shell


def words(command: str, **more: bool) -> list[list[str]]:
    return [piece.words for piece in shell.pieces(command, **more)]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("cd web && npm test", [["cd", "web"], ["npm", "test"]]),
        ("FOO=1 sudo rm -rf 'my dir'", [["rm", "-rf", "my dir"]]),
        ('git commit -m "a \\"b\\" c"', [["git", "commit", "-m", 'a "b" c']]),
        ("ls | head -3; echo done", [["ls"], ["head", "-3"], ["echo", "done"]]),
        ("timeout 60 pytest -q", [["pytest", "-q"]]),
        ("(cd a && make)", [["cd", "a"], ["make"]]),
        ('cat "unterminated', [["cat", "unterminated"]]),
        (r"type C:\a\b.txt", [["type", r"C:\a\b.txt"]]),
        ("# only a comment\npwd", [["pwd"]]),
        ("", []),
        ("&& ;; |", []),
    ],
)
def test_a_command_line_is_taken_apart(command, expected):
    assert words(command) == expected


def test_redirections_are_told_from_words():
    piece = shell.pieces("make all > out.log 2>&1")[0]
    assert (piece.words, piece.writes, piece.appends) == (["make", "all"], ["out.log"], [])

    piece = shell.pieces("echo x >> notes.md 2>/dev/null")[0]
    assert (piece.writes, piece.appends) == ([], ["notes.md"])


def test_bodies_of_here_documents_are_no_commands():
    command = "cat <<'EOF' > a.txt\nrm -rf /\nEOF\nls"

    assert words(command) == [["cat"], ["ls"]]
    assert shell.pieces(command)[0].writes == ["a.txt"]


def test_a_here_document_without_an_end_takes_the_rest():
    assert words("cat <<EOF\nrm x\nrm y") == [["cat"]]


def test_powershell_keeps_its_backslashes():
    command = r"Remove-Item -Path 'src\a b.cs' -Force; Get-Content .\x.txt"

    assert words(command, powershell=True) == [
        ["Remove-Item", "-Path", r"src\a b.cs", "-Force"],
        ["Get-Content", r".\x.txt"],
    ]


@pytest.mark.parametrize(
    "variant",
    ["cd /p/web && npm  test", "npm test 2>&1 | tail -20", "npm test 2>/dev/null", "npm test"],
)
def test_the_same_command_is_recognised_in_its_variants(variant):
    assert shell.comparable(variant) == "npm test"


def test_a_command_is_shown_by_its_first_line():
    assert shell.shown("python3 - <<'PY'\nprint(1)\nPY") == "python3 - <<'PY' …"
    assert shell.shown("x" * 400, 300) == "x" * 300 + " …"
    assert shell.shown("  ls   -la ") == "ls -la"


@pytest.mark.parametrize("hostile", ['"' * 30_000, "<<A\n" * 5_000, "(" * 20_000, "\\" * 20_001])
def test_hostile_input_is_taken_apart_all_the_same(hostile):
    assert isinstance(shell.pieces(hostile), tuple)
    assert isinstance(shell.comparable(hostile), str)
