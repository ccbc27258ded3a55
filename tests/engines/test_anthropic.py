"""The Messages API against a loopback server that speaks its shape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from keepthread.engines.anthropic import AnthropicEngine
from keepthread.engines.model import Answer, Deadline, Request
from tests.engines.asking import DOCUMENT, KEY, PROMPT, REQUEST, SCHEMA, ask, failed, setup
from tests.support.fake_http import FakeHttp, Reply, messages

PATH = "/v1/messages"
LIST = Reply(
    {
        "data": [
            {"id": "claude-opus-9", "max_input_tokens": 1_000_000, "max_tokens": 64_000},
            {"id": "claude-sonnet-9", "max_input_tokens": 30_000, "max_tokens": 8_000},
            {"id": "claude-sonnet-8", "max_input_tokens": 1_000_000, "max_tokens": 64_000},
        ]
    }
)


@pytest.fixture
def server() -> Iterator[FakeHttp]:
    with FakeHttp() as running:
        running.on(PATH, messages(DOCUMENT))
        running.on("/v1/models", LIST)
        yield running


def engine(server: FakeHttp, window: int = 0, **user: str) -> AnthropicEngine:
    given = {"BASE_URL": server.url, "API_KEY": KEY, "MODEL": "claude-test-1"} | user
    named = {f"ANTHROPIC_{part}": value for part, value in given.items()}
    return AnthropicEngine(setup(named, window=window))


def refuses(message: str) -> Reply:
    error = {"type": "invalid_request_error", "message": message}
    return Reply({"type": "error", "error": error}, 400)


def test_a_structured_answer_comes_with_tokens_and_cost(server: FakeHttp) -> None:
    """Cached tokens count as read; a price of its user's makes the cost."""
    assert ask(engine(server, PRICE="1000,2000")) == Answer(DOCUMENT, "anthropic", 1000, 50, 1.1)


def test_the_request_is_the_one_that_is_documented(server: FakeHttp) -> None:
    """Schema and effort in output_config, the key in its header and nowhere else."""
    ask(engine(server))
    [seen] = server.requests

    assert seen.headers["x-api-key"] == KEY
    assert seen.headers["anthropic-version"] == "2023-06-01"
    schema = {name: value for name, value in SCHEMA.items() if not name.startswith("$")}
    assert seen.body == {
        "model": "claude-test-1",
        "max_tokens": 16_000,
        "system": REQUEST.system,
        "messages": [{"role": "user", "content": PROMPT}],
        "output_config": {"format": {"type": "json_schema", "schema": schema}, "effort": "low"},
    }


def test_a_family_stands_for_its_newest_model_and_its_bounds(server: FakeHttp) -> None:
    """As in KEEPTHREAD_MODEL; the list is asked for once."""
    asked = engine(server, MODEL="")
    ask(asked)
    ask(asked)

    assert [seen.path for seen in server.requests] == ["/v1/models", PATH, PATH]
    assert {(b["model"], b["max_tokens"]) for b in server.bodies(PATH)} == {
        ("claude-sonnet-9", 8_000)
    }


def test_a_family_that_is_not_listed_is_named(server: FakeHttp) -> None:
    """With the variable that helps."""
    server.on("/v1/models", Reply({"data": [{"id": "glm-9"}, "odd"]}))
    found = failed(engine(server, MODEL=""))

    assert (found.reason, found.permanent) == ("bad_answer", True)
    assert "KEEPTHREAD_ANTHROPIC_MODEL" in found.detail


def test_a_server_without_structured_output_is_given_a_tool_then_words(server: FakeHttp) -> None:
    """And the form that worked is kept for the run."""
    server.on(
        PATH,
        refuses("output_config.effort: Extra inputs are not permitted"),
        refuses("output_config: Extra inputs are not permitted"),
        messages(DOCUMENT, "tool_use", tool=True),
        refuses("tool_choice is not supported"),
        messages(DOCUMENT),
    )
    asked = engine(server)
    assert ask(asked).document == DOCUMENT
    assert ask(asked).document == DOCUMENT
    bodies = server.bodies(PATH)

    assert [sorted(body.get("output_config", {})) for body in bodies] == [
        ["effort", "format"],
        ["format"],
        [],
        [],
        [],
    ]
    assert [bool(body.get("tools")) for body in bodies] == [False, False, True, True, False]
    assert '"next_steps"' in bodies[-1]["messages"][0]["content"]


