"""The chat completions API against a loopback server that speaks its shape (tests/cases: E8 and /v1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keepthread.engines.model import Answer, Request
from keepthread.engines.openai import OpenAIEngine
from tests.engines.asking import DOCUMENT, KEY, PROMPT, REQUEST, SCHEMA, ask, failed, setup
from tests.support.fake_http import FakeHttp, Reply, chat

PATH = "/v1/chat/completions"
REFUSES_SCHEMA = Reply({"error": {"message": "'response_format.type' must be 'text'"}}, 400)


@pytest.fixture
def server() -> Iterator[FakeHttp]:
    with FakeHttp() as running:
        running.on(PATH, chat(DOCUMENT))
        yield running


def engine(server: FakeHttp, name: str = "openai", **user: str) -> OpenAIEngine:
    upper = name.upper().replace(".", "_")
    given = {"BASE_URL": server.url, "API_KEY": KEY, "MODEL": "m-1"} | user
    return OpenAIEngine(name, setup({f"{upper}_{part}": value for part, value in given.items()}))


def error(status: int, message: str, **more: Any) -> Reply:
    return Reply({"error": {"message": message, **more}}, status)


def test_a_structured_answer_comes_with_its_tokens(server: FakeHttp) -> None:
    """A local server costs nothing."""
    assert ask(engine(server)) == Answer(DOCUMENT, "openai", 1000, 50, 0.0)


def test_the_request_holds_prompt_schema_model_and_key_and_little_more(server: FakeHttp) -> None:
    """The draft and the id of the schema are left out, since strict servers refuse them."""
    ask(engine(server))
    [seen] = server.requests

    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.body["model"] == "m-1"
    assert seen.body["messages"] == [
        {"role": "system", "content": REQUEST.system},
        {"role": "user", "content": PROMPT},
    ]
    sent = seen.body["response_format"]["json_schema"]
    assert sent["schema"] == {k: v for k, v in SCHEMA.items() if not k.startswith("$")}
    assert sent["strict"] is True
    assert KEY not in str(seen.body)


@pytest.mark.parametrize("tail", ["", "/", "/v1", "/v1/", "/v1/chat/completions"])
def test_every_base_url_reaches_the_one_path(server: FakeHttp, tail: str) -> None:
    """A doubled or a missing /v1 is a silent 404 elsewhere."""
    assert ask(engine(server, BASE_URL=server.url + tail)).document == DOCUMENT
    assert [seen.path for seen in server.requests] == [PATH]


def test_a_server_without_schemas_is_asked_for_a_json_object_then_for_text(
    server: FakeHttp,
) -> None:
    """And is never asked for more again in this run; the schema then stands in the prompt."""
    server.on(
        PATH,
        REFUSES_SCHEMA,
        REFUSES_SCHEMA,
        chat(f"Here it is:\n```json\n{DOCUMENT}\n```"),
        chat(DOCUMENT),
    )
    asked = engine(server)
    assert failed(asked).reason == "bad_answer"  # single quotes are no JSON
    assert ask(asked).document == DOCUMENT
    bodies = server.bodies(PATH)

    kinds = [body.get("response_format", {}).get("type") for body in bodies]
    assert kinds == ["json_schema", "json_object", None, None]
    assert '"next_steps"' not in bodies[0]["messages"][1]["content"]
    for body in bodies[1:]:
        assert '"next_steps"' in body["messages"][1]["content"]


def test_parameters_that_a_server_refuses_by_name_are_dropped(server: FakeHttp) -> None:
    """Each once, and for the rest of the run."""
    server.on(
        PATH,
        error(400, "Unsupported parameter: 'reasoning_effort' is not supported with this model."),
        chat(DOCUMENT),
    )
    asked = engine(server)
    ask(asked)
    ask(asked)
    bodies = server.bodies(PATH)

    assert bodies[0]["reasoning_effort"] == "low"
    assert ["reasoning_effort" in body for body in bodies] == [True, False, False]
    assert all(body["response_format"]["type"] == "json_schema" for body in bodies)


def test_effort_goes_only_where_its_vendor_knows_it(server: FakeHttp) -> None:
    """Others answer an unknown parameter with an error."""
    ask(engine(server, "mistral"))
    ask(engine(server, "gemini"))
    assert ["reasoning_effort" in body for body in server.bodies(PATH)] == [False, True]


def test_a_local_server_is_asked_which_model_it_has(server: FakeHttp) -> None:
    """Its user has loaded one and need not name it again; it is asked once."""
    server.on("/v1/models", Reply({"data": [{"id": "qwen-9"}, {"id": "other"}]}))
    asked = engine(server, "llama.cpp", MODEL="", API_KEY="")
    ask(asked)
    ask(asked)

    assert [seen.path for seen in server.requests] == ["/v1/models", PATH, PATH]
    assert {body["model"] for body in server.bodies(PATH)} == {"qwen-9"}
    assert "authorization" not in server.requests[-1].headers


def test_a_local_server_that_lists_no_models_takes_any_name(server: FakeHttp) -> None:
    """llama.cpp and its like serve one model."""
    assert ask(engine(server, "vllm", MODEL="")).document == DOCUMENT


def test_the_general_model_counts_unless_it_is_a_name_of_the_hosts(server: FakeHttp) -> None:
    """KEEPTHREAD_MODEL=gpt-9 is meant for this engine, "sonnet" is not."""
    asked = engine(server, MODEL="")
    asked.ask(Request("s", PROMPT, SCHEMA, "gpt-9", "low"), _deadline())
    assert server.bodies(PATH)[0]["model"] == "gpt-9"
    remote = OpenAIEngine("openai", setup({"OPENAI_API_KEY": KEY}))
    assert failed(remote).detail == "KEEPTHREAD_OPENAI_MODEL is not set"
    assert failed(remote).permanent


def _deadline() -> Any:
    from keepthread.engines.model import Deadline

    return Deadline.after(20)


@pytest.mark.parametrize(
    ("usage", "user", "cost"),
    [
        ({"prompt_tokens": 1000, "completion_tokens": 50, "cost": 0.0125}, {}, 0.0125),
        ({"prompt_tokens": 1_000_000, "completion_tokens": 100_000}, {"PRICE": "2,10"}, 3.0),
        ({"prompt_tokens": 1_000_000}, {"PRICE": "2,10"}, 0.0),
    ],
)
def test_the_cost_is_the_servers_word_or_the_users_price(
    server: FakeHttp, usage: dict[str, Any], user: dict[str, str], cost: float
) -> None:
    """OpenRouter says it; others leave it to their price list."""
    server.on(PATH, chat(DOCUMENT, usage=usage))
    assert ask(engine(server, **user)).cost_usd == cost


@pytest.mark.parametrize(
    "text",
    [
        '<think>What about {"task": 1}?</think>\n{"task": "Mend the parser", "next_steps": ["Run the tests"]}',
        'I {about travel}\n```json\n{"task": "Mend the parser", "next_steps": ["Run the tests"]}\n```\nBye.',
        '[{"task": "Mend the parser", "next_steps": ["Run the tests"]}]',
    ],
)
def test_a_chatty_answer_is_read(server: FakeHttp, text: str) -> None:
    """As tests/cases: E8."""
    server.on(PATH, chat(text))
    assert ask(engine(server)).document == DOCUMENT


def test_content_in_parts_is_joined(server: FakeHttp) -> None:
    """Some servers answer in a list of parts."""
    parts = [
        {"type": "text", "text": '{"task": "Mend the '},
        {"type": "text", "text": 'parser", "next_steps": []}'},
    ]
    choice = {"message": {"content": parts}, "finish_reason": "stop"}
    server.on(PATH, Reply({"choices": [choice]}))
    answer = ask(engine(server))

    assert answer.document["task"] == "Mend the parser"
    assert (answer.input_tokens, answer.output_tokens) == (None, None)


@pytest.mark.parametrize(
    ("reply", "reason", "words"),
    [
        (chat("no JSON here"), "bad_answer", "no JSON object"),
        (chat({"task": "x"}), "bad_answer", "next_steps is missing"),
        (chat({"task": 1, "next_steps": []}), "bad_answer", "task is not of type string"),
        (chat("I'm sorry, I can't help with that."), "bad_answer", "refusal"),
        (chat(""), "bad_answer", "empty"),
        (chat({"task": "", "next_steps": []}), "bad_answer", "every field of the answer is empty"),
        (chat(DOCUMENT, finish="length"), "bad_answer", "cut off"),
        (chat(DOCUMENT, finish="content_filter"), "bad_answer", "refusal"),
        (Reply({"choices": []}), "bad_answer", "without a choice"),
        (Reply({"choices": [{"message": {"refusal": "No."}}]}), "bad_answer", "refusal"),
        (
            Reply({"choices": [{"message": {}, "error": {"code": 502, "message": "x"}}]}),
            "overload",
            "502",
        ),
        (Reply({"object": "nothing"}), "bad_answer", "without a choice"),
        (Reply([1]), "bad_answer", "no object"),
        (Reply("<html>Sign in</html>", kind="text/html"), "bad_answer", "text/html"),
        (Reply("plain", kind=""), "bad_answer", "no content type"),
        (Reply('{"choices": [', kind="application/json"), "bad_answer", "cut off"),
        (Reply({"error": {"message": "Provider returned error", "code": 502}}), "overload", "502"),
        (Reply({"error": {"message": "Rate limit exceeded", "code": 429}}), "rate_limit", "429"),
        (Reply({"error": "model is busy: overloaded"}), "overload", "overloaded"),
        (Reply({"error": {"message": "odd"}}), "bad_answer", "an error"),
    ],
)
def test_what_is_no_answer_is_named(
    server: FakeHttp, reply: Reply, reason: str, words: str
) -> None:
    """A 200 is no success by itself."""
    server.on(PATH, reply)
    found = failed(engine(server))

    assert found.reason == reason
    assert words in found.detail
    assert not found.permanent


def test_a_failed_answer_that_was_paid_for_says_what_it_cost(server: FakeHttp) -> None:
    """The caps count it."""
    server.on(PATH, chat({"task": "x"}, usage={"cost": 0.5}))
    assert failed(engine(server)).cost_usd == 0.5


def test_a_model_that_is_not_there_is_not_asked_for_in_other_forms(server: FakeHttp) -> None:
    """One request, and none again in this session."""
    server.on(PATH, error(404, "The model `m-1` does not exist", code="model_not_found"))
    found = failed(engine(server))

    assert (found.reason, found.permanent) == ("bad_answer", True)
    assert "no such model or address" in found.detail
    assert len(server.requests) == 1


def test_an_overflow_is_raised_at_once_with_its_numbers(server: FakeHttp) -> None:
    """No other form of the request is tried: it would be as long."""
    said = "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."
    server.on(PATH, error(400, said, code="context_length_exceeded"))
    found = failed(engine(server))

    assert (found.reason, found.permanent) == ("overflow", False)
    assert (found.observed_tokens, found.limit_tokens) == (9001, 8192)
    assert said in found.vendor_text
    assert len(server.requests) == 1


def test_readiness_says_what_to_set(server: FakeHttp) -> None:
    """Without a call."""
    missing = OpenAIEngine("groq", setup({})).readiness()
    assert not missing.ready
    assert missing.why == "KEEPTHREAD_GROQ_API_KEY is not set"
    assert "KEEPTHREAD_GROQ_API_KEY and KEEPTHREAD_GROQ_MODEL" in missing.fix
    ready = engine(server).readiness()
    assert ready.ready
    assert "m-1" in ready.why
    assert server.requests == []


@pytest.mark.parametrize(
    ("listed", "props", "name", "model", "window"),
    [
        ([{"id": "m-1", "max_model_len": 32_768}], None, "vllm", "m-1", 32_768),
        ([{"id": "x"}, {"id": "m-1", "context_length": 65_536}], None, "openrouter", "m-1", 65_536),
        ([{"id": "m-1", "meta": {"n_ctx_train": 1_000_000}}], 4_096, "llama.cpp", "m-1", 4_096),
        ([{"id": "gpt-4o-mini"}], None, "openai", "gpt-4o-mini", 128_000),
        ([{"id": "m-1"}], None, "openai", "m-1", None),
        (None, None, "openai", "m-1", None),
    ],
)
def test_the_window_is_what_the_server_says_else_what_is_documented(
    server: FakeHttp, listed: Any, props: int | None, name: str, model: str, window: int | None
) -> None:
    """llama.cpp lists what the model was trained with, and serves what it was started with."""
    if listed is not None:
        server.on("/v1/models", Reply({"data": listed}))
    if props is not None:
        server.on("/props", Reply({"default_generation_settings": {"n_ctx": props}}))
    assert engine(server, name, MODEL=model).window(REQUEST, _deadline()) == window
