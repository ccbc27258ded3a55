"""Three systems: the workflow runs what pyproject.toml promises, and no source depends on one by accident."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.posix import TESTS, needs_posix

ROOT = Path(__file__).resolve().parent.parent
WORKFLOW = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
SOURCES = sorted(path for folder in ("src", "hooks") for path in (ROOT / folder).rglob("*.py"))


def listed(key: str) -> list[str]:
    """Return the words of a list of the workflow's matrix."""
    return re.findall(r"[\w.-]+", re.search(rf"^ +{key}: \[(.*)\]$", WORKFLOW, re.MULTILINE)[1])  # type: ignore[index]


def test_the_workflow_runs_every_python_that_is_promised() -> None:
    """The classifiers, and nothing below requires-python."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    promised = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)

    assert listed("python") == promised
    assert f'requires-python = ">={promised[0]}"' in project


def test_the_workflow_runs_on_three_systems_with_the_least_permissions() -> None:
    """Actions by their major version; a newer push ends the older run."""
    assert listed("os") == ["ubuntu-latest", "macos-latest", "windows-latest"]
    assert re.search(r"^permissions:\n  contents: read\n\n", WORKFLOW, re.MULTILINE)
    assert "cancel-in-progress: true" in WORKFLOW
    assert "persist-credentials: false" in WORKFLOW
    assert all(
        re.fullmatch(r"actions/[a-z-]+@v\d+", one) for one in re.findall(r"uses: (\S+)", WORKFLOW)
    )
    assert "${{ github.event" not in WORKFLOW  # a title of a pull request would become a command


def test_the_workflow_runs_the_readme_s_command() -> None:
    """Where there is a shell for it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")

    assert "run: ./install.sh --test" in WORKFLOW
    assert "./install.sh --test" in readme


def test_what_is_left_out_on_windows_needs_posix_and_the_pure_rooms_are_not() -> None:
    """The reason is told; what works on values alone runs everywhere."""
    left = {str(p.relative_to(TESTS)): needs_posix(p) for p in TESTS.rglob("test_*.py")}

    assert left["handoff/test_store.py"]
    assert left["test_install_sh.py"] == "a shell"
    assert left["client/test_main_job.py"]
    for pure in ("transcript/test_parse.py", "host/test_settings_text.py", "redact/test_pieces.py"):
        assert left[pure] == ""
    assert sum(not why for why in left.values()) > 40


def calls(path: Path, *names: str) -> Iterator[ast.Call]:
    """Yield the calls of functions of these names, `open` or `os.open`."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in names:
            yield node


def mode_of(call: ast.Call) -> str:
    """Return the mode that open or os.fdopen is called with."""
    given = call.args[1] if len(call.args) > 1 else None
    given = next((word.value for word in call.keywords if word.arg == "mode"), given)
    return str(given.value) if isinstance(given, ast.Constant) else "r"


def test_no_text_file_is_opened_by_the_locale() -> None:
    """Every text has its encoding, and what is written ends its lines with LF on every system."""
    wrong = []
    for path in SOURCES:
        for call in calls(path, "open", "os.fdopen", "io.open"):
            words, mode = {word.arg for word in call.keywords}, mode_of(call)
            if "b" not in mode and (
                "encoding" not in words or (mode != "r" and "newline" not in words)
            ):
                wrong.append(f"{path.name}: {ast.unparse(call)}")

    assert wrong == []


def test_no_child_s_output_is_read_by_the_locale() -> None:
    """A child's bytes are decoded by name."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in SOURCES}

    assert [
        name
        for name, text in texts.items()
        if re.search(r"\b(?:text|universal_newlines)=True", text)
    ] == []


# Where descriptors of folders are needed, which Windows has not; or nothing is read or written.
_NO_BYTES = {
    "lock.py", "failures.py", "inject.py", "directory.py", "cli_output.py", "noreplace.py", "platforms.py",
}  # fmt: skip


def test_every_descriptor_is_opened_for_bytes() -> None:
    """Without O_BINARY Windows turns each \\n into \\r\\n and ends a file at Ctrl-Z."""
    opening = [
        path for path in SOURCES if path.name not in _NO_BYTES and list(calls(path, "os.open"))
    ]

    assert len(opening) > 5
    assert [path for path in opening if "O_BINARY" not in path.read_text(encoding="utf-8")] == []


def test_no_program_is_looked_up_in_the_current_folder() -> None:
    """shutil.which and a bare name begin there on Windows, in the repository at work."""
    for path in SOURCES:
        text = path.read_text(encoding="utf-8")

        assert list(calls(path, "shutil.which")) == [], path
        assert not re.search(r"\[\s*\"git\",", text) or "started_as" in text, path