@pytest.mark.parametrize(
    ("reply", "reason", "words"),
    [
        (messages(DOCUMENT, "max_tokens"), "bad_answer", "cut off"),
        (messages("I cannot help with that.", "refusal"), "bad_answer", "refusal"),
        (messages("", "model_context_window_exceeded"), "overflow", "window"),
        (messages({"task": "x"}), "bad_answer", "next_steps is missing"),
        (
            messages({"task": 1, "next_steps": []}, "tool_use", tool=True),
            "bad_answer",
            "task is not",
        ),
        (messages({"task": "", "next_steps": []}, tool=True), "bad_answer", "every field"),
        (messages("Not logged in · Please run /login"), "no_login", "Not logged in"),
        (Reply({"type": "message"}), "bad_answer", "empty"),
        (Reply({"type": "error", "error": {"type": "overloaded_error"}}), "overload", "overloaded"),
        (Reply({"type": "error", "error": {"type": "overloaded_error"}}, 529), "overload", "529"),
        (refuses("prompt is too long: 212000 tokens > 200000 maximum"), "overflow", "400"),
        (
            refuses("Your credit balance is too low to access the API"),
            "rate_limit",
            "credit balance",
        ),
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


def long_request(size: int) -> Request:
    return Request("s", "word " * (size // 5), SCHEMA, "sonnet", "low")


@pytest.mark.parametrize(("counted", "fits"), [(21_000, True), (23_000, False)])
def test_a_prompt_that_may_not_fit_is_counted_before_it_is_paid_for(
    server: FakeHttp, counted: int, fits: bool
) -> None:
    """The window is what the server says of the model, less the answer."""
    server.on(f"{PATH}/count_tokens", Reply({"input_tokens": counted}))
    asked = engine(server, MODEL="")
    request = long_request(90_000)
    if fits:
        assert ask(asked, request=request).document == DOCUMENT
    else:
        found = failed(asked, request=request)
        assert (found.reason, found.observed_tokens, found.limit_tokens) == (
            "overflow",
            23_000,
            22_000,
        )
        assert server.bodies(PATH) == []
    [body] = server.bodies(f"{PATH}/count_tokens")
    assert sorted(body) == ["messages", "model", "system"]


def test_a_prompt_that_surely_fits_is_not_counted(server: FakeHttp) -> None:
    """One request, not two."""
    ask(engine(server), request=long_request(90_000))
    assert [seen.path for seen in server.requests] == [PATH]


def test_the_window_of_its_user_goes_before_the_servers(server: FakeHttp) -> None:
    """KEEPTHREAD_WINDOW."""
    server.on(f"{PATH}/count_tokens", Reply({"input_tokens": 30_000}))
    found = failed(engine(server, window=40_000), request=long_request(90_000))
    assert (found.reason, found.limit_tokens) == ("overflow", 24_000)


def test_a_server_that_cannot_count_is_asked_all_the_same(server: FakeHttp) -> None:
    """It will say itself that it is too much."""
    assert ask(engine(server, MODEL=""), request=long_request(90_000)).document == DOCUMENT


@pytest.mark.parametrize(
    ("model", "cost"),
    [("claude-haiku-9", 0.00125), ("claude-sonnet-9", 0.00375), ("unheard-of-1", None)],
)
def test_without_a_price_the_familys_list_price_counts(model: str, cost: float | None) -> None:
    """So that the cap on dollars holds for who has set nothing."""
    away = AnthropicEngine(setup({"ANTHROPIC_API_KEY": KEY}))
    assert away._cost(model, (1000, 50)) == cost


def test_readiness_says_what_to_set(server: FakeHttp) -> None:
    """Without a call; a key of the process environment does not count."""
    env: dict[str, Any] = {"ANTHROPIC_API_KEY": KEY, "KEEPTHREAD_ANTHROPIC_API_KEY": KEY}
    missing = AnthropicEngine(setup({}, env)).readiness()
    assert (missing.ready, missing.why) == (False, "KEEPTHREAD_ANTHROPIC_API_KEY is not set")
    assert engine(server).readiness().ready
    assert failed(AnthropicEngine(setup({}, env))).reason == "no_login"
    assert server.requests == []


def test_the_window_is_what_the_server_lists_else_what_is_known(server: FakeHttp) -> None:
    """The family's newest model has it in the list."""
    deadline = Deadline.after(20)
    assert engine(server, MODEL="").window(REQUEST, deadline) == 30_000
    assert engine(server, MODEL="claude-haiku-4-5").window(REQUEST, deadline) == 200_000
    assert engine(server, MODEL="glm-9").window(REQUEST, deadline) is None
