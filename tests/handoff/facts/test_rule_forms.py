from __future__ import annotations

import pytest

from keepthread.handoff.facts.rules import rules
from tests.handoff.facts.talk import Talk
from tests.handoff.facts.test_rules import found


@pytest.mark.parametrize(
    "text",
    [
        "tabs not spaces",
        "tabs, not spaces",
        "pnpm not npm",
        "british spelling",
        "single quotes",
        "conventional commits please",
        "one commit per change",
        "TDD",
        "be terse",
        "answer briefly",
        "skip the summaries",
        "sign all commits",
        "all dates in UTC",
        "type hints on all public functions",
        "has to work offline",
        "commit messages in English",
        "Kommentare auf Englisch",
        "auf deutsch bitte",
        "in het Nederlands graag",
        "コミットメッセージは英語で",
        "pas d'emojis",
        "sin emojis",
        "sin comentarios",
        "nada de emojis",
        "sem emojis",
        "niente emoji",
        "без эмодзи",
        "bez emoji",
        "emoji yok",
        "絵文字なし",
    ],
)
def test_a_rule_in_so_few_words_that_none_binds_is_a_rule(text: str):
    assert found(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "file not found",
        "login page not working",
        "button not visible",
        "tests not green yet",
        "no problem",
        "no worries",
        "no errors",
        "thanks, no more questions",
        "never mind",
        "kein Problem",
        "pas de souci",
        "sin problema",
        "без проблем",
        "Das geht immer noch nicht",
        "translate the README in German",
        "the error message is in German again",
        "I never said that",
        "the build always fails on CI",
        "the app must have crashed",
        "it is not working, must be the cache",
        "为什么不用pnpm",
        "なぜpnpmを使わないのですか",
        "I wonder if we should always cache this",
        "fix the schema",
        "rename the theme",
        "corrige le système",
        "use the other branch",
        "keep working on it",
        "follow up with the tests",
        "no such file or directory",
        "sans le patch ça plante",
        "sin el parche falla",
        "エラーなし",
    ],
)
def test_what_only_has_the_form_of_a_terse_rule_is_none(text: str):
    assert found(text) == []


@pytest.mark.parametrize(
    "text",
    [
        'explain the comment "// never call this directly"',
        'the test fails with "must be a string"',
        "implement the `never expire` option",
        "fix the “don't ask again” dialog",
        "Search for 'must not' in the spec",
        "fix the error: must not be null",
        'what does "never commit to main" in the README mean?',
    ],
)
def test_what_is_quoted_binds_nobody(text: str):
    assert found(text) == []


@pytest.mark.parametrize(
    "text", ['Call it "tide", never "tides".', '"never push to main"', "use `uv`, never `pip`"]
)
def test_a_rule_may_quote_names_and_may_be_quoted_whole(text: str):
    assert found(text) == [text]


@pytest.mark.parametrize(
    "sentence",
    [
        "Antworte auf Deutsch.",
        "Réponds en français.",
        "日本語で答えてください。",
        "Respond in Spanish.",
    ],
)
def test_in_which_language_to_answer_is_a_rule_in_a_long_message_too(sentence: str):
    background = "The importer reads the file line by line and the parser then builds a table. " * 4

    assert found(f"{background}\n{sentence}\nThen look at the parser.") == [sentence]


def test_a_terse_rule_beside_an_ask_stands_alone():
    assert found("Rename the parser. tabs, not spaces") == ["tabs, not spaces"]


@pytest.mark.parametrize(
    "text",
    [
        "ok, the token has been added and configured. now update the action?",
        "uuum, that was done already",
        "the token has been set",
    ],
)
def test_who_agrees_or_tells_news_after_an_interruption_corrects_nothing(text: str):
    talk = Talk()
    talk.user("set the token")
    talk.user("[Request interrupted by user]", via="interruption")
    talk.user(text)

    assert rules([], talk.items, []) == []
