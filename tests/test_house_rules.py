"""The house rules that a machine can hold: arrows between rooms, sizes, docstrings, catch-alls, light hooks."""

from __future__ import annotations

import ast
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "keepthread"
FILES = sorted(
    [*SOURCE.rglob("*.py"), *(ROOT / "hooks").glob("*.py"), *(ROOT / "benchmarks").glob("*.py")]
)

# Rooms of one floor know nothing of one another; a room may import those of lower floors and itself.
FLOORS = [
    {"detached", "errors", "files", "log", "platforms", "resources", "__init__"},
    {"host", "transcript", "redact"},
    {"handoff", "engines"},
    {
        "launch",
        "worker",
        "ondemand",
        "installing",
        "carried",
        "memory",
        "evaluate",
        "economy",
        "running",
    },
    {"handlers", "handling", "diagnose"},
    {
        "cli",
        "cli_context",
        "cli_handoffs",
        "cli_memory",
        "cli_output",
        "cli_profile",
        "cli_session",
        "cli_team",
        "cli_trust",
        "__main__",
    },
]
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
# Steps of one room that are modules of their own: the detached upgrade, its start, and its use on demand.
FAMILIES = [
    {"launch", "worker", "ondemand", "carried"},
    FLOORS[0],
    {"handlers", "handling"},
    FLOORS[-1],
]


def room_of(path: Path) -> str:
    """Return the room a source file belongs to."""
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> Iterator[str]:
    """Yield the rooms a source file imports, at its top or inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module == "keepthread":
            names = [f"keepthread.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "keepthread" and len(parts) > 1 and parts[1] != "__version__":
                yield parts[1]


@pytest.mark.parametrize(
    "path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE))
)
def test_arrows_point_downward(path: Path) -> None:
    """A room imports only rooms of lower floors, and itself."""
    room = room_of(path)
    for other in imports_of(path):
        family = any({room, other} <= family for family in FAMILIES)

        assert room == other or family or FLOOR[other] < FLOOR[room], f"{room} imports {other}"


def functions(path: Path) -> Iterator[tuple[str, int, int]]:
    """Yield the name, the line and the length of each function of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1


def test_no_function_is_longer_than_50_lines_and_the_median_is_small() -> None:
    """Functions stay small: a reader holds one in the head at a time."""
    lengths = {
        f"{path.relative_to(ROOT)}:{line} {name}": length
        for path in FILES
        for name, line, length in functions(path)
    }

    assert {name: length for name, length in lengths.items() if length > 50} == {}
    assert statistics.median(lengths.values()) <= 9


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_file_is_longer_than_400_lines(path: Path) -> None:
    """A file over the limit is two rooms under one roof."""
    assert path.read_text(encoding="utf-8").count("\n") <= 400


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_public_names_have_docstrings(path: Path) -> None:
    """Every module, public class and public function says what it means."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = [] if ast.get_docstring(tree) or not tree.body else ["module"]
    for node in tree.body:
        public = isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        members = node.body if public and isinstance(node, ast.ClassDef) else []
        for part in (node, *members):
            if isinstance(part, (ast.FunctionDef, ast.ClassDef)) and not part.name.startswith("_"):
                bare += [] if ast.get_docstring(part) else [part.name]

    assert bare == []


def test_only_the_hook_edge_catches_everything() -> None:
    """A broad except anywhere else would hide a bug."""
    broad = set()
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ExceptHandler):
                caught = (
                    node.type.id
                    if isinstance(node.type, ast.Name)
                    else ""
                    if node.type
                    else "everything"
                )
                passes_on = isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None
                if caught in ("Exception", "BaseException", "everything") and not passes_on:
                    broad.add(str(path.relative_to(ROOT)).split("/")[0] + "/" + path.name)

    assert {name for name in broad if not name.startswith("hooks/")} == {"src/handlers.py"}


LIGHT = {
    "keepthread",
    "keepthread.economy",
    "keepthread.economy.spill",
    "keepthread.economy.spill_shapes",
    "keepthread.economy.line",
    "keepthread.economy.pace",
    "keepthread.economy.spill_store",
    "keepthread.errors",
    "keepthread.files",
    "keepthread.platforms",
    "keepthread.handlers",
    "keepthread.handling",
    "keepthread.handling.memories",
    "keepthread.handling.prompts",
    "keepthread.handling.starts",
    "keepthread.handling.status_line",
    "keepthread.handling.tools",
    "keepthread.handling.turns",
    "keepthread.handoff",
    "keepthread.handoff.alive",
    "keepthread.handoff.exclude",
    "keepthread.handoff.failures",
    "keepthread.handoff.inject",
    "keepthread.handoff.late",
    "keepthread.handoff.note",
    "keepthread.handoff.project",
    "keepthread.host",
    "keepthread.host.events",
    "keepthread.host.locations",
    "keepthread.host.thresholds",
    "keepthread.host.windows",
    "keepthread.log",
    "keepthread.memory",
    "keepthread.memory.digest",
    "keepthread.memory.git_files",
    "keepthread.memory.recall",
    "keepthread.memory.trust",
    "keepthread.memory.where",
    "keepthread.memory.session",
    "keepthread.memory.session.due",
    "keepthread.running",
    "keepthread.transcript",
    "keepthread.transcript.boundaries",
    "keepthread.transcript.growth",
    "keepthread.transcript.lines",
    "keepthread.transcript.parse",
    "keepthread.transcript.tail",
    "keepthread.transcript.text",
    "keepthread.transcript.wording",
}
HEAVY = {
    "asyncio",
    "click",
    "dataclasses",
    "dotenv",
    "filelock",
    "hashlib",
    "httpx",
    "importlib.metadata",
    "jsonschema",
}
HEAVY |= {"logging", "pathlib", "subprocess", "tempfile", "typing", "urllib.request"}

PROBE = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
before = set(sys.modules)
os._exit = lambda code: None
from keepthread import handlers
handlers.main(sys.argv[2])
new = set(sys.modules) - before
json.dump(sorted(new), open(sys.argv[3], "w"))
"""


