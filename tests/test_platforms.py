"""What differs between systems, each branch run here: by its parameter, with the other system's rules for paths."""

from __future__ import annotations

import io
import ntpath
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from keepthread import detached, platforms
from keepthread.cli_output import make_sturdy
from keepthread.engines import claude_program
from keepthread.errors import KeepthreadError
from keepthread.host import entries, events
from keepthread.host.locations import config_dir, inside_any
from keepthread.host.named_file import behind_links
from keepthread.host.sessions import sanitised
from keepthread.memory import keys


@pytest.mark.parametrize(
    ("system", "expected"), [("linux", "/h"), ("darwin", "/h"), ("win32", r"C:\Users\ada")]
)
def test_the_home_folder_is_the_one_that_the_host_takes(system: str, expected: str) -> None:
    """On Windows it asks for USERPROFILE: HOME may be a drive of the network there."""
    env = {"HOME": "/h", "USERPROFILE": r"C:\Users\ada"}

    assert platforms.home(env, system) == expected
    assert platforms.home({"HOME": "/h"}, system) == "/h"
    assert platforms.home({}, system) == ""


def test_the_configuration_lies_in_that_home(tmp_path: Path) -> None:
    """Not in HOME, where Git Bash puts it elsewhere."""
    (tmp_path / "profile").mkdir()
    env = {"HOME": str(tmp_path / "home"), "USERPROFILE": str(tmp_path / "profile")}

    assert config_dir(env, "win32") == str(tmp_path / "profile" / ".claude")
    assert config_dir(env, "darwin") == str(tmp_path / "home" / ".claude")


def program(folder: Path, name: str) -> str:
    """Put a program into a folder and return its path."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_a_program_of_the_current_folder_is_never_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows itself looks there first, and a repository may bring a git.exe."""
    program(tmp_path / "repository", "git.exe")
    own = program(tmp_path / "bin", "git.exe")
    monkeypatch.chdir(tmp_path / "repository")
    env = {"PATH": os.pathsep.join([".", "", str(tmp_path / "bin")])}

    assert platforms.started_as("git", env, "win32") == own
    assert platforms.started_as("git", env, "linux") == "git"
    with pytest.raises(FileNotFoundError):
        platforms.started_as("git", {"PATH": "."}, "win32")


def test_an_ending_is_added_on_windows_alone(tmp_path: Path) -> None:
    """A real program before a script of cmd.exe; a name with its ending as it is; no folder."""
    folders = [str(tmp_path / "bin")]
    script = program(tmp_path / "bin", "node.cmd")
    (tmp_path / "bin" / "git.exe").mkdir()

    assert platforms.which("node", folders, "win32") == script
    assert platforms.which("node", folders, "linux") == ""
    assert platforms.which("git", folders, "win32") == ""
    real = program(tmp_path / "bin", "node.exe")
    assert platforms.which("node", folders, "win32") == real
    assert platforms.which("node.cmd", folders, "win32") == script


LONG = "p" * 200


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (rf"C:\Users\ada\{LONG}\{LONG}.jsonl", rf"\\?\C:\Users\ada\{LONG}\{LONG}.jsonl"),
        (rf"C:/Users/ada/{LONG}/x/../{LONG}", rf"\\?\C:\Users\ada\{LONG}\{LONG}"),
        (rf"\\server\share\{LONG}\{LONG}", rf"\\?\UNC\server\share\{LONG}\{LONG}"),
        (rf"\\?\C:\{LONG}\{LONG}", rf"\\?\C:\{LONG}\{LONG}"),
        (rf"C:\{LONG}", rf"C:\{LONG}"),
        (rf"{LONG}\{LONG}", rf"{LONG}\{LONG}"),
        (rf"C:{LONG}\{LONG}", rf"C:{LONG}\{LONG}"),
    ],
)
def test_a_long_path_gets_the_form_that_windows_opens(path: str, expected: str) -> None:
    """Drives and shares; relative ones cannot have it, short ones need none, and elsewhere none does."""
    assert platforms.extended(path, "win32") == expected
    assert platforms.extended(path, "linux") == path


def test_the_host_s_folder_of_a_deep_project_needs_it() -> None:
    """Its name alone takes 200 characters, and a hash."""
    folder = sanitised(r"C:\Users\ada\work" + rf"\{LONG}" * 2)
    path = ntpath.join(r"C:\Users\ada\.claude\projects", folder, "5a3b1c1e-2f60.jsonl")

    assert len(path) > 240
    assert platforms.extended(path + "x" * 30, "win32").startswith("\\\\?\\C:\\Users")


def test_both_cases_of_a_drive_are_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """And both cases of every folder, whichever slash is written."""
    monkeypatch.setattr(os.path, "realpath", ntpath.normpath)
    spellings = [r"C:\Work\App", r"c:\work\app", "C:/Work/App"]

    assert {platforms.real_place(one, "win32") for one in spellings} == {r"c:\work\app"}


