"""Family H: Windows and encodings. What can be shown on this system is; the rest is by contract (docs/platforms.md)."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keepthread.host import entries
from tests.support.hook_runs import RULE, World
from tests.support.machine import Machine, interpreter
from tests.support.session import SESSION, SessionFile

AWKWARD = "Nate O'Hara & Co $x `y` 100% ^日本"
LOCALES = [
    {"PYTHONIOENCODING": "cp932:surrogateescape"},
    {"LC_ALL": "ja_JP.SJIS", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"PYTHONIOENCODING": "utf-16"},
]


@pytest.fixture
def machine(tmp_path: Path, home: Path) -> Machine:
    """A home without settings."""
    return Machine(home, tmp_path / "proj")


@pytest.mark.parametrize("locale", LOCALES, ids=lambda one: "-".join(one.values()))
@pytest.mark.parametrize(
    ("focus", "mark"),
    [('—"b', b""), ('日本語"', b""), ("表\\", b""), ("ｿ能\\n", b""), ('日本語"', b"\xef\xbb\xbf")],
)
def test_h1_stdin_is_utf8_whatever_the_locale(
    focus: str, mark: bytes, locale: dict[str, str], world: World
) -> None:
    """Half of a two-byte character looks like a backslash to code page 932."""
    world.session()
    event = world.event("pre_compact", custom_instructions=focus)
    data = mark + json.dumps(event, ensure_ascii=False).encode()
    run = world.run("pre_compact", data, **locale)

    assert [line["outcome"] for line in world.log("pre_compact")] == ["partial"]
    assert world.handoff()["task"]
    assert run.code == 0


def test_h1_what_is_no_json_is_told_from_it(world: World) -> None:
    """The control: a reader that ate the backslash would leave this line."""
    data = json.dumps(world.event("pre_compact", custom_instructions='x"b')).encode()
    world.run("pre_compact", data.replace(b'\\"', b'"'))

    assert [line["outcome"] for line in world.log("pre_compact")] == ["ignored"]


@pytest.fixture
def latin(tmp_path: Path) -> dict[str, str]:
    """Return what puts a process into a locale of eight bits, which no image of a system brings along."""
    made = shutil.which("localedef") and subprocess.run(
        ["localedef", "-i", "en_US", "-f", "ISO-8859-1", str(tmp_path / "en_US.ISO-8859-1")],
        capture_output=True,
    )
    if not made or made.returncode:
        pytest.skip("this system makes no locales")
    return {"LOCPATH": str(tmp_path), "LC_ALL": "en_US.ISO-8859-1"}


def test_h1_paths_are_utf8_whatever_the_locale(world: World, latin: dict[str, str]) -> None:
    """The host's are: else no project would be found, and install would write down paths that are nowhere."""
    world.project = world.project.rename(world.folder / "潮位 à côté")
    world.session()
    world.run("pre_compact", **latin)

    assert [line["outcome"] for line in world.log("pre_compact")] == ["partial"]
    assert (world.project / "docs" / "handoff-context.md").exists()
    shown = subprocess.run(
        [
            sys.executable,
            "-I",
            "-m",
            "keepthread",
            "handoff",
            "--session",
            SESSION,
            "--format",
            "json",
        ],
        cwd=world.project,
        env=world.env(**latin),
        capture_output=True,
    )

    assert world.handoff()["meta"]["project"] == str(world.project)
    assert json.loads(shown.stdout)["meta"]["project"] == str(world.project), shown.stderr


@pytest.mark.parametrize("locale", LOCALES, ids=lambda one: "-".join(one.values()))
def test_h1_what_is_put_back_is_utf8_whatever_the_locale(
    locale: dict[str, str], world: World
) -> None:
    """No letter of it is lost or replaced."""
    rule = "決して data/raw を変更しない — naïve ✓"
    world.session().user(rule)
    world.run("pre_compact", None, **locale)

    assert rule in world.run("session_start", None, **locale).context


def crlf(path: Path, *, mark: bool = False) -> None:
    """Give a file the line ends of Windows."""
    data = path.read_bytes().replace(b"\n", b"\r\n")
    path.write_bytes((b"\xef\xbb\xbf" if mark else b"") + data)