def remember(project: Path) -> None:
    """Give a project a trusted memory of the team and one of its user's own, in a repository with a remote."""
    (project / ".git").mkdir()
    (project / ".git" / "HEAD").write_text("ref: refs/heads/gauges\n")
    (project / ".git" / "config").write_text('[remote "origin"]\nurl = https://h.example/a\n')
    for arguments in (
        ["init"],
        ["add", "a.md", "of the team", "--type", "project"],
        ["trust", "--yes"],
        ["add", "b.md", "of the user", "--type", "feedback"],
    ):
        command = [sys.executable, "-m", "keepthread", "memory", *arguments]
        subprocess.run(command, cwd=project, check=True, capture_output=True, timeout=60)


@pytest.mark.parametrize(
    "hook",
    [
        "session_start", "session_index", "team_memory", "user_prompt_submit", "post_tool_use", "status_line", "stop",
    ],
)  # fmt: skip
def test_hooks_of_the_hot_path_import_the_standard_library_alone(hook: str, tmp_path: Path) -> None:
    """SessionStart and UserPromptSubmit are paid for at each start and prompt: few imports, none of them heavy."""
    event = {
        "session_id": "11111111-1111-4111-8111-111111111111",
        "transcript_path": "",
        "cwd": str(tmp_path),
        "hook_event_name": "SessionStart",
        "source": "compact",
        "prompt": "hello",
        "prompt_id": "p",
        "tool_name": "Bash",
        "tool_use_id": "t",
        "tool_response": {"stdout": "x" * 5_000, "stderr": ""},
    }
    settings = tmp_path / "home" / ".claude" / "keepthread" / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text('{"spill": true}')
    listing = tmp_path / "modules.json"
    remember(tmp_path)

    subprocess.run(
        [sys.executable, "-I", "-c", PROBE, str(ROOT / "src"), hook, str(listing)],
        input=json.dumps(event).encode(),
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=60,
    )
    modules = set(json.loads(listing.read_text()))

    assert (
        hook != "team_memory"
        or {"keepthread.memory.recall", "keepthread.memory.git_files"} <= modules
    )
    assert {m for m in modules if m.startswith("keepthread")} <= LIGHT
    assert modules & HEAVY == set()
    assert {m.split(".")[0] for m in modules} - set(sys.stdlib_module_names) == {"keepthread"}
