"""install.sh as a person runs it: an empty home with an awkward name, twice, and then without the clone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from keepthread.host.entries import ENTRIES
from tests.support.installation import ROOT, copy_checkout, environment, need_index
from tests.support.sample import SAMPLE

pytestmark = pytest.mark.skipif(os.name == "nt", reason="install.sh is for POSIX systems")

AWKWARD = 'o\'dd "home" of $USER'
MARK = "# a newer checkout of the same version\n"


@dataclass
class Installed:
    """Two runs of install.sh: the second from a newer checkout and under another HOME, then the clone is deleted."""

    config: Path
    other_home: Path
    first: subprocess.CompletedProcess[str]
    second: subprocess.CompletedProcess[str]
    settings: list[bytes]

    @property
    def program(self) -> Path:
        return self.config / "keepthread" / "venv" / "bin" / "keepthread"

    def run(self, *arguments: str, config: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run the installed program, for this configuration folder or another one."""
        env = environment(self.config.parent, PATH=os.defpath, KEEPTHREAD_ENGINE="facts")
        env |= {"CLAUDE_CONFIG_DIR": str(config)} if config else {}
        command = [str(self.program), *arguments]
        return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def install_sh(clone: Path, env: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    command = [str(clone / "install.sh"), *options]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=280)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Run install.sh twice for one home and delete the clone."""
    root = tmp_path_factory.mktemp("install")
    need_index(root)
    clone = copy_checkout(root / "the clone")
    home, other = root / AWKWARD, root / "other"
    home.mkdir()
    other.mkdir()
    config = home / ".claude"
    first = install_sh(clone, environment(home))
    assert first.returncode == 0, first.stderr
    settings = [(config / "settings.json").read_bytes()]
    with (clone / "src" / "keepthread" / "resources.py").open("a") as file:
        file.write(MARK)
    second = install_sh(clone, environment(other, CLAUDE_CONFIG_DIR=str(config)))
    settings.append((config / "settings.json").read_bytes())
    clone.rename(clone.with_name("gone"))
    return Installed(config, other, first, second, settings)


def registered(settings: bytes) -> list[tuple[str, str]]:
    """Return the event and the command of every entry."""
    return [
        (event, hook["command"])
        for event, groups in json.loads(settings)["hooks"].items()
        for group in groups
        for hook in group["hooks"]
    ]


def test_install_ends_with_a_handoff_on_screen(installed: Installed) -> None:
    """The main job runs once on the sample session: its rules, files and next step are shown."""
    shown = installed.first.stdout

    assert "Never touch the files under data/raw/" in shown.partition("After the compaction")[2]
    assert "/home/ada/tidewatch/src/tidewatch/download.py (created)" in shown
    assert "First next step: resume_download sends Range" in shown
    assert shown.splitlines()[-1].startswith("Installed.")


def test_one_entry_of_each_hook_is_written_and_a_second_run_adds_none(installed: Installed) -> None:
    """Run again, it upgrades."""
    events = [event for event, _ in registered(installed.settings[0])]

    assert events == [entry.event for entry in ENTRIES]
    assert installed.second.returncode == 0, installed.second.stderr
    assert installed.settings[1] == installed.settings[0]


def test_a_second_run_takes_the_newer_checkout_of_the_same_version(installed: Installed) -> None:
    """Whoever pulls and runs it again expects what was pulled."""
    package = next(
        (installed.config / "keepthread" / "venv").glob("lib/*/site-packages/keepthread")
    )

    assert (package / "resources.py").read_text().endswith(MARK)


def test_with_claude_config_dir_set_the_home_is_left_alone(installed: Installed) -> None:
    """The second run had CLAUDE_CONFIG_DIR and a home of its own."""
    assert f"Setting up {installed.config}/keepthread/venv" in installed.second.stdout
    assert not (installed.other_home / ".claude").exists()


def test_everything_is_private(installed: Installed) -> None:
    """The state folder shuts out others; what lies in the configuration folder is its user's alone."""
    modes = {
        name: (installed.config / name).stat().st_mode & 0o777
        for name in ("keepthread", "settings.json", "keepthread/manifest.json")
    }

    assert modes == {"keepthread": 0o700, "settings.json": 0o600, "keepthread/manifest.json": 0o600}


