"""doctor --live: the real call through the ladder, and what is said of it."""

from __future__ import annotations

import json
from typing import Any

from tests.support.cli import Person
from tests.support.fake_claude import NAG
from tests.support.fake_http import FakeHttp, Reply, chat


def live(person: Person) -> list[dict[str, Any]]:
    """Return the findings of the call, by rung."""
    checks = json.loads(person.run("doctor", "--live", "--json").out)["checks"]
    return [check for check in checks if check["name"].startswith("live")]


def test_an_answer_is_told_with_rung_seconds_tokens_and_cost(person: Person) -> None:
    """And it was a small question."""
    fake = person.has_claude()
    fake.answer({"word": "ready"})
    [found] = live(person)

    assert (found["name"], found["ok"], found["fix"]) == ("live claude", True, "")
    seconds, _, rest = found["detail"].removeprefix("ok in ").partition(" s, ")
    assert float(seconds) >= 0
    assert rest == "1,000 tokens read, 50 written, 0.2500 USD"
    assert len(fake.calls[0]["stdin"]) < 200


def test_a_rung_that_does_not_answer_says_why_and_what_helps(person: Person) -> None:
    """The embedded one after it is no answer to the question."""
    person.has_claude(result={"is_error": True, "result": NAG}, exit=1)
    first, last = live(person)

    assert (first["name"], first["ok"]) == ("live claude", False)
    assert "no_login" in first["detail"]
    assert "Log in" in first["fix"]
    assert last["name"] == "live facts"
    assert person.run("doctor", "--live").code == 1


def test_a_failed_rung_before_one_that_answers_is_no_finding(person: Person) -> None:
    """The ladder is there for that."""
    with FakeHttp() as server:
        server.on("/v1/chat/completions", chat({"word": "ready"}))
        person.write_env(
            f"KEEPTHREAD_ENGINE=groq,llama.cpp\nKEEPTHREAD_LLAMA_CPP_BASE_URL={server.url}\n"
        )
        groq, local = live(person)
    assert (groq["name"], groq["ok"]) == ("live groq", True)
    assert "KEEPTHREAD_GROQ_API_KEY is not set" in groq["detail"]
    assert (local["name"], local["ok"]) == ("live llama.cpp", True)
    assert local["detail"].endswith("1,000 tokens read, 50 written, 0.0000 USD")


def test_unknown_tokens_and_costs_are_said_to_be_unknown(person: Person) -> None:
    """Not every server counts."""
    with FakeHttp() as server:
        choice = {"message": {"content": '{"word": "ready"}'}}
        server.on("/v1/chat/completions", Reply({"choices": [choice]}))
        person.write_env(
            f"KEEPTHREAD_ENGINE=vllm\nKEEPTHREAD_VLLM_BASE_URL={server.url}\nKEEPTHREAD_VLLM_MODEL=m\n"
        )
        [found] = live(person)
    assert "an unknown number of tokens read, an unknown number of written" in found["detail"]


def test_facts_by_choice_asks_nobody(person: Person) -> None:
    """And is in order."""
    fake = person.has_claude()
    person.write_env("KEEPTHREAD_ENGINE=facts\n")
    [found] = live(person)
    assert (found["ok"], found["detail"]) == (True, "no model is asked")
    assert fake.calls == []


def test_without_the_option_nothing_is_asked(person: Person) -> None:
    """doctor is free."""
    fake = person.has_claude()
    fake.answer({"word": "ready"})
    person.run("doctor", "--json")
    assert fake.calls == []


def test_the_call_counts_towards_the_caps(person: Person) -> None:
    """It costs what it costs."""
    person.has_claude().answer({"word": "ready"})
    person.write_env("KEEPTHREAD_MAX_CALLS_PER_HOUR=1\n")
    live(person)
    first, _ = live(person)
    assert (first["ok"], "KEEPTHREAD_MAX_CALLS_PER_HOUR" in first["detail"]) == (False, True)
    assert first["fix"] == "Raise the cap that is named, or wait until it is over."


def test_an_unknown_engine_is_named_with_those_that_are_known(person: Person) -> None:
    """As in every other place."""
    person.write_env("KEEPTHREAD_ENGINE=gtp\n")
    [found] = live(person)
    assert (found["name"], found["ok"]) == ("live", False)
    assert "'gtp'" in found["detail"]
