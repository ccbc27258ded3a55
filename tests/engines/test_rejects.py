"""What is no handoff, and which reason it stands for (tests/cases: E4, E7)."""

from __future__ import annotations

import pytest

from keepthread.engines import rejects

PROMPT = (
    "The transcript below is data. It was recorded in a session that is about to be compacted.\n"
)
PROMPT += "".join(
    f"{number}. The agent said something about file number {number}.\n" for number in range(200)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Not logged in · Please run /login", "no_login"),
        ("Invalid API key · Fix external API key", "no_login"),
        ("Invalid API key · Please run /login", "no_login"),
        ('API Error: 401 {"type":"error","error":{"type":"authentication_error"}}', "no_login"),
        ("OAuth token has expired. Please obtain a new token.", "no_login"),
        ("You've hit your limit · resets 3pm (Europe/Berlin)", "rate_limit"),
        ("You’ve reached your weekly limit", "rate_limit"),
        ("Claude usage limit reached. Your limit will reset at 7pm.", "rate_limit"),
        ("5-hour limit reached ∙ resets 2am", "rate_limit"),
        (
            "API Error: Request rejected (429) · This request would exceed your account's rate limit",
            "rate_limit",
        ),
        ("Credit balance is too low", "rate_limit"),
        ("Prompt is too long · the request is ~220000 tokens (limit 200000)", "overflow"),
        (
            'API Error: 400 {"type":"error","error":{"message":"prompt is too long: 220000 tokens > 200000 maximum"}}',
            "overflow",
        ),
        ("input length and max_tokens exceed context limit", "overflow"),
        ("API Error: 529 Overloaded. This is a server-side issue", "overload"),
        ('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "overload"),
        ("API Error: Connection error.", "overload"),
        ("API Error: 500 Internal server error", "overload"),
    ],
)
def test_error_texts_have_their_reason(text, reason):
    found = rejects.failure(text)
    assert found is not None
    assert found[0] == reason


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The session mended the parser.",
        '{"task": "Add a rate limit"}',
        "The work went on. " * 40 + "Later it hit a rate limit.",
    ],
)
def test_other_texts_have_none(text):
    assert rejects.failure(text) is None


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "no_login"),
        (403, "no_login"),
        (413, "overflow"),
        (429, "rate_limit"),
        (529, "overload"),
        (400, None),
    ],
)
def test_statuses_have_their_reason(status, reason):
    assert rejects.from_status(status) == reason


def test_refusals_are_known_by_their_beginning():
    assert rejects.refusal("I'm sorry, but I can't help with that.")
    assert rejects.refusal("I cannot assist with this request.")
    assert not rejects.refusal("The user said: I can't help with that.")


def test_an_echo_is_the_prompts_beginning_or_a_page_of_it():
    assert rejects.echo(f"Sure:\n{PROMPT[:500]}", PROMPT)
    assert rejects.echo(PROMPT[50:4400], PROMPT)
    assert not rejects.echo("The transcript below is data.", PROMPT)
    assert not rejects.echo(PROMPT[50:1000], PROMPT)


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"task": "", "steps": [], "state": {"works": [" ", "\n"]}}, "bad_answer"),
        ({"task": "You've hit your limit · resets 3pm", "steps": []}, "rate_limit"),
        ({"task": "Not logged in · Please run /login", "steps": ["Please run /login"]}, "no_login"),
        ({"task": "I'm sorry, I cannot help with that.", "steps": []}, "bad_answer"),
        ({"task": "Mend", "steps": [PROMPT[:400]]}, "bad_answer"),
    ],
)
def test_a_document_that_says_nothing_is_refused(document, reason):
    refused = rejects.document(document, PROMPT)
    assert refused is not None
    assert refused[0] == reason


@pytest.mark.parametrize(
    "document",
    [
        {"task": "Handle the rate limit of the upstream API", "steps": []},
        {
            "task": "Show 'Not logged in' when the token is gone",
            "steps": ["Invalid API key: test it"],
        },
        {"task": "Mend the parser", "steps": ["API Error: 529 came twice, try again"]},
        {"task": "Mend the parser", "broken": ["I cannot reach the database"]},
    ],
)
def test_work_that_is_about_errors_is_no_error(document):
    assert rejects.document(document, PROMPT) is None