def test_registered_hooks_run_after_the_clone_is_deleted(
    installed: Installed, tmp_path: Path
) -> None:
    """PreCompact stores, SessionStart gives back: from the installed package alone."""
    transcript = ROOT / "templates" / "sample" / "session.jsonl"
    env = environment(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / "config"), PATH=os.defpath)
    env |= {"KEEPTHREAD_ENGINE": "facts", "CLAUDE_PROJECT_DIR": str(tmp_path)}
    outputs: dict[str, str] = {}
    for event, command in registered(installed.settings[1]):
        told = {"session_id": SAMPLE, "transcript_path": str(transcript), "cwd": str(tmp_path)}
        told |= {"hook_event_name": event, "source": "compact", "trigger": "auto"}
        run = subprocess.run(
            command, shell=True, input=json.dumps(told), env=env, capture_output=True, text=True
        )
        assert (run.returncode, run.stderr) == (0, ""), command
        outputs.setdefault(event, run.stdout)
    context = json.loads(outputs["SessionStart"])["hookSpecificOutput"]["additionalContext"]

    assert "Use httpx for downloads, never requests." in context


def test_the_program_and_the_doctor_work_in_a_home_with_quotes_and_a_dollar_sign(
    installed: Installed,
) -> None:
    """pip's own start script would not."""
    run = installed.run("doctor")

    assert run.returncode == 0, run.stdout
    assert "dry run session_start.py: exit 0, valid output" in run.stdout


def test_the_slash_command_runs_the_program(installed: Installed) -> None:
    """The shell that runs it finds the program whatever its folder is called."""
    text = (installed.config / "commands" / "handoff.md").read_text()
    line = next(line for line in text.splitlines() if line.startswith("!`"))
    env = environment(installed.config.parent, CLAUDE_CODE_SESSION_ID="no-such-session")
    run = subprocess.run(line[2:-1], shell=True, env=env, capture_output=True, text=True)

    assert run.returncode == 1
    assert "There is no transcript of session 'no-such-session'" in run.stderr


@pytest.mark.parametrize("before", [b'{\n\t"model" : "opus",\r\n "hooks": {}}', b"{}", None])
def test_uninstall_restores_the_bytes_that_were_there(
    before: bytes | None, installed: Installed, tmp_path: Path
) -> None:
    """Where there was no file there is none again."""
    config = tmp_path / "config"
    config.mkdir()
    settings = config / "settings.json"
    if before is not None:
        settings.write_bytes(before)
    assert installed.run("install", config=config).returncode == 0
    assert len(registered(settings.read_bytes())) == len(ENTRIES)
    run = installed.run("uninstall", "--purge", config=config)

    assert run.returncode == 0, run.stderr
    assert {path.name: path.read_bytes() for path in config.iterdir()} == (
        {} if before is None else {"settings.json": before}
    )


def tools(folder: Path, **scripts: str) -> str:
    """Return a PATH with the few tools that install.sh needs, and these scripts."""
    folder.mkdir()
    for name in ("bash", "dirname", "env", "rm", "mkdir", "sed"):
        os.symlink(str(shutil.which(name)), folder / name)
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return str(folder)


def test_without_a_python_of_3_10_or_later_it_says_so(home: Path, tmp_path: Path) -> None:
    """Old interpreters and none at all get the same clear answer; nothing is written."""
    path = tools(tmp_path / "bin", python3="exit 1")
    run = install_sh(ROOT, environment(home, PATH=path))

    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        "keepthread: Python 3.10 or later was not found",
        "  Install it, or name one: KEEPTHREAD_PYTHON=/path/to/python3 ./install.sh",
    ]
    assert list(home.iterdir()) == []


def test_a_named_python_that_is_too_old_is_not_silently_replaced(home: Path) -> None:
    """Who names one wants that one."""
    run = install_sh(ROOT, environment(home, KEEPTHREAD_PYTHON="/bin/false"))

    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        "keepthread: KEEPTHREAD_PYTHON is no Python 3.10 or later: /bin/false",
        "  Name another, or unset it: one is looked for.",
    ]


