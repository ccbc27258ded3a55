"""What the `claude` engine relies on in the host's print mode, pinned on the real client."""

from __future__ import annotations

import json

import pytest

from tests.support.api import STRUCTURED, Answer, is_child, texts

pytestmark = pytest.mark.client

SYSTEM = "You write keepthread handoff documents. Answer in JSON."
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"task": {"type": "string"}},
        "required": ["task"],
        "additionalProperties": False,
    }
)
ARGUMENTS = (
    *("-p", "--tools", "", "--strict-mcp-config", "--no-session-persistence"),
    *("--output-format", "json", "--json-schema", SCHEMA, "--system-prompt", SYSTEM),
    *("--model", "sonnet"),
)


@pytest.mark.parametrize("isolation", ["--bare", "--safe-mode"])
def test_the_structured_answer_comes_back_beside_usage_and_cost(client, api, recorder, isolation):
    recorder.add("SessionStart")
    recorder.install(client)
    api.rule(is_child, Answer(document={"task": "mend it"}, input_tokens=700))
    run = client.run(*ARGUMENTS, isolation, stdin="the prompt on stdin")
    assert run.code == 0
    assert run.result["structured_output"] == {"task": "mend it"}
    assert run.result["usage"]["input_tokens"] >= 700
    assert run.result["total_cost_usd"] > 0
    first = api.children[0].body
    assert "the prompt on stdin" in texts(first)
    names = {tool["name"] for tool in first["tools"]}
    assert STRUCTURED in names
    assert names <= {STRUCTURED, "DeferredToolPlaceholder"}  # nothing that acts
    assert not recorder.seen
    assert not list(client.config.glob("projects/*/*.jsonl"))


def test_bare_without_a_key_answers_the_login_nag_as_a_success_that_is_an_error(client, api):
    client.env["ANTHROPIC_API_KEY"] = None
    run = client.run(*ARGUMENTS, "--bare", stdin="hello")
    assert run.code == 1
    assert run.result["subtype"] == "success"
    assert run.result["is_error"] is True
    assert "Not logged in" in run.text
    assert not api.requests


def test_an_api_error_is_a_success_that_is_an_error_too(client, api):
    api.rule(is_child, Answer("kaput", status=500))
    run = client.run(*ARGUMENTS, "--bare", stdin="hello")
    assert run.code == 1
    assert run.result["is_error"] is True
    assert "structured_output" not in run.result


def test_an_answer_that_never_meets_the_schema_ends_in_an_error(client, api):
    client.env["MAX_STRUCTURED_OUTPUT_RETRIES"] = "1"
    api.rule(is_child, Answer("I would rather talk."))
    run = client.run(*ARGUMENTS, "--bare", stdin="hello")
    assert "structured_output" not in run.result


def test_a_plain_child_fires_the_hooks_so_the_recursion_guard_is_needed(client, api, recorder):
    recorder.add("SessionStart")
    recorder.install(client)
    client.env["KEEPTHREAD_CHILD"] = "1"
    client.run("-p", "hello", "--output-format", "json", "--model", "sonnet")
    [seen] = recorder.seen
    assert seen.env["KEEPTHREAD_CHILD"] == "1"


def test_a_child_works_inside_a_hook_of_the_session(client, api, recorder):
    api.rule(is_child, Answer(document={"task": "mend it"}))
    client.env |= {"CLAUDECODE": "1", "CLAUDE_CODE_CHILD_SESSION": "1"}
    run = client.run(*ARGUMENTS, "--bare", stdin="hello")
    assert run.result["structured_output"] == {"task": "mend it"}
