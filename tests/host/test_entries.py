"""The commands that go into the settings: they run from any path, and never end with 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from keepthread.errors import KeepthreadError
from keepthread.host import entries

AWKWARD = [
    "Nate O'Hara & Co $x",
    "plain",
    'quo"te `id` $(id) \\ ; #',
    "'",
    "日本語 ü",
    " lead",
    "a\nb",
    "*?[x]~",
]


def script_that_prints(folder: Path, exit_code: int = 0) -> Path:
    hooks = folder / "keepthread" / "hooks"
    hooks.mkdir(parents=True)
    script = hooks / "pre_compact.py"
    script.write_text(f"import sys\nprint('ran', sys.flags.isolated)\nsys.exit({exit_code})\n")
    return script


def run(command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, cwd="/", timeout=60
    )


@pytest.mark.parametrize("name", AWKWARD)
def test_a_command_runs_from_any_path(tmp_path: Path, name: str) -> None:
    """H3: spaces, quotes, dollars and line breaks in the path of the interpreter and of the script."""
    script = script_that_prints(tmp_path / name)
    python = tmp_path / name / "bin" / "python"
    python.parent.mkdir()
    python.symlink_to(sys.executable)

    result = run(entries.posix_command(str(python), str(script)))

    assert (result.returncode, result.stdout) == (0, "ran 1\n"), result.stderr


@pytest.mark.parametrize("missing", ["script", "interpreter", "both"])
def test_a_command_ends_with_0_when_its_installation_is_gone(tmp_path: Path, missing: str) -> None:
    """Python exits 2 for a missing script, which would block the compaction."""
    script = script_that_prints(tmp_path)
    if missing in ("script", "both"):
        script.unlink()
    python = sys.executable if missing == "script" else str(tmp_path / "gone" / "python")

    result = run(entries.posix_command(python, str(script)))

    assert (result.returncode, result.stdout) == (0, "")


@pytest.mark.parametrize("code", [1, 2, 3, 127])
def test_no_exit_code_of_a_script_gets_through(tmp_path: Path, code: int) -> None:
    """Whatever goes wrong inside: the host sees success."""
    script = script_that_prints(tmp_path, exit_code=code)

    assert run(entries.posix_command(sys.executable, str(script))).returncode == 0


def test_the_command_has_exactly_the_agreed_form() -> None:
    """Other parts, and other versions, rely on it."""
    command = entries.posix_command("/v/bin/python", "/p/keepthread/hooks/pre_compact.py")

    assert command == "'/v/bin/python' -I '/p/keepthread/hooks/pre_compact.py' || exit 0"


def test_the_table_holds_the_events_and_limits() -> None:
    """Seconds, not milliseconds; only SessionStart has a matcher."""
    table = [
        (w.event, w.script, w.matcher, w.handler["timeout"]) for w in entries.wanted("/p", "/h")
    ]

    assert table == [
        ("PreCompact", "pre_compact.py", None, 75),
        ("SessionStart", "session_start.py", "compact|resume|fork|startup", 10),
        ("SessionStart", "session_index.py", "compact|resume|fork", 10),
        ("SessionStart", "team_memory.py", "compact|resume|fork|startup|clear", 10),
        ("PostCompact", "post_compact.py", None, 10),
        ("UserPromptSubmit", "user_prompt_submit.py", None, 10),
        ("Stop", "stop.py", None, 10),
    ]


def test_windows_gets_program_and_arguments() -> None:
    """No shell there: no quoting, and no `||`."""
    hook = entries.wanted(
        r"C:\Users\Nate O'Hara\venv\Scripts\python.exe", r"C:\x\keepthread\hooks", windows=True
    )[0].handler

    assert {name: hook[name] for name in ("type", "command", "timeout")} == {
        "type": "command",
        "command": r"C:\Users\Nate O'Hara\venv\Scripts\python.exe",
        "timeout": 75,
    }
    assert hook["args"][:2] == ["-I", "-c"]
    assert hook["args"][3:] == [r"C:\x\keepthread\hooks\pre_compact.py"]
    assert set(hook) == {"type", "command", "args", "timeout"}
    assert entries.shipped_script(hook) == "pre_compact.py"


def test_the_windows_form_of_earlier_versions_is_still_ours() -> None:
    """It is upgraded in place."""
    args = ["-I", r"C:\x\keepthread\hooks\pre_compact.py"]
    hook = {"type": "command", "command": r"C:\v\python.exe", "args": args}

    assert entries.shipped_script(hook) == "pre_compact.py"


@pytest.mark.parametrize("windows", [False, True])
@pytest.mark.parametrize("python", ["python", "./bin/python", ""])
def test_a_relative_path_is_refused(python: str, windows: bool) -> None:
    """The host runs hooks in the session's folder: relative paths die after a cd."""
    with pytest.raises(KeepthreadError, match="absolute"):
        entries.wanted(python, r"C:\hooks" if windows else "/hooks", windows=windows)


def test_a_path_that_is_not_utf8_is_refused() -> None:
    """It cannot stand in a JSON file in UTF-8."""
    with pytest.raises(KeepthreadError, match="not UTF-8"):
        entries.wanted(os.fsdecode(b"/opt/\xff/python"), "/hooks")


@pytest.mark.parametrize("name", AWKWARD)
def test_what_we_ship_is_recognised_whatever_the_path(name: str) -> None:
    """Quoting and recognition are one another's inverse."""
    for wanted in entries.wanted(f"/{name}/bin/python3.12", f"/{name}/keepthread/hooks"):
        assert entries.shipped_script(wanted.handler) == wanted.script


@pytest.mark.parametrize(
    "hook",
    [
        {},
        {"type": "command"},
        {"type": "command", "command": 7},
        {"type": "command", "command": "'unclosed || exit 0"},
        {
            "type": "command",
            "command": "/v/bin/python -I /p/keepthread/hooks/pre_compact.py || exit 0",
        },
        {
            "type": "command",
            "command": "'/v/bin/ruby' -I '/p/keepthread/hooks/pre_compact.py' || exit 0",
        },
        {
            "type": "command",
            "command": "'/v/bin/python' -I '/p/keepthread/hooks/mine.py' || exit 0",
        },
        {"type": "command", "command": "'/v/bin/python' -I '/p/hooks/pre_compact.py' || exit 0"},
        {
            "type": "command",
            "command": "/v/bin/python",
            "args": ["-I", "/p/keepthread/hooks/pre_compact.py", "x"],
        },
        {
            "type": "command",
            "command": "/v/bin/python",
            "args": ["-c", "/p/keepthread/hooks/pre_compact.py"],
        },
        {"type": "command", "command": "/v/bin/python", "args": ["-I", 7]},
        {
            "type": "command",
            "command": "/v/bin/python",
            "args": "-I /p/keepthread/hooks/pre_compact.py",
        },
        {
            "type": "http",
            "command": "'/v/bin/python' -I '/p/keepthread/hooks/pre_compact.py' || exit 0",
        },
    ],
)
def test_what_only_looks_like_ours_is_not(hook: dict[str, object]) -> None:
    """The whole command must match, word for word."""
    assert entries.shipped_script(hook) == ""
