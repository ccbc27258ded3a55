"""Which sentences bind the work."""

from __future__ import annotations

import pytest

from keepthread.evaluate.rules import rules_in
from keepthread.transcript.model import Message, Place, Via


def found(text: str, via: Via = "prompt") -> list[str]:
    """Return the rules in a typed message."""
    return rules_in(Message("user", via, text, Place(0, "")))


@pytest.mark.parametrize(
    "sentence",
    [
        "Never touch the migrations.",
        "Always run the linter first.",
        "Please don't add dependencies.",
        "use httpx instead of requests here",
        "You must keep the old names.",
        "Fasse die Tabelle niemals an.",
        "不要修改迁移文件。",
        "Ne touche jamais au schéma.",
    ],
)
def test_a_sentence_that_forbids_or_demands_is_a_rule(sentence: str) -> None:
    assert found(f"Port the module. {sentence}")[-1] == sentence


@pytest.mark.parametrize(
    "sentence",
    [
        "I don't know why it fails.",
        "The child was never started.",
        "Must we keep this?",
        "Port the module.",
        "├── child ❌ must go",
    ],
)
def test_a_sentence_that_tells_or_asks_is_none(sentence: str) -> None:
    assert found(sentence) == []


def test_pasted_documents_and_slash_commands_hold_no_rules() -> None:
    assert found("Never do this. " * 100) == []
    assert found("/review never mind", "command") == []
