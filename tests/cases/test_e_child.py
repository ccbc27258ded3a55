"""Family E: the child model call. One run, a clean one, and what it says is a handoff or a reason, never both."""

from __future__ import annotations

import json
import os
import sys

import pytest

from tests.support.fake_claude import NAG, FakeClaude
from tests.support.fake_http import FakeHttp, Reply, chat, ollama
from tests.support.hook_runs import ANSWER, JUDGED, ROOT, World
from tests.support.session import SESSION

LIMIT = "You've hit your weekly limit · resets 3pm"
FILLER = "The tide of Brest comes later than the one of Le Havre. " * 500  # 7,000 tokens


def compact(world: World, claude: FakeClaude, **env: str) -> dict[str, object]:
    """Let the host compact, wait for the worker, and return the handoff's meta."""
    world.run("pre_compact", **claude.env(world.home, KEEPTHREAD_ENGINE="", **env))
    world.settled()
    meta: dict[str, object] = world.handoff()["meta"]
    return meta


def test_e1_a_child_that_fires_our_hooks_is_the_only_one(world, claude):
    """With the environment it got, both hooks of a compaction."""
    hook = str(ROOT / "hooks" / "pre_compact.py")
    event = json.dumps(world.event("pre_compact"))
    claude.answer(ANSWER, runs=[[sys.executable, "-I", hook], event])
    world.session()
    assert compact(world, claude)["status"] == "complete"
    assert len(claude.calls) == 1
    assert [line["event"] for line in world.log()] == ["pre_compact", "worker"]


def test_e3_a_child_that_refuses_to_start_inside_a_session_starts(world, claude):
    """Its environment is clean, whatever the hook's is."""
    claude.answer(ANSWER, refuses=True)
    world.session()
    meta = compact(world, claude, CLAUDE_CODE_ENTRYPOINT="cli", CLAUDE_CODE_SESSION_ID=SESSION)
    assert meta["status"] == "complete"


@pytest.mark.parametrize("code", [0, 1])
def test_e4_a_login_nag_is_a_missing_login(world, claude, code):
    """With exit 1, and with exit 0 and is_error."""
    claude.behave(result={"is_error": True, "result": NAG}, exit=code)
    world.session()
    assert compact(world, claude)["reason"] == "no_login"
    for path in (path for path in world.folder_of().rglob("*") if path.is_file()):
        assert NAG not in path.read_text()


def test_e4_a_subscription_is_used_without_bare(world, claude):
    """--bare never reads a stored login."""
    claude.answer(ANSWER, login="stored")
    world.session()
    stored = {"claudeAiOauth": {"accessToken": "sk-ant-oat01-x"}}
    (world.config / ".credentials.json").write_text(json.dumps(stored))
    assert compact(world, claude)["status"] == "complete"
    assert "--bare" not in claude.calls[0]["argv"]


def test_e4_without_any_login_nothing_is_started(world, claude):
    """And the next compaction of the session loses no time with it either."""
    world.session()
    world.run("pre_compact", KEEPTHREAD_ENGINE="", PATH=claude.env(world.home)["PATH"])
    world.settled()
    assert world.handoff()["meta"]["reason"] == "no_login"
    assert claude.calls == []
    notice = world.run("session_start").notice
    assert "login" in notice


def test_e5_a_child_that_reads_to_the_end_of_stdin_gets_there(world, claude):
    """The prompt, and then the end; nothing of the hook's own stdin."""
    claude.answer(ANSWER, reads=True)
    world.session()
    assert compact(world, claude)["status"] == "complete"
    assert "hook_event_name" not in claude.calls[0]["stdin"]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        ({"result": {"result": LIMIT}}, "rate_limit"),
        ({"result": {"result": LIMIT, "is_error": True}, "exit": 1}, "rate_limit"),
        ({"stdout": f"{LIMIT}\n"}, "rate_limit"),
        ({"stdout": f"{LIMIT}\n", "exit": 1}, "rate_limit"),
        ({"result": {"result": ""}}, "bad_answer"),
        ({"stdout": ""}, "bad_answer"),
    ],
)
def test_e7_a_limit_message_is_no_summary_and_a_good_handoff_stays(
    world, claude, behaviour, reason
):
    """What the last good one judged is carried on, marked with its age."""
    claude.answer(ANSWER)
    file = world.session()
    assert compact(world, claude)["status"] == "complete"
    claude.behave(**behaviour)
    file.boundary()
    file.assistant(FILLER)
    file.user("And now the tide of Brest.")
    meta = compact(world, claude)
    assert (meta["status"], meta["reason"]) == ("partial", reason)
    assert len(claude.calls) == 2
    assert JUDGED in world.handoff()["task"]
    for path in (path for path in world.folder_of().rglob("*") if path.is_file()):
        assert LIMIT not in path.read_text()
    assert world.log("worker")[-1]["reason"] == reason


