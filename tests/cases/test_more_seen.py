"""The shorter cases, as far as no family holds them already. Beside each test: the report it follows.

Elsewhere: a missing path (A1), CLAUDE_CONFIG_DIR (A6, G11), instructions for the summary (D8), going on (D7),
nesting (D9), modes (J3), a doubled /v1 (tests/engines/test_endpoints.py), scripts with CRLF (tests/test_wheel.py,
tests/test_systems.py), shapes of the settings (G1), absolute commands (G9).
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from keepthread.host.config import load
from keepthread.host.entries import ENTRIES, OPTIONAL
from tests.support.fake_claude import FakeClaude
from tests.support.hook_runs import ANSWER, JUDGED, RULE, World
from tests.support.session import SESSION


def program(world: World, *words: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program in the project."""
    return subprocess.run(
        [sys.executable, "-m", "keepthread", *words],
        env=world.env(**env), cwd=world.project, capture_output=True, timeout=120, check=True,
    )  # fmt: skip


def test_every_kind_of_handoff_is_put_back(world: World, claude: FakeClaude) -> None:
    """A partial, its upgrade, and one on demand: what one part writes the other reads (Continuous-Claude-v3#68)."""
    file = world.session()
    world.run("pre_compact")
    partial = world.run("session_start").context
    claude.answer(ANSWER)
    file.boundary()
    file.user("And now the harbour page.")
    file.assistant("I look at it.", tokens=30_000)
    world.run("pre_compact", **claude.env(world.home, KEEPTHREAD_ENGINE="", KEEPTHREAD_MODE="wait"))
    complete = world.run("session_start").context
    file.user("Then the page of the moon, and never a table in it.")
    program(world, "handoff", "--session", SESSION)
    asked = world.run("session_start").context

    assert RULE in partial
    assert JUDGED not in partial
    assert JUDGED in complete
    assert "never a table in it" in asked


def test_a_checkpoint_is_read_by_who_comes_next(world: World) -> None:
    """Whatever is written for a session is told at its next start, once (oh-my-claudecode#3730)."""
    world.session()
    program(world, "handoff", "--session", SESSION)
    first = world.run("session_start", world.event("session_start", source="resume"))
    again = world.run("session_start", world.event("session_start", source="resume"))

    assert RULE in first.context
    assert RULE not in again.context


@pytest.mark.parametrize("inherited", [True, False])
def test_a_variable_that_counts_elsewhere_does_not_reach_the_child(
    inherited: bool, world: World, claude: FakeClaude
) -> None:
    """What the session was started with is taken out; what is not there is not put in (kai#539)."""
    claude.answer(ANSWER)
    world.session()
    session = {"CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ID": SESSION}
    more = session if inherited else {}
    world.run("pre_compact", **claude.env(world.home, KEEPTHREAD_ENGINE="", **more))
    world.settled()
    (call,) = claude.calls

    assert set(session) & set(call["env"]) == set()
    assert "CLAUDECODE" not in call["env"]
    assert call["env"]["KEEPTHREAD_CHILD"]


def test_a_cloud_login_reaches_the_child_only_when_it_is_on(
    world: World, claude: FakeClaude
) -> None:
    """The other direction: what the child needs is not taken out (kai#539)."""
    claude.answer(ANSWER)
    world.session()
    env = claude.env(world.home, KEEPTHREAD_ENGINE="", CLAUDE_CODE_USE_BEDROCK="1")
    world.run("pre_compact", **env)
    world.settled()
    (call,) = claude.calls

    assert call["env"]["CLAUDE_CODE_USE_BEDROCK"] == "1"
    assert "CLAUDE_CODE_USE_VERTEX" not in call["env"]


def test_time_limits_are_seconds_and_the_inner_one_ends_first(world: World) -> None:
    """Plugins register 5000 and 30000 for milliseconds; no value a user may set reaches ours."""
    limits = {entry.script: entry.timeout for entry in (*ENTRIES, *OPTIONAL)}
    world.variables(TIMEOUT="70", JOIN="8")
    longest = load({}, str(world.config))

    assert set(limits.values()) == {75, 10}
    assert longest.timeout < limits["pre_compact.py"]
    assert longest.join < limits["session_start.py"]
    world.variables(TIMEOUT="75", JOIN="10")
    assert (load({}, str(world.config)).timeout, load({}, str(world.config)).join) == (60, 3)


def test_a_path_under_neither_root_is_taken_only_as_the_host_s_word(
    world: World, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A transcript elsewhere is read when stdin names it, and is no way to another file (gbrain#4324)."""
    outside = tmp_path_factory.mktemp("outside")
    secret = outside / "id_rsa"
    secret.write_text("-----BEGIN KEY-----\nbm90IGEga2V5\n", encoding="utf-8")
    (outside / "link.jsonl").symlink_to(secret)
    for path in (secret, outside / "link.jsonl", outside):
        world.run("pre_compact", world.event("pre_compact", transcript_path=str(path)))
    stored = b"".join(path.read_bytes() for path in world.state.rglob("*") if path.is_file())

    assert b"bm90IGEga2V5" not in stored
    assert json.loads((world.folder_of() / "handoff.json").read_bytes())["meta"]["reason"]
