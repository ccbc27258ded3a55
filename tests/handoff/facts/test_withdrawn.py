from __future__ import annotations

import pytest

from keepthread.handoff.facts.rules import rules
from keepthread.handoff.model import Sourced
from tests.handoff.facts.talk import Talk
from tests.handoff.facts.test_rules import found


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("Never use curl, use httpie.", "forget what I said about curl"),
        ("Never use curl.", "Forget the curl rule."),
        ("Never use curl.", "you can use curl again"),
        ("Never use curl.", "curl is ok after all"),
        ("Never use curl.", "Ignore my earlier instruction about curl."),
        ("Never use curl.", "scrap the rule about curl"),
        ("Never push to main.", "you may push to main after all"),
        ("Always run the linter before committing", "you no longer need to run the linter"),
        ("Never touch the migrations folder.", "Forget the rule about not touching migrations."),
        ("Benutze niemals curl.", "Vergiss, was ich über curl gesagt habe"),
        ("N'utilise jamais curl.", "oublie ce que j'ai dit sur curl"),
        ("N'utilise jamais curl.", "la règle sur curl ne s'applique plus"),
        ("Nunca uses curl.", "olvida lo que dije de curl"),
        ("никогда не используй curl", "забудь что я говорил про curl"),
        ("绝对不要修改数据库", "忘掉关于数据库的规则"),
        ("マイグレーションは絶対に変更しないで", "マイグレーションのルールは忘れて"),
        ("데이터베이스를 수정하지 마", "데이터베이스 규칙은 무시해"),
        ("Never use curl.", "the curl ban doesn't apply any more"),
        ("Never use curl.", "curl is ok to use again"),
        ("Benutze niemals curl.", "curl ist wieder erlaubt"),
    ],
)
def test_a_rule_that_was_taken_back_gives_way_to_the_words_that_do_so(rule: str, words: str):
    assert found(rule, words) == [words]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("Always run the tests before committing.", "you can run the tests again"),
        ("Never use curl.", "Ignore the failing curl test for now"),
        ("Never use curl.", "Never forget what I said about curl!"),
        ("Never use curl.", "did you forget what I said about curl?"),
        ("Never use curl.", "the curl step is fine now"),
        ("Never use curl.", "forget what I said about wget"),
        (
            "Never drop the unique constraint on users.email.",
            "drop the unique constraint on orders.email",
        ),
        ("Always run eslint.", "ignore the eslint rule no-console in this file"),
        ("Never raise the rate limit.", "drop the rate limit check from the tests"),
        ("Never delete a user without asking.", "the user is allowed now, check the login"),
        ("main() must never return None", "you may push to main after all"),
        ("Don't touch the auth module.", "auth is okay again"),
        ("Benutze niemals curl.", "curl ist wieder ok"),
        ("Always use the staging API.", "you can use the staging API again"),
        ("Never commit to main without asking.", "you may commit this to main after all"),
        ("Never use mocks in tests.", "ignore what I said about mocks in tests/e2e"),
        ("Never use curl.", "ignore my curl rule for now"),
        ("Never skip tests.", "you can skip to the tests section after all"),
    ],
)
def test_a_rule_stays_when_its_user_speaks_of_something_else(rule: str, words: str):
    assert rule in found(rule, words)


def test_of_a_message_with_two_rules_the_other_one_stays():
    assert found("No emojis. Never use curl.", "forget the curl rule") == [
        "forget the curl rule",
        "No emojis.",
    ]


@pytest.mark.parametrize(
    ("rules", "words", "left"),
    [
        ("Rules:\n- never use curl\n- tabs not spaces", "forget the curl rule", "tabs not spaces"),
        (
            "No emojis, and never use mocks.",
            "emojis are fine after all",
            "No emojis, and never use mocks.",
        ),
    ],
)
def test_a_rule_beside_the_one_that_was_taken_back_is_not_lost(rules: str, words: str, left: str):
    assert found(rules, words) == [words, left]


def test_a_rule_that_is_given_again_after_it_was_taken_back_stands():
    assert found("Never use curl.", "forget the curl rule", "never use curl again, ever") == [
        "never use curl again, ever",
        "forget the curl rule",
    ]


def test_a_rule_of_the_previous_handoff_can_be_taken_back():
    talk = Talk()
    talk.user("Forget what I said about curl.")
    old: list[Sourced] = [
        {"text": "Never use curl.", "source": "a"},
        {"text": "Never push.", "source": "b"},
    ]

    assert [rule["text"] for rule in rules([], talk.items, old)] == [
        "Forget what I said about curl.",
        "Never push.",
    ]
