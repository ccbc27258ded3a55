"""The schemas: whole documents pass, every kind of damage is named by its place, and nothing of the text is told."""

from __future__ import annotations

from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from keepthread.handoff import model
from keepthread.handoff.schema import (
    MAX_MESSAGES,
    answer_schema,
    handoff_schema,
    validate,
)
from tests.support.handoffs import make_empty, make_handoff, make_partial


def damaged(path: str, value: Any) -> Any:
    """Return a handoff with the value at a dotted path replaced; `...` removes it."""
    handoff: Any = make_handoff()
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = handoff
    for part in parents:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return handoff


@pytest.mark.parametrize("make", [make_handoff, make_partial, make_empty])
def test_whole_documents_are_valid(make) -> None:
    """Complete, partial and empty handoffs pass."""
    assert validate(make()) == []


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("task", ..., "task: is missing"),
        ("constraints.rules.2.source", ..., "constraints.rules[2].source: is missing"),
        ("constraints.rules.2.text", 5, "constraints.rules[2].text: is a number, must be string"),
        ("constraints.rules.0.text", "", "constraints.rules[0].text: is empty"),
        ("extra", 1, "extra: is not a known field"),
        ("meta.extra", 1, "meta.extra: is not a known field"),
        ("meta.status", "done", "meta.status: must be one of complete, partial"),
        ("meta.trigger", None, "meta.trigger: must be one of auto, manual, command"),
        ("meta.schema_version", 2, "meta.schema_version: must be 1"),
        ("meta.ordinal", -1, "meta.ordinal: is below 0"),
        ("meta.ordinal", True, "meta.ordinal: is a boolean, must be integer"),
        (
            "meta.generated_at",
            "yesterday",
            "meta.generated_at: is not a time in ISO 8601 with a zone",
        ),
        ("meta.usage", [], "meta.usage: is an array, must be object or null"),
        ("meta.usage", {}, "meta.usage.input_tokens: is missing"),
        ("meta.transcript.size", "1", "meta.transcript.size: is a string, must be integer"),
        ("meta.rungs.0.seconds", -1, "meta.rungs[0].seconds: is below 0"),
        ("facts.pending_ask", "go on", "facts.pending_ask: is a string, must be object or null"),
        ("facts.pending_ask", {"text": "x"}, "facts.pending_ask.source: is missing"),
        ("facts.pending_ask", {"text": "", "source": "u"}, "facts.pending_ask.text: is empty"),
        (
            "facts.todos.0.status",
            "open",
            "facts.todos[0].status: must be one of pending, in_progress, completed",
        ),
        ("facts.identifiers.0.kind", "word", "facts.identifiers[0].kind: must be one of name,"),
        ("facts.commands.0.count", 0, "facts.commands[0].count: is below 1"),
        ("facts.git.dirty", None, "facts.git.dirty: is null, must be array"),
        ("files_touched.0.status", "written", "files_touched[0].status: must be one of created,"),
        ("files_touched.0.path", "", "files_touched[0].path: is empty"),
        ("audit.failed.0.action", ..., "audit.failed[0].action: is missing"),
        (
            "current_state.works",
            ["x"] * 1001,
            "current_state.works: has more than 1000 entries",
        ),
        ("resume_prompt", "x" * 100_001, "resume_prompt: is longer than 100000 characters"),
    ],
)
def test_damage_is_named_by_its_place(path: str, value: Any, message: str) -> None:
    """Each fault gives a message that begins with the field."""
    messages = validate(damaged(path, value))
    assert [text for text in messages if text.startswith(message)]


@pytest.mark.parametrize(
    ("path", "value"),
    [("task", ""), ("next_steps", []), ("resume_prompt", ""), ("meta.reason", "timeout")],
)
def test_a_complete_handoff_cannot_lack_its_judgement(path: str, value: Any) -> None:
    """What a partial may leave empty, a complete handoff must hold; and it gives no reason to be partial."""
    handoff = damaged(path, value)
    assert [text for text in validate(handoff) if text.startswith(path)]
    handoff["meta"]["status"] = "partial"
    assert validate(handoff) == []


@pytest.mark.parametrize("document", [None, [], "x", 1, {}])
def test_what_is_no_handoff_is_refused(document: object) -> None:
    """Any JSON value may be asked about."""
    assert validate(document)


def test_messages_are_few_and_tell_nothing_of_the_text() -> None:
    """They can be logged: no text of the document is in them, and a thousand faults give twenty lines."""
    handoff: Any = make_handoff()
    handoff["next_steps"] = [{"secret": "hunter2"}] * 900
    handoff["meta"]["trigger"] = "hunter2"
    messages = validate(handoff)
    assert len(messages) == MAX_MESSAGES
    assert "hunter2" not in "\n".join(messages)


def test_the_schema_of_the_answer_is_plain() -> None:
    """Structured-output interfaces refuse references, bounds and optional fields."""

    def walk(schema: dict[str, Any]) -> None:
        assert set(schema) <= {
            "type",
            "properties",
            "required",
            "items",
            "additionalProperties",
            "description",
        }
        assert schema["type"] in ("object", "array", "string")
        if schema["type"] == "object":
            assert schema["additionalProperties"] is False
            assert schema["required"] == list(schema["properties"])
            for inner in schema["properties"].values():
                walk(inner)
        if schema["type"] == "array":
            walk(schema["items"])

    walk(answer_schema())


def test_schemas_are_themselves_valid() -> None:
    """Both meet the meta-schema of draft 2020-12."""
    Draft202012Validator.check_schema(handoff_schema())
    Draft202012Validator.check_schema(answer_schema())


@pytest.mark.parametrize(
    ("pointer", "typed"),
    [
        ((), model.Handoff),
        (("meta",), model.Meta),
        (("facts",), model.Facts),
        (("current_state",), model.CurrentState),
        (("constraints",), model.Constraints),
        (("audit",), model.Audit),
        (("file",), model.FileTouched),
    ],
)
def test_the_schema_says_what_the_types_say(pointer: tuple[str, ...], typed: Any) -> None:
    """Field for field; a field added on one side only fails here."""
    schema = handoff_schema()
    part = schema["$defs"][pointer[0]] if pointer else schema
    assert set(part["properties"]) == set(get_type_hints(typed))
    assert set(part["required"]) == set(part["properties"]) - {"from"}


def test_enumerations_agree_with_the_types() -> None:
    """The literals of the types are the schema's enumerations."""
    definitions = handoff_schema()["$defs"]
    meta = definitions["meta"]["properties"]
    assert set(meta["reason"]["enum"]) == {None, *get_args(model.Reason)}
    assert set(meta["trigger"]["enum"]) == set(get_args(model.Trigger))
    assert set(definitions["outcome"]["enum"]) == set(get_args(model.Outcome))
    assert set(definitions["file"]["properties"]["status"]["enum"]) == set(
        get_args(model.FileStatus)
    )


def test_the_answer_schema_asks_for_the_model_answer() -> None:
    """Field for field."""
    assert set(answer_schema()["properties"]) == set(get_type_hints(model.ModelAnswer))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
_FIELDS = sorted(make_handoff())


@settings(
    max_examples=150,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(field=st.sampled_from(_FIELDS), value=_JSON)
def test_any_value_in_any_field_gives_messages_and_no_exception(field: str, value: Any) -> None:
    """Whatever stands in a field, the answer is a list of one-line messages that name it."""
    messages = validate({**make_handoff(), field: value})
    for message in messages:
        assert "\n" not in message
        assert message.startswith((field, "meta"))