def test_on_macos_the_disk_says_how_a_place_is_spelt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F_GETPATH gives one spelling for all cases and for composed and decomposed letters."""
    spelt = b"/Users/ada/Caf\xc3\xa9\0" + b"junk"
    fake = SimpleNamespace(fcntl=lambda fd, number, buffer: spelt if number == 50 else b"")
    monkeypatch.setitem(sys.modules, "fcntl", fake)

    assert platforms.real_place(str(tmp_path), "darwin") == "/Users/ada/Café"
    assert platforms.real_place("/gone/Café", "darwin") == "/gone/Café"


def test_a_file_system_that_does_not_tell_leaves_the_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real path is right all the same."""

    def refuse(*_: object) -> bytes:
        raise OSError(22, "Invalid argument")

    monkeypatch.setitem(sys.modules, "fcntl", SimpleNamespace(fcntl=refuse))

    assert platforms.real_place(str(tmp_path), "darwin") == os.path.realpath(tmp_path)


def test_a_file_of_the_project_is_one_in_any_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where case does not count, a plain file is no link that leads out; one that does is still refused."""
    monkeypatch.setattr(platforms, "real_place", lambda path: os.path.realpath(path).lower())
    project = tmp_path / "Proj"
    project.mkdir()
    (project / "Link.md").symlink_to(tmp_path / "Other.md")

    named = str(project / "Notes.md")
    assert behind_links(named, str(project)) == named
    with pytest.raises(KeepthreadError, match="leads out"):
        behind_links(str(project / "Link.md"), str(project))


def test_a_private_project_is_private_in_any_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KEEPTHREAD_OFF_PROJECTS and LOCAL_ONLY_PROJECTS name a folder; the host may name it in another case."""
    monkeypatch.setattr("keepthread.host.locations.platforms.real_place", lambda path: path.lower())

    assert inside_any("/Users/Ada/Secret/Sub", ["/users/ada/secret"])
    assert not inside_any("/Users/Ada/Secrets", ["/users/ada/secret"])


def test_an_administrator_s_settings_lie_where_the_host_documents_them() -> None:
    """Three systems, and a Windows that does not name its folder of programs."""
    env = {"PROGRAMFILES": r"C:\Program Files"}

    assert platforms.managed_settings(env, "linux") == "/etc/claude-code/managed-settings.json"
    assert platforms.managed_settings(env, "darwin") == (
        "/Library/Application Support/ClaudeCode/managed-settings.json"
    )
    assert platforms.managed_settings(env, "win32").startswith(r"C:\Program Files")
    assert platforms.managed_settings({}, "win32") == ""


def test_a_worker_goes_apart_without_a_window_also_where_a_job_holds_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """CREATE_BREAKAWAY_FROM_JOB is refused by some terminals: then without."""
    asked: list[int] = []

    def refuse(*_: object, **more: Any) -> SimpleNamespace:
        asked.append(more["creationflags"])
        if len(asked) == 1:
            raise PermissionError(13, "Access is denied")
        return SimpleNamespace(pid=7)

    monkeypatch.setattr(detached, "apart", lambda: APART)
    monkeypatch.setattr(subprocess, "Popen", refuse)

    assert detached.start("worker", [], env={}, cwd=str(tmp_path)) == 7
    assert asked == [0x09000200, 0x08000200]
    no_console = 0x00000008  # DETACHED_PROCESS: whatever such a process starts gets a window
    assert not any(flags & no_console for flags in asked)


APART = detached.apart("win32")


@pytest.mark.parametrize("system", ["linux", "win32"])
def test_stdin_is_read_whole_and_never_waited_for_after_a_whole_document(system: str) -> None:
    """A writer that keeps its end open: select on POSIX, a thread on Windows."""
    reading, writing = os.pipe()
    document = b'{"session_id": "\xe2\x80\x94\\"b"}'
    try:
        threading.Thread(target=lambda: os.write(writing, document)).start()

        assert events.read_stdin(reading, system) == document
    finally:
        os.close(writing)
        os.close(reading)


@pytest.mark.parametrize("system", ["linux", "win32"])
def test_a_megabyte_on_stdin_comes_in_one_piece(system: str) -> None:
    """More than a pipe holds."""
    reading, writing = os.pipe()
    document = b'{"prompt": "' + b"x" * 1_500_000 + b'"}'

    def write() -> None:
        with os.fdopen(writing, "wb") as file:
            file.write(document)

    threading.Thread(target=write).start()
    try:
        assert events.read_stdin(reading, system) == document
    finally:
        os.close(reading)


