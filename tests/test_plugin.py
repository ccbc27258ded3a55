"""The plugin without a client: its tables agree with the code's, and its start script never harms the host."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from keepthread import __version__
from keepthread.host import commands, entries, plugin
from tests.support.hook_runs import World
from tests.support.installation import ROOT, copy_checkout, environment, need_index
from tests.support.session import SESSION

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the start script is POSIX sh")

HOOKS = ["pre_compact", "session_start", "session_index", "post_compact", "user_prompt_submit"]
TOOLS = ("sh", "cat", "sed", "mkdir", "mv", "dirname", "grep", "env")
EVENT = json.dumps({"session_id": SESSION, "hook_event_name": "SessionStart", "source": "startup"})


def load(name: str) -> Any:
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def test_hooks_json_is_what_the_table_of_entries_says() -> None:
    """After a change of the table: python -m keepthread.host.plugin > hooks/hooks.json"""
    assert load("hooks/hooks.json") == plugin.hooks()


def test_every_entry_has_its_hook_with_its_limit() -> None:
    """Written out: event, script and seconds of each."""
    found = set()
    for event, groups in load("hooks/hooks.json")["hooks"].items():
        for hook in (hook for group in groups for hook in group["hooks"]):
            words = hook["command"].split()
            assert words[:2] == ["sh", '"${CLAUDE_PLUGIN_ROOT}/hooks/run"']
            assert words[3:] == ["||", "exit", "0"]
            found.add((event, f"{words[2]}.py", hook["timeout"]))

    table = (*entries.ENTRIES, *entries.OPTIONAL)
    assert found == {(entry.event, entry.script, entry.timeout) for entry in table}


def test_its_manifests_name_this_version_and_each_other() -> None:
    manifest, market = load(".claude-plugin/plugin.json"), load(".claude-plugin/marketplace.json")

    assert manifest["version"] == __version__
    assert [(one["name"], one["source"]) for one in market["plugins"]] == [("keepthread", "./")]
    assert manifest["name"] == "keepthread"


def test_every_command_runs_the_plugins_program_and_may() -> None:
    """The same words in the permission and in the text; install puts the program of the settings there."""
    for path in (ROOT / "commands").glob("*.md"):
        text = path.read_text(encoding="utf-8")
        run = [line[2:-1] for line in text.splitlines() if line.startswith("!`")]

        assert len(run) == 1
        assert run[0].startswith(commands.PROGRAM + " ")
        assert f"\nallowed-tools: Bash({run[0]})\n" in text


class Plugin:
    """The plugin in a folder of an awkward name, with a PATH that holds a few tools and no Python."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.root = folder / 'it\'s a "plugin" \\ 1'
        for name in ("src", "hooks", "bin", "templates", "commands"):
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, self.root / name, ignore=ignore)
        self.data = folder / "data 1"
        self.state = home / ".claude" / "keepthread"
        self.home = home
        self.tools = folder / "tools"
        self.tools.mkdir()
        for tool in TOOLS:
            (self.tools / tool).symlink_to(str(shutil.which(tool)))

    def run(self, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Run the start script as the host does."""
        env = {
            "HOME": str(self.home),
            "PATH": str(self.tools),
            "CLAUDE_PLUGIN_DATA": str(self.data),
        }
        return subprocess.run(
            ["sh", str(self.root / "hooks" / "run"), *words],
            input=EVENT
            + "\n" * 200_000,  # more than a pipe holds: who does not read it is found out
            env={**env, "CLAUDE_PLUGIN_ROOT": str(self.root), **more},
            capture_output=True,
            text=True,
            timeout=60,
        )

    def environment(self, folder: Path, word: str, *, whole: bool = True) -> None:
        """Make an environment whose interpreter says a word and then does what it is told."""
        programs = folder / "venv" / "bin"
        programs.mkdir(parents=True)
        for name in ("python", "keepthread") if whole else ("python",):
            script = (
                f"#!/bin/sh\necho {word} >>'{self.home}/used'\nexec '{sys.executable}' \"$@\"\n"
            )
            (programs / name).write_text(script)
            (programs / name).chmod(0o755)

    def python(self, script: str) -> None:
        """Put a python3 on the PATH."""
        (self.tools / "python3").write_text(f"#!/bin/sh\n{script}\n")
        (self.tools / "python3").chmod(0o755)

    @property
    def used(self) -> list[str]:
        """Which interpreters were started."""
        path = self.home / "used"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def installed(tmp_path: Path, home: Path) -> Plugin:
    """Return the plugin, with no environment prepared."""
    return Plugin(tmp_path, home)


def test_without_any_python_the_first_start_says_what_to_run_and_the_next_ones_nothing(
    installed: Plugin,
) -> None:
    run = installed.run("session_start")
    again = installed.run("session_start")

    assert (run.returncode, run.stderr) == (0, "")
    words = json.loads(run.stdout)["systemMessage"].partition("once: ")[2]
    shown = ["sh", "-c", f"printf '%s\\n' {words}"]
    told = subprocess.run(shown, capture_output=True, text=True, check=True).stdout.splitlines()
    assert told == ["bash", f"{installed.root}/install.sh", "--plugin", str(installed.data)]
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert (installed.state.stat().st_mode & 0o777) == 0o700


@pytest.mark.parametrize("hook", [name for name in HOOKS if name != "session_start"])
def test_without_any_python_no_other_hook_says_anything(installed: Plugin, hook: str) -> None:
    run = installed.run(hook)

    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert not installed.state.exists()


@pytest.mark.parametrize("script", ["exit 1", "exit 2", "kill -9 $$"])
def test_a_python_without_what_is_needed_counts_as_none(installed: Plugin, script: str) -> None:
    """It is too old, lacks a module, or is the stub that asks its user to install one."""
    installed.python(script)
    run = installed.run("pre_compact")

    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_a_home_that_cannot_be_written_to_is_no_reason_to_fail(installed: Plugin) -> None:
    """Nothing can be remembered, so nothing is said."""
    run = installed.run("session_start", HOME="/dev/null/home")

    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_the_model_call_of_a_hook_starts_nothing(installed: Plugin) -> None:
    installed.environment(installed.data, "data")
    run = installed.run("session_start", KEEPTHREAD_CHILD="1")

    assert (run.returncode, run.stdout, installed.used) == (0, "", [])


def test_the_environment_of_the_plugin_goes_before_that_of_the_settings(installed: Plugin) -> None:
    """And both before a python3 on the PATH, which needs a look inside."""
    installed.python(f"echo path >>'{installed.home}/used'\nexec '{sys.executable}' \"$@\"")
    installed.run("session_start")
    installed.environment(installed.state, "state")
    installed.run("session_start")
    installed.environment(installed.data, "data")
    installed.run("session_start")

    assert installed.used == ["path", "path", "state", "data"]


def test_an_environment_that_was_never_finished_is_not_used(installed: Plugin) -> None:
    """pip was stopped half way: the program is what it writes last."""
    installed.environment(installed.data, "half", whole=False)
    installed.environment(installed.state, "state")
    installed.run("session_start")

    assert installed.used == ["state"]


def test_an_environment_whose_interpreter_is_gone_is_not_used(installed: Plugin) -> None:
    """The system's Python was upgraded: the link in the environment leads nowhere."""
    installed.environment(installed.data, "data")
    python = installed.data / "venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("/gone/python3.9")
    run = installed.run("session_start")

    assert (run.returncode, installed.used) == (0, [])
    assert "systemMessage" in run.stdout


def test_the_hook_of_every_tool_call_costs_no_python_until_it_is_turned_on(
    installed: Plugin,
) -> None:
    installed.environment(installed.data, "data")
    installed.run("post_tool_use")
    assert installed.used == []

    installed.state.mkdir(parents=True)
    (installed.state / "settings.json").write_text(json.dumps({"spill": True}, indent=1))
    installed.run("post_tool_use")
    assert installed.used == ["data"]


def test_the_program_of_the_plugin_is_that_of_its_own_folder(installed: Plugin) -> None:
    """Whatever version of keepthread the environment holds."""
    installed.environment(installed.data, "data")
    (installed.root / "src" / "keepthread" / "__init__.py").write_text('__version__ = "9.9"\n')
    program = ["sh", str(installed.root / "bin" / "keepthread"), "--version"]
    env = {"HOME": str(installed.home), "PATH": str(installed.tools)}
    run = subprocess.run(program, env=env, capture_output=True, text=True)
    assert (run.returncode, run.stderr.count("--plugin")) == (1, 1)

    installed.run("session_start")  # a hook knows where the environment is, and notes it down
    run = subprocess.run(program, env=env, capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "keepthread, version 9.9\n")


def test_a_plugin_folder_that_is_gone_does_not_block_a_compaction(tmp_path: Path) -> None:
    """The command as it stands in hooks.json."""
    command = load("hooks/hooks.json")["hooks"]["PreCompact"][0]["hooks"][0]["command"]
    env = {**os.environ, "CLAUDE_PLUGIN_ROOT": str(tmp_path / "gone")}

    assert subprocess.run(["sh", "-c", command], env=env, input=b"{}").returncode == 0


def test_from_the_plugin_a_compaction_is_prepared_and_answered(
    installed: Plugin, tmp_path: Path, home: Path
) -> None:
    """With the state where everything of keepthread keeps it."""
    world = World(tmp_path, home)
    world.session()
    installed.environment(installed.data, "data")
    told = []
    for hook in ("pre_compact", "session_start"):
        event = world.event(hook, source="compact", trigger="auto")
        run = subprocess.run(
            ["sh", str(installed.root / "hooks" / "run"), hook],
            input=json.dumps(event),
            env={
                "HOME": str(home),
                "PATH": os.environ["PATH"],
                "CLAUDE_PLUGIN_DATA": str(installed.data),
                "KEEPTHREAD_ENGINE": "facts",
            },
            capture_output=True,
            text=True,
        )
        assert (run.returncode, run.stderr) == (0, "")
        told.append(run.stdout)

    assert "additionalContext" in json.loads(told[1])["hookSpecificOutput"]
    assert (world.folder_of() / "handoff.json").is_file()
    assert not (installed.data / "sessions").exists()


def test_install_sh_makes_the_environment_in_the_data_folder(tmp_path: Path) -> None:
    """From the folder in which the client keeps the plugin it finds that by itself, and writes no settings."""
    need_index(tmp_path)
    home = tmp_path / "home"
    config = home / ".claude"
    root = copy_checkout(config / "plugins" / "cache" / "my market" / "keepthread" / "0.1.0")
    (config / "keepthread").mkdir()
    (config / "keepthread" / "plugin-told").touch()
    run = subprocess.run(
        ["bash", str(root / "install.sh"), "--plugin"],
        env=environment(home),
        capture_output=True,
        text=True,
        timeout=280,
    )

    assert run.returncode == 0, run.stderr
    data = config / "plugins" / "data" / "keepthread-my-market"
    assert (data / "venv" / "bin" / "keepthread").is_file()
    assert sorted(path.name for path in config.iterdir()) == ["keepthread", "plugins"]
    assert list((config / "keepthread").iterdir()) == []