def test_h2_a_transcript_variables_and_settings_with_crlf_are_read(
    world: World, machine: Machine
) -> None:
    """An editor of Windows leaves CRLF and a mark; nothing changes by it."""
    file = world.session()
    crlf(file.path)
    world.variables(INDEX="0", DOCUMENT="off")
    crlf(world.config / ".env", mark=True)
    world.run("pre_compact")

    assert RULE in world.run("session_start").context
    assert world.run("session_index").document == {}
    assert not (world.project / "docs").exists()


def test_h2_a_memory_entry_a_git_config_and_a_profile_with_crlf_are_read(machine: Machine) -> None:
    """core.autocrlf writes them so into every clone."""
    (machine.project / ".git" / "config").write_bytes(
        b'[core]\r\n\tbare = false\r\n[remote "origin"]\r\n\turl = https://host.example/a.git\r\n'
    )
    machine.ok("memory", "init")
    machine.ok("memory", "add", "a.md", "of the team", "--type", "project")
    crlf(machine.project / ".claude" / "team-memory" / "a.md")
    (machine.state / "profiles").mkdir(mode=0o700)
    own = machine.state / "profiles" / "mine.env"
    own.write_bytes(b"# Mine.\r\nMAX_MCP_OUTPUT_TOKENS=9000\r\n")
    listed = json.loads(machine.ok("memory", "list", "--json"))
    trusted = json.loads(machine.ok("memory", "trust", "--yes", "--json"))

    assert [(one["key"], one["type"]) for one in listed] == [("a.md", "project")]
    assert "https://host.example/a.git" in json.dumps(trusted)
    assert "\r" not in json.dumps(trusted)
    machine.ok("profile", "apply", "mine")
    env = json.loads(machine.settings.read_bytes())["env"]
    assert env == {"MAX_MCP_OUTPUT_TOKENS": "9000"}


def test_h2_what_we_write_has_line_feeds_and_no_mark(world: World) -> None:
    """Also out of a transcript with CRLF."""
    file = world.session()
    crlf(file.path)
    world.run("pre_compact")
    world.run("session_start")
    written = [path for path in world.state.rglob("*") if path.is_file()]
    written += [world.project / "docs" / "handoff-context.md"]

    assert len(written) > 5
    for path in written:
        data = path.read_bytes()
        assert b"\r\n" not in data, path
        assert not data.startswith(b"\xef\xbb\xbf"), path


def test_h3_the_registered_commands_run_in_a_home_of_an_awkward_name(tmp_path: Path) -> None:
    """The venv, the package, the configuration and the project, each with a space, quotes and signs of shells."""
    root = tmp_path / AWKWARD
    home = root / "home"
    home.mkdir(parents=True)
    machine = Machine(home, root / "proj", interpreter(home / ".claude" / "keepthread" / "venv"))
    machine.ok("install")
    file = machine.session()
    file.user("Mend the importer, and never touch data/raw.")
    file.assistant("I will.")
    machine.fire("PreCompact", {"trigger": "auto"})
    context = "".join(machine.fire("SessionStart", {"source": "compact"}))
    line = next(
        line
        for line in (machine.config / "commands" / "handoff.md").read_text("utf-8").splitlines()
        if line.startswith("!`")
    )

    assert "never touch data/raw" in context
    assert AWKWARD in machine.ours()[0].command.replace("'\\''", "'")
    assert AWKWARD in line.replace("'\"'\"'", "'")
    assert not (home / ".claude" / "keepthread" / "venv" / "bin" / "keepthread").exists()