def piped(system: str, **env: str) -> bytes:
    """Return what a text becomes on a pipe that Python took for one of code page 437."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="cp437")
    make_sturdy(stream, env, system)
    stream.write("naïve — 日本")
    stream.flush()
    return raw.getvalue()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are UTF-8 in any locale")
@pytest.mark.parametrize(("system", "encoding"), [("linux", "utf-8"), ("win32", "ascii")])
def test_a_process_starts_again_for_utf8_where_it_can_be_replaced(
    system: str, encoding: str
) -> None:
    """PYTHONLEGACYWINDOWSFSENCODING overrules the UTF-8 mode: there it would start again without end."""
    code = "import sys; from keepthread.platforms import speak_utf8; "
    code += f"speak_utf8({system!r}); print(sys.getfilesystemencoding(), sys.stdin.read())"
    env = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, env=env, input=b"all of it", capture_output=True, timeout=60)
    assert done.stdout.split(maxsplit=1) == [encoding.encode(), b"all of it\n"], done.stderr


def test_what_goes_through_a_pipe_on_windows_is_utf8() -> None:
    """The host and every program that reads JSON expect it; a code page would lose half of the text."""
    assert piped("win32").decode() == "naïve — 日本"


@pytest.mark.parametrize(("system", "env"), [("linux", {}), ("win32", {"PYTHONIOENCODING": "x"})])
def test_an_encoding_that_was_chosen_stays_and_never_fails(
    system: str, env: dict[str, str]
) -> None:
    """What it lacks becomes a question mark."""
    assert piped(system, **env) == b"na\x8bve ? ??"


AWKWARD = ["Nate O'Hara & Co $x", "100% sure", "it's `quoted` ^up!", "日本 (x86)"]


@pytest.mark.parametrize("name", AWKWARD)
def test_the_windows_form_needs_no_quoting(name: str, tmp_path: Path) -> None:
    """Program and arguments: what no shell reads, none can misread. Run here as the host would."""
    hooks = tmp_path / name / "keepthread" / "hooks"
    hooks.mkdir(parents=True)
    script = hooks / "pre_compact.py"
    script.write_text("import sys\nprint(ascii(__file__), sys.argv, __name__)\n", encoding="utf-8")
    entry = entries.ENTRIES[0]
    form = entries.handler(entry, "C:\\python.exe", "C:\\hooks", windows=True)["args"]

    done = subprocess.run([sys.executable, *form[:-1], str(script)], capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split(" [")[0] == ascii(str(script))
    assert done.stdout.strip().endswith("['-c'] __main__")


def test_the_windows_form_ends_with_0_when_the_script_is_gone(tmp_path: Path) -> None:
    """`python gone.py` exits 2, which the host takes as an order to block the compaction; there is no `|| exit 0`."""
    form = entries.handler(entries.ENTRIES[0], "C:\\p.exe", "C:\\h", windows=True)["args"]
    gone = [sys.executable, *form[:-1], str(tmp_path / "gone.py")]
    bare = [sys.executable, "-I", str(tmp_path / "gone.py")]

    assert subprocess.run(gone, capture_output=True).returncode == 0
    assert subprocess.run(bare, capture_output=True).returncode == 2


def test_no_layer_below_can_misread_the_windows_form() -> None:
    """Nothing in it that cmd.exe, PowerShell, Git Bash or the C runtime's rules for quotes give a meaning."""
    words = entries.handler(entries.ENTRIES[0], "C:\\p.exe", "C:\\h", windows=True)["args"][:-1]

    assert not set('"%$`^&|<>!\\\n') & set("".join(words))


def test_the_status_line_s_command_runs_in_git_bash_and_in_powershell() -> None:
    """Forward slashes; quotes only for a path that needs them, which PowerShell then takes for a text."""
    plain = entries.windows_command(r"C:\Users\ada\venv\Scripts\python.exe", r"C:\k\hooks\s.py")
    awkward = entries.windows_command(r"C:\Nate O'Hara $x\python.exe", r"C:\k\s.py")

    assert plain == "C:/Users/ada/venv/Scripts/python.exe -I C:/k/hooks/s.py"
    echoed = subprocess.run(
        ["sh", "-c", f"printf '%s\\n' {awkward}"], capture_output=True, text=True
    )
    assert echoed.stdout.splitlines() == ["C:/Nate O'Hara $x/python.exe", "-I", "C:/k/s.py"]


def test_a_repository_s_claude_is_refused_in_any_spelling(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PATH may spell the project otherwise than the host does, where case does not count."""
    program(tmp_path / "Proj", "claude")
    own = program(tmp_path / "bin", "claude")
    env = {
        "HOME": str(tmp_path / "home"),
        "PATH": os.pathsep.join([str(tmp_path / "Proj"), str(tmp_path / "bin")]),
    }
    spelt = str(tmp_path / "PROJ")
    real = platforms.real_place
    monkeypatch.setattr(platforms, "real_place", lambda path: real(path).lower())

    assert claude_program.program(env, spelt, "darwin") == own


def test_names_in_decomposed_letters_are_the_same_key_or_none(tmp_path: Path) -> None:
    """macOS may hand back a name in another form than it was given: one of the two is refused, never a second entry."""
    composed, decomposed = "caf\u00e9.md", "cafe\u0301.md"

    assert keys.broken_rule(composed) == ""
    assert keys.broken_rule(decomposed)