def test_every_text_of_the_repository_has_line_feeds_alone() -> None:
    """In the index and, by .gitattributes, in every clone: no sh starts a script with CRLF."""
    git = ["git", "-C", str(ROOT), "ls-files", "--eol"]
    listing = subprocess.run(git, capture_output=True, text=True, encoding="utf-8")
    if listing.returncode:
        pytest.skip("this is no clone")
    mixed = [line for line in listing.stdout.splitlines() if re.match(r"i/(?:crlf|mixed)", line)]

    assert mixed == []
    assert "* text=auto eol=lf" in (ROOT / ".gitattributes").read_text(encoding="utf-8")


def test_install_ps1_parses() -> None:
    """PowerShell's own parser, where there is one; its letters are ASCII, which every code page reads alike."""
    script = ROOT / "install.ps1"
    assert script.read_bytes().isascii()
    shell = shutil.which("pwsh") or shutil.which("powershell")
    if not shell:
        pytest.skip("there is no PowerShell here")
    code = (
        "$e = $null; [void][Management.Automation.Language.Parser]::ParseFile("
        f"'{script}', [ref]$null, [ref]$e); $e | ForEach-Object {{ $_.Message }}; exit $e.Count"
    )
    done = subprocess.run([shell, "-NoProfile", "-Command", code], capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (0, "")


def test_install_ps1_prefers_the_launcher_and_asks_every_interpreter() -> None:
    """python.exe may be the store's stub, which ends with 9009; both scripts take the same order."""
    script = (ROOT / "install.ps1").read_text(encoding="ascii")
    order = re.search(r"foreach \(\$candidate in @\((.*)\)\) \{", script)
    shell = (ROOT / "install.sh").read_text(encoding="utf-8")

    assert order is not None
    assert re.findall(r"@\('(\w+)'", order[1]) == ["py", "python", "python3"]
    assert "names=(py python python3)" in shell
    assert script.count("Test-Modern $candidate") == 1


def test_install_ps1_does_what_install_sh_does() -> None:
    """The same three steps, the same folder, the same variables out of the way."""
    script = (ROOT / "install.ps1").read_text(encoding="ascii")
    shell = (ROOT / "install.sh").read_text(encoding="utf-8")
    unset = re.search(r"^unset (.*)$", shell, re.MULTILINE)

    assert unset is not None
    assert [name for name in unset[1].split() if f"'{name}'" not in script] == []
    for words in ("keepthread\\venv", "'install')", "templates\\sample\\run.py", "PIP_USER"):
        assert words in script
    assert re.findall(r"\"?(\d/3)", shell) == re.findall(r"['\"](\d/3)", script)


def stub(folder: Path, name: str, text: str) -> None:
    """Put a script on the PATH."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8", newline="\n")
    (folder / name).chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="the scripts of a PATH are POSIX ones")
def test_in_git_bash_the_store_s_stub_is_passed_over(home: Path, tmp_path: Path) -> None:
    """It says that Python was not found, and ends with 9009, of which a shell sees 49."""
    bin_ = tmp_path / "bin"
    for name in ("python", "python3"):
        stub(bin_, name, 'echo "Python was not found; run without arguments" >&2; exit 49')
    stub(bin_, "py", f'echo py >>"{home}/used"; exec "{sys.executable}" "$@"')
    for name in ("bash", "sh", "dirname", "rm", "mkdir", "sed", "cat", "grep", "env"):
        os.symlink(str(shutil.which(name)), bin_ / name)
    env = {"PATH": str(bin_), "HOME": str(home), "OS": "Windows_NT"}
    event = '{"hook_event_name": "SessionStart", "source": "startup"}'
    done = subprocess.run(
        ["sh", str(ROOT / "hooks" / "run"), "session_start"],
        input=event, env=env, capture_output=True, text=True, timeout=60,
    )  # fmt: skip

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (home / "used").read_text(encoding="utf-8").split() == ["py", "py"]


@pytest.mark.skipif(os.name == "nt", reason="the scripts of a PATH are POSIX ones")
def test_in_git_bash_install_sh_takes_the_launcher_too(home: Path, tmp_path: Path) -> None:
    """And its environment's programs lie in Scripts."""
    bin_ = tmp_path / "bin"
    for name in ("python", "python3"):
        stub(bin_, name, "exit 49")
    stub(bin_, "py", f'echo "$*" >>"{home}/used"; [ "$1" = -c ] || exit 1')
    for name in ("bash", "dirname", "rm", "mkdir", "env"):
        os.symlink(str(shutil.which(name)), bin_ / name)
    env = {"PATH": str(bin_), "HOME": str(home), "OS": "Windows_NT"}
    done = subprocess.run(
        ["bash", str(ROOT / "install.sh")], env=env, capture_output=True, text=True, timeout=60
    )

    assert done.returncode == 1
    assert f"keepthread: {bin_}/py cannot make virtual environments" in done.stderr
    assert f"-m venv {home}/.claude/keepthread/venv" in (home / "used").read_text(encoding="utf-8")
