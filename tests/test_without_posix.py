"""keepthread in an interpreter without what Windows lacks: no fork, flock, killpg, /proc or descriptors of folders.

Paths are this system's, and so are the locks of the library: what is shown is that nothing needs more than Windows has.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.hook_runs import RULE, World, check_output
from tests.support.session import SESSION

pytestmark = pytest.mark.skipif(os.name == "nt", reason="this takes away what is not there")
SCRIPT = Path(__file__).parent / "support" / "without_posix.py"
SOURCE = Path(__file__).parents[1] / "src"


@pytest.fixture
def world(tmp_path: Path, home: Path) -> World:
    """A home, a project and a session."""
    return World(tmp_path, home)


def run(
    world: World, *words: str, event: bytes = b"", **env: str
) -> subprocess.CompletedProcess[str]:
    """Run a hook or a command in such an interpreter."""
    done = subprocess.run(
        [sys.executable, "-I", str(SCRIPT), str(SOURCE), *words],
        input=event.decode(),
        env=world.env(USERPROFILE=str(world.home), **env),
        cwd=world.project,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "Traceback" not in done.stderr
    return done


def hook(world: World, name: str, **fields: str) -> str:
    """Run a hook and return what it printed."""
    done = run(world, name, event=json.dumps(world.event(name, **fields)).encode())
    assert (done.returncode, done.stderr) == (0, "")
    check_output(name, done.stdout)
    return done.stdout


def command(world: World, *words: str) -> str:
    """Run a command that ends well and return what it printed."""
    done = run(world, "cli", *words)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def test_every_module_can_be_imported(world: World) -> None:
    """No fcntl, resource or pwd, no os.O_NOFOLLOW, no signal.SIGKILL."""
    done = run(world, "-")
    modules = {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        for path in (SOURCE / "keepthread").rglob("*.py")
        if path.name != "__main__.py"
    }

    assert done.returncode == 0
    assert set(done.stdout.split()) == modules - {"keepthread"}


def test_a_compaction_is_bridged(world: World) -> None:
    """PreCompact stores, SessionStart and the index give back, PostCompact stores the host's summary."""
    world.session()
    hook(world, "pre_compact")
    context = json.loads(hook(world, "session_start"))
    index = hook(world, "session_index")
    hook(world, "post_compact", compact_summary="<summary>The importer is mended.</summary>")
    hook(world, "user_prompt_submit", prompt="go on")

    assert RULE in context["hookSpecificOutput"]["additionalContext"]
    assert "https://tides.example/9414290" in index
    assert (world.project / "docs" / "handoff-context.md").is_file()
    assert "mended" in (world.folder_of() / "host-summary.md").read_text()
    assert [line["outcome"] for line in world.log()] == ["partial", "shown", "shown", "stored"]


def test_a_worker_is_started_and_ends(world: World) -> None:
    """In a console of its own that is not shown; here without the flags, which this system does not take."""
    file = world.session()
    file.assistant("Much was read.", tokens=30_000)
    hook_env = {"KEEPTHREAD_ENGINE": ""}
    event = json.dumps(world.event("pre_compact")).encode()
    done = run(world, "pre_compact", event=event, **hook_env)

    assert (done.returncode, done.stderr) == (0, "")
    assert world.settled(SESSION)["state"] in ("done", "failed")


def test_the_team_s_memory_is_kept_by_names(world: World) -> None:
    """There are no descriptors of folders to keep to."""
    command(world, "memory", "init")
    command(world, "memory", "add", "area/a.md", "first", "--type", "project")
    command(world, "memory", "mv", "area/a.md", "b.md")

    assert command(world, "memory", "show", "b.md").endswith("first\n")
    command(world, "memory", "rm", "b.md")
    assert "No entries yet" in command(world, "memory", "list")
    refused = run(world, "cli", "memory", "add", "../a.md", "x", "--type", "project")
    assert refused.returncode == 1


def test_settings_are_edited_and_come_back(world: World) -> None:
    """A profile in, a profile out: the same bytes."""
    settings = world.config / "settings.json"
    world.config.mkdir()
    settings.write_bytes(b'\xef\xbb\xbf{\r\n  "model": "opus"\r\n}\r\n')
    before = settings.read_bytes()
    command(world, "profile", "apply", "tuned")
    assert settings.read_bytes() != before
    command(world, "profile", "clear")

    assert settings.read_bytes() == before