@pytest.mark.parametrize(
    "text",
    [
        "I looked {{about travel}}.\n```json\n{}\n```\nI hope this helps.",
        '<think>Perhaps {{"task": 1}}?</think>\n{}',
        "[{}]",
    ],
    ids=["fenced", "after thoughts", "in an array"],
)
def test_e8_a_document_in_chatty_text_is_found(world, claude, text):
    """Three backticks inside a string end no fence."""
    answer = {**ANSWER, "in_flight": "The footer ```is told``` from a reading."}
    claude.behave(result={"result": text.format(json.dumps(answer))})
    world.session()
    assert compact(world, claude)["status"] == "complete"
    assert world.handoff()["task"] == JUDGED


def test_e8_right_json_of_wrong_types_is_refused(world, claude):
    """Never an empty handoff without a word."""
    claude.behave(result={"result": json.dumps({**ANSWER, "next_steps": "one"})})
    world.session()
    meta = compact(world, claude)
    assert (meta["status"], meta["reason"]) == ("partial", "bad_answer")


def ollama_session(world: World, server: FakeHttp, *replies: Reply) -> dict[str, object]:
    """Let a session of about 20,000 tokens be compacted with an Ollama; return the handoff's meta."""
    world.variables(
        ENGINE="ollama", OLLAMA_MODEL="qwen9:8b", OLLAMA_BASE_URL=server.url, WINDOW="0"
    )
    server.on("/api/show", Reply({"model_info": {"qwen.context_length": 131_072}}))
    server.on("/api/chat", *replies)
    file = world.session()
    for number in range(20):
        file.user(f"Station {number}: {FILLER[:3_500]}")
        file.assistant(f"Noted, station {number}.")
    world.run("pre_compact", KEEPTHREAD_ENGINE="")
    world.settled()
    meta: dict[str, object] = world.handoff()["meta"]
    return meta


def test_e10_ollama_is_given_a_context_that_holds_the_whole_prompt(world):
    """What is asked stands at the end of the prompt too, should a server cut its front."""
    with FakeHttp() as server:
        meta = ollama_session(world, server, ollama(ANSWER))
        body = server.bodies("/api/chat")[0]
    prompt = "".join(message["content"] for message in body["messages"])
    assert meta["status"] == "complete"
    assert len(prompt) > 60_000
    assert body["options"]["num_ctx"] > len(prompt.encode()) / 3
    assert "answer with one JSON object" in prompt[-2_500:]


def test_e10_a_cut_prompt_makes_the_answer_doubtful(world):
    """The server says nothing but a count that is too low."""
    with FakeHttp() as server:
        meta = ollama_session(world, server, ollama(ANSWER, 4_096))
    assert (meta["status"], meta["reason"]) == ("partial", "bad_answer")