def split_like_windows(line: str) -> list[str]:
    """Split a command line as the C runtime of Windows does: backslashes count only before a quotation mark."""
    words: list[str] = []
    word, quoted, at, seen = "", False, 0, False
    while at < len(line):
        if line[at] == "\\":
            run = len(line) - at - len(line[at:].lstrip("\\"))
            at += run
            if at < len(line) and line[at] == '"':
                word += "\\" * (run // 2)
                if run % 2:
                    word, at = word + '"', at + 1
            else:
                word += "\\" * run
            seen = True
        elif line[at] == '"':
            quoted, seen, at = not quoted, True, at + 1
        elif line[at] in " \t" and not quoted:
            words, word, seen, at = [*words, word] if seen else words, "", False, at + 1
        else:
            word, seen, at = word + line[at], True, at + 1
    return [*words, word] if seen else words


@pytest.mark.parametrize("folder", [rf"C:\Users\{AWKWARD}\v", r"C:\v", "\\\\server\\share x\\v"])
def test_h3_on_windows_every_word_arrives_as_it_was_written(folder: str) -> None:
    """Program and arguments make one command line; its rules for quotes give the words back."""
    entry = entries.ENTRIES[0]
    form = entries.handler(entry, folder + r"\Scripts\python.exe", folder + r"\hooks", windows=True)
    words = [form["command"], *form["args"]]

    assert split_like_windows(subprocess.list2cmdline(words)) == words
    assert words[-1] == folder + r"\hooks\pre_compact.py"


@pytest.mark.parametrize("page", ["cp437", "cp1252", "cp932", "ascii"])
def test_h4_every_command_prints_on_an_old_console(page: str, machine: Machine) -> None:
    """A sign that it lacks becomes a question mark, in errors too; JSON stays JSON."""
    file = machine.session()
    file.user("決して data/raw を変更しない — naïve ✓ 🐟")
    file.edit(f"{machine.project}/src/魚.py")
    machine.ok_bytes("pin", "守る — ✓ 🐟", PYTHONIOENCODING=page)
    machine.ok_bytes("handoff", PYTHONIOENCODING=page)
    for words in (
        ["show"],
        ["show", "--list"],
        ["pins"],
        ["status"],
        ["logs"],
        ["profile", "list"],
    ):
        assert machine.ok_bytes(*words, PYTHONIOENCODING=page)
    said = machine.run("show", "--session", "魚", PYTHONIOENCODING=page)
    shown = machine.run("show", "--format", "json", PYTHONIOENCODING=page)

    assert said.returncode == 1
    # The terminal's library takes "ascii" for a broken setting, and writes UTF-8.
    text = shown.stdout.decode("utf-8" if page == "ascii" else page)
    assert json.loads(text)["meta"]["session_id"] == SESSION


def windows_session(path: Path, cwd: str) -> SessionFile:
    """Return a session of a Windows machine, as its transcript would come here."""
    file = SessionFile(path, session=SESSION, cwd=cwd)
    file.user("Mend the importer, and never touch data.")
    return file


@pytest.mark.parametrize(
    ("cwd", "edited"),
    [
        (r"C:\Users\ada\work", r"C:\Users\ada\work\src\a.py"),
        (r"C:\Users\ada\work", r"c:\users\Ada\work\src\a.py"),
        (r"c:\Users\ada\work", "C:/Users/ada/work/src/a.py"),
        (r"C:\Users\ada\work", "/c/Users/ada/work/src/a.py"),
        (r"C:\Users\ada\work", "/mnt/c/Users/ada/work/src/a.py"),
        (r"\\server\share\work", r"\\server\share\work\src\a.py"),
    ],
)
def test_h5_a_windows_path_in_any_spelling_is_one_file_of_the_project(
    cwd: str, edited: str, machine: Machine, tmp_path: Path
) -> None:
    """Drive in both cases, both slashes, Git Bash, WSL, a share."""
    file = windows_session(tmp_path / "t.jsonl", cwd)
    file.edit(edited)
    shown = handoff_of(machine, file)

    assert [one["path"] for one in shown["files_touched"]] == ["src/a.py"]


def handoff_of(machine: Machine, file: SessionFile) -> Any:
    """Return the handoff of a transcript, made by the program."""
    words = ["handoff", "--transcript", str(file.path), "--format", "json", "--engine", "facts"]
    return json.loads(machine.run(*words).stdout)


def test_h6_a_console_s_output_with_crlf_stays_in_its_lines(
    machine: Machine, tmp_path: Path
) -> None:
    """No carriage return gets into a handoff."""
    file = windows_session(tmp_path / "t.jsonl", r"C:\Users\ada\work")
    file.bash("pytest -q", "1 passed\r\nFAILED tests\\test_a.py::test_x\r\n1 failed, 1 passed\r\n")
    told = json.dumps(handoff_of(machine, file))

    assert "pytest -q" in told
    assert "\\r" not in told


def test_h7_the_device_names_of_windows_are_no_keys_and_no_sessions(
    world: World, machine: Machine
) -> None:
    """On every system: a repository is shared with one that has them."""
    machine.ok("memory", "init")
    for key in ("CON", "nul.md", "a/AUX/b.md", "COM1.md", "lpt³", "a.md::$DATA", "a:b", "x\\y"):
        machine.refused("memory", "add", key, "text", "--type", "project")
    event = world.event("pre_compact", session_id="CON")
    world.run("pre_compact", event)

    assert [path.name for path in (world.state / "sessions").iterdir() if path.name == "CON"] == []
