"""Ollama's native API: the whole prompt is read, or the answer is refused (tests/cases: E10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keepthread.engines.model import Answer, Deadline, EngineError, Request
from keepthread.engines.ollama import OllamaEngine, context_for
from tests.engines.asking import DOCUMENT, PROMPT, REQUEST, SCHEMA, ask, failed, setup
from tests.support.fake_http import FakeHttp, Reply, ollama

TWENTY_K = Request(
    "s", "word " * 16_000, SCHEMA, "sonnet", "low"
)  # 80,000 bytes: about 20,000 tokens


def model(length: int = 131_072, **more: Any) -> Reply:
    info = {"general.architecture": "qwen", "qwen.context_length": length, "qwen.block_count": 9}
    return Reply({"model_info": info, **more})


@pytest.fixture
def server() -> Iterator[FakeHttp]:
    with FakeHttp() as running:
        running.on("/api/show", model())
        running.on("/api/chat", ollama(DOCUMENT))
        yield running


def engine(server: FakeHttp, window: int = 0, **user: str) -> OllamaEngine:
    given = {"BASE_URL": server.url, "MODEL": "qwen9:8b"} | user
    named = {f"OLLAMA_{part}": value for part, value in given.items()}
    return OllamaEngine(setup(named, window=window))


def test_an_answer_comes_with_its_tokens_and_costs_nothing(server: FakeHttp) -> None:
    """The schema goes as the format; an answer without a count is taken."""
    assert ask(engine(server)) == Answer(DOCUMENT, "ollama", None, 50, 0.0)
    [body] = server.bodies("/api/chat")
    assert body["format"] == {k: v for k, v in SCHEMA.items() if not k.startswith("$")}
    assert [m["content"] for m in body["messages"]] == [REQUEST.system, PROMPT]
    assert body["stream"] is False
    assert "think" not in body


def test_the_context_is_large_enough_for_the_prompt_and_the_answer(server: FakeHttp) -> None:
    """Its default of 4,096 would cut a prompt of 20,000 tokens without a word."""
    server.on("/api/chat", ollama(DOCUMENT, 20_000))
    assert ask(engine(server), request=TWENTY_K).input_tokens == 20_000
    options = server.bodies("/api/chat")[0]["options"]
    assert 24_096 <= options["num_ctx"] <= 32_768


@pytest.mark.parametrize("count", [2_048, 4_096, 10_000])
def test_a_suspiciously_low_count_makes_the_answer_no_answer(server: FakeHttp, count: int) -> None:
    """The count is taken after the cut, so it is the only thing that tells of one."""
    server.on("/api/chat", ollama(DOCUMENT, count))
    found = failed(engine(server), request=TWENTY_K)

    assert found.reason == "bad_answer"
    assert f"read {count} tokens" in found.detail


def test_a_context_that_is_filled_to_the_last_token_was_cut(server: FakeHttp) -> None:
    """Nothing was left for the answer."""
    server.on("/api/show", model(24_576))
    server.on("/api/chat", ollama(DOCUMENT, 24_576))
    assert failed(engine(server), request=TWENTY_K).reason == "bad_answer"


@pytest.mark.parametrize(
    ("shown", "user", "window", "limit"),
    [
        (model(8_192), {}, 0, 8_192),
        (model(), {"NUM_CTX": "16384"}, 0, 16_384),
        (model(), {}, 16_000, 16_000),
        (model(8_192), {"NUM_CTX": "16384"}, 0, 8_192),
    ],
)
def test_what_cannot_fit_is_refused_before_it_is_sent(
    server: FakeHttp, shown: Reply, user: dict[str, str], window: int, limit: int
) -> None:
    """By the model's own limit, or by what its user's memory allows."""
    server.on("/api/show", shown)
    found = failed(engine(server, window, **user), request=TWENTY_K)

    assert (found.reason, found.limit_tokens, found.observed_tokens) == ("overflow", limit, 21_024)
    assert server.bodies("/api/chat") == []


def test_the_servers_own_refusal_is_an_overflow(server: FakeHttp) -> None:
    """Newer ones do not cut when they are told not to."""
    server.on("/api/chat", Reply({"error": "the input length exceeds the context length"}, 400))
    assert failed(engine(server)).reason == "overflow"
    body = server.bodies("/api/chat")[0]
    assert (body["truncate"], body["shift"]) == (False, False)


def test_a_thinking_model_is_told_not_to(server: FakeHttp) -> None:
    """Its thoughts would take the room of the answer; other models refuse the word."""
    server.on("/api/show", model(capabilities=["completion", "thinking"]))
    ask(engine(server))
    assert server.bodies("/api/chat")[0]["think"] is False


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (ollama({"task": "x"}), "bad_answer"),
        (ollama("I'm sorry, I can't."), "bad_answer"),
        (ollama(DOCUMENT, done="length"), "bad_answer"),
        (Reply({"message": "odd", "done": True}), "bad_answer"),
        (Reply({"error": "model runner has unexpectedly stopped"}, 500), "overload"),
        (Reply("404 page not found", 404, "text/plain"), "bad_answer"),
        (Reply('{"message": {"content": "{}"', 200), "bad_answer"),
    ],
)
def test_what_is_no_answer_is_named(server: FakeHttp, reply: Reply, reason: str) -> None:
    """A 200 is no success by itself."""
    server.on("/api/chat", reply)
    assert failed(engine(server)).reason == reason


def test_a_model_that_is_not_pulled_is_final_for_the_session(server: FakeHttp) -> None:
    """It is found out before the prompt is sent."""
    server.on("/api/show", Reply({"error": "model 'qwen9:8b' not found"}, 404))
    found = failed(engine(server))
    assert (found.reason, found.permanent) == ("bad_answer", True)
    assert server.bodies("/api/chat") == []


def test_the_model_must_be_named(server: FakeHttp) -> None:
    """The first one of many is seldom meant."""
    found = failed(engine(server, MODEL=""))
    assert (found.reason, found.permanent) == ("no_login", True)
    assert engine(server, MODEL="").readiness().fix == (
        "Set KEEPTHREAD_OLLAMA_MODEL in ~/.claude/.env to a pulled model."
    )
    assert server.requests == []


@pytest.mark.parametrize(
    ("name", "local"), [("qwen9:8b", True), ("gpt-oss:120b-cloud", False), ("kimi:cloud", False)]
)
def test_a_cloud_model_of_a_local_server_is_not_local(
    server: FakeHttp, name: str, local: bool
) -> None:
    """The server passes the prompt on to its vendor."""
    assert engine(server, MODEL=name).local is local


@pytest.mark.parametrize(
    ("size", "limit", "context"),
    [
        (0, None, 4_096),
        (3_000, None, 5_120),
        (80_000, None, 31_744),
        (80_000, 25_000, 25_000),
        (80_000, 21_024, 21_024),
    ],
)
def test_the_size_of_the_context(size: int, limit: int | None, context: int) -> None:
    """Round, so that the model is seldom loaded anew, and never beyond the limit."""
    assert context_for(size, limit) == context


def test_a_sparing_estimate_beyond_the_limit_is_refused() -> None:
    """One token more than fits."""
    with pytest.raises(EngineError) as caught:
        context_for(80_000, 21_023)
    assert caught.value.reason == "overflow"


def test_the_window_is_the_models_within_its_users_memory(server: FakeHttp) -> None:
    """Asked for once."""
    asked, deadline = engine(server), Deadline.after(20)
    assert asked.window(REQUEST, deadline) == 131_072
    ask(asked)
    assert [seen.path for seen in server.requests] == ["/api/show", "/api/chat"]
    assert engine(server, NUM_CTX="16384").window(REQUEST, deadline) == 16_384