@pytest.mark.parametrize("stored", [False, True])
def test_e11_a_child_leaves_no_session_among_the_users(world, claude, stored):
    """With a key and with a stored login: the list of sessions to resume stays the user's."""
    claude.answer(ANSWER, session=True)
    world.session()
    if stored:
        login = {"claudeAiOauth": {"accessToken": "sk-ant-oat01-x"}}
        (world.config / ".credentials.json").write_text(json.dumps(login))
    before = sorted((world.config / "projects").rglob("*"))
    assert compact(world, claude)["status"] == "complete"
    assert sorted((world.config / "projects").rglob("*")) == before


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_every_way_to_write_a_base_url_makes_a_handoff(world, tail):
    """A doubled /v1 was a silent 404 seven hundred times elsewhere."""
    with FakeHttp() as server:
        server.on("/v1/chat/completions", chat(ANSWER))
        base = server.url + tail
        world.variables(ENGINE="openai", OPENAI_BASE_URL=base, OPENAI_MODEL="m", OPENAI_API_KEY="k")
        world.session()
        world.run("pre_compact", KEEPTHREAD_ENGINE="")
        world.settled()
    meta = world.handoff()["meta"]
    assert (meta["status"], meta["engine"]) == ("complete", "openai")


def test_a_server_that_never_answers_leaves_a_partial_in_time(world):
    """The deadline is the user's, and the hook waits for nothing."""
    with FakeHttp() as server:
        server.on("/v1/chat/completions", Reply(hang=True))
        world.variables(ENGINE="openai", OPENAI_BASE_URL=server.url, OPENAI_MODEL="m", TIMEOUT="2")
        world.session()
        run = world.run("pre_compact", KEEPTHREAD_ENGINE="")
        world.settled()
    assert run.seconds < 10
    meta = world.handoff()["meta"]
    assert (meta["status"], meta["reason"]) == ("partial", "timeout")


def test_the_environment_cannot_send_a_transcript_anywhere(world, claude):
    """A repository's settings can set all of it."""
    with FakeHttp() as server:
        server.on("/v1/chat/completions", chat(ANSWER))
        evil = {
            "KEEPTHREAD_OPENAI_BASE_URL": server.url,
            "KEEPTHREAD_OPENAI_MODEL": "m",
            "KEEPTHREAD_OPENAI_API_KEY": "k",
            "KEEPTHREAD_COMMAND": str(claude.program),
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "k",
        }
        world.session()
        for engine in ("openai", "command", "openai,command"):
            world.run("pre_compact", PATH="/usr/bin:/bin", **{**evil, "KEEPTHREAD_ENGINE": engine})
            world.settled()
        assert server.requests == []
    assert claude.calls == []
    assert world.handoff()["meta"]["engine"] == "facts"


def test_a_local_project_is_told_to_a_server_on_this_machine_alone(world, claude):
    """And to nobody else of the ladder."""
    claude.answer(ANSWER)
    with FakeHttp() as server:
        server.on("/v1/chat/completions", chat(ANSWER))
        world.variables(
            ENGINE="claude,llama.cpp",
            LLAMA_CPP_BASE_URL=server.url,
            LOCAL_ONLY_PROJECTS=str(world.project),
        )
        world.session()
        meta = compact(world, claude)
    assert (meta["status"], meta["engine"]) == ("complete", "llama.cpp")
    assert claude.calls == []


def test_the_repository_the_event_took_place_in_brings_no_claude(world, claude):
    """The host names a package as its project, and npm has put the repository's programs first on PATH."""
    claude.answer(ANSWER)
    planted = FakeClaude(world.project / "node_modules" / ".bin")
    planted.answer(ANSWER)
    app = world.project / "packages" / "app"
    app.mkdir(parents=True)
    elsewhere = world.folder / "another"
    elsewhere.mkdir()
    world.session()
    env = claude.env(world.home, KEEPTHREAD_ENGINE="")
    env["PATH"] = os.pathsep.join((str(planted.folder), env["PATH"]))
    env["CLAUDE_PROJECT_DIR"] = str(elsewhere)
    world.run("pre_compact", world.event("pre_compact", cwd=str(app)), **env)
    world.settled()
    assert (len(planted.calls), len(claude.calls)) == (0, 1)


def test_what_an_engine_said_of_its_failure_is_in_the_log(world):
    """Which variable is missing, and in whose words."""
    world.variables(ENGINE="command")
    world.session()
    world.run("pre_compact", KEEPTHREAD_ENGINE="")
    world.settled()
    [line] = [line for line in world.log() if line["event"] == "worker"]
    assert (line["outcome"], line["reason"]) == ("partial", "no_login")
    assert line["detail"] == "command: KEEPTHREAD_COMMAND is not set"
