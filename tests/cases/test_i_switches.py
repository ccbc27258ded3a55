"""I, what its user switches off: it holds at the very next hook, however the project is spelt and whoever names it."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest

from tests.support.fake_claude import FakeClaude
from tests.support.hook_runs import ANSWER, ROOT
from tests.support.session import SESSION

OFF_NOW = ["session_start", "session_index", "user_prompt_submit", "post_compact", "stop"]


def files(world):
    """Return what lies in the state folder beside the log and the settings, with its content."""
    kept = ("log.jsonl", "settings.json")
    paths = (path for path in world.state.rglob("*") if path.is_file() and path.name not in kept)
    return {str(path): path.read_bytes() for path in paths}


@pytest.mark.parametrize("hook", OFF_NOW)
def test_i10_a_project_switched_off_this_moment_is_off_at_the_next_hook(world, hook: str):
    world.session()
    world.run("pre_compact")
    before = files(world)

    world.variables(OFF_PROJECTS=str(world.project))
    event = world.event(hook, prompt="/pin mind it", compact_summary="what was done")
    run = world.run(hook, event)
    time.sleep(0.3)  # for what Stop might have started

    assert run.stdout == ""
    assert files(world) == before


def test_i10_what_is_switched_on_again_is_on_at_the_next_hook(world):
    world.session()
    world.variables(OFF_PROJECTS="/nowhere")
    world.run("pre_compact")
    world.variables(DISABLE="on")
    assert world.run("session_start").stdout == ""
    (world.config / ".env").unlink()
    assert world.run("session_start").context


def test_i10_a_switch_holds_where_the_state_folder_cannot_be_written(world):
    world.session()
    world.run("pre_compact")
    stored = world.state / "settings.json"
    stored.unlink()
    stored.mkdir()
    (stored / "something").touch()

    world.variables(OFF_PROJECTS=str(world.project))
    assert world.run("session_start").stdout == ""


def test_i10_a_status_line_alone_leaves_no_folder(world):
    world.session()
    world.variables(OFF_PROJECTS=str(world.project))
    event = json.dumps(world.event("stop")).encode()
    out, _ = world.start("status_line", event).communicate(timeout=60)
    assert b"keepthread off" in out
    assert not world.state.exists()


@pytest.mark.parametrize("pattern", ["{folder}/li*", "{folder}/[l]ink/**"])
def test_i10_a_pattern_means_a_link_by_the_name_that_its_user_reads(world, pattern: str):
    (world.project / "deep").mkdir()
    link = world.folder / "link"
    link.symlink_to(world.project)
    world.variables(OFF_PROJECTS=pattern.format(folder=world.folder))
    world.session()
    world.run("pre_compact", world.event("pre_compact", cwd=str(link / "deep")))
    assert not (world.folder_of() / "context.json").exists()


def test_i10_a_local_project_stays_one_whatever_the_repositorys_variable_says(
    world, claude: FakeClaude
):
    """The host's settings file of a repository can set any variable."""
    claude.answer(ANSWER)
    other = world.folder / "other"
    other.mkdir()
    world.variables(LOCAL_ONLY_PROJECTS=str(world.project))
    world.session()
    env = claude.env(world.home, KEEPTHREAD_ENGINE="", CLAUDE_PROJECT_DIR=str(other))
    world.run("pre_compact", **env)
    world.settled()
    assert (world.folder_of() / "context.json").exists()
    assert claude.calls == []


def test_i10_a_session_in_a_local_folder_of_a_repository_is_told_to_nobody_from_elsewhere(
    world, claude: FakeClaude
):
    claude.answer(ANSWER)
    (world.project / "private").mkdir()
    world.variables(LOCAL_ONLY_PROJECTS=str(world.project / "private"))
    session = world.session()
    session.cwd = str(world.project / "private")
    session.user("and this")
    env = world.env(**claude.env(world.home, KEEPTHREAD_ENGINE=""))
    command = [sys.executable, "-I", "-m", "keepthread", "handoff", "--session", SESSION]
    subprocess.run(command, env=env, cwd="/", stdout=subprocess.DEVNULL, check=True, timeout=60)
    assert world.handoff()["meta"]["project"] == str(world.project)
    assert claude.calls == []


def test_i10_a_local_project_is_local_for_the_memory_too(world, claude: FakeClaude):
    claude.answer(ANSWER)
    other = world.folder / "other"
    other.mkdir()
    world.variables(LOCAL_ONLY_PROJECTS=str(world.project), SESSION_MEMORY="model")
    world.session()
    env = claude.env(world.home, KEEPTHREAD_ENGINE="", CLAUDE_PROJECT_DIR=str(other))
    path = world.session().path
    job = {
        "session": SESSION,
        "transcript": str(path),
        "cwd": str(world.project),
        "size": path.stat().st_size,
        "tokens": 50_000,
        "form": "model",
    }
    update(world, job, env)
    assert [entry["outcome"] for entry in world.log("memory")] == ["partial"]
    assert claude.calls == []


def update(world, job, env):
    """Do what a Stop hook starts, and wait for it."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); from keepthread.memory.session.run import main; "
    command = [
        sys.executable,
        "-I",
        "-c",
        f"{code}main(sys.argv[2])",
        str(ROOT / "src"),
        json.dumps(job),
    ]
    subprocess.run(command, env=world.env(**env), cwd=world.cwd, check=True, timeout=60)


def test_i10_while_the_users_file_cannot_be_read_nobody_is_asked_and_off_stays_off(
    world, claude: FakeClaude
):
    """Saved by an editor as UTF-16, say: what its user chose is in it."""
    claude.answer(ANSWER)
    env = claude.env(world.home, KEEPTHREAD_ENGINE="")
    world.session()
    (world.config / ".env").write_bytes("KEEPTHREAD_ENGINE=facts\n".encode("utf-16"))
    world.run("pre_compact", **env)
    world.settled()
    assert world.handoff()["meta"]["reason"] == "engine_facts"
    command = [sys.executable, "-I", "-m", "keepthread", "handoff", "--engine", "claude"]
    command += ["--session", SESSION]
    told = subprocess.run(command, env=world.env(**env), capture_output=True, timeout=60)
    assert b"only partial (engine_facts)" in told.stderr
    assert claude.calls == []

    world.variables(OFF_PROJECTS=str(world.project))
    assert world.run("session_start").stdout == ""
    (world.config / ".env").write_bytes(b"\xff\xfe\x00")
    assert world.run("session_start").stdout == ""
