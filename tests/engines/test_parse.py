"""The document in what a model wrote (tests/cases: E8, B10)."""

from __future__ import annotations

import json

import pytest

from keepthread.engines.parse import find, misfit, objects

SCHEMA = {
    "type": "object",
    "properties": {
        "task": {"type": "string"},
        "rules": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
            },
        },
    },
    "required": ["task", "rules"],
    "additionalProperties": False,
}
DOCUMENT = {"task": "x {y} ``` z", "rules": [{"text": "use httpie"}]}
TEXT = json.dumps(DOCUMENT)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"Sure {{about travel}}!\n```json\n{TEXT}\n```\nDone.",
        f"<think>I could say {json.dumps({'task': 'draft', 'rules': []})}</think>{TEXT}",
        f"[{TEXT}]",
        f'{{"answer": 1}} {TEXT} {{"note": "after"}}',
        f"{json.dumps({'task': 'an example', 'rules': []})} and now the real one: {TEXT}",
        f"\ufeff{TEXT}\x00",
    ],
)
def test_the_document_is_found(text):
    assert find(text, SCHEMA).document == DOCUMENT


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "the answer is empty"),
        (" \n", "the answer is empty"),
        ("no braces here", "the answer holds no JSON object"),
        (TEXT[:-9], "the answer is cut off"),
        ('{"task": 5, "rules": []}', "task is not of type string"),
        ('{"task": "secret words"}', "rules is missing"),
        (
            '{"task": "x", "rules": [{"text": "a"}, {"text": 5}]}',
            "rules.1.text is not of type string",
        ),
        ('{"task": "x", "rules": [{}]}', "rules.0.text is missing"),
        (
            '{"task": "x", "rules": [], "more": 1}',
            "the document breaks the rule additionalProperties",
        ),
        (f"<think>{TEXT}</think> I give up.", "the answer holds no JSON object"),
    ],
)
def test_the_fault_names_the_field_and_nothing_of_the_text(text, fault):
    found = find(text, SCHEMA)
    assert (found.document, found.fault) == (None, fault)


def test_the_fault_is_that_of_the_nearest_object():
    found = find('{"other": 1} {"task": "x", "rules": 5} {}', SCHEMA)
    assert (found.fault, found.near) == ("rules is not of type array", True)


def test_lone_surrogates_are_mended():
    document = find('{"task": "ok \\ud83d", "rules": []}', SCHEMA).document
    assert document == {"task": "ok \ufffd", "rules": []}
    whole = find('{"task": "\\ud83d\\ude00", "rules": []}', SCHEMA).document
    assert whole == {"task": "😀", "rules": []}


@pytest.mark.parametrize(
    "text",
    [
        "{" * 200_000,
        '{"a":' * 200_000,
        '{"a": "' * 100_000,
        "[{" * 100_000,
        "{}" * 300_000,
        '{"a":1' * 100_000,
    ],
)
def test_hostile_text_is_given_up_soon(text):
    assert find(text, SCHEMA).document is None


def test_objects_are_those_of_the_outermost_level():
    assert list(objects('x {"a": {"b": 1}} {"c": 2}')) == [{"a": {"b": 1}}, {"c": 2}]


def test_what_is_no_object_does_not_fit():
    assert misfit([], SCHEMA) == "the document is not of type object"