def test_a_python_without_venv_is_named_with_the_remedy(home: Path, tmp_path: Path) -> None:
    """On Debian the module is a package of its own."""
    path = tools(tmp_path / "bin", python3='[ "$1" = -c ]')
    run = install_sh(ROOT, environment(home, PATH=path))

    assert run.returncode == 1
    assert run.stderr.splitlines() == [
        f"keepthread: {path}/python3 cannot make virtual environments",
        "  On Debian and Ubuntu: apt install python3-venv",
    ]


def test_a_folder_that_is_no_virtual_environment_is_never_removed(
    home: Path, tmp_path: Path
) -> None:
    """KEEPTHREAD_TEST_VENV may name anything."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.tex").write_text("text")
    env = environment(home, KEEPTHREAD_TEST_VENV=str(tmp_path / "thesis"))
    run = install_sh(ROOT, env, "--test")

    assert run.returncode == 1
    assert "is in the way: it is no virtual environment" in run.stderr
    assert (tmp_path / "thesis" / "chapter.tex").read_text() == "text"


def test_started_by_another_shell_it_goes_on_in_bash(home: Path) -> None:
    """`sh install.sh`, which is what many type."""
    command = ["sh", str(ROOT / "install.sh"), "--help"]
    done = subprocess.run(
        command, env=environment(home), capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "--test" in done.stdout


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_help_names_every_way_and_sets_nothing_up(option: str, home: Path) -> None:
    """Within 80 columns."""
    run = install_sh(ROOT, environment(home), option)

    assert run.returncode == 0
    assert all(way in run.stdout for way in ("--test", "--plugin", "KEEPTHREAD_PYTHON"))
    assert max(map(len, run.stdout.splitlines())) <= 80
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "more", "message"),
    [
        (["--tset"], {}, "unknown option --tset"),
        ([], {"CLAUDE_CONFIG_DIR": "relative"}, "CLAUDE_CONFIG_DIR is a relative path: relative"),
        ([], {"HOME": ""}, "There is no home folder ''"),
        ([], {"HOME": "relative"}, "There is no home folder 'relative'"),
        ([], {"HOME": "/not/there"}, "There is no home folder '/not/there'"),
    ],
)
def test_what_cannot_be_done_is_refused(
    options: list[str], more: dict[str, str], message: str, home: Path
) -> None:
    """With the reason on the first line and exit code 1."""
    run = install_sh(ROOT, environment(home) | more, *options)

    assert run.returncode == 1
    assert run.stderr.splitlines()[0] == f"keepthread: {message}"


@pytest.mark.parametrize("found", [("git", "npm"), ("git",), ()])
def test_ci_installs_what_a_new_machine_lacks_and_runs_the_readme_s_command(
    found: tuple[str, ...], tmp_path: Path
) -> None:
    """One call of apt-get for everything, none when all is there; then ./install.sh --test."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
    (tmp_path / "install.sh").write_text('#!/bin/sh\necho "install.sh $* CI=$CI"\n')
    (tmp_path / "install.sh").chmod(0o755)
    scripts = dict.fromkeys((*found, "python3"), "exit 0")
    scripts |= {"apt-get": 'echo "apt-get $*"', "sudo": 'exec "$@"'}
    path = tools(tmp_path / "bin", **scripts)
    run = subprocess.run(
        ["bash", str(tmp_path / ".ci" / "run")], env={"PATH": path}, capture_output=True, text=True
    )
    *calls, last = run.stdout.splitlines()
    wanted = [name for name in ("git", "npm") if name not in found]
    installed = [word for line in calls[1:] for word in line.partition("recommends ")[2].split()]

    assert (run.returncode, last) == (0, "install.sh --test CI=true")
    assert [word for word in installed if word != "ca-certificates"] == wanted
    assert len(calls) in (0, 2)


def test_the_script_is_plain_bash_3_2_and_has_no_carriage_returns() -> None:
    """macOS ships bash 3.2: no associative arrays, no case changes, no mapfile, no |&."""
    for path in (ROOT / "install.sh", ROOT / ".ci" / "run"):
        text = path.read_text(encoding="utf-8")

        assert subprocess.run(["bash", "-n", str(path)]).returncode == 0
        assert not any(new in text for new in ("declare -A", ",,}", "^^}", "mapfile", "|&", "\r"))
        assert os.access(path, os.X_OK)
