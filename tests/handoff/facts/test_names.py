from __future__ import annotations

import pytest

from keepthread.handoff.facts import names
from keepthread.handoff.facts.declared import declared


def judged(text: str, *, strong: bool = False) -> list[tuple[str, str]]:
    return list(names.Judge().all(names.tokens(text), strong=strong))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("call parse_args() now", [("parse_args", "name")]),
        ("the readRows helper", [("readRows", "name")]),
        ("class HTTPServer, ConfigLoader", [("HTTPServer", "name"), ("ConfigLoader", "name")]),
        ("set MAX_RETRIES and $HOME", [("MAX_RETRIES", "name")]),
        ("self.load_all and os.path.join", [("load_all", "name"), ("os.path.join", "name")]),
        ("std::fs::read_dir", [("std::fs::read_dir", "name"), ("read_dir", "name")]),
        ("see src/app/main.py:42", [("src/app/main.py", "path")]),
        ("open config.yml.", [("config.yml", "path")]),
        (r"C:\proj\src\Main.cs", [(r"C:\proj\src\Main.cs", "path")]),
        ("docs/übersicht.md", [("docs/übersicht.md", "path")]),
        ("修改parse_args函数", [("parse_args", "name")]),
        ("commit 4f0c95b is bad", [("4f0c95b", "hash")]),
        (
            "id 550e8400-e29b-41d4-a716-446655440000",
            [("550e8400-e29b-41d4-a716-446655440000", "uuid")],
        ),
        ("fix #123 and PROJ-77", [("#123", "issue"), ("PROJ-77", "issue")]),
        ("pass --dry-run there", [("--dry-run", "flag")]),
        ("version 1.2.3 on localhost:8080", [("1.2.3", "number"), ("localhost:8080", "number")]),
        ("error TS2304 and ENOENT", [("TS2304", "name"), ("ENOENT", "name")]),
        ("a/lib/x.go", [("lib/x.go", "path")]),
        (
            "jwt.sign().setIssuer(a).getX()",
            [("jwt.sign", "name"), ("setIssuer", "name"), ("getX", "name")],
        ),
        ("see #7, not #0 or #x", [("#7", "issue")]),
        ("render_row/2 and Enum.flat_map/2", [("render_row", "name"), ("flat_map", "name")]),
        (r"src/one.txt\nsrc/two.txt", [("src/one.txt", "path")]),
        (r"website\new_page.ts", [(r"website\new_page.ts", "path")]),
    ],
)
def test_exact_names_are_found_in_running_text(text, expected):
    assert judged(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Please read/write and/or a well-known thing, e.g. GitHub or TypeScript.",
        "It was 2024/01/02 at 10:30, 3.5 of 7, 50% done... really!",
        "/dev/null ../.. ./ .map .go ... --- === $1 $TMP/x.log",
        "README is in CAPITALS, Title Case Words",
        "origin/main...HEAD border-radius:50 e.type 5s/in hero\\.png REDACTED_EMAIL toolu_01Cz2Pnv7qNcnK1ZiocxWhQX",
    ],
)
def test_plain_words_are_no_names(text):
    assert judged(text) == []


def test_inputs_of_tools_hold_shorter_names_too():
    assert judged("pip install typing-extensions", strong=True) == [("typing-extensions", "name")]
    assert judged("git checkout feature/login", strong=True) == [("feature/login", "path")]
    assert judged("cat .env", strong=True) == [(".env", "path")]


def test_what_stands_between_backticks_counts_even_when_it_is_a_plain_word():
    judge = names.Judge()

    assert names.backticked("use `render` or `npm run build:all`") == [
        "render",
        "npm run build:all",
    ]
    assert judge.quoted("render") == (("render", "name"),)
    assert judge.quoted("true") == ()


def test_urls_lose_the_punctuation_around_them():
    text = "See (https://x.org/a_(b)), https://y.io/p?q=1#z. And <http://localhost:3000>。"

    assert names.urls(text) == [
        "https://x.org/a_(b)",
        "https://y.io/p?q=1#z",
        "http://localhost:3000",
    ]


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "a.py",
            "class A(B):\n    async def run(self):\n        pass\nLIMIT = 3\n",
            ["A", "run", "LIMIT"],
        ),
        (
            "a.ts",
            "export const useIt = () => 1\n  async load(id: string) {\n  if (x) {\n",
            ["useIt", "load"],
        ),
        (
            "a.go",
            "func (s *Server) Serve(a int) error {\ntype Config struct {\n",
            ["Serve", "Config"],
        ),
        ("a.rs", "pub(crate) async fn start() {}\nimpl Store for Disk {}\n", ["start", "Store"]),
        (
            "a.java",
            "    public static void main(String[] args) {\npublic final class App {\n",
            ["main", "App"],
        ),
        (
            "a.test.js",
            "describe('the parser', () => {\n  it('keeps the last line', () => {\n",
            ["the parser", "keeps the last line"],
        ),
        ("a.ex", "defmodule App.Repo do\n  defp load(x) do\n", ["App.Repo", "load"]),
        ("a.sh", "deploy_all() {\n", ["deploy_all"]),
        ("a.md", "# Título\ntext\n## Über uns\n", ["Título", "Über uns"]),
        ("a.json", '{\n  "name": "x",\n  "scripts": {}\n}', ["name", "scripts"]),
        ("a.yml", "services:\n  web:\n    image: x\n", ["services", "web", "image"]),
        ("a.toml", "[tool.ruff]\nline-length = 3\n", ["tool.ruff", "line-length"]),
    ],
)
def test_declarations_are_found_in_any_language(path, text, expected):
    assert declared(text, path) == expected


@pytest.mark.parametrize(
    "hostile",
    ["a." * 20_000, "_" * 60_000, "/" * 60_000, "(" * 40_000, "\n{" * 20_000, "`" * 50_000],
)
def test_hostile_text_is_read_all_the_same(hostile):
    assert isinstance(judged(hostile), list)
    assert isinstance(names.backticked(hostile), list)
    assert isinstance(declared(hostile, "a.ts"), list)
    assert isinstance(names.urls("://" + hostile), list)


def test_a_line_of_a_search_names_its_file_and_words_of_git_name_nothing():
    line = "src/tides/importer.py:41:def git rev-parse a.py:3:class"

    found = names.Judge().all(names.tokens(line), strong=True)

    assert found == (("src/tides/importer.py", "path"), ("a.py", "path"))
